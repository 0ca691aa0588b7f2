"""Gibbs sampling of one bag under many replicates of the matrix, in one compiled call.

Each replicate needs little more than a mode, proposals around it and a handful of sweeps, so steps
that pay off only in a long run (merging rows, skipping sure items, a pilot) are left out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._compiled import compiled
from truemix._typing import FloatArray, IntArray
from truemix.inference._allocation import Layout, allocate_draws
from truemix.inference._blocks import BLOCK
from truemix.inference._gibbs import sweep
from truemix.inference._posterior import mode_of, moment_of, precision_of
from truemix.inference._proposal import Proposal, independence_chain, proposal_at


@compiled
def sweep_replicates(
    matrices: FloatArray,
    rows: IntArray,
    copies: FloatArray,
    prior: FloatArray,
    near: FloatArray,
    starts: FloatArray,
    states: npt.NDArray[np.uint64],
    begin: IntArray,
    end: IntArray,
    discard: IntArray,
    thinning: int,
    tries: int,
    temperature: float,
    draws: FloatArray,
    batch: FloatArray,
) -> int:
    """Fill ``draws`` and ``batch`` for each replicate; return the number of accepted proposals.

    Parameters
    ----------
    matrices : array of shape (V, n, K)
        Log-likelihoods, in single or double precision; each row of the bag has a finite entry.
    rows : array of integers
        The items of the bag.
    copies : array
        Number of items that each of them stands for, a positive whole number.
    prior, near : arrays of shape (K,)
        Dirichlet parameters, and a mix near the modes, from which the solver starts.
    starts : array of shape (V, K)
        Initial mix of each replicate; its mode where the row is zero.
    states : array of shape (V, 4)
        A random stream for each replicate.
    begin, end : arrays of shape (V,)
        Draws ``begin[v]`` to ``end[v]`` belong to replicate v.
    discard : array of shape (V,)
        Sweeps to discard in each replicate.
    thinning : int
        Sweeps per draw.
    tries : int
        Independence proposals before each sweep.
    temperature : float
        If not 1, independence Metropolis is used instead of Gibbs sweeps.
    draws, batch : arrays of shape (draws, K)
        Output.
    """
    n, K = len(rows), len(prior)
    n_items = copies.sum()
    total = n_items / temperature + prior.sum()
    # The prior acts like items whose class is known.
    L, w = np.zeros((n + K, K)), np.empty(n + K)
    w[:n] = copies / (total * temperature)
    for k in range(K):
        L[n + k, k] = 1.0
        w[n + k] = prior[k] / total
    weights, powers = _block_weights(copies)
    powers /= temperature
    several = np.flatnonzero(copies > 1.0)
    heavy, heavy_copies = np.empty((len(several), K)), copies[several]
    blocks = np.ones((len(weights), K, BLOCK))
    none, square = np.empty(0), np.empty((0, 0))
    proposal = Proposal(none, none, none, square, square, blocks, powers, prior)
    accepted = 0
    for v in range(len(matrices)):
        _likelihoods(matrices[v], rows, L, blocks)
        for h in range(len(several)):
            heavy[h] = L[several[h]]
        mode = mode_of(L, w, n, near)
        if tries > 0:
            moment = moment_of(L[:n], copies, mode)
            precision = precision_of(moment, mode, prior, n_items, temperature)
            proposal = proposal_at(mode, precision, prior, n_items / temperature, blocks, powers)
        layout = Layout(
            mode, blocks, weights, np.empty((0, K)), none, none, np.zeros(K + 1, np.int64),
            np.zeros(K), heavy, heavy_copies,
        )  # fmt: skip
        kept = end[v] - begin[v]
        pi = mode.copy() if starts[v].sum() == 0.0 else starts[v].copy()
        if temperature == 1.0:
            mixes, realised, n_accepted = sweep(
                layout, prior, pi, states[v], discard[v], kept, thinning, proposal, tries
            )
        else:
            mixes, n_accepted = independence_chain(
                proposal, pi, states[v], discard[v], kept, thinning
            )
            realised = allocate_draws(layout, mixes, states[v])
        draws[begin[v] : end[v]] = mixes
        batch[begin[v] : end[v]] = realised
        accepted += n_accepted
    return accepted


@compiled
def _block_weights(copies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of items in allocations, and their exponents in likelihoods, in blocks.

    Rows that stand for several items are allocated separately, so their weight is 0. Padding has
    weight 0 and likelihood 1, so its exponent may be 1.
    """
    n = len(copies)
    n_blocks = (n + BLOCK - 1) // BLOCK
    weights, powers = np.zeros((n_blocks, BLOCK)), np.ones((n_blocks, BLOCK))
    for i in range(n):
        weights[i // BLOCK, i % BLOCK] = 1.0 if copies[i] == 1.0 else 0.0
        powers[i // BLOCK, i % BLOCK] = copies[i]
    return weights, powers


@compiled
def _likelihoods(logs: FloatArray, rows: IntArray, L: FloatArray, blocks: FloatArray) -> None:
    """Write the likelihoods of the items, each scaled to maximum 1, in rows and in blocks."""
    K = logs.shape[1]
    for i in range(len(rows)):
        peak = -np.inf
        for k in range(K):
            peak = max(peak, float(logs[rows[i], k]))
        for k in range(K):
            L[i, k] = np.exp(float(logs[rows[i], k]) - peak)
            blocks[i // BLOCK, k, i % BLOCK] = L[i, k]
