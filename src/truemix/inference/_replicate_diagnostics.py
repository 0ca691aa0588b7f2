"""How much draws under many replicates of the matrix are worth, and whether their chains converged.

Replicates are independent of each other and exchangeable, so they can be judged together although
each has a few draws only:

- *Monte Carlo error*: the spread of the replicates' means tells how far their mean may be off,
  however the draws of one replicate depend on each other.
- *Convergence*: some chains start far from their mode. If all have forgotten where they started,
  these draws have the distribution of the others: R-hat of the two groups, for the location (ranks)
  and for the spread (ranks of distances from the median), compares what the start makes of the
  variance with what replicates differ by anyway.

Of few replicates (the models of some folds) each has a long chain and is judged by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit
from scipy.stats import rankdata

from truemix._typing import BoolArray, FloatArray, IntArray
from truemix.inference._diagnostics import MIN_CHAIN, effective_sizes
from truemix.inference._failures import FALSE_ALARM, HARMLESS, rhat_limit
from truemix.inference.replicates import MIN_REPLICATES


def replicate_statistics(draws: FloatArray, ends: IntArray, dispersed: BoolArray) -> dict[str, Any]:
    """Return the diagnostics of draws of which ``ends[v]`` to ``ends[v + 1]`` are replicate v's.

    ``dispersed`` (V,) marks the replicates whose chains started far from the mode.
    """
    sizes = np.diff(ends)[:, None]
    means = np.add.reduceat(draws, ends[:-1]) / sizes
    deviations = draws - np.repeat(means, sizes.ravel(), axis=0)
    within = (deviations**2).sum(axis=0) / max(int((sizes - 1).sum()), 1)
    observed = means.var(axis=0, ddof=1)
    # The mean of few draws varies by itself; only what exceeds that lies between the replicates.
    between = np.maximum(observed - within * np.mean(1.0 / sizes), 0.0)
    if len(sizes) >= MIN_REPLICATES:
        known = len(draws) >= MIN_CHAIN
        squared_error = observed / len(sizes)
        # A share that is the same in all draws has been found by each replicate, and no oftener.
        ess = np.divide(
            draws.var(axis=0), squared_error, out=np.full(draws.shape[1], float(len(sizes))),
            where=squared_error > 0,
        )  # fmt: skip
        summary = float(min(ess.min(), len(draws))), *_between_starts(draws, ends, dispersed)
    else:
        known = int(sizes.min()) >= MIN_CHAIN
        squared_error, summary = _one_by_one(draws, ends)
    return {
        **dict(zip(("ess", "rhat", "rhat_limit"), summary if known else (None,) * 3, strict=True)),
        "replicates": len(sizes),
        "between_variance": between,
        "within_variance": within,
        "mcse": np.sqrt(squared_error),
    }


def _one_by_one(draws: FloatArray, ends: IntArray) -> tuple[FloatArray, tuple[float, float, float]]:
    """Return squared errors of the mean; ESS if all were as the worst; worst R-hat and its limit.

    The replicates are all there are, not a sample of more, so that how they differ is no error.
    """
    chains = np.split(draws, ends[1:-1])
    squared_error, least, worst = np.zeros(draws.shape[1]), np.inf, (1.0, HARMLESS)
    for chain in chains:
        if len(chain) < MIN_CHAIN:
            squared_error += chain.var(axis=0)
            continue
        ess, rhat, _ = effective_sizes(chain)
        squared_error += chain.var(axis=0) / ess
        least = min(least, float(ess.min()))
        found = float(rhat.max()), rhat_limit(float(ess.min()), 2, draws.shape[1])
        worst = max(worst, found, key=lambda pair: pair[0] - pair[1])
    return squared_error / len(chains) ** 2, (least * len(chains), *worst)


def _between_starts(draws: FloatArray, ends: IntArray, dispersed: BoolArray) -> tuple[float, float]:
    """Return the R-hat between chains by where they started, and the largest that chance explains.

    Of all classes and both kinds of R-hat, the pair that exceeds its limit by most.
    """
    if not dispersed.any() or dispersed.all():
        return 1.0, HARMLESS
    distance = np.abs(draws - np.median(draws, axis=0))
    z = ndtri((rankdata(np.hstack([draws, distance]), axis=0) - 0.375) / (len(draws) + 0.25))
    sizes = np.diff(ends)
    far = np.repeat(dispersed, sizes)
    step = z[far].mean(axis=0) - z[~far].mean(axis=0)
    pooled = far.mean() * z[far].var(axis=0) + (1.0 - far.mean()) * z[~far].var(axis=0)
    explained = far.mean() * (1.0 - far.mean())
    means = np.add.reduceat(z, ends[:-1]) / sizes[:, None]
    scatter = means - np.where(
        dispersed[:, None], means[dispersed].mean(axis=0), means[~dispersed].mean(axis=0)
    )
    degrees = len(sizes) - 2
    error = (scatter**2).sum(axis=0) / degrees * (1.0 / dispersed.sum() + 1.0 / (~dispersed).sum())
    critical = stdtrit(degrees, 1.0 - FALSE_ALARM / (2 * z.shape[1]))
    # Groups that are constant and differ could not disagree more.
    pooled = np.maximum(pooled, 1e-300)
    rhat = np.sqrt(1.0 + explained * step**2 / pooled)
    limit = np.maximum(HARMLESS, np.sqrt(1.0 + explained * critical**2 * error / pooled))
    worst = int(np.argmax(rhat - limit))
    return float(rhat[worst]), float(limit[worst])
