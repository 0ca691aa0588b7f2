"""The rows of a summary: distinct, counted, and the ones of smallest priority if there are many."""

from __future__ import annotations

import numpy as np

from truemix import _core
from truemix._typing import FloatArray, IntArray
from truemix.inference.bags import RowSample
from truemix.summaries._strata import (
    MOMENT_UNIT,
    decisions_of,
    hashes_of,
    moments_of,
    n_strata,
    order_keys,
    priorities_of,
    strata_of,
)

# Rows of a stratum that are kept in any case, so that every item is represented and the error of
# the sample is known.
MIN_ROWS = 4
# Rows that wait to be merged with those that are kept.
BUFFERED = 1 << 17


class RowStore:
    """Distinct rows with the number of items equal to each; what is kept follows from the contents.

    All distinct rows are kept if there are no more than ``capacity``; else nine tenths of that
    many, those of the smallest priority, and the first few of each stratum. More rows can only
    raise the rank of a row: one that is kept in the end was kept all the time, so its count is
    exact, and neither the order of rows nor where they were split into batches matters.

    Parameters
    ----------
    n_classes, n_layers : int
        K and M: a row holds M * K posteriors.
    capacity : int
        How many distinct rows to keep; with more of them, a sample of nine tenths of that.
    """

    def __init__(self, n_classes: int, n_layers: int, capacity: int) -> None:
        self.n_classes, self.n_layers, self.capacity = n_classes, n_layers, capacity
        self.totals = np.zeros(n_strata(n_classes), dtype=np.int64)
        self.decided = np.zeros(n_classes, dtype=np.int64)
        # Sums of moments over the items of each decision.
        self.moments = np.zeros((n_classes, 2 * n_classes), dtype=np.int64)
        self.rows = np.empty((0, n_layers * n_classes))
        self.counts = np.empty(0, dtype=np.int64)
        self.truncated = False
        # Above it rows of a stratum are not kept.
        self._thresholds = np.full(len(self.totals), np.inf)
        self._waiting: list[tuple[FloatArray, IntArray]] = []
        self._n_waiting = 0

    @property
    def n_sampled(self) -> int:
        """How many rows are kept if there are more than the capacity, beside a few per stratum."""
        return 9 * self.capacity // 10

    @property
    def n_rows(self) -> int:
        """How many rows are kept; call :meth:`settle` first."""
        return len(self.rows)

    @property
    def n_held(self) -> int:
        """How many rows are in memory, merged or waiting."""
        return len(self.rows) + self._n_waiting

    def strata(self) -> IntArray:
        """Return the stratum of each row that is kept."""
        return strata_of(self.rows, self.n_classes)

    def add_items(self, scored: FloatArray) -> None:
        """Add items by their posteriors ``(M, n, K)``."""
        rows = flattened(scored)
        strata = strata_of(rows, self.n_classes)
        self.totals += np.bincount(strata, minlength=len(self.totals))
        by_model = scored.argmax(axis=2).ravel()
        self.decided += np.bincount(by_model, minlength=self.n_classes)
        decisions = decisions_of(strata, self.n_classes)
        for column, values in enumerate(moments_of(rows, self.n_classes).T):
            # Whole numbers of which sums are exact as floats, in a batch of up to 2 ** 29 items.
            sums = np.bincount(decisions, values, self.n_classes)
            self.moments[:, column] += sums.astype(np.int64)
        if self.truncated:
            kept = priorities_of(hashes_of(rows), strata) <= self._thresholds[strata]
            rows = rows[kept]
        distinct, counts = counted(rows, np.ones(len(rows), dtype=np.int64))
        self._wait(distinct, counts)

    def add_store(self, other: RowStore) -> None:
        """Add the rows of another store; the smaller capacity holds for both."""
        self.capacity = min(self.capacity, other.capacity)
        self.truncated = self.truncated or other.truncated
        self.totals += other.totals
        self.decided += other.decided
        self.moments += other.moments
        other.settle()
        self._wait(other.rows, other.counts)

    def settle(self, capacity: int | None = None) -> None:
        """Merge what waits, drop what is beyond the capacity, and put rows in canonical order."""
        if capacity is not None:
            self.capacity = min(self.capacity, capacity)
        if not self._waiting and len(self.rows) <= self.capacity:
            return
        rows = np.concatenate([self.rows, *(each[0] for each in self._waiting)])
        counts = np.concatenate([self.counts, *(each[1] for each in self._waiting)])
        self._waiting, self._n_waiting = [], 0
        rows, counts = counted(rows, counts)
        strata = strata_of(rows, self.n_classes)
        if len(rows) > self.capacity or self.truncated:
            kept = self._kept(strata, priorities_of(hashes_of(rows), strata))
            rows, counts, strata = rows[kept], counts[kept], strata[kept]
        order = canonical_order(rows, strata)
        self.rows, self.counts = rows[order], counts[order]

    def sample(self) -> RowSample:
        """Return how the rows that are kept represent all items."""
        strata, n_classes = self.strata(), self.n_classes
        present, stratum = np.unique(strata, return_inverse=True)
        return RowSample(
            stratum=stratum,
            kept=self.counts.astype(np.float64),
            totals=self.totals[present].astype(np.float64),
            domain=decisions_of(strata, n_classes),
            moments=moments_of(self.rows, n_classes) * MOMENT_UNIT,
            moment_totals=self.moments.astype(np.float64) * MOMENT_UNIT,
        )

    def _kept(self, strata: IntArray, priorities: FloatArray) -> IntArray:
        """Return the rows to keep, and set the thresholds for rows to come."""
        self.truncated = True
        limit = np.partition(priorities, self.n_sampled - 1)[self.n_sampled - 1]
        order = np.lexsort((priorities, strata))
        sorted_strata = strata[order]
        starts = np.searchsorted(sorted_strata, np.arange(len(self.totals)))
        rank = np.arange(len(order)) - starts[sorted_strata]
        last = order[rank == MIN_ROWS - 1]
        self._thresholds[:] = np.inf
        self._thresholds[strata[last]] = np.maximum(priorities[last], limit)
        return np.asarray(order[(priorities[order] <= limit) | (rank < MIN_ROWS)])

    def _wait(self, rows: FloatArray, counts: IntArray) -> None:
        self._waiting.append((rows, counts))
        self._n_waiting += len(rows)
        if self._n_waiting > max(BUFFERED, self.capacity // 2):
            self.settle()


def flattened(scored: FloatArray) -> FloatArray:
    """Return the posteriors of items by all models ``(M, n, K)`` as one row each, ``(n, M * K)``.

    Zeros have one sign, so that equal rows have equal bits.
    """
    rows = np.moveaxis(scored, 0, 1).reshape(scored.shape[1], -1)
    return np.ascontiguousarray(rows) + 0.0


def counted(rows: FloatArray, counts: IntArray) -> tuple[FloatArray, IntArray]:
    """Return distinct rows, in the order of their first occurrence, and the sum of their counts."""
    first = _core.first_equal(rows)
    distinct = np.flatnonzero(first == np.arange(len(rows)))
    if len(distinct) == len(rows):
        return rows, counts
    place = np.empty(len(rows), dtype=np.intp)
    place[distinct] = np.arange(len(distinct))
    totals = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(totals, place[first], counts)
    return rows[distinct], totals


def canonical_order(rows: FloatArray, strata: IntArray) -> IntArray:
    """Return the order of distinct rows by stratum, then a hash of their digits, then contents."""
    keys = order_keys(rows)
    order = np.lexsort((keys, strata))
    tied = (np.diff(keys[order]) == 0) & (np.diff(strata[order]) == 0)
    if tied.any():
        # Rows that agree in their first digits, as saturated ones do.
        run = np.concatenate([[0], np.cumsum(~tied)])
        several = np.flatnonzero(np.bincount(run)[run] > 1)
        columns = rows[order[several]].T
        order[several] = order[several][np.lexsort((*columns[::-1], run[several]))]
    return order
