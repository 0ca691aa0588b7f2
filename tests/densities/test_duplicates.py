"""Equal references and equal targets are evaluated once, without a change in any density."""

import numpy as np
import pytest

from support import posteriors
from truemix import _core
from truemix._core import first_equal
from truemix.densities import class_densities
from truemix.densities.class_densities import ClassDensities

BANDWIDTHS = np.array([0.05, 0.4])


def rounded(n, seed):
    P, codes = posteriors(n, 3, seed=seed)
    P = P.round(1) + 0.01
    return P / P.sum(axis=1, keepdims=True), codes


def apart(monkeypatch):
    """Let every row be distinct."""
    monkeypatch.setattr(_core, "first_equal", lambda P, codes=None: np.arange(len(P)))


def densities(P, codes):
    return ClassDensities(P, codes, "aitchison", BANDWIDTHS, 0.1)


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
    found = [densities(P, codes).log_likelihood(target, each) for each in (None, weights)]
    apart(monkeypatch)
    for weighting, result in zip((None, weights), found, strict=True):
        expected = densities(P, codes).log_likelihood(target, weighting)
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("zeros", [False, True])
def test_replicates_are_those_of_every_row_by_itself(monkeypatch, zeros):
    (P, codes), (target, _) = rounded(300, 0), rounded(400, 1)
    weightings = np.random.default_rng(0).exponential(size=(7, 300))
    if zeros:
        # Nearest references of weight zero, as in a bootstrap.
        weightings[:, ::2] = 0.0
    parts = np.random.default_rng(1).dirichlet(np.ones(3), size=(7, 3))

    def found():
        reweighted = densities(P, codes).log_likelihoods(target, weightings)
        relative = np.empty((7, 400, 3))
        one = ClassDensities(P, codes, "aitchison", BANDWIDTHS[1:], 0.1)
        one.relative_log_likelihoods(target, weightings, relative, parts)
        return reweighted, relative

    merged = found()
    apart(monkeypatch)
    for result, expected in zip(merged, found(), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_equal_rows_are_evaluated_once(monkeypatch):
    (P, codes), (target, _) = rounded(300, 0), rounded(400, 1)
    n_pairs = []
    add = class_densities._add_tiles

    def counted(tiles, weights, Z, *others):
        n_pairs.append((int(tiles.occupied.sum()), len(Z)))
        return add(tiles, weights, Z, *others)

    monkeypatch.setattr(class_densities, "_add_tiles", counted)
    densities(P, codes).log_likelihood(target)
    strip = _core.STRIP
    n_targets = len(np.unique(target, axis=0))
    assert set(n_pairs) == {
        (len(np.unique(np.c_[P, codes], axis=0)), -(-n_targets // strip) * strip)
    }
