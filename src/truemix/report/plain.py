"""Values as JSON can hold them: the same run gives the same text, byte for byte."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._escaping import escaped_json

# Objects without a repr of their own show where they are in memory, which no two runs share.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def as_json(value: Any, *, indent: int | None = None) -> str:
    """Return numbers, text, lists and dicts as JSON for people and programs.

    Examples
    --------
    >>> as_json({"class": "café", "share": 0.5})
    '{"class": "café", "share": 0.5}'
    """
    return escaped_json(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """Return ``value`` as numbers, text, lists and dicts; what has no such form as its repr.

    Numbers that JSON does not know (NaN and the infinities) become None.

    Examples
    --------
    >>> plain({"ess": np.float64(412.5), 1: (np.inf, np.array([1, 2])), "on": np.bool_(True)})
    {'ess': 412.5, '1': [None, [1, 2]], 'on': True}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime.date):
        return plain_name(value)
    return _ADDRESS.sub("", repr(value))


def plain_name(name: Any) -> str | int | float | bool:
    """Return the name of a class or of a group as text, a number or a truth value.

    Examples
    --------
    >>> plain_name(np.int64(3)), plain_name(datetime.datetime(2024, 5, 1)), plain_name(("a", 1))
    (3, '2024-05-01', 'a, 1')
    """
    if isinstance(name, np.datetime64):
        # Python's dates have neither nanoseconds nor years beyond 9999: NumPy writes these itself.
        in_python = name.astype("datetime64[us]")
        exact = in_python == name and isinstance(in_python.item(), datetime.date)
        name = in_python if exact else str(name).replace("T", " ")
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, float) and not math.isfinite(name):
        return str(name)
    if isinstance(name, str | bool | int | float):
        return name
    if isinstance(name, datetime.datetime):
        # The time of pandas' dates leaves nanoseconds out.
        midnight = name.time() == datetime.time() and not getattr(name, "nanosecond", 0)
        midnight = midnight and name.tzinfo is None
        return name.date().isoformat() if midnight else name.isoformat(" ")
    if isinstance(name, datetime.date):
        return name.isoformat()
    if isinstance(name, tuple):
        return ", ".join(str(plain_name(part)) for part in name)
    return _ADDRESS.sub("", str(name))
