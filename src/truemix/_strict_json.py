"""Strict parsing of untrusted JSON: only what truemix itself writes is accepted."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

# More is not in any file that truemix writes. Limits keep what follows from JSON (recursion, large
# integers, many small objects) from growing with what a file says.
MAX_BYTES = 8 << 20
MAX_DEPTH = 32
MAX_DIGITS = 40


def read_json(text: bytes) -> Any:
    """Return the value of a JSON text in UTF-8; what JSON leaves open is a ValueError.

    No name twice in one object, no ``NaN`` or ``Infinity``, no number that overflows or has more
    than 40 digits, no half of a surrogate pair, no more than 32 levels.

    Examples
    --------
    >>> read_json(b'{"shares": [0.5, 0.5]}')
    {'shares': [0.5, 0.5]}
    >>> read_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: the name 'a' occurs twice in its JSON
    """
    if len(text) > MAX_BYTES:
        raise ValueError(f"its JSON has more than {MAX_BYTES} bytes")
    try:
        value = json.loads(
            text.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError(f"its JSON has more than {MAX_DEPTH} levels") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("its JSON cannot be read") from None
    _check(value)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"its JSON holds {name}")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"its JSON holds a number of more than {MAX_DIGITS} digits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if len(digits) > MAX_DIGITS or not math.isfinite(value):
        raise ValueError(
            f"its JSON holds a number that overflows or has more than {MAX_DIGITS} digits"
        )
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name[:40]!r} occurs twice in its JSON")
        found[name] = value
    return found


def _check(value: Any) -> None:
    """Refuse what is too deep, or text that cannot be written again; without recursion."""
    level, values = 0, [value]
    while values:
        level += 1
        if level > MAX_DEPTH:
            raise ValueError(f"its JSON has more than {MAX_DEPTH} levels")
        inner: list[Any] = []
        for each in values:
            if isinstance(each, str):
                _check_text(each)
            elif isinstance(each, dict):
                inner += each
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        values = inner


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("its JSON holds text that is no Unicode") from None
