"""Bags of items: rows of the matrix with counts, and the error of bags that are a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from truemix._typing import FloatArray, IntArray

# Key that makes the weights of sampled rows independent of other streams, given one seed.
_STREAM = 11
# Weights of a smaller shape would leave all of a stratum to one or two rows.
_SMALLEST_SHAPE = 0.25
# A regression needs so many rows per moment; it does not lower a count below this share of it.
_ROWS_PER_MOMENT = 10
_MIN_FACTOR = 0.1
# Directions in which the mix changes the likelihood by less than this share of the strongest one
# or moments are not determined by the items.
_FLAT = 1e-8


@dataclass(frozen=True, eq=False)
class RowSample:
    """How the rows of a bag were sampled from those of all its items.

    A stratified sample of distinct rows: each row was kept with all items that are equal to it,
    and the number of items in each stratum is known. Optionally sums of some moments over the
    items of each domain (several strata) are known, too: then counts are calibrated to them by
    regression, which leaves only the part of the sampling error that moments do not explain.

    Attributes
    ----------
    stratum : ndarray of int of shape (n,)
        The stratum of each row; rows of one stratum follow each other.
    kept : ndarray of shape (n,)
        How many items are equal to each row.
    totals : ndarray of shape (S,)
        How many items each stratum has, kept or not.
    domain : ndarray of int of shape (n,), optional
        The domain of each row.
    moments : ndarray of shape (n, D), optional
        The moments of each row.
    moment_totals : ndarray of shape (n_domains, D), optional
        Their sums over all items of each domain.
    """

    stratum: IntArray
    kept: FloatArray
    totals: FloatArray
    domain: IntArray | None = None
    moments: FloatArray | None = None
    moment_totals: FloatArray | None = None

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

    @cached_property
    def _expansion(self) -> FloatArray:
        """How many items each row stands for, by its stratum alone."""
        return np.asarray(self.kept * (self.totals / self._kept_totals)[self.stratum])

    @cached_property
    def _regressions(self) -> list[_Regression]:
        """One regression on the moments for each domain with enough rows."""
        if self.domain is None or self.moments is None or self.moment_totals is None:
            return []
        centred = self._centred(self.moments)
        found = []
        for domain, total in enumerate(self.moment_totals):
            rows = np.flatnonzero(self.domain == domain)
            if len(rows) >= _ROWS_PER_MOMENT * self.moments.shape[1]:
                w, z = self._expansion[rows], centred[rows]
                inverse = np.linalg.pinv((z * w[:, None]).T @ z, rcond=_FLAT, hermitian=True)
                found.append(_Regression(rows, self.moments[rows], z, inverse, total))
        return found

    def _centred(self, values: FloatArray) -> FloatArray:
        """Return values minus their mean over the items of the stratum."""
        sums = np.zeros((len(self.totals), values.shape[1]))
        np.add.at(sums, self.stratum, self.kept[:, None] * values)
        return np.asarray(values - (sums / self._kept_totals[:, None])[self.stratum])

    def counts(self, weights: FloatArray | float = 1.0) -> FloatArray:
        """Return how many items each row stands for: whole numbers with the totals of the strata.

        Rows of a stratum share its items in proportion to ``weights * kept``, corrected for the
        known sums of moments.
        """
        shares = self.kept * weights
        shares *= (self.totals / np.bincount(self.stratum, shares, len(self.totals)))[self.stratum]
        for each in self._regressions:
            w = shares[each.rows]
            slope = each.inverse @ (each.total - w @ each.moments)
            corrected = w + self._expansion[each.rows] * (each.centred @ slope)
            # No row is dropped, whatever the moments say.
            shares[each.rows] = np.maximum(corrected, _MIN_FACTOR * w)
        # Rounding of the cumulative sum moves no item further than to the next row.
        ends = np.cumsum(shares) * (self.totals.sum() / shares.sum())
        return np.diff(np.floor(ends + 0.5), prepend=0.0)

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
        the ratio of two sums over rows, its error that of a ratio estimator; where moments are
        known, of what they leave unexplained.
        """
        n = np.bincount(self.stratum, minlength=len(self.totals))
        kept = self._kept_totals
        share = self.totals / self.totals.sum()
        residuals = self._centred(values)
        for each in self._regressions:
            w, y = self._expansion[each.rows], residuals[each.rows]
            slopes = each.inverse @ ((each.centred * w[:, None]).T @ y)
            residuals[each.rows] = y - each.centred @ slopes
        residuals *= self.kept[:, None]
        missing = np.maximum(1.0 - kept / self.totals, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = share**2 * missing * n / ((n - 1.0) * kept**2)
        factor = np.where(n > 1, factor, 0.0)
        return np.asarray((residuals * factor[self.stratum, None]).T @ residuals)


class _Regression(NamedTuple):
    """The rows of a domain, their moments, also centred, and what calibration to a total needs."""

    rows: IntArray
    moments: FloatArray
    centred: FloatArray
    inverse: Any
    total: FloatArray


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
