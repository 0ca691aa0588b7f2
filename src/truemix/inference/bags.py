"""Bags of items: rows of the matrix with counts, and the error of bags that are a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray

# Key that makes the weights of sampled rows independent of other streams, given one seed.
_STREAM = 11
# Weights of a smaller shape would leave all of a stratum to one or two rows.
_SMALLEST_SHAPE = 0.25
# Directions in which the mix changes the likelihood by less than this share of the strongest one
# are not determined by the items.
_FLAT = 1e-8


@dataclass(frozen=True, eq=False)
class RowSample:
    """How the rows of a bag were sampled from those of all its items.

    A stratified sample of distinct rows: each row was kept with all items that are equal to it,
    and the number of items in each stratum is known.

    Attributes
    ----------
    stratum : ndarray of int of shape (n,)
        The stratum of each row; rows of one stratum follow each other.
    kept : ndarray of shape (n,)
        How many items are equal to each row.
    totals : ndarray of shape (S,)
        How many items each stratum has, kept or not.
    """

    stratum: IntArray
    kept: FloatArray
    totals: FloatArray

    @cached_property
    def _kept_totals(self) -> FloatArray:
        return np.asarray(np.bincount(self.stratum, self.kept, len(self.totals)), dtype=np.float64)

    @cached_property
    def _shapes(self) -> FloatArray:
        """The shape of the gamma weight of each row.

        With weights of shape a, the variance of a weighted mean of n values is the sum of their
        squared deviations over ``n (n a + 1)``. That of a sample mean is the same sum over
        ``n (n - 1)``, times the share of the items that were not kept.
        """
        n = np.bincount(self.stratum, minlength=len(self.totals))
        missing = 1.0 - self._kept_totals / self.totals
        with np.errstate(divide="ignore", invalid="ignore"):
            shapes = ((n - 1.0) / missing - 1.0) / n
        # Where nothing is missing, weights do not vary.
        shapes = np.where(missing > 0.0, np.maximum(shapes, _SMALLEST_SHAPE), np.inf)
        return np.asarray(shapes[self.stratum])

    def counts(self, weights: FloatArray | float = 1.0) -> FloatArray:
        """Return how many items each row stands for: whole numbers with the totals of the strata.

        Rows of a stratum share its items in proportion to ``weights * kept``.
        """
        shares = self.kept * weights
        shares *= (self.totals / np.bincount(self.stratum, shares, len(self.totals)))[self.stratum]
        # Rounding of the cumulative sum moves no item further than to the next row.
        return np.diff(np.floor(np.cumsum(shares) + 0.5), prepend=0.0)

    def replicate(self, number: int, seed: int) -> FloatArray:
        """Return counts as another sample of the same size might have had them."""
        source = np.random.SeedSequence(seed, spawn_key=(_STREAM, number))
        shapes, varies = self._shapes, np.isfinite(self._shapes)
        weights = np.ones(len(shapes))
        drawn = np.random.default_rng(source).standard_gamma(shapes[varies]) / shapes[varies]
        # A stratum of which every weight underflows would have no items at all.
        weights[varies] = np.maximum(drawn, 1e-100)
        return self.counts(weights)

    def covariance(self, values: FloatArray) -> FloatArray:
        """Return the covariance ``(D, D)`` of the mean of values ``(n, D)``, from sampling alone.

        The values of a row hold for all items that are equal to it. The estimate in a stratum is
        the ratio of two sums over rows, its error that of a ratio estimator.
        """
        n = np.bincount(self.stratum, minlength=len(self.totals))
        kept = self._kept_totals
        share = self.totals / self.totals.sum()
        means = np.zeros((len(n), values.shape[1]))
        np.add.at(means, self.stratum, self.kept[:, None] * values)
        means /= np.where(kept > 0, kept, 1.0)[:, None]
        residuals = (self.kept[:, None] * (values - means[self.stratum])).T
        missing = np.maximum(1.0 - kept / self.totals, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = share**2 * missing * n / ((n - 1.0) * kept**2)
        factor = np.where(n > 1, factor, 0.0)
        return np.asarray((residuals * factor[self.stratum]) @ residuals.T)


@dataclass(frozen=True, eq=False)
class Bag:
    """Items whose mix is wanted: rows of the matrix, each with the number of items equal to it.

    Attributes
    ----------
    rows : ndarray of int of shape (n,)
        Rows of the matrix; they may repeat.
    counts : ndarray of shape (n,), optional
        How many items each row stands for; one by default.
    sample : RowSample, optional
        If the rows are a sample of the items: how they were sampled.

    Examples
    --------
    >>> bag = Bag(np.array([0, 2]), np.array([5.0, 1.0]))
    >>> bag.n_items, bag.weights
    (6, array([5., 1.]))
    """

    rows: IntArray
    counts: FloatArray | None = None
    sample: RowSample | None = None

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.rows) if self.counts is None else round(float(self.counts.sum()))

    @property
    def weights(self) -> FloatArray:
        """The number of items that each row stands for."""
        return np.ones(len(self.rows)) if self.counts is None else self.counts

    def replicate_counts(self, numbers: IntArray, seed: int) -> FloatArray:
        """Return the counts in some replicates, ``(v, n)``, or ``(1, n)`` if they do not vary."""
        if self.sample is None:
            return self.weights[None]
        return np.array([self.sample.replicate(number, seed) for number in numbers.tolist()])

    def at(self, rows: IntArray) -> Bag:
        """Return the bag with other row numbers, as of a part of the matrix."""
        return Bag(rows, self.counts, self.sample)

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of values ``(n, D)`` over the items of the bag."""
        return np.average(values, axis=0, weights=self.counts)

    def sampling_error(self, values: FloatArray, solve: Any = None) -> dict[str, Any]:
        """Return the standard error of a mix that comes from the sampling of rows, as a diagnostic.

        Parameters
        ----------
        values : ndarray of shape (n, D)
            The mean of these determines the mix.
        solve : ndarray of shape (K, D), optional
            How the mix changes with that mean; the mean is the mix by default.

        Returns
        -------
        dict
            ``sampling_error`` (K,), or nothing if all items are there.
        """
        if self.sample is None:
            return {}
        covariance = self.sample.covariance(values)
        if solve is not None:
            covariance = solve @ covariance @ solve.T
        return {"sampling_error": np.sqrt(np.maximum(np.diag(covariance), 0.0))}

    def likelihood_error(self, L: FloatArray, mix: FloatArray) -> dict[str, Any]:
        """Return the sampling error of a maximum-likelihood mix, given likelihoods ``(n, K)``.

        At the optimum the mean of ``L / (L @ mix)`` is 1 for all classes with items; a change of
        that mean moves the mix by the inverse of the curvature.
        """
        if self.sample is None:
            return {}
        ratio = L / np.maximum(L @ mix, 1e-300)[:, None]
        weights = self.weights / self.weights.sum()
        curvature = (ratio * weights[:, None]).T @ ratio
        # Classes without items stay without.
        scale = np.sqrt(mix)
        inverse = np.linalg.pinv(curvature * np.outer(scale, scale), rcond=_FLAT, hermitian=True)
        return self.sampling_error(ratio, inverse * np.outer(scale, scale))


def plain_bags(rows: Sequence[Any]) -> list[Bag]:
    """Return bags of items that are all counted once, from lists of row numbers."""
    return [each if isinstance(each, Bag) else Bag(np.asarray(each)) for each in rows]
