"""Tables as CSV, for other programs: many digits, published values in columns of their own."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from truemix_experiments.tables.table import Cell, Table

Value = float | str | None
# The same on every processor: which way sums are rounded shows in later ones.
DIGITS = 10
# Columns made of one column of the table, where any of its cells has such a value.
PARTS: dict[str, Callable[[Cell], Value]] = {
    "": lambda cell: cell.value,
    " sd": lambda cell: cell.spread,
    " published": lambda cell: cell.published.value if cell.published else None,
    " published sd": lambda cell: cell.published.spread if cell.published else None,
}


def to_csv(table: Table) -> str:
    """Return a table as CSV; a caption has no place there.

    Examples
    --------
    >>> from truemix_experiments.tables.table import Column, Row
    >>> cell = Cell("0.045", 0.04512, published=Cell("0.040", 0.04))
    >>> rows = (Row(("a,b",), (cell,)),)
    >>> print(to_csv(Table("x", "", "", ("data",), (Column("CC", "AE"),), rows)))
    data,AE CC,AE CC published
    "a,b",0.04512,0.04
    <BLANKLINE>
    """
    header = list(table.index)
    parts: list[tuple[int, Callable[[Cell], Value]]] = []
    for place, column in enumerate(table.columns):
        for ending, part in PARTS.items():
            if not ending or any(part(row.cells[place]) is not None for row in table.rows):
                header.append(column.full_name + ending)
                parts.append((place, part))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in table.rows:
        values = (part(row.cells[place]) for place, part in parts)
        writer.writerow([*row.labels, *map(_written, values)])
    return text.getvalue()


def _written(value: Value) -> Value:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return "" if value is None else value
