"""Equal rows: probabilities with few decimals repeat, and one row with a weight does for all."""

from __future__ import annotations

import numpy as np

from truemix import _core
from truemix._typing import FloatArray, IntArray


def distinct_rows(rows: FloatArray, codes: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return the first of each kind of equal rows, and for each row which of these it equals.

    With ``codes``, rows of different classes are never equal. Rows are compared bit by bit.

    Examples
    --------
    >>> distinct_rows(np.array([[0.2, 0.8], [0.5, 0.5], [0.2, 0.8]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    first = np.asarray(_core.first_equal(rows, codes))
    is_first = first == np.arange(len(first))
    return np.flatnonzero(is_first), (np.cumsum(is_first) - 1)[first]


def sums_of_equal(values: FloatArray, place: IntArray, n_distinct: int) -> FloatArray:
    """Add up values ``(..., m)`` of rows that equal the same distinct one."""
    if n_distinct == len(place):
        return values
    flat = values.reshape(-1, len(place))
    summed = np.empty((len(flat), n_distinct))
    for row, out in zip(flat, summed, strict=True):
        out[:] = np.bincount(place, row, n_distinct)
    return summed.reshape(*values.shape[:-1], n_distinct)
