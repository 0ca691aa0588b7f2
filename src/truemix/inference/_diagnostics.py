"""Convergence diagnostics: bulk effective sample size (ESS) and R-hat of several chains.

As defined by Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from truemix import _core
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
    return _core.diagnose(columns, np.argsort(columns, axis=1), _scores(m * h), m)


@lru_cache(maxsize=16)
def _scores(n: int) -> FloatArray:
    """Return Blom's normal scores of the ranks 1, 1.5, 2, ..., n."""
    from scipy.special import ndtri

    scores: FloatArray = ndtri((np.arange(2, 2 * n + 1) / 2.0 - 0.375) / (n + 0.25))
    scores.flags.writeable = False
    return scores
