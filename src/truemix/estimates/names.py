"""Names of classes and of groups as plain values."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

import numpy as np

# Objects without a repr of their own show where they are in memory, which no two runs share.
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


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
    return ADDRESS.sub("", str(name))
