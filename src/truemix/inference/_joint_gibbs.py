"""Compiled sweeps over a mix and a confusion matrix that are both unknown.

Data augmentation: split the count of each predicted class over the true classes given (pi, M), then
draw pi and each row of M given the split, both conjugate. A temperature makes the counts fractions,
which cannot be split; then whole numbers of nearly the same size are, and the step is a proposal
that is accepted by what the fractions add (the augmented step is reversible, so no more is needed).

Alone this creeps where the classifier is weak, so moves of pairs of classes follow each step.
"""

from __future__ import annotations

import numpy as np

from truemix._compiled import compiled
from truemix._typing import FloatArray, IntArray
from truemix.inference._pair_moves import move_pairs, pair_scratch
from truemix.inference._random import State, binomial, dirichlet, uniform


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
    """Return ``kept`` draws of the mix and of the realised mix, and the accepted steps.

    ``row_shapes`` (K, C) are the Dirichlet parameters of the rows of M from the labelled items
    alone, ``powers`` (C,) the exponents of the predicted classes' probabilities, and ``counts``
    (C,) how many items were predicted as each class. ``pi`` and ``M`` are the state of the chain.
    """
    K, C = row_shapes.shape
    whole = np.empty(C, np.int64)
    for c in range(C):
        whole[c] = np.int64(np.rint(powers[c]))
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
    """Draw a Dirichlet number for any shapes; ``dirichlet`` wants one of at least 1."""
    largest = 0
    for y in range(len(shape)):
        if shape[y] > shape[largest]:
            largest = y
    if shape[largest] >= 1.0:
        dirichlet(state, shape, out)
        return
    # Dir(a) is Dir(a + e_j) thinned: draw j with probability a_j / sum(a), and give it one more
    # in the shape; the mixture over j of Dir(a + e_j) is Dir(a).
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
    """Write into ``out`` (K, C) how many items of each predicted class are of each true class."""
    K, C = M.shape
    for c in range(C):
        left = counts[c]
        total = 0.0
        for y in range(K):
            total += pi[y] * M[y, c]
        for y in range(K):
            if left == 0:
                out[y, c] = 0
                continue
            share = pi[y] * M[y, c]
            last = y == K - 1 or share >= total
            out[y, c] = left if last else binomial(state, left, share / total)
            left -= out[y, c]
            total -= share


@compiled
def _log_rest(pi: FloatArray, M: FloatArray, powers: FloatArray, whole: IntArray) -> float:
    """Return the log of what the whole numbers leave out of the density."""
    value = 0.0
    for c in range(M.shape[1]):
        rest = powers[c] - whole[c]
        if rest != 0.0:
            probability = 0.0
            for y in range(M.shape[0]):
                probability += pi[y] * M[y, c]
            value += rest * np.log(probability)
    return value
