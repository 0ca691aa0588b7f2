"""Intervals are widened where bags of references need it, and nowhere else."""

import numpy as np
import pytest

from truemix import BayesianKDEy, load, save
from truemix.estimates.intervals import interval_of
from truemix.trust.interval_calibration import MAX_FACTOR, needed_factor, widened
from truemix.trust.mixtures import Mixtures
from truemix.trust.reference_bags import reference_bags


def posteriors(n, seed, spread=1.0, mix=0.5):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < mix).astype(int)
    score = 1.5 * (2 * labels - 1) + spread * rng.normal(size=n)
    p = 1 / (1 + np.exp(-score))
    return np.column_stack([1 - p, p]), labels


def fitted(**options):
    P, y = posteriors(300, 0)
    options = {"bandwidth": 0.3, "shrinkage": 0.1, "draws": 200, **options}
    return BayesianKDEy(random_state=0, **options).fit(P, y)


def test_widened_draws_are_further_from_their_mean_by_the_factor():
    draws = np.random.default_rng(0).dirichlet([50, 30, 20], size=2000)
    wide = widened(draws, 1.7)
    np.testing.assert_allclose(wide.sum(axis=1), 1.0)
    np.testing.assert_allclose(wide.mean(axis=0), draws.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(wide.std(axis=0), 1.7 * draws.std(axis=0), rtol=1e-9)
    # Bounds are order statistics, which a linear map moves with the draws.
    middle = draws.mean(axis=0)[:, None]
    np.testing.assert_allclose(interval_of(wide) - middle, 1.7 * (interval_of(draws) - middle))


def test_widened_counts_stay_counts():
    counts = np.random.default_rng(0).multinomial(20, [0.9, 0.07, 0.03], size=500) / 20
    wide = widened(counts, 2.0, n_items=20)
    np.testing.assert_allclose(20 * wide, np.rint(20 * wide), atol=1e-9)
    np.testing.assert_allclose(wide.sum(axis=1), 1.0)
    assert wide.min() == 0.0
    assert wide.std(axis=0)[0] > 1.3 * counts.std(axis=0)[0]


def test_a_factor_of_one_changes_nothing():
    draws = np.array([[0.5, 0.5], [0.7, 0.3]])
    assert widened(draws, 1.0) is draws


@pytest.mark.parametrize("too_narrow", [0.5, 1.0, 3.0])
def test_the_factor_is_what_narrow_draws_lack_and_never_below_one(too_narrow):
    rng = np.random.default_rng(1)
    truth = [np.array([0.5 + e, 0.5 - e]) for e in rng.normal(0, 0.02, 2000)]
    draws = rng.normal(0.5, 0.02 / too_narrow, 4000)
    found = needed_factor(truth, [np.column_stack([draws, 1 - draws])] * len(truth))
    # Two classes, of which simultaneous intervals need no more: within 4 standard errors of the
    # 95 % quantile of 2,000 bags.
    assert found == pytest.approx(max(1.0, too_narrow), rel=0.1)


def test_the_factor_is_bounded_where_draws_have_no_width():
    certain = np.tile([1.0, 0.0], (100, 1))
    assert needed_factor([np.array([0.9, 0.1])] * 20, [certain] * 20) == MAX_FACTOR
    assert needed_factor([np.array([1.0, 0.0])] * 20, [certain] * 20) == 1.0


def test_bags_are_estimated_by_references_outside_them():
    """With a tiny bandwidth an item resembles itself alone: its own class would be certain."""
    options = {"bandwidth": 1e-4, "shrinkage": 0.0, "reference_uncertainty": None}
    quantifier = fitted(**options)
    P, codes = quantifier.references_
    outside = list(reference_bags(quantifier, (P, codes), 50, 30, 100, seed=0))
    members = [np.flatnonzero(codes == k) for k in range(2)]
    inside = [Mixtures(0, 2).draw(members, number, 50) for number in range(30)]
    found = quantifier.quantify_bags(P, [bag.rows for bag in inside])
    errors = {
        "outside": [np.abs(b.result.prevalence - b.mixture.batch).max() for b in outside],
        "inside": [
            np.abs(e.prevalence - b.batch).max() for e, b in zip(found, inside, strict=True)
        ],
    }
    assert np.mean(errors["inside"]) < 1e-6
    assert np.mean(errors["outside"]) > 0.01


def test_honest_intervals_are_left_as_they_are():
    quantifier, plain = fitted(), fitted(self_calibration=False)
    X, _ = posteriors(200, 5)
    found, expected = quantifier.quantify(X), plain.quantify(X)
    assert found.diagnostics["widening"]["n_bags"] == 60
    assert found.diagnostics["widening"]["factor"] == 1.0
    assert "widening" not in expected.diagnostics
    np.testing.assert_array_equal(found.draws, expected.draws)


def test_a_model_that_does_not_fit_gets_intervals_that_hold_the_truth():
    """A bandwidth far too large biases the mix by more than the posterior knows."""
    P, y = posteriors(1500, 0)
    pool, labels = posteriors(3000, 9)
    members = [np.flatnonzero(labels == k) for k in range(2)]
    bags = [Mixtures(2, 2).draw(members, number, 300) for number in range(60)]
    held = {}
    for calibrated in (False, True):
        options = {"bandwidth": 1.0, "shrinkage": 0.1, "draws": 200, "random_state": 0}
        quantifier = BayesianKDEy(self_calibration=calibrated, **options).fit(P, y)
        found = quantifier.quantify_bags(pool, [bag.rows for bag in bags])
        bounds = np.array([each.interval()[0] for each in found])
        truth = np.array([bag.batch[0] for bag in bags])
        held[calibrated] = ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean()
    # The standard error of a coverage of 95 % in 60 bags is 2.8 points.
    assert held[False] < 0.75
    assert held[True] > 0.86


def test_the_same_after_saving_and_for_groups_of_one_size(tmp_path):
    quantifier = fitted()
    X, _ = posteriors(120, 6)
    first = quantifier.quantify(X)
    save(quantifier, tmp_path / "q.truemix")
    again = load(tmp_path / "q.truemix").quantify(X)
    np.testing.assert_array_equal(first.draws, again.draws)
    assert first.diagnostics["widening"] == again.diagnostics["widening"]
    quantifier.quantify_by(X, np.repeat(["a", "b"], 60))
    assert sorted(quantifier.widenings_) == [30, 100]


def test_the_other_view_has_a_factor_of_its_own():
    quantifier = fitted(estimand="population")
    X, _ = posteriors(200, 5)
    found, expected = quantifier.quantify(X), fitted(self_calibration=False).quantify(X)
    widening = quantifier.widenings_[100]
    assert found.diagnostics["widening"]["factor"] == pytest.approx(widening.population, rel=1e-3)
    batch = found.of("batch")
    ratio = np.diff(batch.interval()).mean() / np.diff(expected.interval()).mean()
    assert ratio == pytest.approx(widening.batch, abs=0.15)


def test_what_is_not_calibrated():
    X, _ = posteriors(50, 5)
    for options in ({"temperature": 2.0}, {"unknown": True}, {"reference_uncertainty": None}):
        assert "widening" not in fitted(**options).quantify(X).diagnostics
    P, y = posteriors(300, 0)
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]]
    small = BayesianKDEy(bandwidth=0.3, shrinkage=0.1, random_state=0).fit(P[few], y[few])
    assert small.quantify(X).diagnostics["widening"]["n_bags"] == 0


def test_wrong_parameter():
    with pytest.raises(ValueError, match="'self_calibration' parameter must be True or False"):
        fitted(self_calibration="yes")
