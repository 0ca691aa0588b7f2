"""Intervals that calibrate themselves on bags of the references.

Bags of references with known mixes tell whether intervals are too narrow, for example because the
references of a class are no random sample of one density. If they are, draws are moved away from
their mean by the factor that would have made the intervals of those bags hold the truth; intervals
that were wide enough are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._progress import progress
from truemix._typing import FloatArray
from truemix.estimates.intervals import interval_of
from truemix.trust.reference_bags import reference_bags

if TYPE_CHECKING:
    from truemix.quantifiers.base import Quantifier

LEVEL = 0.95
# Enough bags for a quantile that 5 % of them exceed, and draws for the bounds of their intervals.
N_BAGS = 60
DRAWS = 400
# Batches are compared with bags of about their size: these, or the largest that there are.
SIZES = (30, 100, 300, 1000)
# Fewer references than this in a class are no test of its density.
MIN_REFERENCES = 6
# The factor of an interval without width that does not hold the truth, and of any other.
MAX_FACTOR = 5.0
VIEWS = ("batch", "population")


@dataclass(frozen=True)
class Widening:
    """How much wider intervals have to be, in both views, and on what bags that was found."""

    batch: float
    population: float
    n_bags: int
    mean_size: float

    def summary(self, estimand: str) -> dict[str, Any]:
        """Return the numbers about one estimand as plain values."""
        return {
            "factor": float(f"{getattr(self, estimand):.4g}"),
            "n_bags": self.n_bags,
            "mean_size": float(f"{self.mean_size:.4g}"),
        }


NOTHING_KNOWN = Widening(1.0, 1.0, 0, 0.0)


def widening_of(quantifier: Quantifier, n_items: int) -> Widening:
    """Return how much wider the intervals of a fitted quantifier have to be for so many items.

    Found once for each of a few sizes, and kept with the quantifier.
    """
    known: dict[int, Widening] = quantifier.widenings_
    size = max((each for each in SIZES if each <= n_items), default=SIZES[0])
    if size not in known:
        known[size] = _found(quantifier, size)
    return known[size]


def _found(quantifier: Quantifier, size: int) -> Widening:
    references = quantifier.references_
    if references is None or np.bincount(references[1]).min() < MIN_REFERENCES:
        return NOTHING_KNOWN
    seed = quantifier.inference_.seed_
    bags = []
    with progress("test intervals on references", N_BAGS, "bags", inside=True) as work:
        for each in reference_bags(quantifier, references, size, N_BAGS, DRAWS, seed):
            bags.append(each)
            work.advance()
    # An estimand has the name of its truth.
    truth = {view: [getattr(bag.mixture, view) for bag in bags] for view in VIEWS}
    asked_for = quantifier.inference_.estimand
    draws: dict[str, list[FloatArray]] = {view: [] for view in VIEWS}
    for bag in bags:
        for view in VIEWS:
            found = bag.result.draws if view == asked_for else bag.result.other_draws
            if found is not None:
                draws[view].append(found)
    return Widening(
        batch=needed_factor(truth["batch"], draws["batch"]),
        population=needed_factor(truth["population"], draws["population"]),
        n_bags=len(bags),
        mean_size=float(np.mean([len(bag.mixture.rows) for bag in bags])),
    )


def needed_factor(truth: list[FloatArray], draws: list[FloatArray]) -> float:
    """Return the smallest factor, at least one, with which intervals of bags hold their truth.

    In 95 % of the cases, for intervals of single classes and for simultaneous ones of all.

    Parameters
    ----------
    truth : list of ndarray of shape (K,)
    draws : list of ndarray of shape (draws, K)

    Examples
    --------
    Draws that are spread half as far as the truth:

    >>> rng = np.random.default_rng(0)
    >>> error = rng.normal(0, 0.02, 400)
    >>> truth = [np.array([0.5 + e, 0.5 - e]) for e in error]
    >>> narrow = rng.normal(0.5, 0.01, 1000)
    >>> round(needed_factor(truth, [np.column_stack([narrow, 1 - narrow])] * 400), 1)
    2.0
    """
    single, joint = [], []
    for mix, each in zip(truth, draws, strict=True):
        single.append(_distance(mix, each, simultaneous=False))
        joint.append(_distance(mix, each, simultaneous=True).max())
    found = max(np.quantile(single, LEVEL), np.quantile(joint, LEVEL))
    return float(np.clip(found, 1.0, MAX_FACTOR))


def _distance(mix: FloatArray, draws: FloatArray, *, simultaneous: bool) -> FloatArray:
    """Return how far a mix is from the mean of draws, in units of the interval on that side."""
    mean = draws.mean(axis=0)
    lower, upper = interval_of(draws, LEVEL, simultaneous=simultaneous).T
    reach = np.where(mix >= mean, upper - mean, mean - lower)
    away = np.abs(mix - mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = away / reach
    # Where all draws are alike, the interval holds its mean and nothing else.
    return np.where(reach > 0.0, ratio, np.where(away > 1e-12, MAX_FACTOR, 0.0))


def widened(draws: FloatArray, factor: float, n_items: int | None = None) -> FloatArray:
    """Return draws of a mix that are so many times as far from their mean.

    Shares that would be negative are zero. With ``n_items`` they are counts of items, and stay so.

    Examples
    --------
    >>> widened(np.array([[0.5, 0.5], [0.7, 0.3]]), 2.0).round(3).tolist()
    [[0.4, 0.6], [0.8, 0.2]]
    """
    if factor == 1.0:
        return draws
    mean = draws.mean(axis=0)
    moved = np.maximum(mean + factor * (draws - mean), 0.0)
    shares = moved / moved.sum(axis=1, keepdims=True)
    return shares if n_items is None else _whole_items(shares, n_items)


def _whole_items(shares: FloatArray, n_items: int) -> FloatArray:
    """Round shares to counts of items: the largest remainders are rounded up."""
    exact = shares * n_items
    counts = np.floor(exact + 1e-9)
    missing = np.rint(n_items - counts.sum(axis=1)).astype(np.intp)
    order = np.argsort(counts - exact, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    return np.asarray((counts + (rank < missing[:, None])) / n_items)
