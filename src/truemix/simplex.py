"""The geometry of compositions: closure, shrinkage, log-ratio and ternary coordinates.

Every function takes one composition ``(K,)`` or any stack of them ``(..., K)``.

Exact zeros are legal. A logarithm needs a positive number, so zeros (and subnormal numbers) are
read as :data:`FLOOR`, the smallest normal float64. That is far below any other probability a
classifier can state, so no positive entry is altered and the order of entries is kept: differences
in the zero pattern dominate all distances. Where that is too harsh, use shrinkage:
``clr(shrink(p, lam))`` with ``lam > 0`` never reaches the floor.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray, Seed
from truemix.exceptions import InputError
from truemix.validation import check_integer, check_number, check_seed_number, parameter_error

FLOOR = float(np.finfo(np.float64).tiny)
# Maximum numbers per call of `sample_uniform`: eight gigabytes.
MAX_NUMBERS = 10**9
# The triangle of three classes: edges of length 1, corners on the left, on the right, on top.
TERNARY_HEIGHT = math.sqrt(3.0) / 2.0
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, TERNARY_HEIGHT]])


def _numbers(values: npt.ArrayLike, name: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} cannot be read as numbers ({str(error)[:200]}); expected an array of numbers."
        ) from None


def _as_compositions(values: npt.ArrayLike, name: str) -> FloatArray:
    """Return ``values`` as float64 after checking that each row can be closed to a composition."""
    array = _numbers(values, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(
            f"{name} has shape {array.shape}; expected one composition (K,) or a stack (..., K)."
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{name}{list(place)} is {array[place]}; the parts of a composition must be finite and "
            "not negative. Turn scores or logits into probabilities first (softmax)."
        )
    empty = ~(array > 0).any(axis=-1)
    if empty.any():
        row = [int(i) for i in np.argwhere(np.atleast_1d(empty))[0]]
        raise InputError(
            f"{name}{row} is zero in every part; at least one part of a composition must be "
            "positive. Remove such rows."
        )
    return array


def _as_coordinates(values: npt.ArrayLike, name: str = "Z", number: int = 0) -> FloatArray:
    """Return ``values`` as float64 after checking that they are finite, and how many there are."""
    array = _numbers(values, name)
    if array.ndim == 0 or array.shape[-1] == 0 or number not in (0, array.shape[-1]):
        expected = f"{number} coordinates" if number else "coordinates"
        raise InputError(
            f"{name} has shape {array.shape}; expected {expected} along the last axis."
        )
    if not np.isfinite(array).all():
        place = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        value = array[tuple(place)]
        raise InputError(f"{name}{place} is {value}; coordinates must be finite numbers.")
    return array


def closure(X: npt.ArrayLike) -> FloatArray:
    """Scale non-negative vectors so that each sums to one.

    Parameters
    ----------
    X : array-like of shape (..., K)
        Finite, non-negative parts, at least one positive in each vector.

    Returns
    -------
    ndarray of shape (..., K)

    Examples
    --------
    >>> closure([1, 1, 2])
    array([0.25, 0.25, 0.5 ])
    """
    array = _as_compositions(X, "X")
    # Divide by the largest part first: sums of huge or subnormal parts overflow or underflow.
    array = array / array.max(axis=-1, keepdims=True)
    return np.asarray(array / array.sum(axis=-1, keepdims=True))


def shrink(P: npt.ArrayLike, lam: float) -> FloatArray:
    """Move compositions towards the barycentre: ``(1 - lam) * P + lam / K``.

    Parameters
    ----------
    P : array-like of shape (..., K)
        Compositions (each sums to one).
    lam : float
        Amount of shrinkage, ``0 <= lam < 1``.

    Returns
    -------
    ndarray of shape (..., K)

    Examples
    --------
    >>> shrink([1.0, 0.0], 0.5)
    array([0.75, 0.25])
    """
    lam = check_number(lam, "lam", kind="shrinkage")
    array = _as_compositions(P, "P")
    return np.asarray((1.0 - lam) * array + lam / array.shape[-1])


def clr(P: npt.ArrayLike) -> FloatArray:
    """Centred log-ratio coordinates: the log of each part minus the mean log of all parts.

    Parameters
    ----------
    P : array-like of shape (..., K)
        Compositions; a common factor does not matter. Zeros are read as :data:`FLOOR`.

    Returns
    -------
    ndarray of shape (..., K)
        Coordinates that sum to zero.

    Examples
    --------
    >>> clr([0.5, 0.25, 0.25]).round(4)
    array([ 0.4621, -0.231 , -0.231 ])
    """
    log = np.log(np.maximum(_as_compositions(P, "P"), FLOOR))
    return np.asarray(log - log.mean(axis=-1, keepdims=True))


def clr_shrunk(P: npt.ArrayLike, lam: float) -> FloatArray:
    """Compute ``clr(shrink(P, lam))`` without loss of precision as ``lam`` approaches one.

    There all coordinates are small differences of nearly equal logarithms; ``log1p`` of the
    distance to the barycentre keeps their full relative precision.

    Examples
    --------
    >>> clr_shrunk([0.5, 0.25, 0.25], 0.999).round(8)
    array([ 0.00049994, -0.00024997, -0.00024997])
    """
    lam = check_number(lam, "lam", kind="shrinkage")
    if lam == 0.0:
        return clr(P)
    array = _as_compositions(P, "P")
    n_parts = array.shape[-1]
    # T(p) = u * (1 + excess), and the constant log(u) drops out in the centring.
    excess = (1.0 - lam) * (n_parts * array - 1.0)
    near_barycentre = np.abs(excess) < 0.5
    log = np.where(
        near_barycentre,
        np.log1p(np.where(near_barycentre, excess, 0.0)),
        np.log(lam + (1.0 - lam) * n_parts * array),
    )
    return np.asarray(log - log.mean(axis=-1, keepdims=True))


def clr_inverse(Z: npt.ArrayLike) -> FloatArray:
    """Return the compositions with the given centred log-ratio coordinates.

    Parameters
    ----------
    Z : array-like of shape (..., K)

    Returns
    -------
    ndarray of shape (..., K)

    Examples
    --------
    >>> clr_inverse(clr([0.5, 0.25, 0.25]))
    array([0.5 , 0.25, 0.25])
    """
    coordinates = _as_coordinates(Z)
    parts = np.exp(coordinates - coordinates.max(axis=-1, keepdims=True))
    return np.asarray(parts / parts.sum(axis=-1, keepdims=True))


@lru_cache(maxsize=64)
def ilr_basis(n_parts: int) -> FloatArray:
    """Return the orthonormal basis ``(K, K-1)`` of the zero-sum space that ILR uses (Helmert).

    Examples
    --------
    >>> ilr_basis(2).round(4)
    array([[ 0.7071],
           [-0.7071]])
    """
    n_parts = check_integer(n_parts, "n_parts")
    basis = np.zeros((n_parts, n_parts - 1))
    for j in range(1, n_parts):
        basis[:j, j - 1] = 1.0
        basis[j, j - 1] = -j
        basis[:, j - 1] /= np.sqrt(j * (j + 1.0))
    basis.setflags(write=False)
    return basis


def ilr(P: npt.ArrayLike) -> FloatArray:
    """Isometric log-ratio coordinates: CLR in an orthonormal basis of ``K - 1`` axes.

    Parameters
    ----------
    P : array-like of shape (..., K), K at least 2
        Compositions; a common factor does not matter. Zeros are read as :data:`FLOOR`.

    Returns
    -------
    ndarray of shape (..., K - 1)

    Examples
    --------
    >>> ilr([0.5, 0.25, 0.25]).round(4)
    array([0.4901, 0.283 ])
    """
    coordinates = clr(P)
    return np.asarray(coordinates @ ilr_basis(coordinates.shape[-1]))


def ilr_inverse(Z: npt.ArrayLike) -> FloatArray:
    """Return the compositions with the given isometric log-ratio coordinates.

    Parameters
    ----------
    Z : array-like of shape (..., K - 1)

    Returns
    -------
    ndarray of shape (..., K)

    Examples
    --------
    >>> ilr_inverse([0.0, 0.0]).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    coordinates = _as_coordinates(Z)
    return clr_inverse(coordinates @ ilr_basis(coordinates.shape[-1] + 1).T)


def ternary_coordinates(P: npt.ArrayLike) -> FloatArray:
    """Return the places of mixes of three classes in an equilateral triangle.

    Its edges have length 1. The first class is the corner on the left, at (0, 0), the second the
    one on the right, at (1, 0), the third the one on top, at (1/2, :data:`TERNARY_HEIGHT`).

    Parameters
    ----------
    P : array-like of shape (..., 3)
        Parts that sum to one; points outside the triangle have negative parts.

    Returns
    -------
    ndarray of shape (..., 2)

    Examples
    --------
    >>> ternary_coordinates([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]).round(4)
    array([[0.   , 0.   ],
           [0.5  , 0.433]])
    """
    return np.asarray(_as_coordinates(P, "P", 3) @ _CORNERS)


def ternary_inverse(Z: npt.ArrayLike) -> FloatArray:
    """Return the mixes at points of the plane; some parts are negative outside the triangle.

    Parameters
    ----------
    Z : array-like of shape (..., 2)

    Returns
    -------
    ndarray of shape (..., 3)

    Examples
    --------
    >>> ternary_inverse([0.5, 0.0])
    array([0.5, 0.5, 0. ])
    """
    x, y = np.moveaxis(_as_coordinates(Z, number=2), -1, 0)
    top = y / TERNARY_HEIGHT
    right = x - 0.5 * top
    return np.stack([1.0 - right - top, right, top], axis=-1)


def ternary_line(k: int, share: float) -> FloatArray:
    """Return the ends of the line of all mixes with a given share of class ``k``, of three.

    The first one is on the edge that leads to the corner of the class from that of the class
    before: where each edge has the ticks of one class.

    Examples
    --------
    >>> ternary_line(1, 0.2)
    array([[0.8, 0.2, 0. ],
           [0. , 0.2, 0.8]])
    """
    if k not in (0, 1, 2):
        raise parameter_error("k", "0, 1 or 2", k)
    ends = np.zeros((2, 3))
    ends[:, k] = share = check_number(share, "share", kind="eps")
    ends[0, k - 1] = ends[1, k - 2] = 1.0 - share
    return ends


def sample_uniform(n_samples: int, n_classes: int, random_state: Seed = None) -> FloatArray:
    """Draw compositions uniformly from the simplex.

    Parameters
    ----------
    n_samples : int
        How many compositions.
    n_classes : int
        How many parts each has.
    random_state : int, Generator or None
        Seed; the same seed gives the same draws.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> sample_uniform(2, 3, random_state=0).shape
    (2, 3)
    """
    n_samples = check_integer(n_samples, "n_samples")
    n_classes = check_integer(n_classes, "n_classes")
    if n_samples * n_classes > MAX_NUMBERS:
        raise InputError(
            f"{n_samples} compositions of {n_classes} parts are more than {MAX_NUMBERS:g} numbers; "
            "draw them in several calls."
        )
    if not isinstance(random_state, np.random.Generator) and random_state is not None:
        random_state = check_seed_number(random_state)
    draws = np.random.default_rng(random_state).standard_exponential((n_samples, n_classes))
    return np.asarray(draws / draws.sum(axis=-1, keepdims=True))
