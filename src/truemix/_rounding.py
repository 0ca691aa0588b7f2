"""Whether rows of posteriors miss a sum of one only because their values were rounded."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray

# With more decimals, rounding explains less than what is allowed anyway.
MAX_DECIMALS = 5
# Relative precision of values that were stored as 32-bit floats.
_PRECISION = 1e-7
# Sums of decimal fractions are off by multiples of this.
_EXACT = 1e-9


class Rounding:
    """How many decimals the values of a table have, which comes in batches.

    Each of K values with k decimals is off by at most half a unit of the last one. A value above
    zero may have been rounded up by that much, and any value may have been rounded down.

    Attributes
    ----------
    decimals : int or None
        With so many decimals all values so far can be written; None if they were not rounded.

    Examples
    --------
    >>> table = np.array([[0.33, 0.33, 0.33], [0.34, 0.33, 0.34]])
    >>> rounding = Rounding()
    >>> rounding.first_unexplained(table, np.arange(2), start=0) is None, rounding.decimals
    (True, 2)
    """

    def __init__(self) -> None:
        self.decimals: int | None = 1
        # The first row that is explained only by so few decimals, and its sum.
        self._needs: dict[int, tuple[int, float]] = {}

    def first_unexplained(
        self, table: FloatArray, off: IntArray, start: int
    ) -> tuple[int, float] | None:
        """Return the first row, and its sum, that rounding does not explain; of earlier ones too.

        Parameters
        ----------
        table : ndarray of shape (n, K)
            The next batch of rows, none of them negative.
        off : ndarray of int
            Those of its rows that do not sum to one; only they are looked at.
        start : int
            The number of its first row in the table.
        """
        self._see(table)
        rows, sums = table[off], table[off].sum(axis=1)
        needs = np.zeros(len(off), dtype=np.intp)
        for decimals in range(1, MAX_DECIMALS + 1):
            needs[explained(rows, sums, decimals)] = decimals
        for need in np.unique(needs).tolist():
            first = int(np.argmax(needs == need))
            self._needs.setdefault(need, (start + int(off[first]), float(sums[first])))
        found = self.decimals
        wrong = [row for need, row in self._needs.items() if found is None or need < found]
        return min(wrong, default=None)

    def _see(self, table: FloatArray) -> None:
        """Take in how many decimals the values of a batch have."""
        # A look at some rows is enough for most tables that were not rounded.
        for part in (table[:100], table[100:]):
            while self.decimals is not None and not has_decimals(part, self.decimals):
                self.decimals = self.decimals + 1 if self.decimals < MAX_DECIMALS else None


def has_decimals(table: FloatArray, decimals: int) -> bool:
    """Return whether all values can be written with so many decimals."""
    scaled = table * 10.0**decimals
    return bool((np.abs(scaled - np.rint(scaled)) <= _PRECISION * 10.0**decimals).all())


def explained(rows: FloatArray, sums: FloatArray, decimals: int) -> FloatArray:
    """Return for each row whether it may have summed to one before it was rounded."""
    half = 0.5 * 10.0**-decimals
    # Where one decimal is left, a sum that only ties could explain is more likely wrong.
    slack = _EXACT if decimals > 1 else -_EXACT
    low = sums - half * np.count_nonzero(rows, axis=1)
    high = sums + half * rows.shape[1]
    return np.asarray((sums > 0) & (low <= 1.0 + slack) & (high >= 1.0 - slack))
