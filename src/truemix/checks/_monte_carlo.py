"""The test of one target: with as many bags of references as its p-value needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.checks._multiple import monte_carlo, tied
from truemix.checks._null import null_bags
from truemix.checks._scores import Scale, comparable, larger_score
from truemix.checks._statistics import Deviations, Items, ShiftStatistics, fitted_mix
from truemix.checks._targets import Target

# Bags in the null distribution: at first, in each further step, at most for a single target and for
# all targets together; but always enough that some are expected beyond the level.
FIRST_BAGS = 99
STEP_BAGS = 100
MAX_BAGS = 999
MAX_ALL_BAGS = 9_999
BEYOND = 4
# Once this many bags deviate at least as much as the target, more would not change the verdict.
ENOUGH = 10
# Bags that correct for the mix being fitted to references: enough for a mean.
N_APART = 12


@dataclass(frozen=True, eq=False)
class Comparison:
    """A target and bags of references, each compared with the mix that fits it best."""

    mix: FloatArray
    observed: Deviations
    null: Deviations
    scores: FloatArray  # (2,): tail and energy of the target, in standard deviations
    statistic: float  # the larger one
    null_statistics: FloatArray  # (B,): the same of the bags

    @property
    def p_value(self) -> float:
        """How often a bag deviates as much as the target."""
        return float(monte_carlo(np.array([self.statistic]), self.null_statistics[:, None])[0])

    def by_class(self) -> tuple[FloatArray, FloatArray]:
        """Return how far each class of the target has changed, ``(K,)``, and of the bags."""
        scale = Scale.of(self.null.classes)
        others = scale.scores_of_the_others(self.null.classes)
        return scale.scores(self.observed.classes)[0], others


def compare(statistics: ShiftStatistics, target: Target, most: int) -> Comparison:
    """Compare a target with references until its p-value is clear.

    A sequential Monte Carlo test (Besag and Clifford, 1991): bags are drawn in steps until enough
    of them deviate as much as the target, or there are as many as a small p-value needs (``most``).
    The p-value is as valid as with a fixed number of bags: it is small only if all were drawn.
    """
    matrix = target.log_likelihood[target.compared]
    mix = fitted_mix(matrix)
    if not statistics.references.can_reveal(target.posteriors):
        return _no_deviation(mix)
    observed = statistics.target(Items.of(matrix), target.posteriors[target.compared], mix)
    for null in _growing_null(statistics, mix, target, most):
        scale = Scale.of(comparable(null.whole))
        scores = scale.scores(comparable(observed.whole))
        statistic = larger_score(scores)
        others = larger_score(scale.scores_of_the_others(comparable(null.whole)))
        if (others >= tied(statistic)).sum() >= ENOUGH:
            break
    return Comparison(mix, observed, null, scores[0], float(statistic[0]), others)


def _no_deviation(mix: FloatArray) -> Comparison:
    """Return a comparison without a deviation, for posteriors that any mix explains."""
    n_classes = len(mix)
    observed = Deviations(np.zeros((1, 2)), np.zeros((1, n_classes)))
    null = Deviations(np.zeros((FIRST_BAGS, 2)), np.zeros((FIRST_BAGS, n_classes)))
    return Comparison(mix, observed, null, np.zeros(2), 0.0, np.zeros(FIRST_BAGS))


def max_bags(level: float, n_targets: int) -> int:
    """Return how many bags may be drawn for each of some targets.

    Examples
    --------
    >>> max_bags(0.05, n_targets=1), max_bags(0.05, n_targets=50), max_bags(0.001, n_targets=50)
    (999, 199, 3999)
    """
    return max(FIRST_BAGS, math.ceil(BEYOND / level) - 1, min(MAX_BAGS, MAX_ALL_BAGS // n_targets))


def _growing_null(
    statistics: ShiftStatistics, mix: FloatArray, target: Target, most: int
) -> Iterator[Deviations]:
    """Yield the deviations of a growing number of bags, up to ``most``."""
    counts, size = statistics.references.drawn_counts, len(target.compared)

    def drawn(n_bags: int) -> tuple[IntArray, FloatArray]:
        bags = null_bags(counts, mix, size, n_bags, target.rng)
        return bags, statistics.fit(bags)

    bags, mixes = drawn(FIRST_BAGS)
    shift = statistics.optimism(bags[:N_APART], mixes[:N_APART], mix)
    null = statistics.deviations(bags, mixes).shifted(shift)
    yield null
    while len(null.whole) < most:
        found = statistics.deviations(*drawn(min(STEP_BAGS, most - len(null.whole))))
        null = null.joined(found.shifted(shift))
        yield null
