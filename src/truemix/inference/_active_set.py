"""The quadratic subproblem of the SQP solver: an active-set method over non-negative shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray

# Ridge, relative to a unit diagonal: above the rounding error of H, below any curvature that could
# change the duality gap.
_RIDGE = 1e-11


@compiled_vectors
def quadratic_step(
    H: FloatArray,
    g: FloatArray,
    idx: npt.NDArray[np.int64],
    x: FloatArray,
    y: FloatArray,
    work: FloatArray,
) -> None:
    """Minimise ``y'Hy/2 - (2g - 1)'y`` over ``y >= 0`` from ``y = x``, by active sets.

    Every pass lowers the quadratic model, so the result is a descent direction even if the passes
    run out.
    """
    m = len(idx)
    scale, start, z = np.empty(m), np.empty(m), np.empty(m)
    b, r, s, trial = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    passive = np.empty(m, np.bool_)
    # With a unit diagonal the condition number no longer depends on the size of the classes. By
    # Cauchy-Schwarz H_kk >= g_k^2, and g_k = 1 for each class in the support of the optimum: a
    # smaller diagonal belongs to a class that is about to leave the support, and scaling it up
    # would only magnify rounding errors.
    for a in range(m):
        scale[a] = max(np.sqrt(H[a, a]), 1.0)
    for a in range(m):
        for c in range(m):
            H[a, c] /= scale[a] * scale[c]
    # The ridge makes H invertible when classes are identical. It is centred on x, so it changes
    # neither the optimum nor the shares of identical classes. The model is written in y - x: since
    # H x = g, its linear term is g - 1, without the rounding error of a product.
    for a in range(m):
        H[a, a] += _RIDGE
        start[a] = x[idx[a]] * scale[a]
        z[a] = start[a]
        b[a] = (g[idx[a]] - 1.0) / scale[a]
    solved = False
    for _ in range(3 * m + 20):
        worst, largest = -1, 0.0
        for a in range(m):
            rest, size = b[a], abs(b[a])
            for c in range(m):
                product = H[a, c] * (z[c] - start[c])
                rest -= product
                size += abs(product)
            r[a] = rest
            passive[a] = z[a] > 0.0
            # Ignore violations below 1e-12 in units of the gradient, or below the rounding error
            # of the sum.
            if z[a] == 0.0 and r[a] * scale[a] > 1e-12 and r[a] > 1e-14 * size:
                passive[a] = True
                if r[a] * scale[a] > largest:
                    worst, largest = a, r[a] * scale[a]
        if solved and worst < 0:
            break
        _solve_entering(H, r, z, s, passive, worst, work)
        solved = _move(H, r, z, s, trial)
    for k in range(len(y)):
        y[k] = 0.0
    for a in range(m):
        y[idx[a]] = z[a] / scale[a]


@compiled
def _solve_entering(
    H: FloatArray,
    r: FloatArray,
    z: FloatArray,
    s: FloatArray,
    passive: npt.NDArray[np.bool_],
    worst: int,
    work: FloatArray,
) -> None:
    """Minimise the model over the passive classes; drop those that would turn negative at once."""
    while True:
        _solve_passive(H, r, z, passive, s, work)
        dropped, entering = False, False
        for a in range(len(z)):
            if passive[a] and z[a] == 0.0:
                if s[a] <= 0.0:
                    passive[a] = False
                    s[a] = 0.0
                    dropped = True
                else:
                    entering = True
        if not dropped:
            return
        # Entering classes may block each other; the one of steepest descent, alone, cannot.
        if not entering and worst >= 0:
            passive[worst] = True
            worst = -1


@compiled
def _move(H: FloatArray, r: FloatArray, z: FloatArray, s: FloatArray, trial: FloatArray) -> bool:
    """Move ``z`` to ``s``, or as far as ``z >= 0`` allows; return whether ``s`` was reached."""
    m = len(z)
    first, shortest = -1, 1.0
    for a in range(m):
        if s[a] < 0.0 and z[a] / (z[a] - s[a]) <= shortest:
            first, shortest = a, z[a] / (z[a] - s[a])
    # Two candidates: stop where the first class reaches zero, or clip all negative classes at once.
    # Clipping changes many classes in one pass, but is not always lower.
    for a in range(m):
        trial[a] = max(z[a] + shortest * (s[a] - z[a]), 0.0)
        s[a] = max(s[a], 0.0)
    if first >= 0:
        trial[first] = 0.0
    all_at_once = first < 0 or _model(H, r, z, s) <= _model(H, r, z, trial)
    for a in range(m):
        z[a] = s[a] if all_at_once else trial[a]
    return first < 0


@compiled_vectors
def _model(H: FloatArray, r: FloatArray, z: FloatArray, s: FloatArray) -> float:
    """Return the change of the model from ``z`` to ``s``; ``-r`` is its gradient at ``z``."""
    m = len(z)
    value = 0.0
    for a in range(m):
        if s[a] != z[a]:
            product = 0.0
            for c in range(m):
                product += H[a, c] * (s[c] - z[c])
            value += (s[a] - z[a]) * (0.5 * product - r[a])
    return value


@compiled_vectors
def _solve_passive(
    H: FloatArray,
    r: FloatArray,
    z: FloatArray,
    passive: npt.NDArray[np.bool_],
    s: FloatArray,
    work: FloatArray,
) -> None:
    """Solve ``H (s - z) = r`` over the passive classes, ``s = 0`` elsewhere, by Cholesky."""
    index, rhs = np.empty(len(s), np.int64), np.empty(len(s))
    m = 0
    for a in range(len(s)):
        s[a] = 0.0
        if passive[a]:
            index[m] = a
            m += 1
    for a in range(m):
        rhs[a] = r[index[a]]
        for c in range(a + 1):
            total = H[index[a], index[c]]
            for q in range(c):
                total -= work[a, q] * work[c, q]
            if c < a:
                work[a, c] = total / work[c, c]
            else:
                work[a, a] = np.sqrt(max(total, 0.1 * _RIDGE))
        for q in range(a):
            rhs[a] -= work[a, q] * rhs[q]
        rhs[a] /= work[a, a]
    for a in range(m - 1, -1, -1):
        rhs[a] /= work[a, a]
        s[index[a]] = z[index[a]] + rhs[a]
        for q in range(a):
            rhs[q] -= work[a, q] * rhs[a]
