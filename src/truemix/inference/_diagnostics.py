"""How much a sample is worth: bulk effective sample size and split R-hat.

As defined by Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): the draws are replaced by
normal scores of their ranks, the chain is split in halves, autocorrelations are summed up to
Geyer's initial monotone sequence. Sums over lags are taken directly, not by Fourier transform: a
chain worth keeping needs a handful of them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray
from truemix.inference._failures import split_rhat_limit

# Fewer draws than this say nothing about autocorrelation.
MIN_CHAIN = 16


def chain_statistics(draws: FloatArray) -> dict[str, float | None]:
    """Return the smallest effective sample size, the largest R-hat, and the largest by chance.

    All are None for a chain that is too short to tell.
    """
    if len(draws) < MIN_CHAIN:
        return {"ess": None, "rhat": None, "rhat_limit": None}
    ess, rhat = effective_sizes(draws)
    limit = split_rhat_limit(float(ess.min()), draws.shape[1])
    return {"ess": float(ess.min()), "rhat": float(rhat.max()), "rhat_limit": limit}


def effective_sizes(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bulk effective sample size and the split R-hat of each column.

    A constant column counts as independent draws with R-hat 1.

    Examples
    --------
    >>> import numpy as np
    >>> ess, rhat = effective_sizes(np.random.default_rng(0).normal(size=(1000, 2)))
    >>> bool((ess > 700).all()), bool((rhat < 1.02).all())
    (True, True)
    """
    half = len(draws) // 2
    # The middle one of an odd number of draws takes part in neither half.
    halves = np.concatenate([draws[:half], draws[-half:]])
    columns = np.ascontiguousarray(halves.T)
    ess, rhat = _measure(columns, np.argsort(columns, axis=1), _scores(2 * half))
    return ess, rhat


@lru_cache(maxsize=16)
def _scores(n: int) -> FloatArray:
    """Return normal scores of the ranks 1, 1.5, 2, ..., n (Blom's)."""
    scores: FloatArray = ndtri((np.arange(2, 2 * n + 1) / 2.0 - 0.375) / (n + 0.25))
    scores.flags.writeable = False
    return scores


@compiled
def _measure(
    columns: FloatArray, orders: npt.NDArray[np.int64], scores: FloatArray
) -> tuple[FloatArray, FloatArray]:
    K, n = columns.shape
    ess, rhat = np.empty(K), np.empty(K)
    z, folded, distance = np.empty(n), np.empty(n), np.empty(n)
    far_order = np.empty(n, np.int64)
    for k in range(K):
        x, order = columns[k], orders[k]
        _rank_scores(x, order, scores, z)
        ess[k] = _bulk_ess(z)
        middle = 0.5 * (x[order[n // 2 - 1]] + x[order[n // 2]])
        # Sorted by distance from the median: merge what is below, read backwards, and above.
        low, high = n // 2 - 1, n // 2
        for rank in range(n):
            if high == n or (low >= 0 and middle - x[order[low]] <= x[order[high]] - middle):
                far_order[rank] = order[low]
                low -= 1
            else:
                far_order[rank] = order[high]
                high += 1
        for t in range(n):
            distance[t] = abs(x[t] - middle)
        _rank_scores(distance, far_order, scores, folded)
        rhat[k] = max(_split_rhat(z), _split_rhat(folded))
    return ess, rhat


@compiled
def _rank_scores(
    x: FloatArray, order: npt.NDArray[np.int64], scores: FloatArray, z: FloatArray
) -> None:
    """Write the normal score of each rank into ``z``; equal values share their mean rank."""
    n, first = len(x), 0
    while first < n:
        last = first
        while last + 1 < n and x[order[last + 1]] == x[order[first]]:
            last += 1
        for at in range(first, last + 1):
            z[order[at]] = scores[first + last]
        first = last + 1


@compiled
def _spread(z: FloatArray) -> tuple[float, float, float, float]:
    """Return the mean of each half, the variance within and the variance in all (both per draw)."""
    h = len(z) // 2
    first, second, within = 0.0, 0.0, 0.0
    for t in range(h):
        first += z[t] / h
        second += z[h + t] / h
    for t in range(h):
        within += 0.5 * ((z[t] - first) ** 2 + (z[h + t] - second) ** 2) / (h - 1)
    return first, second, within, within * (h - 1) / h + 0.5 * (first - second) ** 2


@compiled
def _split_rhat(z: FloatArray) -> float:
    _, _, within, total = _spread(z)
    if within <= 0.0:
        return 1.0 if total <= 0.0 else np.inf
    rhat: float = np.sqrt(total / within)
    return rhat


@compiled_vectors
def _lagged(z: FloatArray, first: float, second: float, lag: int) -> float:
    """Return the autocovariance at ``lag``, mean of both halves."""
    h = len(z) // 2
    total = 0.0
    for t in range(h - lag):
        total += (z[t] - first) * (z[t + lag] - first)
    for t in range(h, 2 * h - lag):
        total += (z[t] - second) * (z[t + lag] - second)
    return total / (2 * h)


@compiled
def _bulk_ess(z: FloatArray) -> float:
    n = len(z)
    h = n // 2
    first, second, within, total = _spread(z)
    if total <= 0.0:
        return float(n)
    even, odd = 1.0, 1.0 - (within - _lagged(z, first, second, 1)) / total
    # Sums of neighbouring lags are positive and falling for a reversible chain: the sum ends
    # where they turn negative, and rises are noise.
    time, previous, lag = -1.0, even + odd, 1
    while even + odd > 0.0 and lag < h - 3:
        previous = min(previous, even + odd)
        time += 2.0 * previous
        even = 1.0 - (within - _lagged(z, first, second, lag + 1)) / total
        odd = 1.0 - (within - _lagged(z, first, second, lag + 2)) / total
        lag += 2
    time += max(even, 0.0)
    ess: float = n / max(time, 1.0 / np.log10(n))
    return ess
