"""Equal references and equal targets are evaluated once, without a change in any density."""

import numpy as np
import pytest

from support import posteriors
from truemix import _core
from truemix._core import first_equal
from truemix.densities import class_densities, kde_log_likelihood
from truemix.densities.class_densities import ClassDensities
from truemix.densities.distinct import distinct_rows, sums_of_equal

BANDWIDTHS = np.array([0.05, 0.4])


def rounded(n, seed):
    P, codes = posteriors(n, 3, seed=seed)
    P = P.round(1) + 0.01
    return P / P.sum(axis=1, keepdims=True), codes


def densities(P, codes, bandwidths=BANDWIDTHS):
    """Distinct references with their counts, and how to merge weights of all of them."""
    rows, place = distinct_rows(P, codes)
    counts = np.bincount(place).astype(float)
    merged = ClassDensities(P[rows], codes[rows], "aitchison", bandwidths, 0.1, counts)
    return merged, lambda weights: sums_of_equal(weights, place, len(rows))


def expanded(P, codes, bandwidths=BANDWIDTHS):
    """Every reference by itself."""
    return ClassDensities(P, codes, "aitchison", bandwidths, 0.1)


def test_the_first_equal_row_is_found():
    P, codes = rounded(300, 0)
    _, kind = np.unique(P, axis=0, return_inverse=True)
    expected = [np.flatnonzero(kind == each)[0] for each in kind]
    np.testing.assert_array_equal(first_equal(P), expected)
    expected = [
        np.flatnonzero((kind == each) & (codes == code))[0]
        for each, code in zip(kind, codes, strict=True)
    ]
    np.testing.assert_array_equal(first_equal(P, codes), expected)


def test_rows_that_differ_by_less_than_a_sum_can_show_stay_apart():
    P = np.array([[1.0, 1e-30], [1.0, 2e-30], [0.5, 0.5], [0.5, 0.5], [1.0, 1e-30]])
    np.testing.assert_array_equal(first_equal(P), [0, 1, 2, 2, 0])


def test_densities_are_those_of_every_row_by_itself(monkeypatch):
    (P, codes), (target, _) = rounded(300, 0), rounded(400, 1)
    weights = np.random.default_rng(0).exponential(size=300)
    weights[::5] = 0.0
    merged, merge = densities(P, codes)
    assert len(merged.codes) < 200
    found = [merged.log_likelihood(target), merged.log_likelihood(target, merge(weights))]
    monkeypatch.setattr(_core, "first_equal", lambda P, codes=None: np.arange(len(P)))
    for weighting, result in zip((None, weights), found, strict=True):
        expected = expanded(P, codes).log_likelihood(target, weighting)
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("zeros", [False, True])
def test_replicates_are_those_of_every_row_by_itself(monkeypatch, zeros):
    (P, codes), (target, _) = rounded(300, 0), rounded(400, 1)
    weightings = np.random.default_rng(0).exponential(size=(7, 300))
    if zeros:
        # Nearest references of weight zero, as in a bootstrap.
        weightings[:, ::2] = 0.0
    parts = np.random.default_rng(1).dirichlet(np.ones(3), size=(7, 3))

    def found(make, merge):
        relative = np.empty((7, 400, 3), dtype=np.float32)
        one = make(P, codes, BANDWIDTHS[1:])
        one.relative_log_likelihoods(target, merge(weightings), relative, parts)
        return make(P, codes).log_likelihoods(target, merge(weightings)), relative

    result = found(lambda *data: densities(*data)[0], densities(P, codes)[1])
    monkeypatch.setattr(_core, "first_equal", lambda P, codes=None: np.arange(len(P)))
    expected = found(expanded, lambda weights: weights)
    np.testing.assert_allclose(result[0], expected[0], rtol=1e-12, atol=1e-12)
    # Single precision, and terms below 1e-6 of a sum are left out.
    np.testing.assert_allclose(result[1], expected[1], rtol=0, atol=5e-6)


def test_equal_rows_are_evaluated_once(monkeypatch):
    (P, codes), (target, _) = rounded(300, 0), rounded(400, 1)
    n_pairs = []
    add = class_densities._add_tiles

    def counted(tiles, weights, Z, *others):
        n_pairs.append((int(tiles.occupied.sum()), len(Z)))
        return add(tiles, weights, Z, *others)

    monkeypatch.setattr(class_densities, "_add_tiles", counted)
    kde_log_likelihood(P, codes, target, bandwidth=0.3)
    strip = _core.STRIP
    n_targets = len(np.unique(target, axis=0))
    assert set(n_pairs) == {
        (len(np.unique(np.c_[P, codes], axis=0)), -(-n_targets // strip) * strip)
    }
