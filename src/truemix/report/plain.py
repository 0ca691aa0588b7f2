"""Values as JSON can hold them: the same run gives the same text, byte for byte."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._escaping import escaped_json
from truemix.estimates.names import ADDRESS, plain_name

__all__ = ["as_json", "plain", "plain_name"]


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
    return ADDRESS.sub("", repr(value))
