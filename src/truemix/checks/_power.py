"""The power of a check: the share of unusual items that it would detect."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray
from truemix.checks._monte_carlo import Comparison
from truemix.checks._null import null_bags
from truemix.checks._scores import Scale, comparable, larger_score
from truemix.checks._statistics import ShiftStatistics
from truemix.checks._targets import Target

# The share of the references of each class that count as unusual, at least one.
UNUSUAL = 0.05
# Shares of unusual items that are simulated, and bags for each share.
SHARES = np.geomspace(0.01, 0.64, 7)
N_BAGS = 8
# Quantile of the normal distribution for a power of 80 %.
POWER = 0.84
# Points nearer than this are the same, up to rounding.
SAME = 1e-6


def detectable(
    statistics: ShiftStatistics, target: Target, found: Comparison, critical: float
) -> float:
    """Return the share of unusual items that the check detects with a power of 80 %, simulated.

    Some items of bags drawn from the references are replaced by items that are as unusual as the
    most unusual 5 % of the references, and the statistics of these bags are computed as for
    targets. Where any posteriors are explained by some mix, as with decisions (one-hot rows),
    nothing can be detected.

    Parameters
    ----------
    statistics : ShiftStatistics
    target : Target
        Determines the size of the bags.
    found : Comparison
        Determines their mix, and the null distribution.
    critical : float
        The score beyond which the check fails.

    Returns
    -------
    float
        1 if none of the simulated shares would be detected.
    """
    references, size = statistics.references, len(target.compared)
    if not references.can_reveal(target.posteriors):
        return 1.0
    n_bags = N_BAGS * len(SHARES)
    bags = null_bags(references.drawn_counts, found.mix, size, n_bags, target.rng)
    replaced = target.rng.random(bags.shape) < np.repeat(SHARES, N_BAGS)[:, None]
    unusual = unusual_weights(statistics, found.mix)
    bags[replaced] = target.rng.choice(len(unusual), replaced.sum(), p=unusual)
    deviations = statistics.deviations(bags, statistics.fit(bags))
    scale = Scale.of(comparable(found.null.whole))
    scores = larger_score(scale.scores(comparable(deviations.whole))).reshape(-1, N_BAGS)
    # The score that 80 % of the bags exceed, if scores are about normal.
    reached = np.maximum.accumulate(scores.mean(axis=1) - POWER * scores.std(axis=1))
    if reached[-1] < critical:
        return 1.0
    return float(np.exp(np.interp(critical, reached, np.log(SHARES))))


def unusual_weights(statistics: ShiftStatistics, mix: FloatArray) -> FloatArray:
    """Return the probabilities with which references are drawn as unusual items, ``(m,)``.

    These are the items of each class with the smallest densities, in the proportions of the mix. A
    density is the smallest partly by chance, so half of the probability goes to the nearest other
    item (shared by all that are equally near).
    """
    codes = statistics.references.drawn_codes
    density = statistics.log_density(mix)
    weights = np.zeros(len(codes))
    for k, share in enumerate(mix):
        members = np.flatnonzero(codes == k)
        few = members[np.argsort(density[members])][: max(1, round(UNUSUAL * len(members)))]
        weights[few] += share / len(few)
        away = statistics.distances[few]
        away[np.arange(len(few)), few] = np.inf
        near = away <= away.min(axis=1, keepdims=True) + SAME
        weights += share * (near / near.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.asarray(weights / weights.sum())
