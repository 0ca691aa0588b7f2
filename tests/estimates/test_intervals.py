import numpy as np
import pytest
from scipy import stats

from truemix import InputError
from truemix.estimates.intervals import interval_of, too_few_draws
from truemix.metrics import hard_coverage

ALPHA = np.array([3.0, 10.0, 27.0])


def marginals():
    return stats.beta(ALPHA, ALPHA.sum() - ALPHA)


def test_equal_tailed_intervals_are_those_of_the_beta_distribution():
    n_draws = 20_000
    draws = np.random.default_rng(0).dirichlet(ALPHA, size=n_draws)
    for level in (0.5, 0.9, 0.95):
        tails = np.array([[(1 - level) / 2], [(1 + level) / 2]])
        exact = marginals().ppf(tails)
        # The standard error of a quantile.
        error = np.sqrt(tails * (1 - tails) / n_draws) / marginals().pdf(exact)
        found = interval_of(draws, level)
        assert (np.abs(found.T - exact) < 4 * error).all()
        bonferroni = interval_of(draws, level, simultaneous=True)
        np.testing.assert_array_equal(bonferroni, interval_of(draws, 1 - (1 - level) / 3))


def test_the_hdi_is_the_shortest_of_all_intervals_with_as_many_draws():
    rng = np.random.default_rng(1)
    for draws in (rng.beta(1, 20, size=(199, 2)), rng.binomial(30, 0.1, size=(199, 2)) / 30):
        for level in (0.5, 0.8, 0.95):
            n_inside = int(np.ceil(level * 200)) + 1
            for column, (low, high) in zip(draws.T, interval_of(draws, level, "hdi"), strict=True):
                values = np.unique(column)
                shortest = min(
                    b - a
                    for a in values
                    for b in values
                    if ((column >= a) & (column <= b)).sum() >= n_inside
                )
                assert high - low == pytest.approx(shortest)
                assert ((column >= low) & (column <= high)).sum() >= n_inside


def test_the_hdi_of_a_skewed_posterior_is_the_exact_one():
    draws = np.random.default_rng(2).exponential(0.05, size=(50_000, 1))
    low, high = interval_of(draws, 0.9, "hdi")[0]
    assert low < 1e-4
    assert high == pytest.approx(0.05 * np.log(10), rel=0.03)


def test_the_intervals_of_two_classes_mirror_each_other():
    p = np.random.default_rng(3).beta(2, 5, size=777)
    for kind in ("equal-tailed", "hdi"):
        first, second = interval_of(np.stack([p, 1 - p], axis=1), 0.9, kind)
        np.testing.assert_allclose(second, 1 - first[::-1], atol=1e-12)


@pytest.mark.parametrize("kind", ["equal-tailed", "hdi"])
def test_what_is_certain_has_an_interval_of_one_point(kind):
    draws = np.tile([0.0, 0.3, 0.7, 1.0], (1000, 1))
    for simultaneous in (False, True):
        found = interval_of(draws, 0.9999, kind, simultaneous=simultaneous)
        np.testing.assert_array_equal(found, draws[:2].T)


@pytest.mark.parametrize("n_draws", [39, 40, 100, 999, 1000])
@pytest.mark.parametrize("kind", ["equal-tailed", "hdi"])
def test_another_draw_falls_inside_with_at_least_the_level(kind, n_draws):
    rng = np.random.default_rng(4)
    n_runs = 600
    for discrete in (False, True):
        inside = []
        for _ in range(n_runs):
            p = rng.binomial(20, 0.1, size=(n_draws + 20, 1)) / 20
            if not discrete:
                p = rng.beta(2, 18, size=(n_draws + 20, 1))
            low, high = interval_of(p[:n_draws], 0.9, kind)[0]
            inside.append(((p[n_draws:] >= low) & (p[n_draws:] <= high)).mean())
        # The shortest interval is chosen by these very draws, which costs a little.
        optimism = 0.0 if kind == "equal-tailed" else 0.35 / np.sqrt(n_draws)
        error = np.std(inside) / np.sqrt(n_runs)
        assert np.mean(inside) > 0.9 - optimism - 4 * error
        if not discrete:
            assert np.mean(inside) < 0.9 + 2 / n_draws + 0.02 + 4 * error


def test_simultaneous_intervals_hold_at_once_for_more_classes_than_the_draws_can_resolve():
    rng = np.random.default_rng(5)
    for alpha in (np.full(100, 1.0), np.geomspace(0.5, 200, 100)):
        draws = rng.dirichlet(alpha, size=1000)
        fresh = rng.dirichlet(alpha, size=2000)
        covered = hard_coverage(fresh, interval_of(draws, 0.95, simultaneous=True))
        assert covered.mean() > 0.95
        # The range of the draws alone would not do.
        range_only = np.stack([draws.min(axis=0), draws.max(axis=0)], axis=1)
        assert hard_coverage(fresh, range_only).mean() < 0.9


def test_bounds_beyond_the_draws_are_near_the_exact_ones():
    draws = np.random.default_rng(6).dirichlet(np.full(50, 20.0), size=1000)
    low, high = interval_of(draws, 0.95, simultaneous=True).T
    exact = stats.beta(20, 980).ppf([0.0005, 0.9995])
    assert np.median(low) < exact[0] < np.median(high)
    assert np.median(high) == pytest.approx(exact[1], rel=0.1)
    assert np.median(low) == pytest.approx(exact[0], rel=0.3)


def test_a_new_draw_falls_inside_what_few_draws_tell():
    rng = np.random.default_rng(8)
    for n_draws in (1, 5, 19, 20, 30):
        inside = []
        for _ in range(2000):
            p = rng.beta(2, 18, size=(n_draws + 1, 1))
            low, high = interval_of(p[:n_draws], 0.95)[0]
            inside.append(low <= p[-1, 0] <= high)
        # Three standard errors of the share of 2,000.
        assert np.mean(inside) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 2000)
    assert interval_of(p[:19]).tolist() == [[0.0, 1.0]]


def test_bounds_stay_in_the_simplex_and_few_draws_do():
    for n_draws in (1, 2, 3, 7, 20, 25):
        draws = np.random.default_rng(7).dirichlet([0.3, 0.3], size=n_draws)
        found = interval_of(draws, 0.99)
        assert (found >= 0).all()
        assert (found <= 1).all()
        assert (found[:, 0] <= draws.min(axis=0)).all()
        assert (found[:, 1] >= draws.max(axis=0)).all()


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, "0.95", None, True, np.nan])
def test_a_level_is_between_0_and_1(level):
    with pytest.raises(InputError, match="'level' parameter must be a number between 0 and 1"):
        interval_of(np.ones((10, 1)), level)


def test_other_kinds_are_refused():
    with pytest.raises(InputError, match="'kind' parameter must be one of 'equal-tailed', 'hdi'"):
        interval_of(np.ones((10, 1)), 0.9, "median")


@pytest.mark.parametrize(("level", "needed"), [(0.5, 4), (0.9, 20), (0.95, 40), (0.99, 200)])
def test_each_end_of_an_interval_needs_a_draw_beyond_it(level, needed):
    # One of `needed` draws lies beyond each end of an equal-tailed interval, on average.
    assert needed * (1 - level) / 2 == pytest.approx(1.0)
    assert too_few_draws(needed, None, level) == []
    (sentence,) = too_few_draws(needed - 1, None, level)
    assert f"fewer than the {needed} that a {100 * level:g} % interval needs" in sentence
    assert too_few_draws(10**6, needed - 0.5, level) != []
