"""Scored items as rows of numbers, and the distinct ones among them."""

from __future__ import annotations

import numpy as np

from truemix import _core
from truemix._typing import FloatArray, IntArray
from truemix.summaries._store import canonical_order, flattened
from truemix.summaries._strata import strata_of

__all__ = ["distinct_rows", "flattened"]


def distinct_rows(rows: FloatArray, n_classes: int) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows in canonical order, and the place of each row among them.

    Examples
    --------
    >>> rows = np.array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]])
    >>> distinct, place = distinct_rows(rows, 2)
    >>> bool((distinct[place] == rows).all()), len(distinct)
    (True, 2)
    """
    first = _core.first_equal(rows)
    found = np.flatnonzero(first == np.arange(len(rows)))
    distinct = rows if len(found) == len(rows) else rows[found]
    order = canonical_order(distinct, strata_of(distinct, n_classes))
    place = np.empty(len(rows), dtype=np.intp)
    place[found[order]] = np.arange(len(order))
    return distinct[order], place[first]
