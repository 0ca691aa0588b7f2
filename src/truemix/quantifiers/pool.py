"""Pools: the distinct rows of scored items that several bags share, in canonical order.

Equal items have equal likelihoods, so each distinct row is evaluated once, and a bag says how many
of its items are equal to each. The canonical order depends on the contents alone: a bag has the
same rows in the same order by itself and among others, so its draws are the same, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truemix import _core
from truemix._typing import FloatArray, IntArray
from truemix.inference.bags import Bag
from truemix.summaries.rows import distinct_rows, flattened
from truemix.summaries.summary import Summary


class Pool(NamedTuple):
    """Posteriors of distinct rows by each model ``(M, n, K)``, and bags of them."""

    scored: FloatArray
    bags: list[Bag]


def pool_of_bags(scored: FloatArray, bags: Sequence[IntArray]) -> tuple[Pool, IntArray]:
    """Return the pool of bags of items, and the row of each item in it.

    Parameters
    ----------
    scored : ndarray of shape (M, n, K)
        Posteriors of all items.
    bags : sequence of ndarray of int
        The items of each bag; they may repeat.

    Examples
    --------
    >>> scored = np.array([[[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]]])
    >>> pool, row = pool_of_bags(scored, [np.array([0, 1, 2])])
    >>> pool.scored.shape, pool.bags[0].weights, row
    ((1, 2, 2), array([2., 1.]), array([0, 1, 0]))
    """
    rows, row = distinct_rows(flattened(scored), scored.shape[2])
    found = []
    for items in bags:
        places, counts = np.unique(row[items], return_counts=True)
        single = len(places) == len(items)
        found.append(Bag(places, None if single else counts.astype(np.float64)))
    return Pool(_by_layer(rows, scored.shape[2]), found), row


def pool_of_summaries(summaries: Sequence[Summary]) -> Pool:
    """Return the pool of some summaries, with a bag for each."""
    if len(summaries) == 1:
        return Pool(summaries[0].scored(), [summaries[0].bag()])
    n_classes = summaries[0].scored().shape[2]
    rows, row = distinct_rows(np.concatenate([each.rows for each in summaries]), n_classes)
    ends = np.cumsum([each.n_rows for each in summaries])[:-1]
    # Rows of a summary are in canonical order, so their places in the pool ascend.
    bags = [each.bag().at(part) for each, part in zip(summaries, np.split(row, ends), strict=True)]
    return Pool(_by_layer(rows, n_classes), bags)


def rows_of_items(rows: FloatArray, scored: FloatArray) -> IntArray:
    """Return the place of each item ``(M, n, K)`` among the distinct rows of all, ``(M, d, K)``."""
    both = np.concatenate([flattened(rows), flattened(scored)])
    return np.asarray(_core.first_equal(both)[rows.shape[1] :])


def _by_layer(rows: FloatArray, n_classes: int) -> FloatArray:
    return np.ascontiguousarray(np.moveaxis(rows.reshape(len(rows), -1, n_classes), 1, 0))
