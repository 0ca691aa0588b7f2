"""Each point method against an independent truth."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import dirichlet

from support import posteriors
from truemix import ACC, CC, EMQ, PCC, KDEy
from truemix.inference import Replicates
from truemix.inference.least_squares import nearest_mix


def least_squares_on_the_simplex(confusion, reported):
    mix = cp.Variable(confusion.shape[1], nonneg=True)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(confusion @ mix - reported)), [cp.sum(mix) == 1]
    )
    problem.solve(solver=cp.CLARABEL)
    return mix.value


@given(
    n_classes=st.sampled_from([2, 3, 7, 30]),
    seed=st.integers(0, 500),
    rank_deficient=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_nearest_mix_solves_the_constrained_least_squares_problem(n_classes, seed, rank_deficient):
    rng = np.random.default_rng(seed)
    confusion = rng.dirichlet(np.full(n_classes, 0.3), size=n_classes).T
    if rank_deficient:
        confusion[:, -1] = confusion[:, 0]
    reported = rng.dirichlet(np.full(n_classes, 0.5))
    mix = nearest_mix(confusion, reported, np.full(n_classes, 1 / n_classes))
    assert mix.sum() == pytest.approx(1)
    assert (mix >= 0).all()
    expected = least_squares_on_the_simplex(confusion, reported)
    residual = np.linalg.norm(confusion @ mix - reported)
    # The interior-point solver stops at 1e-8; the tie break costs less than 1e-7 of residual.
    assert residual <= np.linalg.norm(confusion @ expected - reported) + 1e-6


def test_acc_inverts_the_confusion_matrix_where_that_is_a_mix():
    reference, labels = posteriors(900, 3, seed=0)
    fitted = ACC().fit(reference, labels)
    for mix in ([0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]):
        # Decisions exactly in the proportions that this mix makes expected.
        reported = (fitted.confusion_ @ mix)[None]
        counts = fitted.model_.counts_
        replicates = Replicates(1, 1, 3, plain=lambda _, rows=reported: rows, counts=counts)
        (found,) = fitted.inference_.infer(replicates, [np.arange(1)])
        np.testing.assert_allclose(found.prevalence, mix, atol=1e-9)


def test_acc_says_when_a_class_is_never_predicted():
    reference, labels = posteriors(300, 3, seed=0)
    # Nothing is ever decided for class 2: two thirds of its posterior go to class 1.
    reference = reference @ np.array([[1, 0, 0], [0, 1, 0], [0, 0.67, 0.33]])
    fitted = ACC().fit(reference, np.array(["cat", "dog", "eel"])[labels])
    estimate = fitted.quantify(reference[:100])
    assert estimate.prevalence.sum() == pytest.approx(1)
    assert estimate.diagnostics["never_predicted"] == ["eel"]
    assert estimate.diagnostics["identifiable"] is False
    assert "Note: The confusion matrix is singular (never predicted: 'eel')" in repr(estimate)


def test_acc_breaks_ties_towards_the_reference_mix():
    confusion = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    mix = nearest_mix(confusion, np.array([0.3, 0.3, 0.4]), np.array([0.6, 0.2, 0.2]))
    # Only the sum of the first two is known; the nearest point to (.6, .2) with sum .6 is (.5, .1).
    np.testing.assert_allclose(mix, [0.5, 0.1, 0.4], atol=1e-6)


def test_emq_is_the_fixed_point_of_saerens_em():
    reference, labels = posteriors(600, 4, seed=3)
    target, _ = posteriors(400, 4, seed=4, mix=[0.5, 0.3, 0.15, 0.05])
    fitted = EMQ(calibration=None).fit(reference, labels)
    train = np.bincount(labels) / len(labels)
    mix = train
    # Plain EM, the textbook loop, until it no longer moves.
    for _ in range(20_000):
        weighted = target * (mix / train)
        mix = (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
    # Both stop near the optimum: ours by its gap of 1e-8, flat to about 1e-5 in the shares.
    np.testing.assert_allclose(fitted.predict(target), mix, atol=1e-4)


def test_emq_does_not_depend_on_the_training_mix_if_posteriors_are_right():
    """Posteriors of the same items under two training mixes are one likelihood."""
    target, _ = posteriors(400, 3, seed=4, mix=[0.5, 0.3, 0.2])
    answers = []
    for train in ([1 / 3, 1 / 3, 1 / 3], [0.7, 0.2, 0.1]):
        labels = np.repeat(np.arange(3), (1000 * np.array(train)).round().astype(int))
        share = np.bincount(labels) / len(labels)
        adjusted = target * share
        adjusted /= adjusted.sum(axis=1, keepdims=True)
        reference = np.full((len(labels), 3), 1 / 3)
        answers.append(EMQ(calibration=None).fit(reference, labels).predict(adjusted))
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-6)


def test_emq_accepts_zeros():
    reference = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]] * 5)
    fitted = EMQ(calibration=None).fit(reference, [0, 1, 2, 0] * 5)
    np.testing.assert_allclose(fitted.predict(np.eye(3)[[0, 0, 1]]), [2 / 3, 1 / 3, 0], atol=1e-7)
    for calibration in ("ts", "bcts", "vs", "nbvs"):
        mix = EMQ(calibration=calibration).fit(reference, [0, 1, 2, 0] * 5).predict(np.eye(3))
        # One sure item of each class; calibrated on 20 items they are sure to within a percent.
        np.testing.assert_allclose(mix, 1 / 3, atol=0.004)


def exact_posteriors(n, seed, mix, train):
    """Items from three known densities, and their true posteriors under the training mix."""
    alpha = np.array([[4.0, 2, 1], [1, 4, 2], [2, 1, 4]])
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=mix)
    gammas = rng.gamma(alpha[labels])
    items = gammas / gammas.sum(axis=1, keepdims=True)
    likelihood = np.column_stack([dirichlet.pdf(items.T, a) for a in alpha])
    posterior = likelihood * train
    return posterior / posterior.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("mix", [[0.8, 0.15, 0.05], [0.1, 0.1, 0.8]])
def test_corrected_methods_converge_to_the_truth_and_counting_does_not(mix):
    """Fisher consistency under exact label shift."""
    train = np.array([0.5, 0.3, 0.2])
    reference, labels = exact_posteriors(40_000, 0, train, train)
    target, _ = exact_posteriors(100_000, 1, mix, train)

    def error(quantifier):
        return np.abs(quantifier.fit(reference, labels).predict(target) - mix).max()

    for quantifier in (CC(), PCC()):
        assert error(quantifier) > 0.05, quantifier
    for quantifier in (ACC(), EMQ(), EMQ(calibration="bcts"), KDEy(bandwidth=0.1, shrinkage=0.05)):
        # The sampling error of the target is about 0.003 with this overlap; the references add
        # theirs, and a kernel of finite width a little bias.
        assert error(quantifier) < 0.012, quantifier


def test_kdey_finds_zero_shares_exactly():
    reference, labels = posteriors(600, 3, seed=0, sharpness=40)
    target, _ = posteriors(300, 3, seed=1, mix=[0.5, 0.5, 0.0], sharpness=40)
    estimate = KDEy().fit(reference, labels).quantify(target)
    assert estimate.prevalence[2] == 0.0
    assert estimate.diagnostics["converged"] is True
    assert estimate.diagnostics["gap"] <= 1e-8


def test_kdey_kernels_with_the_same_distances_agree():
    reference, labels = posteriors(300, 4, seed=0)
    target, _ = posteriors(200, 4, seed=1, mix=[0.4, 0.3, 0.2, 0.1])
    settings_ = {"bandwidth": 0.3, "shrinkage": 0.2}
    np.testing.assert_allclose(
        KDEy(kernel="ilr", **settings_).fit(reference, labels).predict(target),
        KDEy(kernel="aitchison", **settings_).fit(reference, labels).predict(target),
        atol=1e-6,
    )


def test_resolved_settings_are_reported():
    reference, labels = posteriors(60, 3, seed=0)
    fitted = KDEy(kernel="gaussian", bandwidth=0.05).fit(reference, labels)
    assert (fitted.bandwidth_, fitted.shrinkage_) == (0.05, 0.0)
    settings_ = fitted.quantify(reference).settings
    assert settings_["bandwidth"] == 0.05
    assert settings_["shrinkage"] == 0.0
    assert settings_["kernel"] == "gaussian"
    assert "version" in settings_
    # set_params is effective at the next fit.
    assert fitted.set_params(bandwidth=0.2).fit(reference, labels).bandwidth_ == 0.2
