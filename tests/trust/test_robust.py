"""The robust mixture: Gaussian updates, weights by Bayes' theorem, draws on the simplex."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from truemix.trust.prediction_powered import Measurement, prediction_powered, source_covariance
from truemix.trust.robust import (
    Component,
    RobustMixture,
    as_counts,
    draw,
    label_shift_components,
    log_density,
    mean_of,
    measured_alone,
    on_simplex,
    prior_weight,
    rounded_cumulatively,
    sum_zero_basis,
    updated,
)


def label_shift(mix=(0.5, 0.3, 0.2), strength=400, n_items=1000, seed=0):
    """Return draws of the mix of the batch and of its source."""
    rng = np.random.default_rng(seed)
    source = rng.dirichlet(strength * np.array(mix), 4000)
    batch = np.array([rng.multinomial(n_items, p) for p in source]) / n_items
    return batch, source


def measurement(share, sd=0.04, degrees=np.inf):
    share = np.array(share, dtype=float)
    covariance = sd**2 * (np.eye(len(share)) - 1 / len(share))
    return Measurement(share, covariance, degrees, np.ones(len(share)))


def test_an_update_is_that_of_two_gaussians():
    batch, source = label_shift()
    measured = measurement([0.45, 0.30, 0.25])
    (before,) = label_shift_components(batch, source, 1.0, ())
    (after,) = updated([before], measured, 10**9)
    basis = sum_zero_basis(3)
    prior = np.linalg.inv(basis.T @ before.covariance[:3, :3] @ basis)
    data = np.linalg.inv(basis.T @ measured.covariance @ basis)
    expected = np.linalg.solve(
        prior + data, prior @ basis.T @ before.mean[0] + data @ basis.T @ measured.share
    )
    # Precisions add up, and means are weighted by them.
    assert np.allclose(basis.T @ after.mean[0], expected)
    precision = np.linalg.inv(basis.T @ after.covariance[:3, :3] @ basis)
    assert np.allclose(precision, prior + data, rtol=1e-6)
    assert np.allclose(after.mean.sum(axis=1), 1)
    # The source follows by regression on the batch.
    S = before.covariance
    slope = S[3:, :3] @ np.linalg.pinv(S[:3, :3] + measured.covariance, rcond=1e-9)
    assert np.allclose(after.mean[1], before.mean[1] + slope @ (measured.share - before.mean[0]))
    assert np.allclose(after.covariance[3:, 3:], S[3:, 3:] - slope @ S[:3, 3:])


def test_weights_follow_the_marginal_likelihoods():
    batch, source = label_shift(n_items=10**6)
    measured = measurement([0.4, 0.35, 0.25])
    before = label_shift_components(batch, source, 0.7, (0.1,))
    after = updated(before, measured, 10**9)
    basis = sum_zero_basis(3)
    density = [
        multivariate_normal.pdf(
            basis.T @ (measured.share - each.mean[0]),
            cov=basis.T @ (each.covariance[:3, :3] + measured.covariance) @ basis,
        )
        for each in before
    ]
    joint = np.array([0.7, 0.3]) * density
    assert [each.weight for each in after] == pytest.approx(joint / joint.sum())


def test_the_density_is_that_of_student():
    x, scale = np.array([0.3, -0.2]), np.array([[0.5, 0.1], [0.1, 0.2]])
    assert log_density(x, scale, 7.0) == pytest.approx(
        multivariate_t.logpdf(x, shape=scale, df=7.0)
    )
    assert log_density(x, scale, np.inf) == pytest.approx(multivariate_normal.logpdf(x, cov=scale))


def test_labels_that_agree_raise_the_weight_and_labels_that_do_not_end_it():
    mixture = RobustMixture.of_draws(*label_shift(), 0.5)
    _, near = mixture.after(measurement([0.49, 0.31, 0.20]), 1000)
    components, far = mixture.after(measurement([0.3, 0.3, 0.4]), 1000)
    assert near > 0.6
    assert far < 0.01
    # Then the answer is nearly what was measured.
    assert np.allclose(mean_of(components)[0], [0.3, 0.3, 0.4], atol=0.03)


def test_intervals_are_cautious_while_the_estimate_is_not():
    mixture = RobustMixture.of_draws(*label_shift(), 0.8)
    measured = measurement([0.45, 0.35, 0.20])
    found, weight = mixture.after(measured, 1000)
    expected = updated(mixture.expected, measured, 1000)
    assert weight == expected[0].weight
    assert np.allclose(mean_of(found), mean_of(expected))
    batch, _ = draw(found, np.inf, 20_000, np.random.default_rng(0))
    plain, _ = draw(expected, np.inf, 20_000, np.random.default_rng(0))
    assert (batch.std(axis=0) > plain.std(axis=0)).all()


def test_intervals_hold_a_bias_of_one_class_of_many():
    # Labels see one class of 25 at 24 %, where label shift is sure of 4 %. In 24 dimensions no bias
    # is still far likelier than a Gaussian one.
    batch, source = label_shift(mix=np.full(25, 0.04), strength=200)
    share = np.full(25, 0.76 / 24)
    share[0] = 0.24
    measured = measurement(share, sd=0.05)
    components, weight = RobustMixture.of_draws(batch, source, 0.8).after(measured, 1000)
    drawn, _ = draw(components, np.inf, 4000, np.random.default_rng(0))
    assert weight > 0.5
    assert np.quantile(drawn[:, 0], 0.975) > 0.2
    # The estimate itself stays where label shift is.
    assert mean_of(components)[0, 0] < 0.15


def test_a_prior_weight_falls_with_the_p_value():
    weights = [prior_weight(p) for p in (1.0, 0.3, 0.1, 0.05, 0.01, 0.001, 0.0)]
    assert all(a >= b for a, b in pairwise(weights))
    assert weights[0] > prior_weight(None) > weights[3]
    assert 0 < weights[-1] < 1e-6


def test_a_measurement_alone_adds_the_chance_of_the_batch_for_its_source():
    measured = measurement([0.5, 0.3, 0.2])
    alone = measured_alone(measured, 100)
    batch, source = draw([alone], np.inf, 50_000, np.random.default_rng(1))
    # 50,000 draws: covariances to a few percent.
    assert np.allclose(np.cov(batch.T), measured.covariance, atol=5e-5)
    expected = measured.covariance + source_covariance(measured.share, 100)
    assert np.allclose(np.cov(source.T), expected, atol=1e-4)
    assert np.allclose(np.cov((source - batch).T), expected - measured.covariance, atol=1e-4)


def test_draws_are_shared_by_weight_and_have_tails():
    low, high = (
        Component(w, np.full((2, 2), 0.5) + shift * np.array([1, -1]), np.zeros((4, 4)))
        for w, shift in ((0.3, 0.1), (0.7, -0.1))
    )
    batch, source = draw([low, high], np.inf, 1000, np.random.default_rng(2))
    assert np.isclose(batch[:, 0], 0.6).sum() == 300
    assert np.array_equal(batch, source)
    # In an order that tells nothing of the component.
    assert 100 < np.isclose(batch[:500, 0], 0.6).sum() < 200
    unit = Component(1.0, np.zeros((2, 2)), np.eye(4))
    spread = [draw([unit], v, 20_000, np.random.default_rng(3))[0].std() for v in (5.0, np.inf)]
    # The variance of Student's t is v / (v - 2).
    assert spread == pytest.approx([np.sqrt(5 / 3), 1], rel=0.03)


def test_singular_covariances_are_no_obstacle():
    # A bootstrap knows the mix of the batch for sure; so do labels of all items.
    point = np.tile([0.5, 0.3, 0.2], (100, 1))
    mixture = RobustMixture.of_draws(point, point, 0.5)
    exact = Measurement(np.array([0.4, 0.4, 0.2]), np.zeros((3, 3)), np.inf, np.ones(3))
    for measured in (exact, measurement([0.4, 0.4, 0.2])):
        found, weight = mixture.after(measured, 1000)
        assert 0 <= weight < 0.5
        assert all(np.isfinite(each.mean).all() for each in found)
    components, _ = mixture.after(exact, 1000)
    # Biased components reach what is known for sure, to half an item.
    assert np.allclose(mean_of(components)[0], exact.share, atol=0.001)


def test_shares_become_whole_items_that_include_the_known_ones():
    rng = np.random.default_rng(4)
    shares = rng.normal([0.6, 0.3, 0.1], 0.1, (500, 3))
    shares /= shares.sum(axis=1, keepdims=True)
    known = np.array([3, 0, 9])
    counts = as_counts(shares, known, 40) * 40
    assert np.allclose(counts, np.round(counts))
    assert (np.round(counts) >= known).all()
    assert (np.round(counts).sum(axis=1) == 40).all()
    # As many as there are: nothing is left to chance.
    assert np.array_equal(as_counts(shares, np.array([20, 15, 5]), 40), [[0.5, 0.375, 0.125]] * 500)
    assert np.allclose(on_simplex(shares).sum(axis=1), 1)
    assert (on_simplex(shares) >= 0).all()


def test_rounding_keeps_the_sum():
    amounts = np.random.default_rng(5).dirichlet(np.ones(7), 100) * 13
    whole = rounded_cumulatively(amounts)
    assert (whole.sum(axis=1) == 13).all()
    assert (np.abs(whole - amounts) < 1).all()
    assert (whole >= 0).all()


@pytest.mark.parametrize(("bias", "p_value"), [(0.0, 0.5), (0.03, 0.3), (0.15, 0.005)])
def test_it_covers_with_and_without_label_shift_and_is_sharp_with_it(bias, p_value):
    """The check is what it would be: it does not see a small bias, and sees a large one."""
    rng = np.random.default_rng(6)
    n_items, n, truth_of = 500, 50, np.array([0.5, 0.3, 0.2])
    inside, errors = [], {"robust": [], "label shift": [], "measured": []}
    for _ in range(150):
        true_posteriors = rng.dirichlet(3 * truth_of, n_items)
        codes = (true_posteriors.cumsum(axis=1) > rng.random((n_items, 1))).argmax(axis=1)
        truth = np.bincount(codes, minlength=3) / n_items
        centre = rng.dirichlet(2000 * truth + 1) + bias * np.array([1, -1, 0])
        centre = on_simplex(np.maximum(centre, 0.02)[None])[0]
        predicted = true_posteriors * centre / truth_of
        predicted /= predicted.sum(axis=1, keepdims=True)
        draws = rng.dirichlet(2000 * centre, 500)
        items = rng.choice(n_items, n, replace=False)
        measured = prediction_powered(
            predicted, np.ones(n_items), items, codes[items], np.full(n, n / n_items)
        )
        mixture = RobustMixture.of_draws(draws, draws, prior_weight(p_value))
        components, _ = mixture.after(measured, n_items)
        batch, _ = draw(components, measured.degrees, 1000, rng)
        known = np.bincount(codes[items], minlength=3)
        batch = as_counts(batch, known, n_items)
        low, high = np.quantile(batch, [0.025, 0.975], axis=0)
        inside.append((low - 1e-9 <= truth) & (truth <= high + 1e-9))
        for name, answer in zip(errors, (batch.mean(axis=0), centre, measured.share), strict=True):
            errors[name].append(np.abs(answer - truth).mean())
    mean = {name: np.mean(each) for name, each in errors.items()}
    # 450 intervals, three of a batch together: a standard error of up to 1.5 points.
    assert np.mean(inside) > 0.91
    if bias == 0.0:
        # Nearly as good as label shift, and far better than labels and predictions alone.
        assert mean["robust"] < 1.5 * mean["label shift"]
        assert mean["robust"] < 0.4 * mean["measured"]
    else:
        assert mean["robust"] < mean["label shift"]
        assert mean["robust"] < 1.15 * mean["measured"]
