"""The No-U-Turn sampler (through nutpie) on the posterior of a mix.

Coordinates z: log-ratios to the last class, minus those of the mode, are ``R^-T z``, where ``R R'``
is the precision at the mode. ILR coordinates are a linear map of these, so the density is the same;
but in z the posterior is close to a standard normal before any adaptation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, types

from truemix._compiled import compiled_vectors
from truemix._typing import FloatArray
from truemix.inference._blocks import BLOCK, in_blocks, mixture_likelihood
from truemix.inference._nutpie import DOUBLES, Chain, as_doubles, as_integers, run_compiled
from truemix.inference._posterior import Posterior
from truemix.inference._random import SMALLEST
from truemix.inference._symmetric import invert_cholesky


def run_nuts(
    posterior: Posterior, draws: int, warmup: int, seed: int, accept: float, spread: float
) -> Chain:
    """Draw ``draws`` mixes from the posterior, after a warm-up of at least ``MIN_WARMUP``.

    ``accept`` is the target acceptance: the closer to 1, the shorter the steps. ``spread`` is the
    distance of the initial point from the mode, in standard deviations.
    """
    K = len(posterior.mode)
    blocks, weights = in_blocks(posterior.L, posterior.w / posterior.temperature)
    chain = run_compiled(
        _log_density,
        _expand,
        [
            blocks,
            weights,
            posterior.prior,
            np.log(posterior.mode),
            invert_cholesky(posterior.precision()[: K - 1, : K - 1]),
        ],
        (len(blocks), K),
        dimension=K - 1,
        n_expanded=K,
        draws=draws,
        warmup=warmup,
        seed=seed,
        accept=accept,
        spread=spread,
    )
    return chain._replace(draws=np.maximum(chain.draws, SMALLEST))


def away_from_mode(posterior: Posterior, spread: float, seed: np.random.SeedSequence) -> FloatArray:
    """Return a random mix about ``spread`` standard deviations from the mode in each coordinate."""
    K = len(posterior.mode)
    root = invert_cholesky(posterior.precision()[: K - 1, : K - 1])
    z, pi = np.random.default_rng(seed).normal(0.0, spread, size=K - 1), np.empty(K)
    _mix(z, np.log(posterior.mode), root, pi)
    return np.maximum(pi, SMALLEST)


@compiled_vectors
def _mix(z: FloatArray, centre: FloatArray, R_inverse: FloatArray, pi: FloatArray) -> float:
    """Write the mix at ``z`` into ``pi``; return the log of its normalising constant."""
    K = len(pi)
    for k in range(K):
        pi[k] = centre[k]
    for a in range(K - 1):
        for b in range(a + 1):
            pi[b] += R_inverse[a, b] * z[a]
    largest = -np.inf
    for k in range(K):
        largest = max(largest, pi[k])
    total = 0.0
    for k in range(K):
        total += np.exp(pi[k] - largest)
    divisor: float = largest + np.log(total)
    for k in range(K):
        pi[k] = np.exp(pi[k] - divisor)
    return divisor


@compiled_vectors
def _divide(L: FloatArray, w: FloatArray, pi: FloatArray, u: FloatArray, ratio: FloatArray) -> None:
    mixture_likelihood(L, pi, u)
    for j in range(BLOCK):
        # Keep the log density finite where an item becomes impossible.
        u[j] = max(u[j], 1e-290)
        ratio[j] = w[j] / u[j]


@compiled_vectors
def _add_products(L: FloatArray, ratio: FloatArray, out: FloatArray) -> None:
    for k in range(len(out)):
        total = 0.0
        for j in range(BLOCK):
            total += L[k, j] * ratio[j]
        out[k] += total


@compiled_vectors
def density(
    z: FloatArray,
    L: FloatArray,
    w: FloatArray,
    prior: FloatArray,
    centre: FloatArray,
    R_inverse: FloatArray,
    gradient: FloatArray,
) -> float:
    """Return the log density at ``z`` and write its gradient.

    ``L`` is (blocks, K, BLOCK) here: loops over items vectorise however few the classes.
    """
    n_blocks, K, _ = L.shape
    pi, slope = np.empty(K), np.zeros(K)
    u, ratio = np.empty(BLOCK), np.empty(BLOCK)
    divisor = _mix(z, centre, R_inverse, pi)
    value: float = 0.0
    weight, product, power = 0.0, 1.0, 0.0
    for b in range(n_blocks):
        _divide(L[b], w[b], pi, u, ratio)
        for j in range(BLOCK):
            weight += w[b, j]
            # Items of equal weight are multiplied first: one logarithm for many.
            if w[b, j] != power or product < 1e-200:
                value += power * np.log(product)
                product, power = 1.0, w[b, j]
            if u[j] > 1e-100:
                product *= u[j]
            else:
                value += power * np.log(u[j])
        _add_products(L[b], ratio, slope)
    value += power * np.log(product)
    for k in range(K):
        weight += prior[k]
    for k in range(K):
        slope[k] = prior[k] + pi[k] * (slope[k] - weight)
    for k in range(K):
        # log pi computed directly: pi itself underflows within the tail of the prior.
        value += prior[k] * (centre[k] - divisor)
    for a in range(K - 1):
        total, shift = 0.0, 0.0
        for b in range(a + 1):
            total += R_inverse[a, b] * slope[b]
            shift += R_inverse[a, b] * prior[b]
        gradient[a] = total
        value += z[a] * shift
    return value


@cfunc(types.int64(types.uint64, DOUBLES, DOUBLES, DOUBLES, types.voidptr), cache=True)
def _log_density(dim: Any, z: Any, gradient: Any, value: Any, user_data: Any) -> int:
    sizes = carray(as_integers(user_data), 7)
    n, K = sizes[0], sizes[1]
    value[0] = density(
        carray(z, K - 1),
        carray(as_doubles(sizes[2]), (n, K, BLOCK)),
        carray(as_doubles(sizes[3]), (n, BLOCK)),
        carray(as_doubles(sizes[4]), K),
        carray(as_doubles(sizes[5]), K),
        carray(as_doubles(sizes[6]), (K - 1, K - 1)),
        carray(gradient, K - 1),
    )
    # A positive code ends the trajectory as a divergence.
    return 0 if np.isfinite(value[0]) else 1


@cfunc(types.int64(types.uint64, types.uint64, DOUBLES, DOUBLES, types.voidptr), cache=True)
def _expand(dim: Any, expanded: Any, z: Any, pi: Any, user_data: Any) -> int:
    sizes = carray(as_integers(user_data), 7)
    K = sizes[1]
    _mix(
        carray(z, K - 1),
        carray(as_doubles(sizes[5]), K),
        carray(as_doubles(sizes[6]), (K - 1, K - 1)),
        carray(pi, K),
    )
    return 0
