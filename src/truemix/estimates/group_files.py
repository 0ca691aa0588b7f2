"""Estimates of groups in one file: each as in a file of its own, arrays one behind the other.

A file of arrays may hold only so many of them, so those of one name are joined, and the header says
how long the part of each group is. Groups are text, numbers, truth values, dates, or tuples of
them. Files are untrusted input: every estimate is checked as if it came alone.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._archive import UNREADABLE, ArchiveKind, damaged, read_archive, write_archive
from truemix._periods import PERIODS
from truemix._typing import AnyArray
from truemix.estimates.files import contents, decode, encode, estimate_of
from truemix.estimates.names import plain_name
from truemix.exceptions import InputError
from truemix.validation import check_choice, shown

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate
    from truemix.estimates.estimate_set import EstimateSet

KIND = ArchiveKind("estimate set", "EstimateSet.save")
CLASSES = "classes"
_TEXT_FORMS: dict[str, Any] = {
    "$datetime": datetime.datetime.fromisoformat,
    "$date": datetime.date.fromisoformat,
}
_TUPLE, _DATETIME64 = "$tuple", "$datetime64"
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")


def save_estimates(estimates: EstimateSet, path: str | os.PathLike[str]) -> None:
    """Write the estimates of groups to one file."""
    if not estimates:
        raise InputError("This EstimateSet cannot be saved: it has no groups.")
    about: list[dict[str, Any]] = []
    parts: dict[str, list[AnyArray]] = {}
    for group, estimate in estimates.items():
        header, arrays = contents(estimate)
        if about and arrays[CLASSES].tolist() != parts[CLASSES][0].tolist():
            raise InputError(
                f"This EstimateSet cannot be saved: group {shown(plain_name(group))} has other "
                "classes than the first one; expected the same in the same order."
            )
        lengths = {name: len(array) for name, array in arrays.items() if name != CLASSES}
        about.append({"group": _encoded(group), "lengths": lengths, "estimate": header})
        for name, array in arrays.items():
            parts.setdefault(name, []).append(array)
    joined = {name: np.concatenate(each) for name, each in parts.items() if name != CLASSES}
    joined[CLASSES] = parts[CLASSES][0]
    header = {"groups": about, "by": estimates.by and list(estimates.by), "every": estimates.every}
    write_archive(path, KIND, header, joined)


def load_estimates(
    kind: type[Estimate], path: str | os.PathLike[str]
) -> tuple[dict[Hashable, Estimate], list[str] | None, str | None]:
    """Read estimates that :func:`save_estimates` has written, with ``by`` and ``every``."""
    header, arrays = read_archive(path, KIND)
    try:
        return _read(kind, header, arrays), _names(header["by"]), _period(header["every"])
    except UNREADABLE as error:
        raise damaged(path, KIND, error) from None


def _read(
    kind: type[Estimate], header: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> dict[Hashable, Estimate]:
    about = header["groups"]
    if not isinstance(about, list) or not about:
        raise InputError("it names no groups")
    found: dict[Hashable, Estimate] = {}
    at = dict.fromkeys(arrays, 0)
    for each in about:
        own = {CLASSES: arrays[CLASSES]}
        for name, length in each["lengths"].items():
            end = at[name] + length if type(length) is int and length >= 0 else -1
            if name == CLASSES or not at[name] <= end <= len(arrays[name]):
                raise InputError(f"the part of a group in {name[:40]} is longer than all of it")
            own[name] = arrays[name][at[name] : end]
            at[name] = end
        group = _decoded(each["group"])
        if group in found:
            raise InputError("it holds a group twice")
        found[group] = estimate_of(kind, each["estimate"], own)
    if any(at[name] != len(array) for name, array in arrays.items() if name != CLASSES):
        raise InputError("it holds numbers that belong to no group")
    return found


def _names(by: Any) -> list[str] | None:
    if by is None or (isinstance(by, list) and all(isinstance(name, str) for name in by)):
        return by
    raise InputError("by in it are no names")


def _period(every: Any) -> str | None:
    return None if every is None else check_choice(every, "every", PERIODS)


def _encoded(group: Any) -> Any:
    """Return a group as JSON can hold it."""
    if isinstance(group, tuple):
        return {_TUPLE: [_encoded(part) for part in group]}
    if isinstance(group, np.datetime64):
        unit, step = np.datetime_data(group.dtype)
        if unit in _UNITS and step == 1 and not np.isnat(group):
            return {_DATETIME64: [str(group), unit]}
    elif isinstance(group, datetime.datetime):
        return {"$datetime": group.isoformat()}
    elif isinstance(group, datetime.date):
        return {"$date": group.isoformat()}
    elif isinstance(group, np.generic):
        group = group.item()
    if group is None or isinstance(group, str | bool | int | float):
        return encode(group)
    raise InputError(
        f"This EstimateSet cannot be saved: group {shown(plain_name(group))} is of type "
        f"{type(group).__name__}; expected text, numbers, dates, or tuples of them."
    )


def _decoded(value: Any) -> Any:
    """Return the group that :func:`_encoded` was given."""
    if isinstance(value, dict) and len(value) == 1:
        [(tag, content)] = value.items()
        if tag == _TUPLE and isinstance(content, list):
            return tuple(_decoded(part) for part in content)
        if tag == _DATETIME64:
            text, unit = content
            if unit not in _UNITS or not isinstance(text, str):
                raise InputError("it holds a group that is no date")
            return np.datetime64(text, unit)
        if tag in _TEXT_FORMS:
            return _TEXT_FORMS[tag](content)
        if tag == "$float":
            return decode(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InputError("it holds a group that is neither text nor number nor date")
