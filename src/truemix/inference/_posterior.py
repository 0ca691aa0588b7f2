"""The posterior of a mix, its mode and the curvature there, which every sampler starts from.

The density is ``prod_k pi_k^a_k prod_i (L_i @ pi)^(w_i / T)`` with respect to log-ratio
coordinates of ``pi``, whose Jacobian turns the ``a - 1`` of the Dirichlet into ``a``. The prior
acts like one more item of weight ``a_k`` that is possible under class k only, which makes the mode
an ordinary maximum-likelihood problem, with a solution inside the simplex for every positive prior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray
from truemix.inference._checks import check_finite
from truemix.inference._sqp import solve_mixture
from truemix.inference._symmetric import largest_eigenvalue

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Samplers use the mode as initial state and for scaling: it need not be precise.
_GAP, _STEPS = 1e-6, 200


class Posterior(NamedTuple):
    """A posterior on the simplex.

    ``L`` (n, K) are distinct rows of likelihoods scaled to maximum 1, ``w`` (n,) their weights,
    ``prior`` (K,) the Dirichlet parameters; ``mode`` (K,) is the mode in log-ratio coordinates
    and ``moment`` (K, K) is ``sum_i w_i r_i r_i'`` over the responsibilities ``r_i`` there.
    """

    L: FloatArray
    w: FloatArray
    prior: FloatArray
    temperature: float
    mode: FloatArray
    moment: FloatArray

    def precision(self) -> FloatArray:
        """Return the precision: minus the Hessian of the log density in ``log pi``, at the mode."""
        precision: FloatArray = precision_of(
            self.moment, self.mode, self.prior, self.w.sum(), self.temperature
        )
        return precision

    def gibbs_rate(self) -> float:
        """Return the autocorrelation of Gibbs sampling, which is the convergence rate of EM.

        Given a mix, the next one is ``(a + expected allocation) / (A + n)`` on average. The rate
        is the largest eigenvalue of this map's Jacobian at the mode, in symmetric form.
        """
        root = np.sqrt(self.mode)
        # Responsibilities of an item sum to 1, so the rows of the moment sum to expected counts.
        jacobian = np.diag(self.moment.sum(axis=1) / self.mode)
        jacobian -= self.moment / np.outer(root, root)
        largest = largest_eigenvalue(jacobian) / (self.prior.sum() + self.w.sum())
        return float(min(max(largest, 0.0), 1.0))


def make_posterior(
    L: FloatArray, w: FloatArray, prior: FloatArray, temperature: float
) -> Posterior:
    """Merge identical rows and find the mode.

    Parameters
    ----------
    L : array of shape (n, K), C-contiguous
        Likelihoods, each row scaled to maximum 1.
    w : array of shape (n,)
        Positive weights, as counts.
    prior : array of shape (K,)
        Positive Dirichlet parameters.
    temperature : float
        The likelihood is raised to one over this.
    """
    K = L.shape[1]
    # Rows repeat in bags drawn with replacement, and for models with few distinct outputs.
    L, w = _merge(L, w)
    weights = np.concatenate([w / temperature, prior])
    weights /= weights.sum()
    mode = mode_of(np.concatenate([L, np.eye(K)]), weights, len(L), np.full(K, 1.0 / K))
    moment = moment_of(L, w, mode)
    check_finite("posterior of the mix", mode, moment)
    return Posterior(L, w, prior, temperature, mode, moment)


@compiled
def mode_of(L: FloatArray, w: FloatArray, n: int, start: FloatArray) -> FloatArray:
    """Return the mode, given n items followed by one row per class for the prior."""
    mode, _, _, _ = solve_mixture(L, w, start, _GAP, _STEPS)
    # One EM step: it leaves the mode unchanged, and makes shares at zero positive.
    mode = _expected(L[:n], w[:n], mode) + w[n:]
    mode /= mode.sum()
    positive: FloatArray = np.maximum(mode, 1e-280)
    return positive


@compiled
def precision_of(
    moment: FloatArray, mode: FloatArray, prior: FloatArray, n: float, temperature: float
) -> FloatArray:
    """Return minus the Hessian in ``log pi`` at the mode, for items of total weight ``n``."""
    total = prior.sum() + n / temperature
    precision = moment / temperature
    for a in range(len(mode)):
        precision[a, a] += prior[a]
        for b in range(len(mode)):
            precision[a, b] -= total * mode[a] * mode[b]
    return precision


def _merge(L: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct rows and the total weight of each."""
    bits = L.view(np.uint64)
    keys = _keys(bits)
    order = np.argsort(keys, kind="stable")
    if (np.diff(keys[order]) != 0).all():
        return L, w
    total = _sum_equal(bits, keys, order, w)
    rows = np.flatnonzero(total)
    return L[rows], total[rows]


@compiled
def _keys(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a hash of each row."""
    n, K = bits.shape
    keys = np.empty(n, np.uint64)
    for i in range(n):
        key = np.uint64(0)
        for k in range(K):
            key = (key ^ bits[i, k]) * _MULTIPLIER
            key ^= key >> np.uint64(29)
        keys[i] = key
    return keys


@compiled
def _sum_equal(
    bits: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    order: npt.NDArray[np.int64],
    w: FloatArray,
) -> FloatArray:
    """Return weights summed over equal rows: the first of them has the sum, the others 0."""
    n, K = bits.shape
    total, first = w.copy(), 0
    for at in range(1, n):
        i, j = order[first], order[at]
        same = keys[i] == keys[j]
        for k in range(K):
            if not same:
                break
            same = bits[i, k] == bits[j, k]
        if same:
            total[i] += w[j]
            total[j] = 0.0
        else:
            first = at
    return total


@compiled_vectors
def _expected(L: FloatArray, w: FloatArray, x: FloatArray) -> FloatArray:
    """Return the expected weight of each class given the mix ``x``."""
    n, K = L.shape
    out = np.zeros(K)
    for i in range(n):
        total = 0.0
        for k in range(K):
            total += x[k] * L[i, k]
        scale = w[i] / max(total, 1e-290)
        for k in range(K):
            out[k] += scale * L[i, k]
    for k in range(K):
        out[k] *= x[k]
    return out


@compiled_vectors
def moment_of(L: FloatArray, w: FloatArray, x: FloatArray) -> FloatArray:
    """Return ``sum_i w_i r_i r_i'`` over the responsibilities ``r_i`` at the mix ``x``."""
    n, K = L.shape
    out, r = np.zeros((K, K)), np.empty(K)
    for i in range(n):
        total = 0.0
        for k in range(K):
            r[k] = x[k] * L[i, k]
        for k in range(K):
            total += r[k]
        scale = np.sqrt(w[i]) / total
        for k in range(K):
            r[k] *= scale
        for k in range(K):
            if r[k] > 1e-18:
                for j in range(k + 1):
                    out[k, j] += r[k] * r[j]
    for k in range(K):
        for j in range(k):
            out[j, k] = out[k, j]
    return out
