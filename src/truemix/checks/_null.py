"""Bags that a target could have been, if label shift held: the null distribution's raw material."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray

# Weights of a smaller shape would leave all of a class to one or two references.
SMALLEST_SHAPE = 0.25


def null_bags(
    counts: IntArray, mix: FloatArray, size: int, n_bags: int, rng: np.random.Generator
) -> IntArray:
    """Return bags of reference items with a given mix, each from other plausible references.

    The references are a sample themselves. A target differs from them by its own chance and by
    theirs: a mean over n targets minus one over m references varies by 1/n + 1/m, but bags drawn
    from the m references vary by 1/n only, and bags without repetition by even less. So the items
    of each bag are drawn from a reweighted reference (the Bayesian bootstrap: random weights
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

    Returns
    -------
    ndarray of int of shape (n_bags, size)
        Row numbers, which may repeat.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [bag] = null_bags(np.array([5, 100]), np.array([0.25, 0.75]), 8, 1, rng)
    >>> bag.shape, int((bag < 5).sum())
    ((8,), 2)
    """
    n_rows = int(counts.sum())
    wanted = apportioned(size, mix, n_bags, rng)
    # Classes of all bags one after the other: cumulative weights are one ascending line, in which
    # a single search finds all items.
    ends = np.cumsum(np.tile(counts, n_bags))
    starts = ends - np.tile(counts, n_bags)
    shape = np.repeat(_gamma_shape(counts, size * mix / mix.sum()), counts)
    line = np.cumsum(rng.standard_gamma(shape, (n_bags, n_rows)))
    before = np.where(starts > 0, line[starts - 1], 0.0)
    total = line[ends - 1] - before
    part = np.repeat(np.arange(len(ends)), wanted.ravel())
    rows = np.searchsorted(line, before[part] + rng.random(len(part)) * total[part], side="right")
    # Rounding must not carry an item into the next class.
    rows = np.clip(rows, starts[part], ends[part] - 1)
    return np.asarray(rows.reshape(n_bags, size) - n_rows * np.arange(n_bags)[:, None])


def _gamma_shape(m: IntArray, n: FloatArray) -> FloatArray:
    """Return the shape of gamma weights that give n items drawn from m the right variance.

    With weights of shape a, the variance of a mean of n items is that of the references times
    ``c + (1 - c) / n``, ``c = 1 / (a * m + 1)``, and the references' own is on average
    ``(m - 1) / m`` of the true one. Exponential weights (a = 1) would fall short of the true one
    times ``1 / n + 1 / m`` by a factor ``(m - 1) / (m + 1)``; solving for a mends that.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = ((n - 1.0) * (m - 1.0) / (n + 1.0) - 1.0) / m
    # A single item varies as the references do, whatever their weights.
    return np.where(n > 1.0, np.maximum(shape, SMALLEST_SHAPE), 1.0)


def apportioned(size: int, mix: FloatArray, n_bags: int, rng: np.random.Generator) -> IntArray:
    """Return whole numbers for each bag: they sum to ``size``, each within one of its share.

    Examples
    --------
    >>> apportioned(10, np.array([0.5, 0.3, 0.2]), 1, np.random.default_rng(0))
    array([[5, 3, 2]])
    """
    # Systematic sampling: one random shift of evenly spaced points along the cumulative shares.
    # The shift keeps away from 0 and 1, where rounding could give an item to a class without any.
    shift = 1e-6 + (1.0 - 2e-6) * rng.random((n_bags, 1))
    edges = np.floor(np.cumsum(mix / mix.sum()) * size + shift)
    return np.diff(np.minimum(edges, size), prepend=0.0, axis=1).astype(np.intp)
