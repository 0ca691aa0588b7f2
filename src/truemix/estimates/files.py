"""Estimates in files: everything that an estimate knows, as plain numbers and text."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from truemix._archive import ArchiveKind, damaged, read_archive, write_archive
from truemix._typing import AnyArray
from truemix.estimates.checks import RecordedCheck
from truemix.estimates.replicates import Replicates
from truemix.estimates.unknown import Unknown

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate

E = TypeVar("E", bound="Estimate")
KIND = ArchiveKind("estimate", "Estimate.save")
TEXT = ("method", "estimand")
ARRAYS = ("prevalence", "counted", "train_prevalence")
DRAWS = ("draws", "other_draws")
UNKNOWN = "unknown_"


def save_estimate(estimate: Estimate, path: str | os.PathLike[str]) -> None:
    """Write an estimate to a file."""
    header = {
        **{name: getattr(estimate, name) for name in TEXT},
        "n_items": int(estimate.n_items),
        "settings": encode(estimate.settings),
        "diagnostics": encode(estimate.diagnostics),
        "checks": {name: encode(check.summary()) for name, check in estimate.checks.items()},
        "unknown": None if estimate.unknown is None else estimate.unknown.share,
        "source": None if estimate.replicates is None else estimate.replicates.source,
    }
    # Labels in an array of Python objects could only be stored as a pickle.
    arrays: dict[str, AnyArray] = {"classes": np.asarray(estimate.classes.tolist())}
    arrays |= {name: getattr(estimate, name) for name in ARRAYS}
    arrays |= {name: d for name in DRAWS if (d := getattr(estimate, name)) is not None}
    if estimate.unknown is not None:
        for name in DRAWS:
            if (draws := getattr(estimate.unknown, name)) is not None:
                arrays[UNKNOWN + name] = draws
    if estimate.replicates is not None:
        arrays["replicate"] = estimate.replicates.number
    write_archive(path, KIND, header, arrays)


def load_estimate(kind: type[E], path: str | os.PathLike[str]) -> E:
    """Read an estimate that :func:`save_estimate` has written."""
    header, arrays = read_archive(path, KIND)
    try:
        fields: dict[str, Any] = {
            name: arrays[name].astype(np.float64, casting="safe")
            for name in (*ARRAYS, *DRAWS)
            if name in arrays or name in ARRAYS
        }
        fields |= {name: str(header[name]) for name in TEXT}
        return kind(
            classes=arrays["classes"],
            n_items=int(header["n_items"]),
            settings=dict(decode(header["settings"])),
            diagnostics=dict(decode(header["diagnostics"])),
            unknown=_unknown(header["unknown"], arrays),
            replicates=_replicates(header["source"], arrays),
            checks={name: _recorded(numbers) for name, numbers in header["checks"].items()},
            **fields,
        )
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise damaged(path, KIND, error) from None


def _unknown(share: Any, arrays: Mapping[str, AnyArray]) -> Unknown | None:
    if share is None:
        return None
    draws = {
        name: arrays[UNKNOWN + name].astype(np.float64, casting="safe")
        for name in DRAWS
        if UNKNOWN + name in arrays
    }
    return Unknown(float(share), **draws)


def _replicates(source: Any, arrays: Mapping[str, AnyArray]) -> Replicates | None:
    if source is None:
        return None
    return Replicates(arrays["replicate"].astype(np.intp, casting="safe"), str(source))


def _recorded(numbers: Any) -> RecordedCheck:
    check = RecordedCheck(dict(decode(numbers)))
    # A file without these is damaged, which should not show only when they are needed.
    if not isinstance(check.numbers["passed"], bool) or not check.explanation:
        raise ValueError("a check without a verdict")
    return check


def encode(value: Any) -> Any:
    """Return ``value`` as JSON can hold it; what has no such form becomes its repr.

    Numbers that JSON does not know and mappings whose keys are not text are tagged, so that
    :func:`decode` gives them back. Tuples, sets and arrays come back as lists.

    Examples
    --------
    >>> encode({"ess": np.float64(412.0), "gap": float("inf"), "prior": {1: 0.5}})
    {'ess': 412.0, 'gap': {'$float': 'inf'}, 'prior': {'$items': [[1, 0.5]]}}
    >>> decode(encode({"gap": float("inf"), "prior": {1: 0.5}}))
    {'gap': inf, 'prior': {1: 0.5}}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: encode(item) for key, item in value.items()}
        return {"$items": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(item) for item in value]
    return repr(value)


def decode(value: Any) -> Any:
    """Return what :func:`encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$float" in value:
        return float(value["$float"])
    if "$items" in value:
        return {decode(key): decode(item) for key, item in value["$items"]}
    return {key: decode(item) for key, item in value.items()}
