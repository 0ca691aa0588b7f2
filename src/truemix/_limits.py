"""Limit of the unpacked size of a file, so that a small one cannot exhaust memory."""

from __future__ import annotations

import os

from truemix.exceptions import InputError

VARIABLE = "TRUEMIX_MAX_BYTES"


def max_bytes(default: int) -> int:
    """Return the limit that the environment sets, or ``default`` if it sets none.

    Examples
    --------
    >>> max_bytes(1 << 28)
    268435456
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or not int(text):
        raise InputError(
            f"The environment variable {VARIABLE} is {text[:40]!r}; expected a number of bytes, "
            f"for example {VARIABLE}=8000000000."
        )
    return int(text)
