from dataclasses import replace

import numpy as np
import pytest

from estimate_support import sampled
from truemix import InputError
from truemix.estimates.regions import KINDS, region_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "alpha", [[30, 50], [3, 5, 8], [1, 1, 40], np.linspace(1, 30, 20)], ids=len
)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_region_holds_its_level_of_fresh_draws(kind, alpha, level):
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(8):
        region = region_of(rng.dirichlet(alpha, size=1000), kind, level)
        inside.append(region.contains(rng.dirichlet(alpha, size=2000)).mean())
    # Each radius is a quantile of 1000 draws.
    error = np.sqrt(level * (1 - level) * (1 / 1000 + 1 / 2000) / 8)
    assert np.mean(inside) == pytest.approx(level, abs=4 * error)


def test_many_classes_do_not_cost_the_level():
    rng = np.random.default_rng(1)
    alpha = np.full(100, 5.0)
    region = region_of(rng.dirichlet(alpha, size=1000), "ellipse", 0.95)
    assert region.dimension == 99
    assert region.contains(rng.dirichlet(alpha, size=2000)).mean() == pytest.approx(0.95, abs=0.03)


def test_clr_and_ilr_are_the_same_region():
    rng = np.random.default_rng(2)
    draws = rng.dirichlet([2, 3, 4, 5], size=500)
    first, second = (region_of(draws, kind, 0.9) for kind in ("ellipse-clr", "ellipse-ilr"))
    points = rng.dirichlet([2, 3, 4, 5], size=500)
    np.testing.assert_allclose(first.distance(points), second.distance(points))
    np.testing.assert_allclose(first.centre, second.centre)
    assert first.radius == pytest.approx(second.radius)


def test_distances_are_mahalanobis_and_leaving_a_draw_out_is_exact():
    draws = np.random.default_rng(3).dirichlet([2, 3, 4], size=40)
    region = region_of(draws, "ellipse", 0.5)
    offset = (draws - draws.mean(axis=0))[:, :2]
    precision = np.linalg.inv(np.cov(draws[:, :2].T))
    expected = np.sqrt(np.einsum("ij,jk,ik->i", offset, precision, offset))
    np.testing.assert_allclose(region.distance(draws), expected)
    row = np.argsort(expected)[int(np.ceil(0.5 * 41)) - 1]
    rest = np.delete(draws, row, axis=0)[:, :2]
    gone = draws[row, :2] - rest.mean(axis=0)
    assert region.radius**2 == pytest.approx(gone @ np.linalg.inv(np.cov(rest.T)) @ gone)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_certain_is_the_only_point_of_its_region(kind):
    draws = np.tile([0.0, 0.3, 0.7], (100, 1))
    region = region_of(draws, kind, 0.95, smallest_share=0.005)
    assert region.dimension == 0
    assert region.contains([0.0, 0.3, 0.7]) is True
    assert region.contains([0.0, 0.31, 0.69]) is False
    assert region.boundary(5).shape == (5, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_is_certainly_absent_stays_absent(kind):
    rng = np.random.default_rng(4)
    counts = rng.binomial(100, 0.3, size=(3000, 1))
    draws = np.hstack([0 * counts, counts, 100 - counts]) / 100
    region = region_of(draws[:1000], kind, 0.95, smallest_share=0.005)
    # With one share held fast, the log-ratios of the others bend a little.
    assert region.dimension == (1 if kind == "ellipse" else 2)
    assert region.contains(draws[1000:]).mean() > 0.93
    assert region.contains([[0.0, 0.3, 0.7], [0.02, 0.3, 0.68]]).tolist() == [True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_batch_draws_with_zeros_are_covered(kind):
    both = sampled([0.5, 3, 40], n_items=50, n_draws=4000)
    region = replace(both, draws=both.draws[:1000], other_draws=None).region(kind, 0.9)
    assert (both.draws == 0).any()
    assert region.contains(both.draws[1000:]).mean() == pytest.approx(0.91, abs=0.03)
    if kind != "ellipse":
        assert region.smallest_share == 0.5 / 50


def test_a_positive_posterior_excludes_a_share_of_zero_in_log_ratios():
    region = sampled([1, 3, 40], estimand="population").region("ellipse-clr")
    assert region.contains([0.0, 0.1, 0.9]) is False
    # Bootstrap's draws of the population can be exactly 0.
    counts = sampled([1, 3, 40], n_items=30)
    bootstrap = replace(counts, estimand="population", other_draws=None)
    assert bootstrap.region("ellipse-clr").smallest_share == 0.5 / 30


def test_the_boundary_is_at_the_radius():
    for kind in KINDS:
        region = sampled([30, 20, 40], estimand="population").region(kind)
        np.testing.assert_allclose(region.distance(region.boundary()), region.radius)
    with pytest.raises(InputError, match="has 3 dimensions; only a region of at most two"):
        sampled([30, 20, 40, 10]).region().boundary()


def test_too_few_draws_for_the_classes_are_refused():
    with pytest.raises(InputError, match=r"There are 20 draws, which differ in 19 directions"):
        sampled(np.ones(40), n_draws=20, estimand="population").region()
    with pytest.raises(InputError, match=r"There are 1 draws"):
        sampled([1, 1], n_draws=1).region()


@pytest.mark.parametrize(
    ("p", "sentence"),
    [
        ([0.5, 0.5], r"p has shape \(2,\); expected the shares of the 3 classes"),
        ("abc", "p is 'abc'; expected the shares"),
        ([[0.2, 0.3, 0.5], [0.5, 0.5, 0.5]], "Row 1 of p sums to 1.5"),
        ([-0.1, 0.6, 0.5], "its smallest entry is -0.1"),
        ([np.nan, 0.6, 0.5], "sums to nan"),
    ],
)
def test_what_is_no_mix_is_refused(p, sentence):
    with pytest.raises(InputError, match=sentence):
        sampled([1, 2, 3]).region().contains(p)


def test_other_kinds_are_refused():
    with pytest.raises(InputError, match="'kind' parameter must be one of 'ellipse-clr'"):
        sampled([1, 2, 3]).region("box")
