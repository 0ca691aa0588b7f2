"""How far a bag is from the mix of references that fits it best.

Every statistic compares the bag with the references reweighted to the bag's own fitted mix. Under
label shift the two differ by chance only, whatever the mix is, so the null distribution need not
know the mix of the target exactly. The two statistics detect different violations:

- *tail*: do items lie where the fitted mix has a small density? The mean of ``-log`` tail
  probability of the items, minus that mean over the reweighted references.
- *energy*: are they spread over the simplex as the references are? The energy distance between the
  two sets in the coordinates ``sqrt(posterior)``, which are bounded.

A bag and the references are two weightings of the same items, so with their difference, one row per
bag, everything is a matrix product for many bags at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._core import first_equal
from truemix._threads import for_each_block, row_blocks
from truemix._typing import FloatArray, IntArray
from truemix.checks._references import References
from truemix.inference import maximize_mixture
from truemix.inference.batched import mixes_under_each

# Likelihoods below this fraction of the item's largest are set to it.
SMALLEST = 1e-300
# Tail probabilities are at least the weight of a single reference, so this changes none in use.
SMALLEST_TAIL = 1e-12
# Log densities that agree in this many digits are the same.
DIGITS = 9
# Bags that a thread works on together: arrays with one number per item and bag that stay in cache.
BLOCK_BAGS = 16
# Rows of a table of distances that stay in cache.
BLOCK_ROWS = 64
# For bags smaller than 1 / FEW of the references, looking up distances beats a matrix product.
FEW = 8
# Duality gap of the fitted mixes; its effect is far below sampling noise.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Deviations:
    """How far bags are from the mixes that fit them best, one row per bag."""

    whole: FloatArray  # (B, 2): tail, energy
    classes: FloatArray  # (B, K): the tail statistic, split by responsibility

    def shifted(self, by: Deviations) -> Deviations:
        """Return the deviations with those of a single row added to each."""
        return Deviations(self.whole + by.whole, self.classes + by.classes)

    def joined(self, other: Deviations) -> Deviations:
        """Return these bags and others."""
        return Deviations(
            np.concatenate([self.whole, other.whole]),
            np.concatenate([self.classes, other.classes]),
        )


class ShiftStatistics:
    """The statistics of bags against references; what does not depend on a bag is computed once."""

    def __init__(self, references: References) -> None:
        self.references = references
        self.points = np.sqrt(references.drawn_posteriors)
        self._items = Items.of(references.log_likelihood)
        # The first of the items that have the likelihoods of each one.
        self._distinct = first_equal(references.log_likelihood)
        self.distances = distances(self.points, self.points)
        # Equal points are one: the place of each among the distinct ones, and distances of these.
        first, self._point = np.unique(first_equal(self.points), return_inverse=True)
        self._between_points = self.distances[np.ix_(first, first)]
        # Mean distances of each item to those of each class, and of the classes to each other.
        members = np.eye(len(references.classes))[references.drawn_codes] / references.drawn_counts
        self._to_classes = self.distances @ members
        self._between_classes = members.T @ self._to_classes

    def weights(self, mixes: FloatArray) -> FloatArray:
        """Return the weight of each reference item in each mix, ``(B, m)``."""
        counts, codes = self.references.drawn_counts, self.references.drawn_codes
        return np.asarray((mixes / counts)[:, codes])

    def fit(self, bags: IntArray) -> FloatArray:
        """Return the mixes that fit bags of reference items, ``(B, size)``, best."""
        # Items repeat in a bag, and so do references.
        counts = counts_in_bags(self._distinct[bags], len(self.points))
        rows = [np.flatnonzero(each) for each in counts]
        repeats = [each[drawn] for each, drawn in zip(counts, rows, strict=True)]
        matrix = self.references.log_likelihood[None]
        return np.asarray(mixes_under_each(matrix, rows, repeats, TOLERANCE)[0])

    def deviations(self, bags: IntArray, mixes: FloatArray) -> Deviations:
        """Return how far bags of reference items, ``(B, size)``, are from mixes, ``(B, K)``."""
        whole, classes = np.empty((len(bags), 2)), np.empty_like(mixes)

        def compare(block: slice) -> None:
            shares, weights = self._shares(bags[block]), self.weights(mixes[block])
            tail, classes[block] = self._items.compare(shares - weights, weights, mixes[block], 0.0)
            across = ((shares @ self._to_classes) * mixes[block]).sum(axis=1)
            among = ((mixes[block] @ self._between_classes) * mixes[block]).sum(axis=1)
            energy = 2.0 * across - self._within(bags[block]) - among
            whole[block] = np.column_stack([tail, energy])

        for_each_block(compare, len(bags), BLOCK_BAGS)
        return Deviations(whole, classes)

    def optimism(self, bags: IntArray, mixes: FloatArray, mix: FloatArray) -> Deviations:
        """Return the mean bias of deviations of reference bags, to be added to them, as one row.

        The mix is fitted to the items of the bag. These are references too, so it also fits some of
        the references, the more classes the better; a target shares no items with them. So each
        bag is compared with the references outside it. For a fixed mix the same restriction
        changes noise only; this noise is nearly the same for the fitted mix, and is subtracted.
        """
        shares, fixed = self._shares(bags), np.broadcast_to(mix, mixes.shape)
        change = self._apart(shares, mixes) - self._apart(shares, fixed)
        row = change.mean(axis=0, keepdims=True)
        return Deviations(np.column_stack([row[:, 0], [0.0]]), row[:, 1:])

    def _shares(self, bags: IntArray) -> FloatArray:
        """Return the share of each reference in each bag, ``(B, m)``."""
        return np.asarray(counts_in_bags(bags, len(self.points)) / bags.shape[1])

    def _within(self, bags: IntArray) -> FloatArray:
        """Return the mean distance between two items of each bag."""
        among, points, size = self._between_points, self._point[bags], bags.shape[1]
        if FEW * size > len(among):
            shares = counts_in_bags(points, len(among)) / size
            return np.asarray(((shares @ among) * shares).sum(axis=1))
        pairs = len(among) * points[:, :, None] + points[:, None, :]
        return np.asarray(among.take(pairs).mean(axis=(1, 2)))

    def _apart(self, shares: FloatArray, mixes: FloatArray) -> FloatArray:
        """Return how the tail statistics change if only references outside each bag count."""
        codes, counts = self.references.drawn_codes, self.references.drawn_counts
        outside = (shares == 0.0).astype(np.float64)
        left = outside @ np.eye(len(counts))[codes]
        # A class without items outside is represented by all it has.
        outside = np.where(left[:, codes] > 0, outside, 1.0)
        left = np.where(left > 0, left, counts)
        weights = outside * (mixes / left)[:, codes]
        own = (1.0 - outside) * (mixes**2 / left).sum(axis=1, keepdims=True)
        apart = self._items.compare(shares - weights, weights, mixes, own)
        weights = self.weights(mixes)
        together = self._items.compare(shares - weights, weights, mixes, 0.0)
        return np.column_stack(apart) - np.column_stack(together)

    def target(self, target: Items, posteriors: FloatArray, mix: FloatArray) -> Deviations:
        """Return the deviations of a target from its best mix, as one bag."""
        n_items = len(posteriors)
        weights = self.weights(mix[None])
        # Target and references as one set of items, in which target items have weight 0.
        both = target.joined(self._items)
        share = np.full((1, n_items), 1.0 / n_items)
        difference = np.concatenate([share, -weights], axis=1)
        own = np.concatenate([np.full((1, n_items), self.own(mix)), 0.0 * weights], axis=1)
        everything = np.concatenate([0.0 * share, weights], axis=1)
        tail, by_class = both.compare(difference, everything, mix[None], own)
        points = np.sqrt(posteriors)
        across = within = 0.0
        for rows in row_blocks(n_items, BLOCK_ROWS):
            across += float(distances(points[rows], self.points).sum(axis=0) @ weights[0])
            within += float(distances(points[rows], points[rows]).sum())
            # Those to later items count for both.
            within += 2.0 * float(distances(points[rows], points[rows.stop :]).sum())
        among = float(mix @ self._between_classes @ mix)
        energy = 2.0 * across / n_items - within / n_items**2 - among
        return Deviations(np.array([[tail[0], energy]]), by_class)

    def log_density(self, mix: FloatArray) -> FloatArray:
        """Return the log density of each reference item under a mix."""
        return np.asarray(self._items.log_density(mix[None])[0])

    def tail_probabilities(self, target: Items, mix: FloatArray) -> FloatArray:
        """Return a conformal p-value per item: how likely a density this small is under the mix.

        The item itself counts as one more reference.
        """
        weights, own = self.weights(mix[None])[0], self.own(mix)
        below = _weight_below(self.log_density(mix), weights, target.log_density(mix[None])[0])
        return np.asarray((below + own) / (1.0 + own))

    def own(self, mix: FloatArray) -> float:
        """Return the expected weight of an item of this mix, if it were a reference.

        An item of class k would have ``mix[k] / counts[k]``, and has class k with probability
        ``mix[k]``.
        """
        return float((mix**2 / self.references.drawn_counts).sum())


@dataclass(frozen=True, eq=False)
class Items:
    """Items by their likelihood under each class."""

    likelihood: FloatArray  # (m, K), each row divided by its largest
    peaks: FloatArray  # (m,): the logarithm of what it was divided by

    @classmethod
    def of(cls, log_likelihood: FloatArray) -> Items:
        """Scale a log-likelihood matrix."""
        peaks = log_likelihood.max(axis=1)
        return cls(np.maximum(np.exp(log_likelihood - peaks[:, None]), SMALLEST), peaks)

    def joined(self, other: Items) -> Items:
        """Return these items and others."""
        return Items(
            np.concatenate([self.likelihood, other.likelihood]),
            np.concatenate([self.peaks, other.peaks]),
        )

    def log_density(self, mixes: FloatArray) -> FloatArray:
        """Return the log density of each item under each mix, ``(B, m)``."""
        return np.asarray(np.log(mixes @ self.likelihood.T) + self.peaks)

    def compare(
        self,
        difference: FloatArray,
        weights: FloatArray,
        mixes: FloatArray,
        own: FloatArray | float,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the tail statistic of bags, ``(B,)``, and split by class, ``(B, K)``.

        ``weights`` are the weights of the items as references, ``difference`` their share of the
        bag minus that. ``own`` is the weight with which an item itself is added to the references.
        """
        mixture = mixes @ self.likelihood.T
        # Equal items have equal densities, up to rounding.
        density = (np.log(mixture) + self.peaks).round(DIGITS)
        below = (_own_weight_below(density, weights) + own) / (1.0 + own)
        # An item of no weight may be the smallest; the largest has all weight, up to rounding.
        score = -np.log(np.clip(below, SMALLEST_TAIL, 1.0))
        whole = (difference * score).sum(axis=1)
        # Class k is responsible for mixes[k] * likelihood[j, k] / mixture[j] of item j. Its usual
        # score is taken off, so that more or fewer items of the class do not count as a change.
        inverse = 1.0 / mixture
        expected, more = weights * inverse, difference * inverse
        members = expected @ self.likelihood
        scores = (expected * score) @ self.likelihood
        usual = np.divide(scores, members, out=np.zeros_like(scores), where=members > 0)
        changed = (more * score) @ self.likelihood - usual * (more @ self.likelihood)
        return np.asarray(whole), np.asarray(mixes * changed)


def fitted_mix(log_likelihood: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the mix of a target, solved as exactly as those of the bags."""
    return maximize_mixture(log_likelihood, weights=weights, tol=TOLERANCE).prevalence


def counts_in_bags(bags: IntArray, n_items: int) -> IntArray:
    """Return how often each item is in each bag, ``(B, n_items)``."""
    places = bags + n_items * np.arange(len(bags))[:, None]
    counts = np.bincount(places.ravel(), minlength=len(bags) * n_items)
    return np.asarray(counts.reshape(len(bags), n_items))


def distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return Euclidean distances between rows of length one."""
    # In place: a new array for each step would take more time than the steps.
    found = A @ B.T
    found *= -2.0
    found += 2.0
    np.maximum(found, 0.0, out=found)
    return np.asarray(np.sqrt(found, out=found))


def _weight_below(known: FloatArray, weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return the weight of the known numbers that are at most as large as each value."""
    order = np.argsort(known)
    total = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(total[np.searchsorted(known[order], values, side="right")])


def _own_weight_below(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``_weight_below(row, weights, row)`` for each row of values and of weights."""
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    total = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    tied = ascending[:, 1:] == ascending[:, :-1]
    if tied.any():
        # Equal numbers share what is below the last of them.
        total[:, :-1][tied] = np.inf
        total = np.minimum.accumulate(total[:, ::-1], axis=1)[:, ::-1]
    result = np.empty_like(total)
    np.put_along_axis(result, order, total, axis=1)
    return result
