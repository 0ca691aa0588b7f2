"""The maximum-likelihood mix, with a certificate of how close to the maximum it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truemix.exceptions import InputError

Array = npt.NDArray[np.float64]

# A row of smaller relative weight asks for shares that double precision cannot hold.
_LEAST_WEIGHT = 1e-280


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """The mix that maximises a likelihood, and the proof that it does.

    Attributes
    ----------
    prevalence : array of shape (K,)
        The maximiser. It sums to 1; classes at their bound are exactly 0.
    gap : float
        The duality gap: no other mix has a mean log-likelihood that is higher by more than this.
    iterations : int
        Steps of the solver, EM sweeps included.
    converged : bool
        Whether the gap reached the tolerance; false only when the iterations ran out.
    log_likelihood : float
        The weighted mean log-likelihood at ``prevalence``.
    """

    prevalence: Array
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
        The most steps to take.
    start : array-like of shape (K,), optional
        Where to start, e.g. the mix of a similar batch; uniform by default. It does not change
        the maximum, but which maximiser is found if there are several, as with identical classes.

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
    # numba takes most of a second to import, and only solving needs it.
    from truemix.inference._sqp import solve_mixture

    values = _check_matrix(log_likelihood)
    n, K = values.shape
    w = _check_weights(weights, n)
    first = _check_start(start, K)
    _check_controls(tol, max_iter)
    peaks = _check_rows(values, w)
    if not w.all():
        values, peaks, w = values[w > 0], peaks[w > 0], w[w > 0]
    # At the optimum a row's mixture is at least its weight times its largest likelihood (else the
    # gradient of that class exceeds 1). So what underflows here, a factor of e^-745 below the
    # largest, is beyond the last digit of every quantity at the optimum: the scaling is exact.
    with np.errstate(over="ignore", under="ignore"):
        L = np.subtract(values, peaks[:, None], order="C")
        np.exp(L, out=L)
    prevalence, gap, iterations, converged = solve_mixture(L, w, first, float(tol), int(max_iter))
    mean = float(w @ (np.log(L @ prevalence) + peaks))
    return MixtureFit(prevalence, float(gap), int(iterations), bool(converged), mean)


def _as_floats(values: npt.ArrayLike, name: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} does not hold numbers only; it must be an array of real numbers: "
            "convert or drop what is not a number."
        ) from None


def _check_matrix(log_likelihood: npt.ArrayLike) -> Array:
    values = _as_floats(log_likelihood, "log_likelihood")
    if values.ndim != 2:
        raise InputError(
            f"log_likelihood has shape {values.shape}; it must have two dimensions, one row per "
            "item and one column per class: reshape it, a single item to (1, K)."
        )
    if 0 in values.shape:
        missing = "rows" if values.shape[0] == 0 else "columns"
        raise InputError(
            f"log_likelihood has no {missing} (shape {values.shape}); at least one item and one "
            "class are needed: check what was selected before this call."
        )
    return values


def _check_rows(values: Array, w: Array) -> Array:
    """Return each row's maximum, which also reveals NaN, +inf and impossible rows."""
    with np.errstate(invalid="ignore"):
        peaks: Array = values.max(axis=1)
    wrong = np.isnan(peaks) | (peaks == np.inf)
    if wrong.any():
        row = int(np.argmax(wrong))
        column = int(np.argmax(np.isnan(values[row]) | (values[row] == np.inf)))
        raise InputError(
            f"log_likelihood is {values[row, column]:+} in row {row}, column {column}; every entry "
            "must be finite or -inf: repair the density that gave it, or drop the row."
        )
    impossible = (peaks == -np.inf) & (w > 0)
    if impossible.any():
        raise InputError(
            f"log_likelihood is -inf for every class in row {int(np.argmax(impossible))}; each "
            "item must be possible under some class: drop the row, or smooth the densities."
        )
    return peaks


def _check_weights(weights: npt.ArrayLike | None, n: int) -> Array:
    """Return weights that sum to 1, those too small to count set to zero."""
    if weights is None:
        return np.full(n, 1.0 / n)
    w = _as_floats(weights, "weights")
    if w.shape != (n,):
        raise InputError(
            f"weights has shape {w.shape}; it must have one entry for each of the {n} rows of "
            f"log_likelihood, shape ({n},): pass one weight per item."
        )
    _check_nonnegative(w, "weights")
    # The maximum first: the sum of finite weights need not be finite.
    w = np.ascontiguousarray(w / w.max())
    w /= w.sum()
    w[w < _LEAST_WEIGHT] = 0.0
    return w


def _check_start(start: npt.ArrayLike | None, K: int) -> Array:
    if start is None:
        return np.full(K, 1.0 / K)
    first = _as_floats(start, "start")
    if first.shape != (K,):
        raise InputError(
            f"start has shape {first.shape}; it must have one entry for each of the {K} columns "
            f"of log_likelihood, shape ({K},): pass one prevalence per class."
        )
    _check_nonnegative(first, "start")
    first = np.ascontiguousarray(first / first.max())
    first /= first.sum()
    return first


def _check_nonnegative(values: Array, name: str) -> None:
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{name} is {values[at]} at position {at}; every entry must be finite and at least 0: "
            "correct it."
        )
    if not values.any():
        raise InputError(f"{name} is 0 everywhere; some entry must be positive: correct it.")


def _check_controls(tol: float, max_iter: int) -> None:
    if not 0 < tol < np.inf:
        raise InputError(
            f"tol is {tol}; it must be a positive number: leave it at 1e-8 if in doubt."
        )
    if int(max_iter) != max_iter or max_iter < 1:
        raise InputError(
            f"max_iter is {max_iter}; it must be a whole number of at least 1: "
            "leave it at 1000 if in doubt."
        )
