"""Likelihoods of items in blocks: loops over items vectorise, however few the classes."""

from __future__ import annotations

import numpy as np

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray

# Items at a time: enough for the widest vectors, few enough for the registers of the cache.
BLOCK = 64
# The likelihood below which a mix is out of the question, whatever it is: two such factors of a
# product are still a number.
_IMPOSSIBLE = 1e-150


def in_blocks(L: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return likelihoods as (blocks, K, BLOCK) and weights as (blocks, BLOCK), by weight."""
    order = np.argsort(w, kind="stable")
    n, K = L.shape
    n_blocks = -(-n // BLOCK)
    # What fills up the last block is possible under any class, and counts nothing.
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
    # Four classes at a time: each loop reads and writes all of the sums.
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
        # One logarithm for the product of many items of equal weight.
        if powers[b, 0] != power:
            value += power * _take_log(product)
            power = powers[b, 0]
        if _multiply(product, u) < 1e-140:
            value += power * _take_log(product)
    value += power * _take_log(product)
    return value


@compiled_vectors
def _multiply(product: FloatArray, u: FloatArray) -> float:
    """Multiply item by item; return the smallest product."""
    least = np.inf
    for j in range(BLOCK):
        product[j] *= max(u[j], _IMPOSSIBLE)
        least = min(least, product[j])
    return least


@compiled
def _take_log(product: FloatArray) -> float:
    """Return the sum of the logarithms and set all products to 1."""
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
