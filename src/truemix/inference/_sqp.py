"""The compiled solver behind :func:`truemix.inference.maximize_mixture`.

Sequential quadratic programming on the scale-free form of the problem (Kim, Carbonetto, Stephens
and Anitescu, 2020): minimise ``phi(x) = -sum_i w_i log((L x)_i) + sum_k x_k`` over ``x >= 0``.
Its minimum lies on the simplex by itself, so the only constraints left are signs. With
``u = L x``, ``g = L'(w/u)`` and ``H = L' diag(w/u^2) L`` we have ``H x = g``, and the Newton model
around ``x`` is minimised by the ``y >= 0`` that minimises ``y'Hy/2 - (2g - 1)'y``.

No BLAS here: its thread pool serialises callers that already run in parallel, and the loops below
are as fast on matrices this narrow. Sums may be reassociated by the compiler but not over threads,
so the same input gives the same output.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray
from truemix.inference._active_set import quadratic_step

# Initial EM sweeps, unless the gap is already below _NEAR, where Newton steps are better.
_SWEEPS = 3
_NEAR = 0.05
# Armijo condition: the fraction of the predicted decrease that a step must achieve.
_ARMIJO = 1e-4
# Decreases of the objective below this are lost in rounding errors.
_NOISE = 1e-15


@compiled_vectors
def solve_mixture(
    L: FloatArray, w: FloatArray, start: FloatArray, tol: float, max_iter: int
) -> tuple[FloatArray, float, int, bool]:
    """Maximise ``sum_i w_i log((L x)_i)`` over the simplex.

    Parameters
    ----------
    L : array of shape (n, K), C-contiguous
        Likelihoods, each row scaled to maximum 1.
    w : array of shape (n,)
        Positive weights that sum to 1.
    start : array of shape (K,)
        Where to start, a point of the simplex; zeros are allowed. Not changed.
    tol : float
        The duality gap to reach.
    max_iter : int
        Maximum number of iterations, EM sweeps included.

    Returns
    -------
    x, gap, iterations, converged
        The point, its duality gap, the number of iterations, and whether the gap is at most ``tol``
        with every class outside the support of the optimum exactly zero.
    """
    n, K = L.shape
    x, u, g = start.copy(), np.empty(n), np.empty(K)
    y, step, v = np.empty(K), np.empty(K), np.empty(n)
    H, work = np.empty((K, K)), np.empty((K, K))
    _make_possible(L, w, x)
    _gradient(L, w, x, u, g)
    gap = _gap(g)
    sweeps = _SWEEPS if gap > _NEAR else 0
    exact, converged, iteration = False, False, 0
    while iteration < max_iter:
        iteration += 1
        length = 0.0
        if sweeps == 0:
            idx = _working_set(x, g)
            _hessian(L, w, u, idx, H)
            quadratic_step(H, g, idx, x, y, work)
            for k in range(K):
                step[k] = y[k] - x[k]
            _times(L, step, v)
            length = _line_search(w, u, v, g, step)
        exact = length == 1.0
        if length > 0.0:
            for k in range(K):
                x[k] = y[k] if exact else x[k] + length * step[k]
            # After a damped step, one EM sweep: it always improves, and it changes tiny shares by
            # orders of magnitude where Newton only doubles them.
            sweeps = 0 if exact else 1
        else:
            for k in range(K):
                x[k] *= g[k]
            sweeps = max(sweeps - 1, 0)
        _normalise(x)
        _gradient(L, w, x, u, g)
        gap = _gap(g)
        # Only a full quadratic step sets shares exactly to zero, so the last step has to be one,
        # even if EM alone has closed the gap.
        if exact and gap <= tol and _slackness(x, g) <= tol:
            converged = True
            break
    return x, gap, iteration, converged


@compiled
def _normalise(x: FloatArray) -> None:
    # Along a ray phi is smallest on the simplex, so this never undoes a step. Shares below 1e-300
    # do not matter (see _floor and MIN_WEIGHT), but are subject to loss of precision.
    total = 0.0
    for k in range(len(x)):
        if x[k] < 1e-300:
            x[k] = 0.0
        total += x[k]
    for k in range(len(x)):
        x[k] /= total


@compiled
def _make_possible(L: FloatArray, w: FloatArray, x: FloatArray) -> None:
    """Mix ``x`` with the uniform point if a row is (nearly) impossible under it."""
    n, K = L.shape
    for i in range(n):
        total = 0.0
        for k in range(K):
            total += L[i, k] * x[k]
        if not total >= _floor(w[i], K):
            for k in range(K):
                x[k] = 0.9 * x[k] + 0.1 / K
            return


@compiled
def _floor(weight: float, K: int) -> float:
    # At the optimum g_k <= 1 for all k, and each row has a class with L = 1, so u_i >= w_i.
    # Staying above a fraction of that bounds w/u, g and H for any data.
    return 1e-3 * weight / K


@compiled_vectors
def _gradient(L: FloatArray, w: FloatArray, x: FloatArray, u: FloatArray, g: FloatArray) -> None:
    """Compute ``u = L x`` and ``g = L'(w/u)`` in one pass over ``L``."""
    n, K = L.shape
    for k in range(K):
        g[k] = 0.0
    for i in range(n):
        total = 0.0
        for k in range(K):
            total += L[i, k] * x[k]
        u[i] = total
        ratio = w[i] / total
        for k in range(K):
            g[k] += ratio * L[i, k]


@compiled_vectors
def _times(L: FloatArray, x: FloatArray, out: FloatArray) -> None:
    n, K = L.shape
    for i in range(n):
        total = 0.0
        for k in range(K):
            total += L[i, k] * x[k]
        out[i] = total


@compiled
def _gap(g: FloatArray) -> float:
    """Return the duality gap: an upper bound of how far the objective is from its maximum."""
    largest = 1.0
    for k in range(len(g)):
        # Negated, so that NaN is not taken for an optimum.
        if not g[k] <= largest:
            largest = g[k]
    return largest - 1.0


@compiled
def _slackness(x: FloatArray, g: FloatArray) -> float:
    """Return the complementary slackness error: the largest ``1 - g_k`` with ``x_k > 0``."""
    worst = 0.0
    for k in range(len(x)):
        if x[k] > 0.0:
            worst = max(worst, 1.0 - g[k])
    return worst


@compiled
def _working_set(x: FloatArray, g: FloatArray) -> npt.NDArray[np.int64]:
    """Return the classes the quadratic step may change.

    A class at zero whose gradient is well below 1 would stay there; leaving it out makes the
    Hessian, the most expensive part, cheaper. The gap is always taken over all classes.
    """
    idx = np.empty(len(x), np.int64)
    m = 0
    for k in range(len(x)):
        if x[k] > 0.0 or g[k] > 0.9:
            idx[m] = k
            m += 1
    return idx[:m]


@compiled_vectors
def _hessian(
    L: FloatArray, w: FloatArray, u: FloatArray, idx: npt.NDArray[np.int64], H: FloatArray
) -> None:
    """Write ``L' diag(w/u^2) L`` for the classes ``idx`` into the corner of ``H``."""
    n, m = len(u), len(idx)
    rows = np.empty((4, m))
    for a in range(m):
        for b in range(a + 1):
            H[a, b] = 0.0
    for first in range(0, n, 4):
        # Four rows at a time: each entry of H is loaded and stored once per four products.
        for r in range(4):
            i = first + r
            scale = np.sqrt(w[i]) / u[i] if i < n else 0.0
            for a in range(m):
                rows[r, a] = scale * L[min(i, n - 1), idx[a]]
        for a in range(m):
            r0, r1, r2, r3 = rows[0, a], rows[1, a], rows[2, a], rows[3, a]
            for b in range(a + 1):
                H[a, b] += r0 * rows[0, b] + r1 * rows[1, b] + r2 * rows[2, b] + r3 * rows[3, b]
    for a in range(m):
        for b in range(a):
            H[b, a] = H[a, b]


@compiled
def _line_search(
    w: FloatArray, u: FloatArray, v: FloatArray, g: FloatArray, step: FloatArray
) -> float:
    """Return the step length along ``step`` (1: full step, 0: no descent), ``v = L step``."""
    n, K = len(u), len(g)
    slope = 0.0
    total = 0.0
    for k in range(K):
        slope += (1.0 - g[k]) * step[k]
        total += step[k]
    if not slope < _NOISE:
        return 0.0
    limit = np.inf
    for i in range(n):
        floor = min(_floor(w[i], K), u[i])
        if u[i] + v[i] < floor:
            limit = min(limit, (u[i] - floor) / -v[i])
    t = min(1.0, 0.99 * limit)
    # The change is below the precision of the objective: only the gap can show progress.
    if slope > -_NOISE:
        return t
    while t > 1e-10:
        # log1p of the relative change avoids the cancellation in a difference of two objectives.
        change = t * total
        for i in range(n):
            change -= w[i] * np.log1p(t * v[i] / u[i])
        if change <= _ARMIJO * t * slope:
            return t
        t *= 0.5
    return 0.0
