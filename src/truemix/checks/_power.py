"""What a check can see: the share of unusual items that it would notice."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray
from truemix.checks._monte_carlo import Comparison
from truemix.checks._null import null_bags
from truemix.checks._scores import Scale, comparable, larger_score
from truemix.checks._statistics import Judge
from truemix.checks._targets import Target

# The references of each class that count as unusual: this share of them, at least one.
UNUSUAL = 0.05
# Shares of unusual items that are tried, and bags with each of them.
SHARES = np.geomspace(0.01, 0.64, 7)
N_BAGS = 8
# Quantile of the normal distribution for a power of 80 %.
POWER = 0.84
# Points nearer than this are the same, up to rounding.
SAME = 1e-6


def detectable(judge: Judge, target: Target, found: Comparison, critical: float) -> float:
    """Return the share of unusual items that would be noticed in four of five targets like this.

    Some items of bags drawn from the references are replaced by items that are as unusual as the
    most unusual twentieth of the references, and these bags are compared with their best mixes as
    targets are. Where no posteriors speak against a mix, as where all of them are decisions
    (one-hot rows), unusual ones do not either.

    Parameters
    ----------
    judge : Judge
    target : Target
        Tells the size of the bags.
    found : Comparison
        Tells their mix, and what is usual.
    critical : float
        The score beyond which the check fails.

    Returns
    -------
    float
        1 where none of the shares that were tried would be noticed.
    """
    references, size = judge.references, len(target.compared)
    if not references.can_reveal(target.posteriors):
        return 1.0
    n_bags = N_BAGS * len(SHARES)
    bags = null_bags(references.drawn_counts, found.mix, size, n_bags, target.rng)
    replaced = target.rng.random(bags.shape) < np.repeat(SHARES, N_BAGS)[:, None]
    unusual = unusual_weights(judge, found.mix)
    bags[replaced] = target.rng.choice(len(unusual), replaced.sum(), p=unusual)
    deviations = judge.deviations(bags, judge.fit(bags))
    scale = Scale.of(comparable(found.null.whole))
    scores = larger_score(scale.scores(comparable(deviations.whole))).reshape(-1, N_BAGS)
    # What four of five bags reach, if scores are about normal.
    reached = np.maximum.accumulate(scores.mean(axis=1) - POWER * scores.std(axis=1))
    if reached[-1] < critical:
        return 1.0
    return float(np.exp(np.interp(critical, reached, np.log(SHARES))))


def unusual_weights(judge: Judge, mix: FloatArray) -> FloatArray:
    """Return how often each reference stands for an unusual item, ``(m,)``.

    The items of each class with the smallest densities, in the proportions of the mix. That a
    density is so small is partly chance, so each of them stands for unusual items half of the
    time, and the nearest other item does for the other half (all that are equally near).
    """
    codes = judge.references.drawn_codes
    density = judge.log_density(mix)
    weights = np.zeros(len(codes))
    for k, share in enumerate(mix):
        members = np.flatnonzero(codes == k)
        few = members[np.argsort(density[members])][: max(1, round(UNUSUAL * len(members)))]
        weights[few] += share / len(few)
        away = judge.distances[few]
        away[np.arange(len(few)), few] = np.inf
        near = away <= away.min(axis=1, keepdims=True) + SAME
        weights += share * (near / near.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.asarray(weights / weights.sum())
