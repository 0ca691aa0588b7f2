"""Many p-values at once: which of them still count."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray


def discoveries(p_values: FloatArray, rate: float) -> IntArray:
    """Return the places of p-values to be believed, of which a share ``rate`` may be false.

    The procedure of Benjamini and Hochberg: with the p-values in ascending order, the largest j
    with ``p[j] <= rate * j / n``, and all up to it. The smallest come first.

    Examples
    --------
    >>> discoveries(np.array([0.6, 0.001, 0.03, 0.02]), rate=0.05)
    array([1, 3, 2])
    """
    order = np.argsort(p_values, kind="stable")
    limits = rate * np.arange(1, len(order) + 1) / len(order)
    within = np.flatnonzero(p_values[order] <= limits)
    return order[: within[-1] + 1] if within.size else order[:0]


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values adjusted so that any of them is falsely small only as often as one alone.

    Examples
    --------
    >>> holm(np.array([0.04, 0.01, 0.5]))
    array([0.08, 0.03, 0.5 ])
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(order) - np.arange(len(order))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted


def monte_carlo(observed: FloatArray, null: FloatArray) -> FloatArray:
    """Return the p-value of each column: the share of draws that are at least as large.

    What is observed counts as a draw itself, so that a p-value is never zero and, where it is
    exchangeable with the draws, at most a share u of them is at most u.

    Examples
    --------
    >>> monte_carlo(np.array([2.0]), np.array([[0.0], [1.0], [3.0]]))
    array([0.5])
    """
    # Equal up to rounding is equal: it must not decide a p-value.
    slack = 1e-9 * (1.0 + np.abs(observed))
    return np.asarray((1 + (null >= observed - slack).sum(axis=0)) / (1 + len(null)))
