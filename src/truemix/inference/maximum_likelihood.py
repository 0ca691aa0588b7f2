"""The maximum-likelihood mix of one matrix, certified by its duality gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truemix import _core
from truemix._typing import FloatArray
from truemix.inference._checks import (
    check_controls,
    check_finite,
    check_matrix,
    check_rows,
    check_start,
    relative_weights,
    scale_rows,
)


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """The maximum-likelihood mix, with its optimality certificate.

    Attributes
    ----------
    prevalence : array of shape (K,)
        The maximiser. It sums to 1; classes at their bound are exactly 0.
    gap : float
        The duality gap: no other mix has a mean log-likelihood that is higher by more than this.
    iterations : int
        Iterations of the solver, EM sweeps included.
    converged : bool
        Whether the gap reached the tolerance; false only when the iterations ran out.
    log_likelihood : float
        The weighted mean log-likelihood at ``prevalence``.
    """

    prevalence: FloatArray
    gap: float
    iterations: int
    converged: bool
    log_likelihood: float


def maximize_mixture(
    log_likelihood: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    start: npt.ArrayLike | None = None,
) -> MixtureFit:
    """Find the mix of classes under which the items are most likely.

    Maximises ``sum_i w_i log(sum_k exp(log_likelihood[i, k]) p_k)`` over all ``p`` on the simplex,
    with weights that sum to 1. The problem is convex; the solution is certified by its duality
    gap, ``max_k sum_i w_i L_ik / (L p)_i - 1``.

    Parameters
    ----------
    log_likelihood : array-like of shape (n, K)
        The log-likelihood of each item under each class, up to a constant per row. ``-inf`` means
        impossible; each row needs a possible class.
    weights : array-like of shape (n,), optional
        How often each item counts; equal by default. Only ratios matter, items of weight zero are
        left out.
    tol : float
        The duality gap at which to stop. About 1e-12 can be reached.
    max_iter : int
        Maximum number of iterations.
    start : array-like of shape (K,), optional
        Initial mix, e.g. that of a similar batch; uniform by default. It does not change the
        maximum, but determines which maximiser is found if there are several, as with identical
        classes.

    Returns
    -------
    MixtureFit
        The prevalence with its gap, iterations and ``converged``.

    Raises
    ------
    InputError
        If the input is not as described; the message names the entry.

    Notes
    -----
    The solver is sequential quadratic programming after a few EM sweeps, as in [1]_. Memory is one
    copy of the matrix.

    References
    ----------
    .. [1] Y. Kim, P. Carbonetto, M. Stephens, M. Anitescu (2020). A fast algorithm for maximum
       likelihood estimation of mixture proportions using sequential quadratic programming.
       Journal of Computational and Graphical Statistics 29(2), 261-273.

    Examples
    --------
    Three items look like the first class, one like the second, none like the third:

    >>> import numpy as np
    >>> from truemix.inference import maximize_mixture
    >>> likelihood = np.array([[8, 1, 1], [8, 1, 1], [8, 1, 1], [1, 8, 2]])
    >>> fit = maximize_mixture(np.log(likelihood))
    >>> fit.prevalence.round(3)
    array([0.821, 0.179, 0.   ])
    >>> fit.converged, fit.gap <= 1e-8
    (True, True)
    """
    values = check_matrix(log_likelihood)
    n, K = values.shape
    w = relative_weights(weights, n)
    first = check_start(start, K)
    check_controls(tol, max_iter)
    peaks = check_rows(values, w)
    if not w.all():
        values, peaks, w = values[w > 0], peaks[w > 0], w[w > 0]
    L = scale_rows(values, peaks)
    prevalence, gap, iterations, converged = _core.solve_mixture(
        L, w, first, float(tol), int(max_iter)
    )
    check_finite("mix", prevalence)
    mean = float(w @ (np.log(L @ prevalence) + peaks))
    return MixtureFit(prevalence, float(gap), int(iterations), bool(converged), mean)
