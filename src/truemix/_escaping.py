"""Escape control characters in untrusted text, so that it cannot control a terminal."""

from __future__ import annotations

import re

# Control characters (terminals obey sequences that begin with them), the separators that end a
# line, what changes the direction of the text that follows, and halves of characters, which cannot
# be printed. Invisible characters that belong to words, such as joiners, are none of these.
_CONTROLS = (
    r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
)
_CONTROL = re.compile(f"[{_CONTROLS}]")
_CONTROL_IN_LINE = re.compile(f"(?!\n)[{_CONTROLS}]")
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return text with all control characters written out; with ``lines``, line ends stay.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb\u202e.csv"))
    a\x1b[2Jb\u202e.csv
    """
    return (_CONTROL_IN_LINE if lines else _CONTROL).sub(_written_out, text)


def escaped_json(text: str) -> str:
    r"""Return JSON with the control characters that it may hold as they are written out too.

    Examples
    --------
    >>> print(escaped_json('["\x9b31m"]'))
    ["\u009b31m"]
    """
    return _CONTROL_IN_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    return _SHORT.get(found[0]) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
