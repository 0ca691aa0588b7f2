"""Posteriors in a table, whatever its columns are called: read batch by batch, and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from truemix._typing import FloatArray
from truemix.cli._columns import numbers
from truemix.cli._layout import CLASS, Layout
from truemix.cli.tables.table import POSTERIOR, Table
from truemix.exceptions import InputError
from truemix.validation import SILENT_SUM_ERROR, RowSums, normalized, shown_list

_PERCENT = 100.0
# How far the first row of a table of percentages may be from 100, in percentage points.
_OFF_PERCENT = 10.0
_MAX_FITTING = 5
_IF_LOGITS = "apply softmax or use predict_proba, or add --logits if they are logits"


@dataclass(frozen=True)
class PosteriorFacts:
    """What was seen in posteriors while they were read: what notes say about them."""

    off: float = 0.0
    decimals: str = ""
    percent: bool = False
    pattern: str | None = None


def merged_facts(facts: Sequence[PosteriorFacts]) -> PosteriorFacts:
    """Return what was seen in any of several files."""
    worst = max(facts, key=lambda each: each.off)
    percent = any(each.percent for each in facts)
    pattern = next((each.pattern for each in facts if each.pattern is not None), None)
    return replace(worst, percent=percent, pattern=pattern)


class PosteriorReader:
    """The posteriors in a table, batch by batch, checked as they are read.

    Parameters
    ----------
    table : Table
        Where they are.
    layout : Layout
        How they are written there.
    others : sequence of str
        Columns that are something else.
    hint : str
        What to do if there are no such columns.

    Attributes
    ----------
    columns : list of str
        The columns that are read.
    layout : Layout
        With the pattern that was found.
    """

    def __init__(
        self, table: Table, layout: Layout, others: Iterable[str | None], hint: str = ""
    ) -> None:
        self._table = table
        used = {name for name in others if name is not None}
        pattern = None
        if layout.score is not None:
            self.columns = [layout.score]
            table.need(self.columns, "the posterior of that class, as --score says")
        else:
            self.columns, pattern = _columns(table, layout, used, hint)
        known = {*used, *self.columns}
        self.unused = [name for name in table.columns if name not in known]
        self.wanted = dict.fromkeys(self.columns, POSTERIOR)
        # What nobody said, and cannot be taken for granted.
        known_patterns = {None, CLASS, layout.pattern, layout.seen}
        self._to_tell = None if pattern in known_patterns else pattern
        self.layout = replace(layout, seen=pattern)
        self._sums: RowSums | None = None
        self._percent = False

    @property
    def n_classes(self) -> int:
        """How many numbers an item has."""
        return len(self.layout.classes)

    @property
    def facts(self) -> PosteriorFacts:
        """What was seen so far."""
        if self._sums is None:
            return PosteriorFacts(percent=self._percent, pattern=self._to_tell)
        return PosteriorFacts(
            self._sums.off, self._sums.about_decimals, self._percent, self._to_tell
        )

    def posteriors(self, batch: pa.RecordBatch, start: int) -> FloatArray:
        """Return the posteriors in a batch that begins at row ``start``."""
        values = numbers(batch.select(self.columns), self._table, start)
        if not len(values):
            return np.empty((0, self.n_classes))
        if self.layout.score is not None:
            return self._both(values[:, 0], start)
        if self.layout.logits:
            return self._softmax(values, start)
        if self._sums is None:
            self._percent = _is_percent(values[0])
            self._sums = RowSums(
                self._table.place,
                self.columns,
                self.unused,
                whole=_PERCENT if self._percent else 1.0,
                remedy=_IF_LOGITS,
            )
        if self._percent:
            values /= _PERCENT
        return normalized(values, self._sums.check(values, start))

    def _both(self, score: FloatArray, start: int) -> FloatArray:
        """Return the posteriors of both classes, given that of one."""
        wrong = np.flatnonzero((score < 0.0) | (score > 1.0))
        if wrong.size:
            value = score[wrong[0]]
            expected = "a score must be a posterior, from 0 to 1."
            expected += " Divide percentages by 100." if 1.0 < value <= _PERCENT else ""
            raise self._table.bad_cell(
                start + int(wrong[0]), self.columns[0], f"{value:.6g}", expected
            )
        both = np.column_stack([1.0 - score, score])
        return both if self.layout.classes[1] == self.layout.positive else both[:, ::-1].copy()

    def _softmax(self, values: FloatArray, start: int) -> FloatArray:
        off = np.abs(values.sum(axis=1) - 1.0).max()
        if start == 0 and off <= SILENT_SUM_ERROR and values.min() >= 0.0:
            raise InputError(
                f"The columns {shown_list(self.columns)} of {self._table.name} are at least 0 and "
                "sum to 1, so they are posteriors already; leave --logits out."
            )
        exponentials = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def _is_percent(row: FloatArray) -> bool:
    """Return whether a row sums to about 100, as far as rounding to whole percents may move it."""
    off = abs(float(row.sum()) - _PERCENT)
    return bool(row.min() >= 0.0) and off <= min(_OFF_PERCENT, max(0.1, 0.5 * len(row)))


# --- names of columns -------------------------------------------------------------------------


def _columns(
    table: Table, layout: Layout, others: set[str], hint: str
) -> tuple[list[str], str | None]:
    """Return a column for each class, and the pattern of their names, if they have any."""
    names, there = layout.classes, set(table.columns)
    if layout.pattern is not None:
        columns = named(layout.pattern, names)
        table.need(columns, "the posterior of that class, as --columns says")
        return columns, layout.pattern
    if layout.seen is not None and there.issuperset(named(layout.seen, names)):
        return named(layout.seen, names), layout.seen
    if there.issuperset(names):
        return names, CLASS
    if len(table.unnamed) == len(names):
        # Those without names are in the order of the classes.
        return table.unnamed, None
    fitting = patterns_of([name for name in table.columns if name not in others], names)
    if len(fitting) > 1:
        raise InputError(
            f"The columns of {table.name} fit the classes in more than one way: "
            f"{shown_list(fitting, _MAX_FITTING)}. Say which are the posteriors with --columns."
        )
    if not fitting:
        table.need(names, "the posterior of that class", hint)
    return named(fitting[0], names), fitting[0]


def named(pattern: str, classes: Sequence[str]) -> list[str]:
    """Return the columns of classes."""
    return [pattern.replace(CLASS, name) for name in classes]


def patterns_of(columns: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Return the patterns that fit a column for each class, and no other column.

    Examples
    --------
    >>> patterns_of(["id", "p_ham", "p_spam", "pred"], ["ham", "spam"])
    ['p_{}']
    >>> patterns_of(["x0", "x1", "x2"], ["0", "1"])
    []
    """
    there = set(columns)
    found = []
    # The rarest text is in the fewest columns.
    first = max(classes, key=len)
    for column in columns:
        place = column.find(first)
        while place >= 0:
            before, behind = column[:place], column[place + len(first) :]
            if (
                (before or behind)
                and CLASS not in before + behind
                and all(f"{before}{name}{behind}" in there for name in classes)
                and _n_like(columns, before, behind) == len(classes)
            ):
                found.append(f"{before}{CLASS}{behind}")
            place = column.find(first, place + 1)
    return found


def _n_like(columns: Sequence[str], before: str, behind: str) -> int:
    """Return how many columns have this beginning and this end."""
    least = len(before) + len(behind)
    return sum(
        len(name) > least and name.startswith(before) and name.endswith(behind) for name in columns
    )
