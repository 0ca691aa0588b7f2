"""Regions of mixes: one ellipse that holds all classes at once, in the coordinates of choice.

The ellipse has the mean and covariance of the draws. Its radius is a quantile of their distances: a
posterior near a face of the simplex is skewed, and a chi-squared radius would give it the wrong
level. The distance of a draw is leave-one-out (in closed form), because draws are nearer to an
ellipse fitted to them than a new draw would be; with 1000 draws and a hundred classes the actual
level would otherwise be 80 % instead of 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray
from truemix.estimates.intervals import check_level
from truemix.exceptions import InputError
from truemix.simplex import FLOOR, clr, clr_inverse, ilr_basis
from truemix.validation import LARGEST_SUM_ERROR, check_choice

KINDS = ("ellipse-clr", "ellipse-ilr", "ellipse")
# How far a mix may leave the affine hull of the draws, by rounding.
_OFF_HULL = 1e-8
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Region:
    """An ellipse that holds the mix with the given probability.

    Attributes
    ----------
    kind : str
        ``"ellipse-clr"``, ``"ellipse-ilr"`` (the same region, in orthonormal coordinates) or
        ``"ellipse"`` (in the simplex itself).
    level : float
        Probability that the mix is inside.
    centre : ndarray of shape (K,)
        The mean of the draws in these coordinates, as a mix.
    radius : float
        Mahalanobis distance of the border from the centre.
    dimension : int
        In how many directions the draws differ, at most K - 1; 0 if the mix is certain.
    smallest_share : float
        For log-ratio kinds, smaller shares are read as this: half an item of the batch where
        draws can be exactly 0; otherwise the smallest float, so that a mix with a share of 0 is
        outside.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).dirichlet([20, 30, 50], size=1000)
    >>> region = region_of(draws, "ellipse-clr", 0.95)
    >>> region.centre.round(1)
    array([0.2, 0.3, 0.5])
    >>> region.contains([0.22, 0.28, 0.5])
    True
    >>> region.contains([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])
    array([ True, False])
    """

    kind: str
    level: float
    centre: FloatArray
    radius: float
    smallest_share: float
    _mean: FloatArray
    _axes: FloatArray
    _deviations: FloatArray

    @property
    def dimension(self) -> int:
        """In how many directions the draws differ."""
        return len(self._deviations)

    def contains(self, p: npt.ArrayLike) -> bool | npt.NDArray[np.bool_]:
        """Return whether a mix, or each of many, is in the region.

        Parameters
        ----------
        p : array-like of shape (K,) or (m, K)
            Shares in the order of the classes.

        Returns
        -------
        bool, or ndarray of shape (m,)
        """
        mixes = _check_mixes(p, len(self.centre))
        inside = self.distance(mixes) <= self.radius * (1.0 + _ROUNDING) + _ROUNDING
        return bool(inside) if mixes.ndim == 1 else np.asarray(inside)

    def distance(self, p: npt.ArrayLike) -> FloatArray:
        """Return the Mahalanobis distance from the centre; infinite where no draw can be.

        Parameters
        ----------
        p : array-like of shape (K,) or (m, K)
            Shares in the order of the classes.

        Returns
        -------
        ndarray of shape () or (m,)
        """
        mixes = _check_mixes(p, len(self.centre))
        offset = _coordinates(mixes, self.kind, self.smallest_share) - self._mean
        along = offset @ self._axes
        beside = np.abs(offset - along @ self._axes.T).max(axis=-1)
        distance = np.sqrt(((along / self._deviations) ** 2).sum(axis=-1))
        return np.asarray(np.where(beside <= _OFF_HULL, distance, np.inf))

    def boundary(self, n_points: int = 200) -> FloatArray:
        """Return mixes along the border of a region of at most two dimensions, to draw it.

        Parameters
        ----------
        n_points : int
            How many.

        Returns
        -------
        ndarray of shape (n_points, K)
            For ``kind="ellipse"`` these can lie outside the simplex.
        """
        if self.dimension > 2:
            raise InputError(
                f"This region has {self.dimension} dimensions; only a region of at most two, as "
                "with three classes, has a border that can be drawn."
            )
        angle = np.linspace(0.0, 2.0 * np.pi, n_points)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)[:, : self.dimension]
        points = self._mean + self.radius * (circle * self._deviations) @ self._axes.T
        return _mixes(points, self.kind)


def region_of(
    draws: FloatArray, kind: str, level: float, *, smallest_share: float | None = None
) -> Region:
    """Return the region of the given kind that holds ``level`` of the posterior.

    Parameters
    ----------
    draws : ndarray of shape (draws, K)
        Draws from the posterior.
    kind : {"ellipse-clr", "ellipse-ilr", "ellipse"}
        In which coordinates the region is an ellipse.
    level : float
        Probability that the mix is inside.
    smallest_share : float, optional
        What shares of 0 are read as in log-ratio coordinates.

    Returns
    -------
    Region
    """
    check_choice(kind, "kind", KINDS)
    level = check_level(level)
    floor = FLOOR if smallest_share is None else smallest_share
    points = _coordinates(draws, kind, floor)
    n_draws = len(points)
    mean = points.mean(axis=0)
    # The factor R has the singular values of the draws without squaring their rounding errors, as
    # a covariance matrix would.
    factor = np.linalg.qr(points - mean, mode="r")
    _, singular, axes = np.linalg.svd(factor, full_matrices=False)
    eps = np.finfo(np.float64).eps
    scale = singular[0] + math.sqrt(n_draws) * np.abs(points).max()
    rank = int((singular > max(points.shape) * eps * scale).sum())
    if n_draws < rank + 3:
        raise InputError(
            f"There are {n_draws} draws, which differ in {rank} directions; a region needs at "
            "least three draws more than directions. Ask for more draws."
        )
    deviations = singular[:rank] / math.sqrt(n_draws - 1)
    axes = axes[:rank].T
    distances = np.sort(((((points - mean) @ axes) / deviations) ** 2).sum(axis=1))
    place = min(math.ceil(level * (n_draws + 1) - _ROUNDING), n_draws)
    return Region(
        kind=kind,
        level=level,
        centre=_mixes(mean, kind),
        radius=math.sqrt(_without_itself(float(distances[place - 1]), n_draws)),
        smallest_share=floor,
        _mean=mean,
        _axes=axes,
        _deviations=deviations,
    )


def _without_itself(squared: float, n: int) -> float:
    """Return a draw's squared distance under the mean and covariance of the other n - 1 draws.

    Leaving a draw out changes the covariance by a matrix of rank one (Sherman-Morrison).
    """
    left = 1.0 - n * squared / (n - 1) ** 2
    if left <= 0.0:
        return math.inf
    return (n / (n - 1)) ** 2 * (n - 2) / (n - 1) * squared / left


def _coordinates(mixes: FloatArray, kind: str, smallest_share: float) -> FloatArray:
    if kind == "ellipse":
        return mixes
    points = clr(np.maximum(mixes, smallest_share))
    return points if kind == "ellipse-clr" else np.asarray(points @ ilr_basis(mixes.shape[-1]))


def _mixes(points: FloatArray, kind: str) -> FloatArray:
    if kind == "ellipse":
        return points
    if kind == "ellipse-ilr":
        points = points @ ilr_basis(points.shape[-1] + 1).T
    return clr_inverse(points)


def _check_mixes(p: npt.ArrayLike, K: int) -> FloatArray:
    try:
        mixes = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"p is {p!r}; expected the shares of the {K} classes, or one row of them per mix."
        ) from None
    if mixes.ndim not in {1, 2} or mixes.shape[-1] != K:
        raise InputError(
            f"p has shape {mixes.shape}; expected the shares of the {K} classes, shape ({K},), or "
            f"one row of them per mix, shape (m, {K})."
        )
    rows = np.atleast_2d(mixes)
    off = np.abs(rows.sum(axis=1) - 1.0)
    bad = np.flatnonzero(~(off <= LARGEST_SUM_ERROR) | (rows < 0).any(axis=1))
    if bad.size:
        row = rows[bad[0]]
        raise InputError(
            f"Row {bad[0]} of p sums to {row.sum():.6g} and its smallest entry is {row.min():.6g}; "
            "shares must be at least 0 and sum to 1."
        )
    return np.asarray(mixes / mixes.sum(axis=-1, keepdims=True))
