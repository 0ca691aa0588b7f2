"""Likelihoods in blocks of items, so that loops vectorise over items even with few classes."""

from __future__ import annotations

import numpy as np

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray

# Items per block: enough for the widest vector instructions, few enough for the L1 cache.
BLOCK = 64
# Likelihoods are floored at this value: the mix is rejected anyway, and a product of two such
# factors does not underflow.
_IMPOSSIBLE = 1e-150


def in_blocks(L: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return likelihoods (blocks, K, BLOCK) and weights (blocks, BLOCK), sorted by weight."""
    order = np.argsort(w, kind="stable")
    n, K = L.shape
    n_blocks = -(-n // BLOCK)
    # Padding of the last block: likelihood 1 under every class, weight 0.
    rows, weights = np.ones((n_blocks * BLOCK, K)), np.zeros(n_blocks * BLOCK)
    rows[:n], weights[:n] = L[order], w[order]
    blocks = rows.reshape(n_blocks, BLOCK, K).transpose(0, 2, 1)
    return np.ascontiguousarray(blocks), weights.reshape(n_blocks, BLOCK)


@compiled_vectors
def mixture_likelihood(L: FloatArray, pi: FloatArray, out: FloatArray) -> None:
    """Write ``sum_k pi_k L_kj``, the likelihood of each item j of a block, into ``out``."""
    K = len(pi)
    for j in range(BLOCK):
        out[j] = 0.0
    # Four classes at a time, because each loop reads and writes all of the sums.
    for k in range(0, K - 3, 4):
        for j in range(BLOCK):
            first = pi[k] * L[k, j] + pi[k + 1] * L[k + 1, j]
            out[j] += first + (pi[k + 2] * L[k + 2, j] + pi[k + 3] * L[k + 3, j])
    for k in range(K - K % 4, K):
        for j in range(BLOCK):
            out[j] += pi[k] * L[k, j]


@compiled
def log_likelihood(
    blocks: FloatArray, powers: FloatArray, pi: FloatArray, work: FloatArray
) -> float:
    """Return the log-likelihood of the mix ``pi``.

    ``blocks`` (b, K, BLOCK) and ``powers`` (b, BLOCK) are the likelihoods and weights of items, by
    rising weight; ``work`` is scratch of shape (2, BLOCK) or more.
    """
    u, product = work[0], work[1]
    value: float = 0.0
    power = powers[0, 0]
    for j in range(BLOCK):
        product[j] = 1.0
    for b in range(len(blocks)):
        mixture_likelihood(blocks[b], pi, u)
        if powers[b, 0] != powers[b, BLOCK - 1]:
            for j in range(BLOCK):
                value += powers[b, j] * np.log(max(u[j], _IMPOSSIBLE))
            continue
        # Items of equal weight are multiplied first: one logarithm for many.
        if powers[b, 0] != power:
            value += power * _take_log(product)
            power = powers[b, 0]
        if _multiply(product, u) < 1e-140:
            value += power * _take_log(product)
    value += power * _take_log(product)
    return value


@compiled_vectors
def _multiply(product: FloatArray, u: FloatArray) -> float:
    """Multiply elementwise, in place; return the smallest product."""
    smallest = np.inf
    for j in range(BLOCK):
        product[j] *= max(u[j], _IMPOSSIBLE)
        smallest = min(smallest, product[j])
    return smallest


@compiled
def _take_log(product: FloatArray) -> float:
    """Return the sum of the logarithms of the products, and reset them to 1."""
    value: float = 0.0
    together = 1.0
    for j in range(BLOCK):
        together *= product[j]
        product[j] = 1.0
        if together < 1e-140:
            value += np.log(together)
            together = 1.0
    value += np.log(together)
    return value
