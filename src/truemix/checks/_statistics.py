"""How far a bag is from the mix of references that fits it best.

Every statistic compares the bag with the references reweighted to the bag's own fitted mix. A bag
that is such a mix differs from them by chance only, whatever the mix is, so the bags of the null
distribution can stand for a target whose mix is known only approximately. Two statistics see
different things:

- *tail*: are the items where the fitted mix has few? The mean of ``-log`` tail probability of the
  density at the items, minus the same of the reweighted references.
- *energy*: are they spread over the simplex as the references are? The energy distance of the two
  sets in the coordinates ``sqrt(posterior)``, in which everything is bounded.

A bag and the references are two weightings of the same items, so with their difference, one row per
bag, everything is a matrix product for many bags at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray
from truemix.checks._references import References
from truemix.inference import maximize_mixture, maximize_mixtures

# Likelihoods below this part of the item's largest are not told apart.
SMALLEST = 1e-300
# Tail probabilities are at least the weight of a single reference, so this changes none in use.
SMALLEST_TAIL = 1e-12
# Bags worked on together: a handful of arrays with one number per item and bag.
BAGS_BYTES = 4 << 20
# The duality gap of the mixes of bags: far below what chance does to the mean log-likelihood.
TOLERANCE = 1e-6
# Bags that are also compared with the references outside them: enough for a mean.
N_APART = 200


@dataclass(frozen=True, eq=False)
class Deviations:
    """How far bags are from their best mixes, one row per bag."""

    whole: FloatArray  # (B, 2): tail, energy
    classes: FloatArray  # (B, K): the tail statistic, split by responsibility


class Judge:
    """Compares bags with references; keeps what does not depend on the bag."""

    def __init__(self, references: References) -> None:
        self.references = references
        self._items = Items.of(references.log_likelihood)
        self._points = np.sqrt(references.drawn_posteriors)
        self._distances = _distances(self._points, self._points)

    def weights(self, mixes: FloatArray) -> FloatArray:
        """Return the weight of each reference item in each mix, ``(B, m)``."""
        counts, codes = self.references.drawn_counts, self.references.drawn_codes
        return np.asarray((mixes / counts)[:, codes])

    def bags(self, bags: list[IntArray]) -> Deviations:
        """Return the deviations of bags of reference items, given by their rows."""
        fits = maximize_mixtures(self.references.log_likelihood, bags, tol=TOLERANCE)
        mixes = np.array([fit.prevalence for fit in fits])
        n_items = len(self._points)
        whole, classes = np.empty((len(bags), 2)), np.empty((len(bags), mixes.shape[1]))
        optimism = []
        for block in row_blocks(len(bags), max(1, BAGS_BYTES // (8 * n_items))):
            shares = np.array(
                [np.bincount(rows, minlength=n_items) / len(rows) for rows in bags[block]]
            )
            weights = self.weights(mixes[block])
            tail, classes[block] = self._items.compare(
                shares - weights, weights, mixes[block], np.zeros_like(weights)
            )
            difference = shares - weights
            energy = -((difference @ self._distances) * difference).sum(axis=1)
            whole[block] = np.column_stack([tail, energy])
            if block.start < N_APART:
                apart = self._apart(shares, mixes[block])
                together = np.column_stack([tail, classes[block]])
                optimism.append(apart - together)
        shift = np.concatenate(optimism).mean(axis=0)
        whole[:, 0] += shift[0]
        return Deviations(whole, classes + shift[1:])

    def _apart(self, shares: FloatArray, mixes: FloatArray) -> FloatArray:
        """Return the tail statistics of bags compared with the references outside each of them.

        The mix is fitted to the items of the bag. Where these are references too, it fits some of
        the references as well, more so the more classes there are; a target has no such items.
        The spread would be that of fewer references, but the mean is what it is for a target.
        """
        codes, counts = self.references.drawn_codes, self.references.drawn_counts
        outside = (shares == 0.0).astype(np.float64)
        left = np.array([np.bincount(codes, row, minlength=len(counts)) for row in outside])
        # A class without items outside is represented by all it has.
        outside = np.where(left[:, codes] > 0, outside, 1.0)
        left = np.where(left > 0, left, counts)
        weights = outside * (mixes / left)[:, codes]
        own = (1.0 - outside) * (mixes**2 / left).sum(axis=1, keepdims=True)
        tail, by_class = self._items.compare(shares - weights, weights, mixes, own)
        return np.column_stack([tail, by_class])

    def target(self, target: Items, posteriors: FloatArray, mix: FloatArray) -> Deviations:
        """Return the deviations of a target from its best mix, as one bag."""
        n_items = len(posteriors)
        weights = self.weights(mix[None])
        # Target and references as one set of items, of which the target has no weight yet.
        both = target.joined(self._items)
        share = np.full((1, n_items), 1.0 / n_items)
        difference = np.concatenate([share, -weights], axis=1)
        own = np.concatenate([np.full((1, n_items), self.own(mix)), 0.0 * weights], axis=1)
        everything = np.concatenate([0.0 * share, weights], axis=1)
        tail, by_class = both.compare(difference, everything, mix[None], own)
        points = np.sqrt(posteriors)
        energy = (
            2.0 * _distances(points, self._points).mean(axis=0) @ weights[0]
            - _distances(points, points).mean()
            - weights[0] @ self._distances @ weights[0]
        )
        return Deviations(np.array([[tail[0], energy]]), by_class)

    def tail_probabilities(self, target: Items, mix: FloatArray) -> FloatArray:
        """Return the chance of so small a density among references of this mix, per item.

        A conformal p-value: the item itself counts as one more reference.
        """
        weights, own = self.weights(mix[None])[0], self.own(mix)
        known = self._items.log_density(mix[None])[0]
        below = _weight_below(known, weights, target.log_density(mix[None])[0])
        return np.asarray((below + own) / (1.0 + own))

    def own(self, mix: FloatArray) -> float:
        """Return the weight that an item of this mix would have, were it a reference.

        An item of class k would have ``mix[k] / counts[k]``, and is of that class as often as the
        mix says.
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
        self, difference: FloatArray, weights: FloatArray, mixes: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the tail statistic of bags, ``(B,)``, and split by class, ``(B, K)``.

        ``difference`` and ``weights`` weigh the items: bag minus references, and references.
        ``own`` is the weight by which an item counts beside them.
        """
        mixture = mixes @ self.likelihood.T
        density = np.log(mixture) + self.peaks
        score = np.empty_like(density)
        for row, values in enumerate(density):
            below = _own_weight_below(values, weights[row]) + own[row]
            # An item of no weight may be the smallest; the largest has all weight, up to rounding.
            score[row] = -np.log(np.clip(below / (1.0 + own[row]), SMALLEST_TAIL, 1.0))
        whole = (difference * score).sum(axis=1)
        # Class k is responsible for mixes[k] * likelihood[j, k] / mixture[j] of item j. Its usual
        # score is taken off, so that more or fewer items of the class do not count as a change.
        members = (weights / mixture) @ self.likelihood
        scores = (weights * score / mixture) @ self.likelihood
        usual = np.divide(scores, members, out=np.zeros_like(scores), where=members > 0)
        changed = (difference * score / mixture) @ self.likelihood
        more = (difference / mixture) @ self.likelihood
        return np.asarray(whole), np.asarray(mixes * (changed - usual * more))


def fitted_mix(log_likelihood: FloatArray) -> FloatArray:
    """Return the mix of a target, solved as exactly as those of the bags."""
    return maximize_mixture(log_likelihood, tol=TOLERANCE).prevalence


def _weight_below(known: FloatArray, weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return the weight of the known numbers that are at most as large as each value."""
    order = np.argsort(known)
    total = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(total[np.searchsorted(known[order], values, side="right")])


def _own_weight_below(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``_weight_below(values, weights, values)``, several times as fast."""
    order = np.argsort(values)
    ascending = values[order]
    last = np.append(np.flatnonzero(ascending[1:] != ascending[:-1]), len(values) - 1)
    # Equal numbers share what is below the last of them.
    total = np.repeat(np.cumsum(weights[order])[last], np.diff(last, prepend=-1))
    result = np.empty(len(values))
    result[order] = total
    return result


def _distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return Euclidean distances between rows of length one."""
    return np.sqrt(np.maximum(2.0 - 2.0 * (A @ B.T), 0.0))
