"""Effective sample size, Monte Carlo error and R-hat of draws under many replicates of the matrix.

Replicates are independent and exchangeable, so they are diagnosed jointly although each has only a
few draws:

- *Monte Carlo standard error*: from the variance of the replicates' means, which holds however the
  draws within a replicate are autocorrelated.
- *Convergence*: some chains are dispersed (they start far from their mode). Once converged, their
  draws have the same distribution as the others. R-hat between the two groups, of location (ranks)
  and of scale (ranks of distances from the median), is compared with the differences between
  replicates that chance produces.

If there are only a few replicates (models of some folds), each has a long chain and is diagnosed
separately.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._replicate_budget import DIAGNOSED_JOINTLY
from truemix._typing import BoolArray, FloatArray, IntArray
from truemix.inference._diagnostics import MIN_CHAIN, effective_sizes
from truemix.inference._failures import FALSE_ALARM, HARMLESS, rhat_limit


def replicate_statistics(draws: FloatArray, ends: IntArray, dispersed: BoolArray) -> dict[str, Any]:
    """Return diagnostics of draws under V replicates.

    Rows ``ends[v]`` to ``ends[v + 1]`` belong to replicate v; ``dispersed`` (V,) marks replicates
    whose chains started far from the mode.
    """
    sizes = np.diff(ends)[:, None]
    means = np.add.reduceat(draws, ends[:-1]) / sizes
    deviations = draws - np.repeat(means, sizes.ravel(), axis=0)
    within = (deviations**2).sum(axis=0) / max(int((sizes - 1).sum()), 1)
    observed = means.var(axis=0, ddof=1)
    # Variance components: means of few draws vary by themselves; the excess is between replicates.
    between = np.maximum(observed - within * np.mean(1.0 / sizes), 0.0)
    if len(sizes) >= DIAGNOSED_JOINTLY:
        enough_draws = len(draws) >= MIN_CHAIN
        squared_error = observed / len(sizes)
        # A share that is constant over all draws counts as one effective draw per replicate.
        ess = np.divide(
            draws.var(axis=0), squared_error, out=np.full(draws.shape[1], float(len(sizes))),
            where=squared_error > 0,
        )  # fmt: skip
        summary = float(min(ess.min(), len(draws))), *_between_starts(draws, ends, dispersed)
    else:
        enough_draws = int(sizes.min()) >= MIN_CHAIN
        squared_error, summary = _one_by_one(draws, ends)
    values = summary if enough_draws else (None,) * 3
    return {
        **dict(zip(("ess", "rhat", "rhat_limit"), values, strict=True)),
        "replicates": len(sizes),
        "between_variance": between,
        "within_variance": within,
        "mcse": np.sqrt(squared_error),
    }


def _one_by_one(draws: FloatArray, ends: IntArray) -> tuple[FloatArray, tuple[float, float, float]]:
    """Return the squared MCSE of the mean, and (ESS, worst R-hat, its limit).

    The ESS is the smallest of a replicate times their number. The replicates are the whole
    population, not a sample, so that the differences between them are no Monte Carlo error.
    """
    chains = np.split(draws, ends[1:-1])
    squared_error, min_ess, worst = np.zeros(draws.shape[1]), np.inf, (1.0, HARMLESS)
    for chain in chains:
        if len(chain) < MIN_CHAIN:
            squared_error += chain.var(axis=0)
            continue
        ess, rhat, _ = effective_sizes(chain)
        squared_error += chain.var(axis=0) / ess
        min_ess = min(min_ess, float(ess.min()))
        candidate = float(rhat.max()), rhat_limit(float(ess.min()), 2, draws.shape[1])
        worst = max(worst, candidate, key=lambda pair: pair[0] - pair[1])
    return squared_error / len(chains) ** 2, (min_ess * len(chains), *worst)


def _between_starts(draws: FloatArray, ends: IntArray, dispersed: BoolArray) -> tuple[float, float]:
    """Return R-hat between dispersed and other chains, and its critical value.

    Over all classes and both kinds of R-hat, the pair with the largest excess over its limit.
    """
    from scipy.special import ndtri, stdtrit

    if not dispersed.any() or dispersed.all():
        return 1.0, HARMLESS
    distance = np.abs(draws - np.median(draws, axis=0))
    z = ndtri((_ranks(np.hstack([draws, distance])) - 0.375) / (len(draws) + 0.25))
    sizes = np.diff(ends)
    in_group = np.repeat(dispersed, sizes)
    group_share = in_group.mean()
    difference = z[in_group].mean(axis=0) - z[~in_group].mean(axis=0)
    pooled = group_share * z[in_group].var(axis=0)
    pooled = pooled + (1.0 - group_share) * z[~in_group].var(axis=0)
    between = group_share * (1.0 - group_share)
    means = np.add.reduceat(z, ends[:-1]) / sizes[:, None]
    scatter = means - np.where(
        dispersed[:, None], means[dispersed].mean(axis=0), means[~dispersed].mean(axis=0)
    )
    degrees = len(sizes) - 2
    error = (scatter**2).sum(axis=0) / degrees * (1.0 / dispersed.sum() + 1.0 / (~dispersed).sum())
    critical = stdtrit(degrees, 1.0 - FALSE_ALARM / (2 * z.shape[1]))
    # Two constant groups that differ get a huge R-hat instead of a division by zero.
    pooled = np.maximum(pooled, 1e-300)
    rhat = np.sqrt(1.0 + between * difference**2 / pooled)
    limit = np.maximum(HARMLESS, np.sqrt(1.0 + between * critical**2 * error / pooled))
    worst = int(np.argmax(rhat - limit))
    return float(rhat[worst]), float(limit[worst])


def _ranks(columns: FloatArray) -> FloatArray:
    """Return the rank of each number in its column, from 1; equal numbers get their mean rank."""
    ranks = np.empty(columns.shape)
    for k, column in enumerate(columns.T):
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranks[:, k] = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    return ranks
