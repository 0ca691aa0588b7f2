"""Compiled Gibbs sweeps over the joint posterior of a mix and a confusion matrix.

Data augmentation: split the count of each predicted class over the true classes given (pi, M), then
draw pi and each row of M given the split; both are conjugate. A temperature makes the counts
fractional, and fractions cannot be split. The sweep then splits rounded counts and becomes a
Metropolis-Hastings proposal, accepted by the ratio of the factors that rounding leaves out (the
augmented step is reversible, so no other factor is needed).

This alone mixes slowly where the classifier is weak, so moves of pairs of classes follow each step.
"""

from __future__ import annotations

import numpy as np

from truemix._compiled import compiled
from truemix._typing import FloatArray, IntArray
from truemix.inference._pair_moves import move_pairs, pair_scratch
from truemix.inference._random import State, binomial, dirichlet, uniform, whole_number

# Up to this many items per class, drawing the class of each is faster than drawing counts.
_FEW_ITEMS = 12


@compiled
def joint_sweeps(
    prior: FloatArray,
    row_shapes: FloatArray,
    powers: FloatArray,
    counts: IntArray,
    pi: FloatArray,
    M: FloatArray,
    state: State,
    skipped: int,
    kept: int,
    thinning: int,
) -> tuple[FloatArray, FloatArray, int]:
    """Return ``kept`` draws of the mix and of the realised mix, and the number of accepted steps.

    ``row_shapes`` (K, C) are the Dirichlet parameters of the rows of M from the labelled items
    alone, ``powers`` (C,) the exponents of the predicted classes' probabilities, and ``counts``
    (C,) how many items were predicted as each class. ``pi`` and ``M`` are the state of the chain.
    """
    K, C = row_shapes.shape
    whole = np.empty(C, np.int64)
    for c in range(C):
        whole[c] = whole_number(powers[c])
    draws, batch = np.empty((kept, K)), np.zeros((kept, K))
    split = np.zeros((K, C), np.int64)
    shape, row_shape = np.empty(K), np.empty(C)
    next_pi, next_M, scratch = np.empty(K), np.empty((K, C)), pair_scratch(C)
    accepted, n_items = 0, max(counts.sum(), 1)
    for sweep in range(skipped + kept * thinning):
        split_counts(pi, M, whole, state, split)
        for y in range(K):
            shape[y] = prior[y]
            for c in range(C):
                shape[y] += split[y, c]
                row_shape[c] = row_shapes[y, c] + split[y, c]
            dirichlet(state, row_shape, next_M[y])
        _mix(state, shape, next_pi)
        change = _log_rest(next_pi, next_M, powers, whole) - _log_rest(pi, M, powers, whole)
        if change >= 0.0 or uniform(state) < np.exp(change):
            accepted += 1
            pi[:] = next_pi
            M[:] = next_M
        move_pairs(pi, M, prior, row_shapes, powers, state, scratch)
        if sweep >= skipped and (sweep - skipped + 1) % thinning == 0:
            d = (sweep - skipped) // thinning
            draws[d] = pi
            split_counts(pi, M, counts, state, split)
            for y in range(K):
                for c in range(C):
                    batch[d, y] += split[y, c]
                batch[d, y] /= n_items
    return draws, batch, accepted


@compiled
def _mix(state: State, shape: FloatArray, out: FloatArray) -> None:
    """Draw from a Dirichlet of any shapes; ``dirichlet`` needs one of at least 1."""
    largest = 0
    for y in range(len(shape)):
        if shape[y] > shape[largest]:
            largest = y
    if shape[largest] >= 1.0:
        dirichlet(state, shape, out)
        return
    # Dir(a) is the mixture over j of Dir(a + e_j) with weights a_j / sum(a).
    total = shape.sum()
    u, j = uniform(state) * total, 0
    while j < len(shape) - 1 and u >= shape[j]:
        u -= shape[j]
        j += 1
    shape[j] += 1.0
    dirichlet(state, shape, out)
    shape[j] -= 1.0


@compiled
def split_counts(
    pi: FloatArray, M: FloatArray, counts: IntArray, state: State, out: IntArray
) -> None:
    """Draw how many items of each predicted class are of each true class, into ``out`` (K, C)."""
    K, C = M.shape
    cumulative = np.empty(K)
    for c in range(C):
        total = 0.0
        for y in range(K):
            total += pi[y] * M[y, c]
            cumulative[y] = total
            out[y, c] = 0
        if counts[c] <= _FEW_ITEMS * K:
            for _ in range(counts[c]):
                out[_first_above(cumulative, uniform(state) * total), c] += 1
        else:
            _split_many(cumulative, counts[c], state, out[:, c])


@compiled
def _first_above(rising: FloatArray, value: float) -> int:
    """Return the index of the first number above a value, by bisection; the last if none is."""
    low, high = 0, len(rising) - 1
    while low < high:
        middle = (low + high) // 2
        if rising[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _split_many(cumulative: FloatArray, count: int, state: State, out: IntArray) -> None:
    """Draw a multinomial split of ``count`` items, given the cumulative weights of the classes."""
    left, below, total = count, 0.0, cumulative[-1]
    for y in range(len(cumulative)):
        if left == 0:
            return
        # The last possible class takes all remaining items.
        last = y == len(cumulative) - 1 or cumulative[y] >= total
        share = (cumulative[y] - below) / (total - below)
        out[y] = left if last else binomial(state, left, share)
        left -= out[y]
        below = cumulative[y]


@compiled
def _log_rest(pi: FloatArray, M: FloatArray, powers: FloatArray, whole: IntArray) -> float:
    """Return the log of the factors of the density that rounding the counts leaves out."""
    value = 0.0
    for c in range(M.shape[1]):
        rest = powers[c] - whole[c]
        if rest != 0.0:
            probability = 0.0
            for y in range(M.shape[0]):
                probability += pi[y] * M[y, c]
            value += rest * np.log(probability)
    return value
