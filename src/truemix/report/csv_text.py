"""Records as CSV, for programs and, where text must not be a formula, for spreadsheets."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any

# What begins a formula, also behind characters that spreadsheets skip.
FORMULA = r"^[=+\-@\t\r\n]"


def as_csv(records: Sequence[dict[str, Any]], *, safe: bool = False) -> str:
    """Return records as CSV, with all digits of numbers and nothing for None.

    With ``safe``, no text is a formula to a spreadsheet.

    Examples
    --------
    >>> print(as_csv([{"class": "a, b", "share": 0.25}, {"class": "c", "share": None}]), end="")
    class,share
    "a, b",0.25
    c,
    """
    lines: list[str] = []
    file: Any = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n") + "\n"))
    # Up to Python 3.12 only what is in the end of a line is quoted, and both ends must be.
    writer = csv.writer(file, lineterminator="\r\n")
    for row in chain([list(records[0])], (list(each.values()) for each in records)):
        writer.writerow([no_formula(cell) for cell in row] if safe else row)
    return "".join(lines)


def no_formula(cell: Any) -> Any:
    """Return a cell that a spreadsheet shows as it is; only text can be a formula."""
    return f"'{cell}" if isinstance(cell, str) and re.match(FORMULA, cell) else cell
