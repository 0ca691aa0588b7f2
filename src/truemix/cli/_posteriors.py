"""Posteriors in a table: one column per class, and rows that sum to one."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from truemix._typing import FloatArray
from truemix.cli._columns import Rows, numbers
from truemix.cli._progress import Progress
from truemix.cli.tables.table import POSTERIOR, Table
from truemix.exceptions import InputError
from truemix.validation import (
    LARGEST_SUM_ERROR,
    ROUNDING,
    SILENT_SUM_ERROR,
    shown,
    shown_list,
)


class PosteriorReader:
    """Gathers posteriors from the columns that are named like the classes.

    Attributes
    ----------
    wanted : dict
        The columns to read; those without names are taken in class order.
    left_out : collection of str
        Columns that are known and not read.
    """

    left_out: Collection[str] = ()

    def __init__(self, table: Table, names: list[str], hint: str = "") -> None:
        unnamed = len(table.unnamed) == len(names) and not set(table.columns).issuperset(names)
        self._columns = table.unnamed if unnamed else names
        table.need_all(self._columns, "the posterior of that class", hint)
        self._table = table
        self._rows = Rows(len(names))
        self.wanted = dict.fromkeys(self._columns, POSTERIOR)

    def add(self, start: int, batch: pa.RecordBatch) -> None:
        """Take a batch that begins at row ``start``."""
        self._rows.add(numbers(batch, self._columns, self._table, start))

    def items(self, unused: list[str], progress: Progress) -> FloatArray:
        """Return all rows, renormalised where they have to be, after applying the input rules.

        The library has the same rules; here rows have lines, and columns have names.
        """
        posteriors = self._rows.array()
        with np.errstate(over="ignore"):
            sums = posteriors.sum(axis=1)
        off = np.abs(sums - 1.0)
        bad = np.flatnonzero((off > LARGEST_SUM_ERROR) | (posteriors.min(axis=1) < 0))
        if bad.size:
            raise self._bad_row(posteriors[bad[0]], int(bad[0]), unused)
        worst = float(off.max())
        if worst > SILENT_SUM_ERROR:
            progress.note(
                f"rows of {self._table.name} were renormalised; they sum to 1 only within "
                f"{worst:.1g}."
            )
        if worst > ROUNDING * posteriors.shape[1]:
            posteriors /= sums[:, None]
        return posteriors

    def _bad_row(self, row: FloatArray, number: int, unused: list[str]) -> InputError:
        total = f"{self._table.place(number)} sums to {row.sum():.6g}"
        rule = "Posteriors must be at least 0 and sum to 1 in each row"
        outside = np.flatnonzero((row < 0) | (row > 1))
        if outside.size:
            place = int(outside[0])
            return InputError(
                f"{total} and has {row[place]:.6g} in column {shown(self._columns[place])}: these "
                f"look like logits or scores. {rule}; apply softmax or use predict_proba."
            )
        advice = ""
        if unused and row.sum() < 1:
            advice = (
                f" If one of {shown_list(unused)} is a class too, it has no labelled items in the "
                "reference: add some."
            )
        return InputError(
            f"{total} over the columns {shown_list(self._columns)}. {rule} (within "
            f"{LARGEST_SUM_ERROR:g}).{advice}"
        )
