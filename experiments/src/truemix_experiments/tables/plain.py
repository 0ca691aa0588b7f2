"""Tables as plain text, for a terminal."""

from __future__ import annotations

from truemix_experiments.tables.table import Cell, Table

STAR = "* stands for bold or marked."


def to_text(table: Table) -> str:
    """Return a table as text with aligned columns.

    Examples
    --------
    >>> from truemix_experiments.tables.table import Column, Row
    >>> rows = (Row(("yeast",), (Cell("0.04", bold=True), Cell("0.05", dagger=True))),)
    >>> columns = (Column("CC"), Column("ACC"))
    >>> print(to_text(Table("x", "Errors", "Small is good.", ("data",), columns, rows)))
    Errors
    data      CC    ACC
    yeast  0.04*  0.05†
    Small is good. * stands for bold or marked.
    <BLANKLINE>
    """
    lines = [table.header, *table.written(str, text_of)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = len(table.index)
    body = [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([table.title, *body, f"{table.caption} {STAR}", ""])


def text_of(cell: Cell) -> str:
    """Return a cell as plain text, with signs for its marks.

    Examples
    --------
    >>> text_of(Cell("0.04", bold=True, published=Cell("0.05")))
    '0.04* (0.05)'
    """
    marks = ("*" if cell.bold or cell.marked else "") + ("†" if cell.dagger else "")
    beside = f" ({cell.published.text})" if cell.published is not None else ""
    return f"{cell.text}{marks}{beside}"
