"""The No-U-Turn sampler on the joint posterior of a mix and a confusion matrix.

Coordinates: log-ratios to the last class, of the mix and of each row of the matrix, centred and
scaled by their approximate mean and standard deviation given labelled items and prior alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, types

from truemix._compiled import compiled
from truemix._typing import FloatArray, IntArray
from truemix.inference._joint_gibbs import split_counts
from truemix.inference._nutpie import DOUBLES, Chain, as_doubles, as_integers, run_compiled
from truemix.inference._random import State


def run_joint_nuts(
    prior: FloatArray,
    row_shapes: FloatArray,
    powers: FloatArray,
    draws: int,
    warmup: int,
    seed: int,
    spread: float,
) -> Chain:
    """Draw mixes and matrices: ``(draws, K + K * C)``, the mix first, then the matrix by rows."""
    K, C = row_shapes.shape
    # For the mix, as if half of the batch were labelled: a rough scale suffices.
    shapes = [prior + 0.5 * powers.sum() / K, *row_shapes]
    centre = np.concatenate([np.log(shape / shape[-1]) for shape in shapes])
    scale = np.concatenate([np.sqrt(1.0 / shape + 1.0 / shape[-1]) for shape in shapes])
    return run_compiled(
        _log_density,
        _expand,
        [prior, row_shapes.ravel(), powers, centre, scale],
        (K, C),
        dimension=(K - 1) + K * (C - 1),
        n_expanded=K + K * C,
        draws=draws,
        warmup=warmup,
        seed=seed,
        accept=0.8,
        spread=spread,
    )


@compiled
def realised(expanded: FloatArray, K: int, counts: IntArray, state: State) -> FloatArray:
    """Return one allocation of the predicted items to true classes per draw, as class shares."""
    C = len(counts)
    batch = np.zeros((len(expanded), K))
    split = np.zeros((K, C), np.int64)
    for d in range(len(expanded)):
        pi, M = expanded[d, :K], expanded[d, K:].copy().reshape(K, C)
        split_counts(pi, M, counts, state, split)
        for y in range(K):
            for c in range(C):
                batch[d, y] += split[y, c]
            batch[d, y] /= counts.sum()
    return batch


@compiled
def _softmax(z: FloatArray, centre: FloatArray, scale: FloatArray, out: FloatArray) -> None:
    """Write the composition with coordinates ``z`` (one fewer than its parts)."""
    n = len(out)
    largest = centre[n - 1]
    for k in range(n):
        out[k] = centre[k] + (scale[k] * z[k] if k < n - 1 else 0.0)
        largest = max(largest, out[k])
    total = 0.0
    for k in range(n):
        out[k] = np.exp(out[k] - largest)
        total += out[k]
    for k in range(n):
        out[k] = max(out[k] / total, 1e-300)


@compiled
def _compositions(
    z: FloatArray, centre: FloatArray, scale: FloatArray, K: int, C: int, out: FloatArray
) -> None:
    """Write the mix and then each row of the matrix at ``z``."""
    _softmax(z[: K - 1], centre[:K], scale[:K], out[:K])
    for y in range(K):
        at, start = K + y * C, (K - 1) + y * (C - 1)
        _softmax(
            z[start : start + C - 1], centre[at : at + C], scale[at : at + C], out[at : at + C]
        )


@compiled
def joint_density(
    z: FloatArray,
    prior: FloatArray,
    row_shapes: FloatArray,
    powers: FloatArray,
    centre: FloatArray,
    scale: FloatArray,
    gradient: FloatArray,
) -> float:
    """Return the log density at ``z`` and write its gradient."""
    K, C = len(prior), len(powers)
    values = np.empty(K + K * C)
    _compositions(z, centre, scale, K, C, values)
    pi, M = values[:K], values[K:].reshape(K, C)
    ratio = np.empty(C)
    value = 0.0
    for c in range(C):
        probability = 0.0
        for y in range(K):
            probability += pi[y] * M[y, c]
        value += powers[c] * np.log(probability)
        ratio[c] = powers[c] / probability
    total = prior.sum() + powers.sum()
    for y in range(K):
        expected, shape = 0.0, 0.0
        for c in range(C):
            expected += ratio[c] * M[y, c]
            shape += row_shapes[y * C + c]
            value += row_shapes[y * C + c] * np.log(M[y, c])
        value += prior[y] * np.log(pi[y])
        if y < K - 1:
            gradient[y] = scale[y] * (prior[y] + pi[y] * (expected - total))
        for c in range(C - 1):
            slope = row_shapes[y * C + c] + M[y, c] * (pi[y] * ratio[c] - shape - pi[y] * expected)
            gradient[(K - 1) + y * (C - 1) + c] = scale[K + y * C + c] * slope
    return value


@cfunc(types.int64(types.uint64, DOUBLES, DOUBLES, DOUBLES, types.voidptr), cache=True)
def _log_density(dim: Any, z: Any, gradient: Any, value: Any, user_data: Any) -> int:
    sizes = carray(as_integers(user_data), 7)
    K, C = sizes[0], sizes[1]
    value[0] = joint_density(
        carray(z, dim),
        carray(as_doubles(sizes[2]), K),
        carray(as_doubles(sizes[3]), K * C),
        carray(as_doubles(sizes[4]), C),
        carray(as_doubles(sizes[5]), K + K * C),
        carray(as_doubles(sizes[6]), K + K * C),
        carray(gradient, dim),
    )
    # A positive code ends the trajectory as a divergence.
    return 0 if np.isfinite(value[0]) else 1


@cfunc(types.int64(types.uint64, types.uint64, DOUBLES, DOUBLES, types.voidptr), cache=True)
def _expand(dim: Any, expanded: Any, z: Any, out: Any, user_data: Any) -> int:
    sizes = carray(as_integers(user_data), 7)
    K, C = sizes[0], sizes[1]
    _compositions(
        carray(z, dim),
        carray(as_doubles(sizes[5]), K + K * C),
        carray(as_doubles(sizes[6]), K + K * C),
        K,
        C,
        carray(out, K + K * C),
    )
    return 0
