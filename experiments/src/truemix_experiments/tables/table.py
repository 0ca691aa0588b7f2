"""A table before it is written: cells with numbers, texts and marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

NONE = "—"


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes
    ----------
    text : str
        What is shown.
    value : float, str or None
        The number behind it.
    spread : float or None
        Its standard deviation, where the text is "mean ± deviation".
    published : Cell or None
        What the paper has in this place.
    bold, dagger, marked : bool
        Best of its row or column; not significantly different from the best; highlighted, as
        the table's caption explains.
    """

    text: str = NONE
    value: float | str | None = None
    spread: float | None = None
    published: Cell | None = None
    bold: bool = False
    dagger: bool = False
    marked: bool = False

    def beside(self, published: Cell) -> Cell:
        """Return this cell with a published one, if that holds anything."""
        return self if published.value is None else replace(self, published=published)


@dataclass(frozen=True)
class Column:
    """A column: its name, and what it has in common with its neighbours."""

    name: str
    group: str = ""

    @property
    def full_name(self) -> str:
        """Group and name in one, where there is one line of headers only."""
        return f"{self.group} {self.name}".strip()


@dataclass(frozen=True)
class Row:
    """A row: its labels, and one cell per column; a summary is one over the rows above."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    is_summary: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    name : str
        Short name, for files.
    title, caption : str
        What it shows, and how to read it.
    index : tuple of str
        Headers of the labels that rows begin with.
    columns : tuple of Column
    rows : tuple of Row
    """

    name: str
    title: str
    caption: str
    index: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.rows or not self.columns

    @property
    def header(self) -> list[str]:
        """All headers in one line."""
        return [*self.index, *(column.full_name for column in self.columns)]

    def written(self, label: Callable[[str], str], cell: Callable[[Cell], str]) -> list[list[str]]:
        """Return the rows as text, given how labels and cells are written."""
        return [[*map(label, row.labels), *map(cell, row.cells)] for row in self.rows]
