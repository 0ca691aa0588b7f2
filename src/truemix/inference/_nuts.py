"""The No-U-Turn sampler (through nutpie) on the posterior of a mix.

Coordinates z: log-ratios to the last class, minus those of the mode, are ``R^-T z``, where ``R R'``
is the precision at the mode. ILR coordinates are a linear map of these, so the density is the same;
but in z the posterior is close to a standard normal before any adaptation.
"""

from __future__ import annotations

import numpy as np

from truemix import _core
from truemix._typing import FloatArray
from truemix.inference._nutpie import Chain, run_chain
from truemix.inference._posterior import Posterior


def run_nuts(
    posterior: Posterior, draws: int, warmup: int, seed: int, accept: float, spread: float
) -> Chain:
    """Draw ``draws`` mixes from the posterior, after a warm-up of at least ``MIN_WARMUP``.

    ``accept`` is the target acceptance: the closer to 1, the shorter the steps. ``spread`` is the
    distance of the initial point from the mode, in standard deviations.
    """
    chain = run_chain(
        whitened(posterior), draws=draws, warmup=warmup, seed=seed, accept=accept, spread=spread
    )
    return chain._replace(draws=np.maximum(chain.draws, _core.SMALLEST))


def whitened(posterior: Posterior) -> _core.MixDensity:
    """Return the log density in coordinates in which it is close to a standard normal."""
    rest = len(posterior.mode) - 1
    root = _core.invert_cholesky(posterior.precision()[:rest, :rest])
    weights = posterior.w / posterior.temperature
    return _core.MixDensity(posterior.L, weights, posterior.prior, np.log(posterior.mode), root)


def away_from_mode(posterior: Posterior, spread: float, seed: np.random.SeedSequence) -> FloatArray:
    """Return a random mix about ``spread`` standard deviations from the mode in each coordinate."""
    z = np.random.default_rng(seed).normal(0.0, spread, size=len(posterior.mode) - 1)
    return np.maximum(whitened(posterior).expand(z), _core.SMALLEST)
