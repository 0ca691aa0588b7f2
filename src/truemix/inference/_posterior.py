"""The posterior of a mix, its mode and the curvature there, which every sampler starts from.

The density is ``prod_k pi_k^a_k prod_i (L_i @ pi)^(w_i / T)`` with respect to log-ratio
coordinates of ``pi``, whose Jacobian turns the ``a - 1`` of the Dirichlet into ``a``. The prior
acts like one more item of weight ``a_k`` that is possible under class k only, which makes the mode
an ordinary maximum-likelihood problem, with a solution inside the simplex for every positive prior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truemix import _core
from truemix._typing import FloatArray
from truemix.inference._checks import check_finite


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
        total = float(self.w.sum())
        return _core.precision_of(self.moment, self.mode, self.prior, total, self.temperature)

    def gibbs_rate(self) -> float:
        """Return the autocorrelation of Gibbs sampling, which is the convergence rate of EM.

        Given a mix, the next one is ``(a + expected allocation) / (A + n)`` on average. The rate
        is the largest eigenvalue of this map's Jacobian at the mode, in symmetric form.
        """
        root = np.sqrt(self.mode)
        # Responsibilities of an item sum to 1, so the rows of the moment sum to expected counts.
        jacobian = np.diag(self.moment.sum(axis=1) / self.mode)
        jacobian -= self.moment / np.outer(root, root)
        largest = _core.largest_eigenvalue(jacobian) / (self.prior.sum() + self.w.sum())
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
    mode = _core.mode_of(np.concatenate([L, np.eye(K)]), weights, len(L), np.full(K, 1.0 / K))
    moment = _core.moment_of(L, w, mode)
    check_finite("posterior of the mix", mode, moment)
    return Posterior(L, w, prior, temperature, mode, moment)


def _merge(L: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct rows and the total weight of each."""
    first = _core.first_equal(L)
    rows = np.flatnonzero(first == np.arange(len(L)))
    if len(rows) == len(L):
        return L, w
    return L[rows], np.asarray(np.bincount(first, w)[rows], dtype=np.float64)
