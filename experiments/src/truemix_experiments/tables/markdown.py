"""Tables in Markdown, aligned so that they read well as plain text too."""

from __future__ import annotations

import re

from truemix_experiments.tables.table import Cell, Table


def to_markdown(table: Table) -> str:
    r"""Return a table in Markdown: a heading, the table and its caption.

    Examples
    --------
    >>> from truemix_experiments.tables.table import Column, Row
    >>> cell = Cell("0.045", 0.045, published=Cell("0.040", 0.04), bold=True, dagger=True)
    >>> rows = (Row(("a|b",), (cell,)),)
    >>> print(to_markdown(Table("x", "Errors", "Small is good.", ("data",), (Column("CC"),), rows)))
    # Errors
    <BLANKLINE>
    | data | CC                 |
    |:-----|-------------------:|
    | a\|b | **0.045**† (0.040) |
    <BLANKLINE>
    Small is good.
    <BLANKLINE>
    """
    header = [_escaped(name) for name in table.header]
    body = table.written(_escaped, _cell)
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    left = len(table.index)
    rule = [
        ":" + "-" * (width + 1) if place < left else "-" * (width + 1) + ":"
        for place, width in enumerate(widths)
    ]
    lines = [_line(header, widths, len(widths)), "|" + "|".join(rule) + "|"]
    lines += [_line(row, widths, left) for row in body]
    return "\n".join([f"# {_escaped(table.title)}", "", *lines, "", _escaped(table.caption), ""])


def _line(cells: list[str], widths: list[int], left: int) -> str:
    padded = [
        cell.ljust(width) if place < left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"| {' | '.join(padded)} |"


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    if cell.bold or cell.marked:
        text = f"**{text}**"
    if cell.dagger:
        text += "†"
    if cell.published is not None:
        text += f" ({_escaped(cell.published.text)})"
    return text


def _escaped(text: str) -> str:
    text = re.sub(r"([\\|*_`])", r"\\\1", text.replace("\n", " "))
    # What could begin a tag; "<0.1" cannot, and reads better as it is.
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
