"""Bags that a target could have been, if label shift held: the null distribution's raw material."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truemix._typing import FloatArray, IntArray


def null_bags(
    counts: IntArray, mix: FloatArray, size: int, n_bags: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield bags of reference items with a given mix, each from other plausible references.

    The references are a sample themselves. A target differs from them by its own chance and by
    theirs: a mean over n targets minus one over m references varies by 1/n + 1/m, but bags drawn
    from the m references vary by 1/n only, and bags without repetition by even less. So the items
    of each bag are drawn from a reweighted reference (the Bayesian bootstrap: exponential weights
    within each class), which adds exactly what is missing.

    Parameters
    ----------
    counts : ndarray of int of shape (K,)
        How many reference items each class has, at least one; rows are ordered by class.
    mix : ndarray of shape (K,)
        Shares of the classes.
    size, n_bags : int
        Items in a bag, and how many bags.
    rng : Generator

    Yields
    ------
    ndarray of int of shape (size,)
        Row numbers, which may repeat.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [bag] = null_bags(np.array([5, 100]), np.array([0.25, 0.75]), 8, 1, rng)
    >>> bag.shape, int((bag < 5).sum())
    ((8,), 2)
    """
    ends = np.cumsum(counts)
    starts = ends - counts
    for _ in range(n_bags):
        of_class = np.repeat(np.arange(len(mix)), apportioned(size, mix, rng))
        # Cumulative weights of all classes in one ascending line, so that one search serves all.
        line = np.cumsum(rng.standard_exponential(ends[-1]))
        before = np.where(starts > 0, line[starts - 1], 0.0)
        total = line[ends - 1] - before
        place = before[of_class] + rng.random(size) * total[of_class]
        rows = np.searchsorted(line, place, side="right")
        # Rounding must not carry an item into the next class.
        yield np.clip(rows, starts[of_class], ends[of_class] - 1)


def apportioned(size: int, mix: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return whole numbers that sum to ``size``, each within one of its share, unbiased.

    Examples
    --------
    >>> apportioned(10, np.array([0.5, 0.3, 0.2]), np.random.default_rng(0))
    array([5, 3, 2])
    """
    # Systematic sampling: one random shift of evenly spaced points along the cumulative shares.
    # The shift keeps away from 0 and 1, where rounding could give an item to a class without any.
    shift = 1e-6 + (1.0 - 2e-6) * rng.random()
    edges = np.floor(np.cumsum(mix / mix.sum()) * size + shift)
    return np.diff(np.minimum(edges, size), prepend=0.0).astype(np.intp)
