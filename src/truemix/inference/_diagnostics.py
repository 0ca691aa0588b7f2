"""Convergence diagnostics: bulk effective sample size (ESS) and R-hat of several chains.

As defined by Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): draws are rank-normalised, and
autocorrelations are summed by Geyer's initial monotone sequence. Autocovariances are computed lag
by lag, not by Fourier transform: a chain that mixes well needs only a handful of lags.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import BoolArray, FloatArray
from truemix.inference._failures import rhat_limit

# Autocorrelations are not estimated from fewer draws than this.
MIN_CHAIN = 16


def chain_statistics(chains: FloatArray, certain: BoolArray | None = None) -> dict[str, Any]:
    """Return the smallest ESS over the classes, and the R-hat that exceeds its limit by most.

    A share that is constant over all draws of all chains has as many effective draws as there are
    chains, unless it is ``certain``; ``constant`` counts such shares.

    Parameters
    ----------
    chains : array of shape (m, h, K)
        The draws of each chain.
    certain : array of shape (K,), optional
        Shares that the data determine exactly, so that constant draws are correct.
    """
    m, h, K = chains.shape
    ess, rhat, within_ess = effective_sizes(chains)
    constant = (chains == chains[0, 0]).all(axis=(0, 1))
    ess[constant] = m
    if certain is not None:
        ess[constant & certain] = m * h
        constant &= ~certain
    limit = np.array([rhat_limit(class_ess, m, K) for class_ess in within_ess])
    worst = int(np.argmax(rhat - limit))
    return {
        "ess": float(ess.min()),
        "rhat": float(rhat[worst]),
        "rhat_limit": float(limit[worst]),
        "constant": int(constant.sum()),
    }


def effective_sizes(chains: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each column the bulk ESS, R-hat, and the ESS within chains.

    The ESS within chains ignores differences between the chains' means. ``chains`` is (m, h, K),
    or (n, K) for one chain, which is split into halves. A constant column counts as independent
    draws with R-hat 1.

    Examples
    --------
    >>> import numpy as np
    >>> ess, rhat, _ = effective_sizes(np.random.default_rng(0).normal(size=(1000, 2)))
    >>> bool((ess > 700).all()), bool((rhat < 1.02).all())
    (True, True)
    """
    if chains.ndim == 2:
        half = len(chains) // 2
        # The middle one of an odd number of draws is in neither half.
        chains = np.stack([chains[:half], chains[-half:]])
    m, h, K = chains.shape
    columns = np.ascontiguousarray(chains.reshape(m * h, K).T)
    diagnostics: tuple[FloatArray, FloatArray, FloatArray] = _measure(
        columns, np.argsort(columns, axis=1), _scores(m * h), m
    )
    return diagnostics


@lru_cache(maxsize=16)
def _scores(n: int) -> FloatArray:
    """Return Blom's normal scores of the ranks 1, 1.5, 2, ..., n."""
    scores: FloatArray = ndtri((np.arange(2, 2 * n + 1) / 2.0 - 0.375) / (n + 0.25))
    scores.flags.writeable = False
    return scores


@compiled
def _measure(
    columns: FloatArray, orders: npt.NDArray[np.int64], scores: FloatArray, m: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    K, n = columns.shape
    ess, rhat, within_ess = np.empty(K), np.empty(K), np.empty(K)
    z, folded, distance = np.empty(n), np.empty(n), np.empty(n)
    distance_order = np.empty(n, np.int64)
    for k in range(K):
        x, order = columns[k], orders[k]
        _rank_scores(x, order, scores, z)
        ess[k], within_ess[k] = _bulk_ess(z, m, False), _bulk_ess(z, m, True)
        middle = 0.5 * (x[order[n // 2 - 1]] + x[order[n // 2]])
        # Sort by distance from the median: merge the lower half, read backwards, with the upper.
        low, high = n // 2 - 1, n // 2
        for rank in range(n):
            if high == n or (low >= 0 and middle - x[order[low]] <= x[order[high]] - middle):
                distance_order[rank] = order[low]
                low -= 1
            else:
                distance_order[rank] = order[high]
                high += 1
        for t in range(n):
            distance[t] = abs(x[t] - middle)
        _rank_scores(distance, distance_order, scores, folded)
        rhat[k] = max(_rhat(z, m), _rhat(folded, m))
    return ess, rhat, within_ess


@compiled
def _rank_scores(
    x: FloatArray, order: npt.NDArray[np.int64], scores: FloatArray, z: FloatArray
) -> None:
    """Write the normal score of each value's rank into ``z``; ties get their mean rank."""
    n, first = len(x), 0
    while first < n:
        last = first
        while last + 1 < n and x[order[last + 1]] == x[order[first]]:
            last += 1
        for at in range(first, last + 1):
            z[order[at]] = scores[first + last]
        first = last + 1


@compiled
def _spread(z: FloatArray, m: int) -> tuple[FloatArray, float, float]:
    """Return the mean of each chain, the variance within chains, and the total variance."""
    h = len(z) // m
    means, middle, within, between = np.zeros(m), 0.0, 0.0, 0.0
    for c in range(m):
        for t in range(h):
            means[c] += z[c * h + t] / h
        middle += means[c] / m
    for c in range(m):
        for t in range(h):
            within += (z[c * h + t] - means[c]) ** 2 / (m * (h - 1))
        between += (means[c] - middle) ** 2 / (m - 1)
    return means, within, within * (h - 1) / h + between


@compiled
def _rhat(z: FloatArray, m: int) -> float:
    _, within, total = _spread(z, m)
    if within <= 0.0:
        return 1.0 if total <= 0.0 else np.inf
    rhat: float = np.sqrt(total / within)
    return rhat


@compiled_vectors
def _lagged(z: FloatArray, means: FloatArray, lag: int) -> float:
    """Return the autocovariance at ``lag``, averaged over the chains."""
    m = len(means)
    h = len(z) // m
    total = 0.0
    for c in range(m):
        for t in range(c * h, (c + 1) * h - lag):
            total += (z[t] - means[c]) * (z[t + lag] - means[c])
    return total / (m * h)


@compiled
def _bulk_ess(z: FloatArray, m: int, inside: bool) -> float:
    """Return the ESS; ``inside`` leaves out the variance between chains."""
    n = len(z)
    h = n // m
    means, within, total = _spread(z, m)
    if inside:
        total = within
    if total <= 0.0:
        return float(n)
    even, odd = 1.0, 1.0 - (within - _lagged(z, means, 1)) / total
    # Geyer's initial monotone sequence: for a reversible chain, sums of neighbouring lags are
    # positive and decreasing. Stop where they turn negative; increases are noise.
    time, previous, lag = -1.0, even + odd, 1
    while even + odd > 0.0 and lag < h - 3:
        previous = min(previous, even + odd)
        time += 2.0 * previous
        even = 1.0 - (within - _lagged(z, means, lag + 1)) / total
        odd = 1.0 - (within - _lagged(z, means, lag + 2)) / total
        lag += 2
    time += max(even, 0.0)
    ess: float = n / max(time, 1.0 / np.log10(n))
    return ess
