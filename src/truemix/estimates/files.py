"""Estimates in files: all attributes of an estimate, as plain numbers and text.

Files are untrusted input: contents are validated even if the checksum is right.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from truemix._archive import UNREADABLE, ArchiveKind, damaged, read_archive, write_archive
from truemix._saved_arrays import read_classes, read_floats, read_integers, read_shares
from truemix._typing import AnyArray
from truemix.estimates.answers import SHAPES, Answer, Sensitivity
from truemix.estimates.checks import CANNOT_TELL, FAILED, PASSED, RecordedCheck
from truemix.estimates.draw_origin import DrawOrigin
from truemix.estimates.unknown import Unknown
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate

E = TypeVar("E", bound="Estimate")
KIND = ArchiveKind("estimate", "Estimate.save")
TEXT = ("method", "estimand")
ARRAYS = ("prevalence", "classify_and_count", "train_prevalence")
# Those that are not known of estimates from draws.
OPTIONAL = ARRAYS[1:]
DRAWS = ("draws", "other_draws")
UNKNOWN = "unknown_"
ANSWERS = "answers"
# The plain text of an answer.
ABOUT_ANSWER = ("assumption", "method", "sentence")
# More replicates than any estimate has draws.
MAX_REPLICATES = 1 << 31
# Numbers that JSON cannot represent, by their Python names.
NO_JSON = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def save_estimate(estimate: Estimate, path: str | os.PathLike[str]) -> None:
    """Write an estimate to a file."""
    header, arrays = contents(estimate)
    try:
        # An estimate that could not be read again is not written.
        estimate_of(type(estimate), header, arrays)
    except InputError as error:
        raise InputError(f"This estimate cannot be saved: {error}.") from None
    write_archive(path, KIND, header, arrays)


def load_estimate(kind: type[E], path: str | os.PathLike[str]) -> E:
    """Read an estimate that :func:`save_estimate` has written."""
    header, arrays = read_archive(path, KIND)
    del header["version"]
    try:
        return estimate_of(kind, header, arrays)
    except UNREADABLE as error:
        raise damaged(path, KIND, error) from None


def contents(estimate: Estimate) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return everything in an estimate as a header and arrays."""
    header = {
        **{name: getattr(estimate, name) for name in TEXT},
        "n_items": int(estimate.n_items),
        "settings": encode(estimate.settings),
        "diagnostics": encode(estimate.diagnostics),
        "checks": {name: encode(check.summary()) for name, check in estimate.checks.items()},
        "unknown": None if estimate.unknown is None else float(estimate.unknown.share),
        "source": None if estimate.origin is None else estimate.origin.source,
        ANSWERS: None if estimate.answers is None else _about_answers(estimate.answers),
    }
    # Labels in an array of Python objects could only be stored as a pickle.
    arrays: dict[str, AnyArray] = {"classes": np.asarray(estimate.classes.tolist())}
    floats = {name: getattr(estimate, name) for name in (*ARRAYS, *DRAWS)}
    if estimate.unknown is not None:
        floats |= {UNKNOWN + name: getattr(estimate.unknown, name) for name in DRAWS}
    arrays |= {n: np.asarray(v, dtype=np.float64) for n, v in floats.items() if v is not None}
    if estimate.origin is not None:
        arrays["replicate"] = estimate.origin.number
    if estimate.answers is not None:
        arrays[ANSWERS] = np.array(
            [[getattr(each, name) for name in SHAPES] for each in estimate.answers.answers],
            dtype=np.float64,
        )
    return header, arrays


def _about_answers(found: Sensitivity) -> dict[str, Any]:
    """Return everything about answers but their numbers."""
    about = [{name: getattr(each, name) for name in ABOUT_ANSWER} for each in found.answers]
    return {"level": float(found.level), ANSWERS: about}


# --- reading ----------------------------------------------------------------------------------


def estimate_of(kind: type[E], header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> E:
    """Return the estimate that a header and arrays describe, or raise for what is wrong."""
    left = dict(arrays)
    classes = read_classes(left)
    fields: dict[str, Any] = {
        name: read_shares(left, name, classes.shape)
        for name in ARRAYS
        if name in left or name not in OPTIONAL
    }
    draws = {n: read_shares(left, n, (None, len(classes))) for n in DRAWS if n in left}
    n_draws = len(draws["draws"]) if "draws" in draws else None
    if any(len(each) != n_draws or not n_draws for each in draws.values()):
        raise InputError("draws and other_draws are not of the same length")
    fields |= draws
    for name in (*fields, "classes"):
        del left[name]
    fields |= {name: None for name in OPTIONAL if name not in fields}
    unknown = _unknown(header["unknown"], left, n_draws)
    origin = _origin(header["source"], left, n_draws)
    answers = _answers(header.get(ANSWERS), left, classes)
    if left:
        raise InputError(f"it holds {min(left)[:40]}, which does not belong there")
    expected = {*TEXT, "n_items", "settings", "diagnostics", "checks", "unknown", "source"}
    # Files of earlier versions have no answers.
    if set(header) - {ANSWERS} != expected:
        raise InputError("its header does not hold what an estimate has")
    return kind(
        classes=classes,
        n_items=_whole(header["n_items"], "n_items", minimum=0),
        method=_text(header["method"], "method"),
        estimand=_text(header["estimand"], "estimand"),
        settings=_mapping(header["settings"], "settings"),
        diagnostics=_diagnostics(_mapping(header["diagnostics"], "diagnostics")),
        unknown=unknown,
        origin=origin,
        answers=answers,
        checks={
            name: _recorded(_mapping(numbers, name))
            for name, numbers in _mapping(header["checks"], "checks", decoded=False).items()
        },
        **fields,
    )


def _unknown(share: Any, left: dict[str, AnyArray], n_draws: int | None) -> Unknown | None:
    """Return the share of no class and its draws, which are taken out of what is left."""
    if share is None:
        return None
    if type(share) not in (int, float) or not 0.0 <= share <= 1.0:
        raise InputError("the unknown share is not from 0 to 1")
    draws = {
        name: read_floats(left, UNKNOWN + name, (n_draws,), minimum=0.0, maximum=1.0)
        for name in DRAWS
        if left.keys() & {UNKNOWN + name}
    }
    for name in draws:
        del left[UNKNOWN + name]
    if draws and n_draws is None:
        raise InputError("the unknown share has draws, but the shares of classes have none")
    return Unknown(float(share), **draws)


def _origin(source: Any, left: dict[str, AnyArray], n_draws: int | None) -> DrawOrigin | None:
    if source is None:
        return None
    if n_draws is None:
        raise InputError("it names replicates, but has no draws")
    number = read_integers(left, "replicate", (n_draws,), below=MAX_REPLICATES)
    del left["replicate"]
    return DrawOrigin(number, _text(source, "source"))


def _answers(given: Any, left: dict[str, AnyArray], classes: AnyArray) -> Sensitivity | None:
    """Return the answers under other assumptions; their numbers are taken out of what is left."""
    if given is None:
        return None
    header = _mapping(given, ANSWERS)
    level, texts = header.get("level"), header.get(ANSWERS)
    if type(level) is not float or not 0.0 < level < 1.0:
        raise InputError("the level of its answers is not between 0 and 1")
    if not isinstance(texts, list) or not texts:
        raise InputError("its answers are no list")
    numbers = read_floats(
        left, ANSWERS, (len(texts), len(SHAPES), len(classes)), minimum=0.0, maximum=1.0
    )
    del left[ANSWERS]
    found = []
    for each, (share, lower, upper) in zip(texts, numbers, strict=True):
        read_shares({ANSWERS: share}, ANSWERS, classes.shape)
        if (lower > share).any() or (share > upper).any():
            raise InputError("it holds an answer that is not within its own interval")
        text = _mapping(each, ANSWERS)
        about = {name: _text(text.get(name), name) for name in ABOUT_ANSWER}
        found.append(Answer(**about, prevalence=share, lower=lower, upper=upper))
    return Sensitivity(classes, level, tuple(found))


def _diagnostics(found: dict[str, Any]) -> dict[str, Any]:
    """Return diagnostics in which everything that is read to people has its type."""
    for name in ("failed", "notes"):
        sentences = found.get(name, [])
        if not isinstance(sentences, list) or not all(isinstance(each, str) for each in sentences):
            raise InputError(f"{name} in its diagnostics is not a list of sentences")
    if "converged" in found and not isinstance(found["converged"], bool):
        raise InputError("converged in its diagnostics is neither true nor false")
    if found.get("converged") is False:
        _whole(found.get("iterations"), "iterations", minimum=0)
        if type(found.get("gap")) not in (int, float):
            raise InputError("gap in its diagnostics is no number")
    prior = found.get("prior")
    if prior is not None and not (
        isinstance(prior, list) and all(type(each) in (int, float) for each in prior)
    ):
        raise InputError("prior in its diagnostics is not a list of numbers")
    return found


def _recorded(numbers: dict[str, Any]) -> RecordedCheck:
    # What is read to people; a file without it should not fail only when it is needed.
    if (
        not isinstance(numbers.get("passed"), bool)
        or numbers.get("verdict") not in (PASSED, FAILED, CANNOT_TELL)
        or (numbers["verdict"] == FAILED) == numbers["passed"]
        or not _text(numbers.get("explanation"), "explanation")
    ):
        raise InputError("it holds a check without a verdict that can be read")
    return RecordedCheck(numbers)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} is no text")
    return value


def _whole(value: Any, name: str, *, minimum: int) -> int:
    if type(value) is not int or value < minimum:
        raise InputError(f"{name} is no whole number of at least {minimum}")
    return value


def _mapping(value: Any, name: str, *, decoded: bool = True) -> dict[str, Any]:
    found = decode(value) if decoded else value
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise InputError(f"{name} are no names with values")
    return found


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
    """Return what :func:`encode` was given; what it never writes is an error."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tags = [key for key in value if key.startswith("$")]
    if not tags:
        return {key: decode(item) for key, item in value.items()}
    if tags == ["$float"] and len(value) == 1:
        return NO_JSON[value["$float"]]
    if tags == ["$items"] and len(value) == 1:
        pairs = [(decode(key), decode(item)) for key, item in value["$items"]]
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
    raise InputError("its header holds a mapping that is none")
