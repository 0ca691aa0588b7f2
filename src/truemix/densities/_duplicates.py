"""Equal rows: probabilities with few decimals repeat, and equal items have equal densities."""

from __future__ import annotations

import numpy as np

from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray

# Rows that are compared at once, to bound the temporary arrays.
CHUNK = 1 << 14


def first_equal(P: FloatArray, codes: IntArray | None = None) -> IntArray:
    """Return for each row of P the number of the first row that equals it (and has its code).

    Examples
    --------
    >>> P = np.array([[0.5, 0.5], [0.1, 0.9], [0.5, 0.5]])
    >>> first_equal(P)
    array([0, 1, 0])
    >>> first_equal(P, np.array([0, 1, 1]))
    array([0, 1, 2])
    """
    # One number per row that equal rows share: sorting numbers is far faster than sorting rows.
    factors: FloatArray = np.random.default_rng(0).random(P.shape[1:])
    key = np.zeros(len(P)) if codes is None else codes.astype(np.float64)
    for column, factor in zip(P.T, factors, strict=True):
        key += factor * column
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    same: IntArray = first[kind]
    for rows in row_blocks(len(P), CHUNK) if len(first) < len(P) else ():
        # Rounding may give different rows one number.
        differ = (P[same[rows]] != P[rows]).any(axis=1)
        if codes is not None:
            differ |= codes[same[rows]] != codes[rows]
        same[rows][differ] = np.flatnonzero(differ) + rows.start
    return same
