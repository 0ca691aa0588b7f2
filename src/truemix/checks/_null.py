"""Bags of references as targets would be under label shift: samples of the null distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray

# Weights of a smaller shape would leave all of a class to one or two references.
SMALLEST_SHAPE = 0.25


def null_bags(
    counts: IntArray, mix: FloatArray, size: int, n_bags: int, rng: np.random.Generator
) -> IntArray:
    """Return bags of reference items with a given mix, each from other plausible references.

    The references are a sample themselves. A target differs from them by its own sampling noise
    and by theirs: the variance of a mean over n targets minus one over m references is proportional
    to 1/n + 1/m, but with bags drawn from the m references to 1/n only, and without repetition to
    even less. So the items of each bag are drawn from reweighted references (the Bayesian
    bootstrap: gamma weights within each class), which adds exactly the missing variance. This is
    sampled as a Pólya urn: an item is a new draw from the references, or a copy of an earlier item
    of the bag, so the work does not grow with the number of references.

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
    wanted = apportioned(size, mix, n_bags, rng)
    ballast = counts * _gamma_shape(counts, size * mix / mix.sum())

    def of_items(of_classes: IntArray | FloatArray) -> Any:
        """Return the number that belongs to the class of each item."""
        return np.repeat(np.tile(of_classes, n_bags), wanted.ravel())

    # The first item of each one's class and bag, and how many of them were drawn before it.
    places = np.arange(n_bags * size)
    first = np.repeat(np.cumsum(wanted.ravel()) - wanted.ravel(), wanted.ravel())
    before = places - first
    for_new = of_items(ballast)
    anew = rng.random(before.shape) * (for_new + before) < for_new
    rows = of_items(np.cumsum(counts) - counts) + _below(of_items(counts), rng)
    origin = np.where(anew, places, first + _below(before, rng))
    copied = np.flatnonzero(~anew[origin])
    while copied.size:
        origin[copied] = origin[origin[copied]]
        copied = copied[~anew[origin[copied]]]
    return np.asarray(rows[origin].reshape(n_bags, size))


def _below(n: IntArray, rng: np.random.Generator) -> IntArray:
    """Return random whole numbers from 0 to n - 1."""
    return (rng.random(n.shape) * n).astype(np.intp)


def _gamma_shape(m: IntArray, n: FloatArray) -> FloatArray:
    """Return the shape of gamma weights that give n items drawn from m the right variance.

    With weights of shape a, the variance of a mean of n items is that of the references times
    ``c + (1 - c) / n``, ``c = 1 / (a * m + 1)``, and the references' own is on average
    ``(m - 1) / m`` of the true one. Exponential weights (a = 1) would fall short of the true one
    times ``1 / n + 1 / m`` by a factor ``(m - 1) / (m + 1)``; this shape makes them equal.
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
