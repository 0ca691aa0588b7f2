"""Intervals from draws: equal-tailed, of highest density, and for all classes at once.

Bounds are order statistics of the draws, never interpolated: draws of counts have ties, and a bound
between two counts would cut off a value that many draws have. The ranks are chosen so that a new
draw from the same posterior falls inside with a probability of at least ``level``; ties can only
make it higher.
"""

from __future__ import annotations

import math

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates.text import percent_level
from truemix.validation import check_choice, check_number

KINDS = ("equal-tailed", "hdi")
SHARES = (0.0, 1.0)
# Fewer draws are too few to extrapolate their tails, and the interval is the whole range. (From 12
# on, extrapolated tails cover a new draw at levels up to 0.95, from 20 on up to 0.99.)
MIN_DRAWS = 20
# Ranks are products like 0.025 * 1000 that must not fall below a whole number by rounding, and
# widths of equally many counts are equal only up to rounding.
_SLACK = 1e-9


def check_level(level: object, name: str = "level") -> float:
    """Return the parameter ``name`` as the level of an interval or a test."""
    return check_number(level, name, kind="level")


def too_few_draws(n_draws: int, ess: float | None, level: float) -> list[str]:
    """Return the sentence about draws that are too few for the level, if they are.

    Examples
    --------
    >>> too_few_draws(100, None, 0.95)
    []
    >>> too_few_draws(100, None, 0.99)[0][:63]
    '100 independent draws are fewer than the 200 that a 99 % interv'
    """
    needed = math.ceil(2.0 / (1.0 - check_level(level)) - _SLACK)
    effective = n_draws if ess is None else min(n_draws, int(ess))
    if effective >= needed:
        return []
    return [
        f"{effective} independent draws are fewer than the {needed} that a {percent_level(level)} "
        "interval needs to have one beyond each end; increase draws or lower the level."
    ]


def interval_of(
    draws: FloatArray,
    level: float = 0.95,
    kind: str = "equal-tailed",
    *,
    simultaneous: bool = False,
    bounds: tuple[float, float] = SHARES,
) -> FloatArray:
    """Return an interval for each column of ``draws``.

    Parameters
    ----------
    draws : ndarray of shape (draws, K)
        Draws from the posterior.
    level : float
        Nominal coverage (of all intervals at once, if ``simultaneous``).
    kind : {"equal-tailed", "hdi"}
        Leave the same probability out on both sides, or be as short as possible.
    simultaneous : bool
        Widen each interval to the level ``1 - (1 - level) / K`` (Bonferroni), so that all of them
        hold at once with probability of at least ``level``.
    bounds : (float, float)
        No interval reaches beyond these.

    Returns
    -------
    ndarray of shape (K, 2)
        Lower and upper bounds; both belong to the interval.

    Notes
    -----
    For S draws, the equal-tailed interval goes from the k-th smallest to the k-th largest draw,
    ``k = floor((S + 1) (1 - level) / 2)``, and the HDI is the shortest interval with
    ``ceil((S + 1) level) + 1`` draws. If S is too small for that (with 1000 draws above level
    0.998, which Bonferroni needs at K > 25), both are the range of the draws, widened by
    extrapolating its tails exponentially from their last 5 %. For log-concave posteriors, such as
    Dirichlet ones with parameters of at least 1, that errs on the wide side. If fewer than 20 draws
    are too few for the level, the interval is the whole range, ``bounds``.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.arange(1, 100)[:, None] / 100
    >>> interval_of(draws, 0.9)
    array([[0.05, 0.95]])

    What is certain stays certain, and values with many draws are inside:

    >>> interval_of(np.repeat([[0.0, 1.0], [0.1, 0.9]], [970, 30], axis=0))
    array([[0. , 0.1],
           [0.9, 1. ]])
    """
    level = check_level(level)
    check_choice(kind, "kind", KINDS)
    n_draws, K = draws.shape
    tail = (1.0 - level) / (2.0 * K if simultaneous else 2.0)
    rank = math.floor(tail * (n_draws + 1) + _SLACK)
    ordered = np.sort(draws, axis=0)
    if rank == 0:
        return _beyond_the_draws(ordered, tail, bounds)
    if kind == "equal-tailed":
        return np.stack([ordered[rank - 1], ordered[n_draws - rank]], axis=1)
    n_inside = math.ceil((1.0 - 2.0 * tail) * (n_draws + 1) - _SLACK) + 1
    return np.stack([_shortest(column, n_inside) for column in ordered.T])


def _shortest(ordered: FloatArray, n_inside: int) -> FloatArray:
    """Return the shortest interval with ``n_inside`` draws; of ties the one with most draws."""
    lower, upper = ordered[: len(ordered) - n_inside + 1], ordered[n_inside - 1 :]
    width = upper - lower
    candidates = np.flatnonzero(width <= width.min() + _SLACK * (ordered[-1] - ordered[0]))
    lower, upper = lower[candidates], upper[candidates]
    held = np.searchsorted(ordered, upper, "right") - np.searchsorted(ordered, lower, "left")
    fullest = np.flatnonzero(held == held.max())
    best = fullest[len(fullest) // 2]
    return np.array([lower[best], upper[best]])


def _beyond_the_draws(ordered: FloatArray, tail: float, bounds: tuple[float, float]) -> FloatArray:
    """Return bounds extrapolated beyond the draws, for a tail of less than one draw."""
    n_draws, K = ordered.shape
    if n_draws < MIN_DRAWS:
        return np.tile(bounds, (K, 1))
    n_tail = min(n_draws // 2, max(10, math.ceil(0.05 * n_draws)))
    # The probability of a tail beyond u + x is that beyond u times exp(-x / mean excess over u).
    reach = math.log(n_tail / ((n_draws + 1) * tail))
    low, high = ordered[n_tail], ordered[n_draws - n_tail - 1]
    lower = low - reach * (low - ordered[:n_tail]).mean(axis=0)
    upper = high + reach * (ordered[n_draws - n_tail :] - high).mean(axis=0)
    lower = np.maximum(np.minimum(lower, ordered[0]), bounds[0])
    upper = np.minimum(np.maximum(upper, ordered[-1]), bounds[1])
    return np.stack([lower, upper], axis=1)
