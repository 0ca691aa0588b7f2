"""Which items to label: a probability sample, with more items where predictions are unsure."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray

# The part of the sample that is spread evenly. What predictions say of themselves decides about the
# rest; where they are wrong without knowing it, this part finds out.
EVEN_PART = 0.4


def inclusion_probabilities(predicted: FloatArray, counts: FloatArray, n: float) -> FloatArray:
    """Return the probability with which an item of each row is to be chosen.

    Parameters
    ----------
    predicted : ndarray of shape (R, K)
        Probabilities of the classes for each distinct row of items.
    counts : ndarray of shape (R,)
        Number of items equal to each row.
    n : float
        How many items are to be chosen.

    Returns
    -------
    ndarray of shape (R,)
        Positive, at most one, and with counts as weights they sum to n. Beside an even part they
        are in proportion to the standard deviation of the label, ``sqrt(sum_k f_k (1 - f_k))``,
        which minimises the variance (Neyman).

    Examples
    --------
    >>> predicted = np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> inclusion_probabilities(predicted, np.array([80.0, 20.0]), 10)
    array([0.04, 0.34])
    """
    n_items = float(counts.sum())
    if n >= n_items:
        return np.ones(len(counts))
    size = np.sqrt(np.maximum((predicted * (1.0 - predicted)).sum(axis=1), 0.0))
    total = float(counts @ size)
    even = EVEN_PART if total > 0.0 else 1.0
    size = even / n_items + (1.0 - even) * size / (total if total > 0.0 else 1.0)
    sure = np.zeros(len(counts), dtype=bool)
    # Those that would be chosen more than once are chosen for sure; others share what is left.
    while True:
        left = n - float(counts[sure].sum())
        found = np.where(sure, 1.0, left * size / float((counts * size)[~sure].sum()))
        above = found > 1.0
        if not above.any():
            return np.asarray(found)
        sure |= above


def systematic_sample(inclusion: FloatArray, order: IntArray, rng: np.random.Generator) -> IntArray:
    """Return items of a sample of fixed size that has exactly these inclusion probabilities.

    Parameters
    ----------
    inclusion : ndarray of shape (N,)
        Sums to a whole number.
    order : ndarray of int of shape (N,)
        Items that are alike stand next to each other: the sample has its share of all parts of the
        order, as a stratified one has.
    rng : Generator

    Returns
    -------
    ndarray of int
        Ascending.

    Examples
    --------
    >>> systematic_sample(np.full(6, 0.5), np.arange(6), np.random.default_rng(0))
    array([1, 3, 5])
    """
    n = round(float(inclusion.sum()))
    ends = np.cumsum(inclusion[order])
    # Rounding must not lose the last one.
    ends[-1] = n
    steps = rng.random() + np.arange(n)
    return np.sort(order[np.searchsorted(ends, steps, side="right")])


def similar_order(predicted: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return an order of items by their decision and its probability; equal ones at random."""
    top = predicted.max(axis=1)
    return np.lexsort((rng.random(len(predicted)), top, predicted.argmax(axis=1)))
