"""Metrics: errors of an estimated mix, and coverage, width and scores of its intervals.

Every function takes the truth first, then the estimate or its intervals, for one bag or for any
stack of bags: mixes are ``(..., K)``, intervals ``(..., K, 2)`` with lower and upper bound, and the
result has the shape of the stack (one number for one bag). Stacks are broadcast: one true mix can
be compared with many estimates. Smaller is better, except for the two coverages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr

from truemix._box_volume import log_volume
from truemix._typing import FloatArray
from truemix.exceptions import InputError
from truemix.validation import LARGEST_SUM_ERROR, RANGES, check_number, parameter_error

__all__ = [
    "absolute_error",
    "amplitude",
    "coverage_gap",
    "hard_coverage",
    "kl_divergence",
    "log_amplitude",
    "relative_absolute_error",
    "soft_coverage",
    "squared_error",
    "weight_ratio_error",
    "winkler_score",
]

# Half an item in a bag of 1000.
DEFAULT_EPS = 1 / 2000
# Bounds and shares are quotients of counts: equal ones may differ in the last digits.
_BOUND_SLACK = 1e-12


# --- point estimates --------------------------------------------------------------------------


def absolute_error(true: npt.ArrayLike, estimated: npt.ArrayLike) -> FloatArray:
    """Mean absolute difference of the shares (AE).

    Parameters
    ----------
    true, estimated : array-like of shape (..., K)

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> absolute_error([[0.5, 0.5], [0.2, 0.8]], [[0.6, 0.4], [0.2, 0.8]])
    array([0.1, 0. ])
    """
    p, q = _two_mixes(true, estimated)
    return _per_bag(np.abs(p - q).mean(axis=-1))


def squared_error(true: npt.ArrayLike, estimated: npt.ArrayLike) -> FloatArray:
    """Mean squared difference of the shares (SE).

    Parameters
    ----------
    true, estimated : array-like of shape (..., K)

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> squared_error([[0.5, 0.5], [0.2, 0.8]], [[0.6, 0.4], [0.2, 0.8]]).round(6)
    array([0.01, 0.  ])
    """
    p, q = _two_mixes(true, estimated)
    return _per_bag(((p - q) ** 2).mean(axis=-1))


def relative_absolute_error(
    true: npt.ArrayLike, estimated: npt.ArrayLike, *, eps: npt.ArrayLike = DEFAULT_EPS
) -> FloatArray:
    """Mean absolute difference of the shares relative to the true share (RAE).

    Parameters
    ----------
    true, estimated : array-like of shape (..., K)
    eps : float or array-like of shape (...), default 1 / 2000
        Smoothing of both mixes, ``(p + eps) / (1 + K * eps)``, as a true share may be 0. Usual is
        ``1 / (2 * n)`` for bags of n items. With 0 nothing is smoothed: a class that is absent
        counts 0 if it is estimated to be absent, and makes the error infinite otherwise.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> relative_absolute_error([[0.5, 0.5], [0.2, 0.8]], [[0.6, 0.4], [0.1, 0.9]], eps=0)
    array([0.2    , 0.3125])
    """
    p, q = _two_mixes(true, estimated)
    p, q = _smooth(p, q, eps)
    error = np.abs(p - q)
    absent = np.where(error > 0, np.inf, 0.0)
    relative = np.divide(error, p, out=absent, where=p > 0)
    return _per_bag(relative.mean(axis=-1))


def kl_divergence(
    true: npt.ArrayLike, estimated: npt.ArrayLike, *, eps: npt.ArrayLike = DEFAULT_EPS
) -> FloatArray:
    """Kullback-Leibler divergence of the estimate from the truth, in nats (KLD).

    Parameters
    ----------
    true, estimated : array-like of shape (..., K)
    eps : float or array-like of shape (...), default 1 / 2000
        Smoothing of both mixes, as in :func:`relative_absolute_error`. With 0 nothing is smoothed,
        and missing a class altogether makes the divergence infinite.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> kl_divergence([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]], eps=0).round(4)
    array([0.    , 0.6931])
    """
    p, q = _two_mixes(true, estimated)
    p, q = _smooth(p, q, eps)
    # A divergence is never negative, but rounding errors may make it so.
    return _per_bag(np.maximum(rel_entr(p, q).sum(axis=-1), 0.0))


def weight_ratio_error(
    true: npt.ArrayLike, estimated: npt.ArrayLike, train: npt.ArrayLike
) -> FloatArray:
    """Mean squared error of the importance weights, share over training share (paper's W).

    Parameters
    ----------
    true, estimated : array-like of shape (..., K)
    train : array-like of shape (K,) or (..., K)
        Mix of the training data, positive for each class.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> weight_ratio_error([[0.5, 0.5], [0.2, 0.8]], [[0.6, 0.4], [0.2, 0.8]], [0.1, 0.9]).round(4)
    array([0.5062, 0.    ])
    """
    p, q = _two_mixes(true, estimated)
    q, reference = _two_mixes(q, train, "estimated", "train")
    if not (reference > 0).all():
        place = np.argwhere(reference <= 0)[0]
        raise InputError(
            f"train{_place(place)} is 0, so the weight of class {place[-1]} is not defined; "
            "expected a positive share for each class. Leave the class out of all three mixes."
        )
    return _per_bag((((p - q) / reference) ** 2).mean(axis=-1))


# --- intervals --------------------------------------------------------------------------------


def winkler_score(true: npt.ArrayLike, interval: npt.ArrayLike, level: float = 0.95) -> FloatArray:
    """Mean interval score of the classes (Winkler): width, plus a penalty for what is missed.

    Each class adds the width of its interval, and 2 / (1 - level) times the distance by which the
    true share lies outside.

    Parameters
    ----------
    true : array-like of shape (..., K)
    interval : array-like of shape (..., K, 2)
        Lower and upper bound for each class, not corrected for the number of classes.
    level : float, default 0.95
        Level at which the intervals were made.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> interval = [[0.1, 0.3], [0.7, 0.9]]
    >>> winkler_score([[0.2, 0.8], [0.05, 0.95]], interval, level=0.95).round(4)
    array([0.2, 2.2])
    """
    p, lower, upper = _mix_and_interval(true, interval)
    missed = np.maximum(lower - p, 0.0) + np.maximum(p - upper, 0.0)
    return _per_bag(
        (upper - lower + 2.0 / (1.0 - check_number(level, "level")) * missed).mean(axis=-1)
    )


def hard_coverage(true: npt.ArrayLike, interval: npt.ArrayLike) -> FloatArray:
    """Return for each bag whether all true shares lie in their intervals at once: 1 or 0.

    For a nominal level the intervals must be simultaneous (Bonferroni-corrected). Bounds belong to
    the interval.

    Parameters
    ----------
    true : array-like of shape (..., K)
    interval : array-like of shape (..., K, 2)

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> interval = [[0.1, 0.3], [0.1, 0.3], [0.4, 0.6]]
    >>> hard_coverage([[0.2, 0.3, 0.5], [0.2, 0.4, 0.4]], interval)
    array([1., 0.])
    """
    return _per_bag(_inside(true, interval).all(axis=-1).astype(np.float64))


def soft_coverage(true: npt.ArrayLike, interval: npt.ArrayLike) -> FloatArray:
    """Share of the classes whose true share lies in its interval.

    Parameters
    ----------
    true : array-like of shape (..., K)
    interval : array-like of shape (..., K, 2)
        Not corrected for the number of classes. Bounds belong to the interval.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> interval = [[0.1, 0.3], [0.1, 0.3], [0.4, 0.6]]
    >>> soft_coverage([[0.2, 0.3, 0.5], [0.2, 0.4, 0.4]], interval).round(4)
    array([1.    , 0.6667])
    """
    return _per_bag(_inside(true, interval).mean(axis=-1))


def coverage_gap(covered: npt.ArrayLike, level: float = 0.95) -> FloatArray:
    """Distance between the coverage over the bags and its nominal level.

    Parameters
    ----------
    covered : array-like of shape (..., n_bags)
        :func:`hard_coverage` or :func:`soft_coverage` of each bag, or a single number that is a
        mean already. Bags are averaged first: a mean of gaps would not be the gap.
    level : float, default 0.95

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> float(coverage_gap([1, 1, 1, 0], level=0.95).round(4))
    0.2
    """
    shares = _floats(covered, "covered")
    bad = ~((shares >= 0) & (shares <= 1))
    if bad.any() or shares.size == 0:
        found = f"covered{_place(np.argwhere(bad)[0])} is {shares[bad][0]}" if bad.any() else "none"
        raise InputError(
            f"covered must hold coverages between 0 and 1, at least one, but {found}. Pass what "
            "hard_coverage or soft_coverage returned, not percentages."
        )
    return _per_bag(np.abs(np.atleast_1d(shares).mean(axis=-1) - check_number(level, "level")))


def amplitude(interval: npt.ArrayLike) -> FloatArray:
    """Share of the simplex that lies inside the box of intervals.

    This is the probability that a mix drawn uniformly from the simplex lies in all intervals, to
    nearly machine precision for any number of classes; see :func:`log_amplitude`.

    Parameters
    ----------
    interval : array-like of shape (..., K, 2)
        Lower and upper bound for each class. What lies outside the simplex does not count.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> amplitude([[[0.0, 1.0], [0.0, 1.0]], [[0.2, 0.5], [0.4, 0.7]]]).round(6)
    array([1. , 0.2])
    """
    return _per_bag(np.exp(log_amplitude(interval)))


def log_amplitude(interval: npt.ArrayLike) -> FloatArray:
    """Logarithm of :func:`amplitude`, which for many classes is too small for a float.

    Parameters
    ----------
    interval : array-like of shape (..., K, 2)

    Returns
    -------
    ndarray of shape (...)
        ``-inf`` where no mix lies inside, or only a slice without volume.

    Notes
    -----
    Where few subsets of classes matter, the volume is a sum over these (inclusion and exclusion).
    Otherwise it is the density of a sum of independent truncated exponentials, which a Fourier
    series gives without discretisation error (see ``_log_density_sum`` in the source). The
    relative error of the amplitude is about 1e-12, and at worst about 1e-5, where two classes are
    a million times as wide as all others.

    Examples
    --------
    >>> box = [[0.0, 0.01]] * 80 + [[0.0, 0.02]] * 20
    >>> float(log_amplitude(box).round(6))
    -159.868473
    """
    lower, upper = _bounds(interval)
    lower, upper = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    logs = np.array(
        [
            log_volume(a, b)
            for a, b in zip(
                lower.reshape(-1, lower.shape[-1]), upper.reshape(-1, upper.shape[-1]), strict=True
            )
        ]
    )
    return _per_bag(logs.reshape(lower.shape[:-1]))


# --- what may come in -------------------------------------------------------------------------


def _per_bag(values: Any) -> FloatArray:
    """Return an array, or for one bag a NumPy float."""
    result: FloatArray = np.asarray(values, dtype=np.float64)[()]
    return result


def _place(place: Any) -> str:
    return f"[{', '.join(str(int(i)) for i in place)}]" if len(place) else ""


def _floats(values: npt.ArrayLike, name: str) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} cannot be read as numbers ({str(error)[:200]}); expected an array of numbers. "
            "Check that all rows have the same length and hold no text."
        ) from None
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{name}{_place(place)} is {array[tuple(place)]}; expected finite numbers. Leave such "
            "bags out."
        )
    return array


def _mix(values: npt.ArrayLike, name: str) -> FloatArray:
    array = _floats(values, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(
            f"{name} has shape {array.shape}; expected one share per class, (K,), or a stack of "
            "such mixes, (..., K)."
        )
    if (array < 0).any():
        place = np.argwhere(array < 0)[0]
        raise InputError(
            f"{name}{_place(place)} is {array[tuple(place)]}; a share cannot be negative. Clip "
            "and renormalise the mix first."
        )
    off = np.abs(array.sum(axis=-1) - 1.0) > LARGEST_SUM_ERROR
    if off.any():
        place = np.argwhere(off)[0]
        raise InputError(
            f"{name}{_place(place)} sums to {array[tuple(place)].sum():.6g}; the shares of a mix "
            f"sum to 1 (within {LARGEST_SUM_ERROR:g}). Divide counts by their sum."
        )
    return array


def _check_alike(a: FloatArray, b: FloatArray, name_a: str, name_b: str) -> None:
    """Raise for different numbers of classes, or stacks that cannot be broadcast."""
    if a.shape[-1] != b.shape[-1]:
        raise InputError(
            f"{name_a} has {a.shape[-1]} classes, but {name_b} has {b.shape[-1]}; expected the "
            "same classes in both, in the same order."
        )
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise InputError(
            f"{name_a} is a stack of {a.shape[:-1]} bags, but {name_b} of {b.shape[:-1]}; expected "
            "as many bags in both, or a single one in either."
        ) from None


def _two_mixes(
    a: npt.ArrayLike, b: npt.ArrayLike, name_a: str = "true", name_b: str = "estimated"
) -> tuple[FloatArray, FloatArray]:
    p, q = _mix(a, name_a), _mix(b, name_b)
    _check_alike(p, q, name_a, name_b)
    return p, q


def _smooth(p: FloatArray, q: FloatArray, eps: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    amount = _floats(eps, "eps")
    wrong = [value for value in amount.ravel().tolist() if value not in RANGES["eps"]]
    if wrong:
        raise parameter_error("eps", f"a number {RANGES['eps']}", wrong[0])
    try:
        np.broadcast_shapes(amount.shape, np.broadcast_shapes(p.shape, q.shape)[:-1])
    except ValueError:
        raise parameter_error("eps", "one number, or one for each bag", eps) from None
    amount = amount[..., None]
    total = 1.0 + amount * p.shape[-1]
    return (p + amount) / total, (q + amount) / total


def _bounds(interval: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    array = _floats(interval, "interval")
    if array.ndim < 2 or array.shape[-1] != 2 or array.shape[-2] == 0:
        raise InputError(
            f"interval has shape {array.shape}; expected a lower and an upper bound for each "
            "class, (K, 2), or a stack of such boxes, (..., K, 2)."
        )
    lower, upper = array[..., 0], array[..., 1]
    if (lower > upper).any():
        place = np.argwhere(lower > upper)[0]
        found = f"{lower[tuple(place)]} and {upper[tuple(place)]}"
        raise InputError(
            f"The bounds in interval{_place(place)} are {found}; expected the lower one first. "
            "Check the order of the columns."
        )
    return lower, upper


def _mix_and_interval(
    true: npt.ArrayLike, interval: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    p = _mix(true, "true")
    lower, upper = _bounds(interval)
    _check_alike(p, lower, "true", "interval")
    return p, lower, upper


def _inside(true: npt.ArrayLike, interval: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    p, lower, upper = _mix_and_interval(true, interval)
    return np.asarray((p >= lower - _BOUND_SLACK) & (p <= upper + _BOUND_SLACK))
