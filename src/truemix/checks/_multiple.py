"""Multiple testing: false discovery rates, and p-values adjusted for their number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truemix._typing import FloatArray, IntArray


def discoveries(p_values: FloatArray, rate: float, counts: FloatArray | None = None) -> IntArray:
    """Return the places of significant p-values, at a false discovery rate of ``rate``.

    The procedure of Benjamini and Hochberg: with the p-values in ascending order, the largest j
    with ``p[j] <= rate * j / n``, and all up to it. The smallest come first. ``counts`` are how
    many equal p-values each one stands for.

    Examples
    --------
    >>> discoveries(np.array([0.6, 0.001, 0.03, 0.02]), rate=0.05)
    array([1, 3, 2])
    """
    order = np.argsort(p_values, kind="stable")
    ranks = np.cumsum(np.ones(len(order)) if counts is None else counts[order])
    limits = rate * ranks / ranks[-1]
    within = np.flatnonzero(p_values[order] <= limits)
    return order[: within[-1] + 1] if within.size else order[:0]


def monte_carlo(observed: FloatArray, null: FloatArray) -> FloatArray:
    """Return the p-value of each column: the share of draws that are at least as large.

    The observation counts as a draw itself, so that a p-value is never zero and, where it is
    exchangeable with the draws, at most u with a probability of at most u.

    Examples
    --------
    >>> monte_carlo(np.array([2.0]), np.array([[0.0], [1.0], [3.0]]))
    array([0.5])
    """
    return np.asarray((1 + (null >= tied(observed)).sum(axis=0)) / (1 + len(null)))


def tied(values: FloatArray) -> FloatArray:
    """Return slightly smaller numbers, so that values that are equal up to rounding are ties."""
    return np.asarray(values - 1e-9 * (1.0 + np.abs(values)))


def step_down(statistics: FloatArray, nulls: Sequence[FloatArray]) -> FloatArray:
    """Return p-values adjusted for the family-wise error rate (step-down Bonferroni).

    The adjusted p-value is the expected number of statistics that are as large by chance, among
    this one and the smaller ones. By Bonferroni's inequality that bounds the probability that any
    of them is. The sum is over all null distributions, so that their tails need not be resolved as
    far as the single p-values of Holm's procedure need, whose number of draws would have to grow
    with the number of statistics.

    Parameters
    ----------
    statistics : ndarray of shape (G,)
        What was observed.
    nulls : sequence of ndarrays
        Draws from the null distribution of each.

    Returns
    -------
    ndarray of shape (G,)

    Examples
    --------
    >>> null = np.arange(99.0)
    >>> step_down(np.array([97.0, 200.0, 97.0]), [null, null, null]).round(3)
    array([0.05, 0.01, 0.05])
    """
    order = np.argsort(-statistics, kind="stable")
    expected = np.zeros(len(statistics))
    for place, group in enumerate(order):
        larger, null = order[: place + 1], np.sort(nulls[group])
        beyond = len(null) - np.searchsorted(null, tied(statistics[larger]))
        expected[larger] += beyond / len(null)
        # The observation counts as a draw of its own null distribution.
        expected[group] += (1 + beyond[-1]) / (1 + len(null)) - beyond[-1] / len(null)
    adjusted = np.empty(len(statistics))
    adjusted[order] = np.minimum(np.maximum.accumulate(expected[order]), 1.0)
    return adjusted


def critical_value(nulls: Sequence[FloatArray], level: float) -> float:
    """Return the critical value at which any of the statistics exceeds it with probability level.

    Examples
    --------
    >>> critical_value([np.arange(100.0), np.arange(100.0)], 0.1)
    94.0
    """
    values = np.concatenate(nulls)
    shares = np.concatenate([np.full(len(null), 1.0 / len(null)) for null in nulls])
    order = np.argsort(-values)
    beyond = np.cumsum(shares[order])
    return float(values[order[np.searchsorted(beyond, level * (1 + 1e-9), side="right")]])
