"""Allocate items to classes given the mix: class k with probability proportional to ``pi_k L_ik``.

This is the augmentation step of Gibbs sampling. At a reference mix ``x`` (the mode) each item has a
*lead* class, its most probable one, and *odds* against it.

- Doubtful items (large odds) are allocated in blocks, without branches: the class is the number of
  partial sums of ``pi_k L_ik`` that a uniform multiple of their total exceeds.
- Sure items (small odds; most items where classes separate well) are mostly skipped. At the mix
  ``pi`` their odds are at most ``odds * ratio * x_lead / pi_lead`` with
  ``ratio = max_k pi_k / x_k``. In order of falling odds, the distance to the next item that may
  leave its lead class is geometric; a rejection step (thinning) then makes the draw exact.
- Rows of large weight are split over the classes by binomial draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray
from truemix.inference._blocks import BLOCK, mixture_likelihood
from truemix.inference._random import State, binomial, log_uniform, uniform, whole_number

# Above these odds at the reference mix, skipping to an item costs as much as drawing its class.
_DOUBT = 0.05
# A row of weight above this times K is split by binomial draws, not allocated item by item.
_HEAVY = 8
# How an item is allocated: not at all (its class is certain), by skipping to it, or in a block.
_CERTAIN, _SURE, _DOUBTFUL = 0, 1, 2

Index = npt.NDArray[np.int64]


class Layout(NamedTuple):
    """The items in the memory layout of :func:`allocate`.

    ``blocks`` (b, K, BLOCK) are the likelihoods of doubtful items, ``weights`` (b, BLOCK) their
    weights. ``rows[start[k]:start[k + 1]]`` are the likelihoods of sure items with lead class k,
    by falling ``odds``, with weights ``mass``; ``lead`` is the total weight of each class if all
    sure items keep their lead class. ``heavy`` rows stand for ``copies`` items each.
    """

    reference: FloatArray
    blocks: FloatArray
    weights: FloatArray
    rows: FloatArray
    mass: FloatArray
    odds: FloatArray
    start: Index
    lead: FloatArray
    heavy: FloatArray
    copies: FloatArray


def arrange(L: FloatArray, w: FloatArray, x: FloatArray) -> Layout:
    """Return the layout of rows with weights ``w`` at the reference mix ``x`` (all positive).

    A weight of 3 stands for three items with the same likelihood, each allocated separately; a
    weight of 2.5 for two items of weight 1 and one of weight 0.5.
    """
    lead, odds = _leads(L, x)
    order = np.argsort(-odds, kind="stable")
    layout: Layout = _fill(L, w, x, lead, odds, order)
    return layout


@compiled
def _leads(L: FloatArray, x: FloatArray) -> tuple[Index, FloatArray]:
    """Return for each row the lead class, which maximises ``x_k L_k``, and the odds against it."""
    n, K = L.shape
    lead, odds = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        first, largest = 0, -1.0
        for k in range(K):
            if x[k] * L[i, k] > largest:
                first, largest = k, x[k] * L[i, k]
        rest = 0.0
        for k in range(K):
            if k != first:
                rest += x[k] * L[i, k]
        lead[i], odds[i] = first, rest / largest
    return lead, odds


@compiled
def _kind(odds: float) -> int:
    """Return how an item with these odds is allocated; NaN odds count as certain."""
    if not odds > 0.0:
        return _CERTAIN
    return _DOUBTFUL if odds > _DOUBT else _SURE


@compiled
def _is_heavy(odds: float, weight: float, K: int) -> bool:
    return _kind(odds) != _CERTAIN and weight >= _HEAVY * K


@compiled
def _sizes(w: FloatArray, lead: Index, odds: FloatArray, K: int) -> tuple[int, int, Index]:
    """Count doubtful items and heavy rows; also return where each class's sure items start."""
    n_doubtful, n_heavy, start = 0, 0, np.zeros(K + 1, np.int64)
    for i in range(len(w)):
        copies, kind = _copies(w[i], K), _kind(odds[i])
        if _is_heavy(odds[i], w[i], K):
            n_heavy += 1
        if kind == _DOUBTFUL:
            n_doubtful += copies
        elif kind == _SURE:
            start[lead[i] + 1] += copies
    for k in range(K):
        start[k + 1] += start[k]
    return n_doubtful, n_heavy, start


@compiled
def _fill(
    L: FloatArray, w: FloatArray, x: FloatArray, lead: Index, odds: FloatArray, order: Index
) -> Layout:
    K = len(x)
    n_doubtful, n_heavy, start = _sizes(w, lead, odds, K)
    n_blocks = (n_doubtful + BLOCK - 1) // BLOCK
    # Padding of the last block: likelihood 1 under every class, weight 0.
    blocks, weights = np.ones((n_blocks, K, BLOCK)), np.zeros((n_blocks, BLOCK))
    rows, mass, sorted_odds = np.empty((start[K], K)), np.empty(start[K]), np.empty(start[K])
    heavy, heavy_copies = np.empty((n_heavy, K)), np.empty(n_heavy)
    weight, fill, n_doubtful, n_heavy = np.zeros(K), start.copy(), 0, 0
    for i in order:
        first, copies, whole = lead[i], _copies(w[i], K), np.floor(w[i])
        if _kind(odds[i]) == _CERTAIN:
            weight[first] += w[i]
            continue
        if _is_heavy(odds[i], w[i], K):
            heavy_copies[n_heavy] = whole
            for k in range(K):
                heavy[n_heavy, k] = L[i, k]
            n_heavy += 1
        for copy in range(copies):
            # The last copy carries the fractional part of the weight.
            counts_for = w[i] - whole if w[i] > whole and copy == copies - 1 else 1.0
            if _kind(odds[i]) == _DOUBTFUL:
                b, j = n_doubtful // BLOCK, n_doubtful % BLOCK
                weights[b, j] = counts_for
                for k in range(K):
                    blocks[b, k, j] = L[i, k]
                n_doubtful += 1
            else:
                at = fill[first]
                mass[at], sorted_odds[at] = counts_for, odds[i]
                for k in range(K):
                    rows[at, k] = L[i, k]
                weight[first] += counts_for
                fill[first] += 1
    return Layout(x, blocks, weights, rows, mass, sorted_odds, start, weight, heavy, heavy_copies)


@compiled
def _copies(weight: float, K: int) -> int:
    """Return how many items of a row are allocated one by one; the others go to the heavy rows."""
    if weight >= _HEAVY * K:
        return int(weight > np.floor(weight))
    return whole_number(np.ceil(weight))


@compiled
def allocate(
    layout: Layout, pi: FloatArray, s: State, work: FloatArray, counts: FloatArray
) -> None:
    """Draw one allocation given ``pi`` and write the weight of each class into ``counts``.

    ``work`` is scratch of shape (3, max(K, BLOCK)).
    """
    for k in range(len(pi)):
        counts[k] = layout.lead[k]
    _allocate_sure(layout, pi, s, work[0], counts)
    for b in range(len(layout.blocks)):
        for j in range(BLOCK):
            work[1, j] = uniform(s)
        _allocate_block(layout.blocks[b], layout.weights[b], pi, work, counts)
    for h in range(len(layout.heavy)):
        _split(layout.heavy[h], pi, layout.copies[h], s, work[0], counts)


@compiled_vectors
def _allocate_block(
    L: FloatArray, w: FloatArray, pi: FloatArray, work: FloatArray, counts: FloatArray
) -> None:
    """Allocate a block of items by the uniforms ``work[1]``; add their weights to ``counts``."""
    K = len(pi)
    total, u, partial = work[0], work[1], work[2]
    mixture_likelihood(L, pi, total)
    left = 0.0
    for j in range(BLOCK):
        partial[j] = 0.0
        # A factor just below 1: rounding must not select a class beyond the last possible one.
        u[j] *= (1.0 - 1e-13) * total[j]
        left += w[j]
    for k in range(K - 1):
        beyond = 0.0
        for j in range(BLOCK):
            partial[j] += pi[k] * L[k, j]
            beyond += w[j] if partial[j] <= u[j] else 0.0
        counts[k] += left - beyond
        left = beyond
    counts[K - 1] += left


@compiled
def _allocate_sure(
    layout: Layout, pi: FloatArray, s: State, shares: FloatArray, counts: FloatArray
) -> None:
    """Reallocate the sure items that leave their lead class."""
    reference, rows, mass, odds = layout.reference, layout.rows, layout.mass, layout.odds
    ratio = 0.0
    for k in range(len(pi)):
        ratio = max(ratio, pi[k] / reference[k])
    for k in range(len(pi)):
        factor = ratio * reference[k] / pi[k]
        at, end = layout.start[k], layout.start[k + 1]
        while at < end:
            # This bound holds for all later items too: skip geometrically, then thin.
            bound = _leaves(odds[at] * factor)
            if bound < 1.0:
                ahead = log_uniform(s) / np.log1p(-bound)
                # Negated, so that NaN ends the search, too.
                if not 0.0 <= ahead < end - at:
                    break
                at += np.int64(ahead)
            v = uniform(s) * bound
            if v < _leaves(odds[at] * factor):
                rest = _other_shares(rows[at], pi, k, shares)
                # The item leaves if v < rest / total; v then also selects the new class.
                v *= rest + pi[k] * rows[at, k]
                if v < rest:
                    counts[k] -= mass[at]
                    counts[_pick(shares, len(pi), v)] += mass[at]
            at += 1


@compiled
def _leaves(odds: float) -> float:
    return odds / (1.0 + odds) if odds < 1e15 else 1.0


@compiled_vectors
def _other_shares(row: FloatArray, pi: FloatArray, k: int, shares: FloatArray) -> float:
    """Write ``pi_j L_j`` of all classes but ``k`` into ``shares`` and return their sum."""
    for j in range(len(pi)):
        shares[j] = pi[j] * row[j]
    shares[k] = 0.0
    total = 0.0
    for j in range(len(pi)):
        total += shares[j]
    return total


@compiled
def _pick(shares: FloatArray, K: int, v: float) -> int:
    last = 0
    for j in range(K):
        if shares[j] > 0.0:
            last = j
            v -= shares[j]
            if v < 0.0:
                break
    return last


@compiled
def _split(
    row: FloatArray,
    pi: FloatArray,
    copies: float,
    s: State,
    probability: FloatArray,
    counts: FloatArray,
) -> None:
    """Draw a multinomial allocation of ``copies`` equal items, by conditional binomials."""
    left, following = whole_number(copies), 0.0
    for k in range(len(pi) - 1, -1, -1):
        following += pi[k] * row[k]
        # 1 for the last possible class: it takes all remaining items.
        probability[k] = pi[k] * row[k] / following if following > 0.0 else 0.0
    for k in range(len(pi)):
        taken = binomial(s, left, probability[k])
        counts[k] += taken
        left -= taken


@compiled
def allocate_draws(layout: Layout, draws: FloatArray, s: State) -> FloatArray:
    """Draw one allocation for each row of ``draws``; return the share of each class."""
    n, K = draws.shape
    work, counts, batch = np.empty((3, max(K, BLOCK))), np.empty(K), np.empty((n, K))
    for d in range(n):
        allocate(layout, draws[d], s, work, counts)
        total = 0.0
        for k in range(K):
            # With fractional weights, rounding errors may leave a count below zero.
            counts[k] = max(counts[k], 0.0)
            total += counts[k]
        for k in range(K):
            batch[d, k] = counts[k] / total
    return batch
