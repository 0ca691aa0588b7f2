"""The four calibrators: one convex problem, its exact minimum, and what they do at the edges."""

import importlib
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from truemix.calibration import (
    CALIBRATORS,
    BiasCorrectedTemperatureScaling,
    NoBiasVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from truemix.calibration._softmax_regression import SoftmaxRegression
from truemix.calibration.scaling import prior_precision
from truemix.exceptions import InputError

FORMS = {"ts": (True, False), "bcts": (True, True), "vs": (False, True), "nbvs": (False, False)}
every_method = pytest.mark.parametrize("method", CALIBRATORS)


def draw(n, scale, bias, seed=0, spread=2.0):
    """Posteriors, and labels drawn from softmax(scale * log(P) + bias)."""
    rng = np.random.default_rng(seed)
    bias = np.asarray(bias, dtype=float)
    log_p = log_softmax(spread * rng.normal(size=(n, bias.size)), axis=1)
    truth = softmax(log_p * scale + bias, axis=1)
    y = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return np.exp(log_p), np.minimum(y, bias.size - 1)


def mean_nll(Q, y):
    return -np.mean(np.log(Q[np.arange(len(y)), y]))


def problem_of(method, P, y, weight=None):
    log_p = np.log(P)
    weight = np.full(len(y), 1 / len(y)) if weight is None else weight / weight.sum()
    return SoftmaxRegression(log_p, y, weight, *FORMS[method], prior_precision(log_p, weight))


# --- the optimum -------------------------------------------------------------------------------

# Standard errors of the parameters are about 0.01 to 0.02 with 40,000 items; 0.08 is four to eight
# of them.
N_LARGE, FOUR_ERRORS = 40_000, 0.08
BIAS = np.array([0.5, -0.2, -0.7, 0.4])


def test_temperature_scaling_recovers_the_temperature():
    P, y = draw(N_LARGE, 0.4, np.zeros(4))
    assert TemperatureScaling().fit(P, y).temperature_ == pytest.approx(2.5, abs=0.1)


def test_bias_corrected_temperature_scaling_recovers_temperature_and_bias():
    P, y = draw(N_LARGE, 1.6, BIAS)
    calibrator = BiasCorrectedTemperatureScaling().fit(P, y)
    assert 1 / calibrator.temperature_ == pytest.approx(1.6, abs=FOUR_ERRORS)
    np.testing.assert_allclose(calibrator.bias_, BIAS, atol=FOUR_ERRORS)


def test_vector_scaling_recovers_weights_and_bias():
    weights = np.array([0.5, 1.0, 1.5, 0.8])
    P, y = draw(N_LARGE, weights, BIAS)
    calibrator = VectorScaling().fit(P, y)
    np.testing.assert_allclose(calibrator.weights_, weights, atol=FOUR_ERRORS)
    np.testing.assert_allclose(calibrator.bias_, BIAS, atol=2 * FOUR_ERRORS)


def test_no_bias_vector_scaling_recovers_weights():
    weights = np.array([0.5, 1.0, 1.5, 0.8])
    P, y = draw(N_LARGE, weights, np.zeros(4))
    np.testing.assert_allclose(NoBiasVectorScaling().fit(P, y).weights_, weights, atol=FOUR_ERRORS)


@every_method
def test_gradient_and_hessian_are_the_finite_differences(method):
    P, y = draw(60, 0.7, [0.3, 0.0, -0.3])
    problem = problem_of(method, P, y, np.random.default_rng(1).random(60))
    theta = problem.identity() + 0.3 * np.random.default_rng(2).normal(size=problem.identity().size)
    value, gradient, hessian = problem.derivatives(theta)
    assert value == pytest.approx(problem.objective(theta), rel=1e-13)
    # One-sided differences with a step of 1.5e-8 are good to about 1e-7.
    np.testing.assert_allclose(
        gradient, approx_fprime(theta, problem.objective), rtol=1e-6, atol=1e-6
    )
    numeric = np.atleast_2d(approx_fprime(theta, lambda t: problem.derivatives(t)[1]))
    np.testing.assert_allclose(hessian, numeric, rtol=1e-6, atol=1e-6)


@every_method
def test_blocks_of_rows_do_not_change_the_derivatives(method, monkeypatch):
    P, y = draw(101, 0.7, [0.3, 0.0, -0.3])
    problem = problem_of(method, P, y)
    whole = problem.derivatives(problem.identity())
    monkeypatch.setattr("truemix.calibration._softmax_regression.BLOCK_ENTRIES", 21)
    # Only the order of summation differs.
    for one, other in zip(whole, problem.derivatives(problem.identity()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@every_method
def test_optimum_is_that_of_scipy_with_numeric_gradients(method):
    P, y = draw(400, 0.6, [0.4, 0.0, -0.4])
    one_scale, with_bias = FORMS[method]
    n_scales = 1 if one_scale else 3

    def nll(theta):
        bias = theta[n_scales:] if with_bias else 0.0
        return mean_nll(softmax(np.log(P) * theta[:n_scales] + bias, axis=1), y)

    start = np.concatenate([np.ones(n_scales), np.zeros(3 if with_bias else 0)])
    independent = minimize(nll, start, method="BFGS", options={"gtol": 1e-7})
    calibrator = CALIBRATORS[method]().fit(P, y)
    assert calibrator.converged_
    assert calibrator.nll_after_ == pytest.approx(mean_nll(calibrator.transform(P), y), abs=1e-12)
    # The prior lifts the NLL by its squared pull over the curvature, here far below 1e-6.
    assert calibrator.nll_after_ == pytest.approx(independent.fun, abs=1e-6)


@pytest.mark.parametrize(("method", "intercept"), [("ts", False), ("bcts", True)])
def test_two_classes_are_logistic_regression_on_the_log_odds(method, intercept):
    P, y = draw(2000, 0.6, [0.3, -0.3])
    odds = np.log(P[:, [1]] / P[:, [0]])
    peer = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-10).fit(odds, y)
    calibrator = CALIBRATORS[method]().fit(P, y)
    # The prior, of weight 1e-2 against 2,000 items, shifts parameters by about 1e-5.
    assert 1 / calibrator.temperature_ == pytest.approx(peer.coef_[0, 0], abs=1e-4)
    assert np.diff(calibrator.bias_)[0] == pytest.approx(np.ravel(peer.intercept_)[0], abs=1e-4)
    np.testing.assert_allclose(calibrator.transform(P), peer.predict_proba(odds), atol=1e-4)


def test_two_class_vector_scaling_is_logistic_regression_on_both_logs():
    P, y = draw(2000, [0.5, 1.2], [0.3, -0.3])
    features = np.log(P) * [-1, 1]
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(features, y)
    # The peer stops at a gradient, not at the minimum: posteriors agree to about 1e-4.
    np.testing.assert_allclose(
        VectorScaling().fit_transform(P, y), peer.predict_proba(features), atol=1e-3
    )


@pytest.mark.parametrize("method", ["bcts", "vs"])
def test_with_a_bias_the_mean_posterior_is_the_mix_of_the_labels(method):
    P, y = draw(1000, 0.6, [0.4, 0.0, -0.4])
    mean = CALIBRATORS[method]().fit_transform(P, y).mean(axis=0)
    # The gradient of the bias; the prior takes 1e-2 / 1000 times a bias of order one.
    np.testing.assert_allclose(mean, np.bincount(y) / 1000, atol=1e-4)


@pytest.mark.parametrize("method", ["bcts", "vs"])
def test_biases_have_mean_zero(method):
    P, y = draw(500, 0.6, [2.0, 0.0, 1.0])
    # Exact but for the rounding of one mean.
    assert abs(CALIBRATORS[method]().fit(P, y).bias_.mean()) < 1e-15


# --- peers -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def abstention():
    with warnings.catch_warnings():
        # abstention imports scipy.misc, which SciPy has deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module("abstention.calibration")


@every_method
@pytest.mark.parametrize("n_classes", [2, 5, 10])
def test_nll_is_at_most_that_of_abstention(method, n_classes, abstention):
    P, y = draw(2000, 0.5, np.linspace(-0.5, 0.5, n_classes), spread=3.0)
    factory = {
        "ts": abstention.TempScaling(),
        "bcts": abstention.TempScaling(bias_positions="all"),
        "vs": abstention.VectorScaling(),
        "nbvs": abstention.NoBiasVectorScaling(),
    }[method]
    # As logits: with posterior_supplied=True abstention subtracts each row's mean log, which is
    # the same model for ts and bcts but another one for vs and nbvs.
    log_p = np.log(P)
    theirs = factory(log_p, np.eye(n_classes)[y])(log_p)
    calibrator = CALIBRATORS[method]().fit(P, y, classes=range(n_classes))
    assert calibrator.nll_after_ <= mean_nll(theirs, y) + 1e-6
    # abstention stops when the NLL falls by less than 1e-7; an NLL that close to the minimum
    # allows posteriors to differ by its square root times a few.
    np.testing.assert_allclose(calibrator.transform(P), theirs, atol=3e-3)


# abstention takes log(0) and then fails its own assertion, so zeros cannot be compared.


# --- never worse, always finite ----------------------------------------------------------------


@st.composite
def posteriors_and_labels(draw_from):
    n_classes = draw_from(st.integers(2, 5))
    n = draw_from(st.integers(n_classes, 30))
    seed = draw_from(st.integers(0, 2**32 - 1))
    kind = draw_from(st.sampled_from(["smooth", "votes", "sharp", "one-hot", "constant"]))
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n_classes, 0.05 if kind == "sharp" else 1.0), size=n)
    if kind == "votes":
        P = rng.multinomial(10, P) / 10
    elif kind == "one-hot":
        P = np.eye(n_classes)[rng.integers(n_classes, size=n)]
    elif kind == "constant":
        P = np.repeat(P[:1], n, axis=0)
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    return P, y, rng.permutation(n)


@every_method
@settings(max_examples=60, deadline=None)
@given(posteriors_and_labels())
def test_the_training_nll_never_increases_and_all_is_finite(method, data):
    P, y, _ = data
    calibrator = CALIBRATORS[method]().fit(P, y)
    Q = calibrator.transform(P)
    assert calibrator.converged_
    assert calibrator.nll_after_ <= calibrator.nll_before_
    assert np.all(np.isfinite(calibrator.scale_))
    assert np.all(np.isfinite(calibrator.bias_))
    assert np.all(Q >= 0)
    np.testing.assert_allclose(Q.sum(axis=1), 1, rtol=1e-14)
    with np.errstate(divide="ignore"):
        # Against the posteriors as they are, infinite where a true class has none; 1e-9 is
        # rounding.
        assert mean_nll(Q, y) <= mean_nll(P, y) + 1e-9


@every_method
@settings(max_examples=25, deadline=None)
@given(posteriors_and_labels())
def test_the_order_of_items_and_of_classes_does_not_matter(method, data):
    P, y, order = data
    base = CALIBRATORS[method]().fit_transform(P, y)
    # Directions that only the prior determines amplify rounding; posteriors agree to 1e-6.
    np.testing.assert_allclose(
        CALIBRATORS[method]().fit(P[order], y[order]).transform(P), base, atol=1e-6
    )
    reverse = np.arange(P.shape[1])[::-1]
    turned = CALIBRATORS[method]().fit(P[:, reverse], y, classes=reverse)
    np.testing.assert_allclose(turned.transform(P[:, reverse])[:, reverse], base, atol=1e-6)


@every_method
def test_calibrated_posteriors_are_left_as_they_are(method):
    P, y = draw(N_LARGE, 1.0, np.zeros(3))
    # Standard errors of the parameters are about 0.02.
    np.testing.assert_allclose(CALIBRATORS[method]().fit_transform(P, y), P, atol=0.04)


@every_method
@pytest.mark.parametrize("margin", [1e-3, 0.5, 1 - 1e-9])
def test_separable_data_give_a_finite_map_that_is_surer(method, margin):
    y = np.arange(60) % 3
    P = margin * np.eye(3)[y] + (1 - margin) / 3
    calibrator = CALIBRATORS[method]().fit(P, y)
    assert calibrator.converged_
    assert np.max(np.abs(calibrator.scale_)) < 1e5
    assert calibrator.nll_after_ <= calibrator.nll_before_
    assert np.all(calibrator.transform(P)[np.arange(60), y] >= P[np.arange(60), y])


@pytest.mark.parametrize("method", ["ts", "bcts"])
def test_posteriors_worse_than_chance_get_an_infinite_temperature(method):
    P, y = draw(500, -1.0, np.zeros(3))
    calibrator = CALIBRATORS[method]().fit(P, y)
    assert calibrator.temperature_ == np.inf
    assert calibrator.converged_
    mix = np.bincount(y) / 500 if method == "bcts" else np.full(3, 1 / 3)
    # The prior, of weight 1e-2 against 500 items, moves the mix by about 1e-5.
    np.testing.assert_allclose(calibrator.transform(P), np.tile(mix, (500, 1)), atol=1e-4)


@every_method
def test_sure_and_wrong_posteriors_do_not_stop_the_fit(method):
    P, y = draw(500, 0.02, np.zeros(4), spread=100.0)
    calibrator = CALIBRATORS[method]().fit(P, y)
    assert calibrator.converged_
    assert calibrator.nll_after_ < np.log(4) < calibrator.nll_before_
    # The scale's standard error is about 0.001 to 0.002.
    np.testing.assert_allclose(calibrator.scale_, 0.02, atol=0.006)


@every_method
def test_posteriors_that_never_vary_are_calibrated_by_the_bias_alone(method):
    y = np.repeat([0, 1, 2], [30, 20, 10])
    Q = CALIBRATORS[method]().fit_transform(np.full((60, 3), 1 / 3), y)
    expected = [1 / 3] * 3 if method == "ts" else [1 / 2, 1 / 3, 1 / 6]
    # The prior, of weight 1e-2 against 60 items, moves the mix by about 1e-4.
    np.testing.assert_allclose(Q[0], expected, atol=1e-3)


# --- zeros -------------------------------------------------------------------------------------


@every_method
def test_a_forest_with_zeros_at_the_true_class_is_calibrated(method):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=1200)
    X = rng.normal(size=(1200, 6)) + 1.2 * np.eye(4, 6)[y]
    forest = RandomForestClassifier(20, random_state=0).fit(X[:400], y[:400])
    P = forest.predict_proba(X[400:])
    fit, test = np.arange(400), np.arange(400, 800)
    assert np.any(P[fit, y[400:800]] == 0)
    calibrator = CALIBRATORS[method]().fit(P[fit], y[400:800])
    assert calibrator.floor_ == pytest.approx(0.025)  # half a vote
    assert np.isfinite(calibrator.nll_before_)
    held_out = calibrator.transform(P[test])
    assert np.all(held_out > 0)
    # Better than the same forest with any fixed floor
    for floor in (1e-2, 1e-4, 1e-12):
        raised = np.maximum(P[test], floor)
        raised /= raised.sum(axis=1, keepdims=True)
        assert mean_nll(held_out, y[800:]) < mean_nll(raised, y[800:])


@every_method
def test_without_zeros_small_posteriors_are_not_raised(method):
    P, y = draw(300, 0.5, np.zeros(3))
    calibrator = CALIBRATORS[method]().fit(P, y)
    rare = np.array([[1 - 2e-20, 1e-20, 1e-20], [1 - 2e-30, 1e-30, 1e-30]])
    expected = softmax(calibrator.scale_ * np.log(rare) + calibrator.bias_, axis=1)
    np.testing.assert_allclose(calibrator.transform(rare), expected, rtol=1e-12)


@every_method
def test_zeros_met_only_after_the_fit_are_finite(method):
    P, y = draw(300, 0.5, np.zeros(3))
    Q = CALIBRATORS[method]().fit(P, y).transform([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    np.testing.assert_allclose(Q.sum(axis=1), 1, rtol=1e-14)
    # No chance for what has none; what has even chances keeps them but for the biases and scales,
    # whose standard errors are 0.1 to 0.2 with 300 items.
    np.testing.assert_allclose(Q, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], atol=0.15)
    assert (Q[[0, 0, 1], [1, 2, 0]] < 1e-6).all()


@every_method
def test_perfect_one_hot_posteriors_stay(method):
    y = np.arange(30) % 3
    calibrator = CALIBRATORS[method]().fit(np.eye(3)[y], y)
    assert calibrator.nll_before_ == calibrator.nll_after_ == 0
    np.testing.assert_allclose(calibrator.transform(np.eye(3)), np.eye(3), atol=1e-30)


# --- labels, weights, state --------------------------------------------------------------------


@every_method
@pytest.mark.parametrize(
    "names", [["a", "b", "c"], [-5, 0, 7], [b"x", b"y", b"z"], [2**40, 2**41, 2**42]]
)
def test_any_labels_give_the_same_map(method, names):
    P, y = draw(200, 0.5, np.zeros(3))
    calibrator = CALIBRATORS[method]().fit(P, [names[k] for k in y])
    assert calibrator.classes_.tolist() == names
    assert np.array_equal(calibrator.transform(P), CALIBRATORS[method]().fit_transform(P, y))


@every_method
def test_booleans_are_labels_of_two_classes(method):
    P, y = draw(200, 0.5, np.zeros(2))
    calibrator = CALIBRATORS[method]().fit(P, y == 1)
    assert calibrator.classes_.tolist() == [False, True]
    assert np.array_equal(calibrator.transform(P), CALIBRATORS[method]().fit_transform(P, y))


@every_method
def test_classes_give_the_order_of_the_columns(method):
    P, y = draw(200, 0.5, [0.5, 0.0, -0.5])
    names = np.array(["c", "a", "b"])
    calibrator = CALIBRATORS[method]().fit(P, names[y], classes=names.tolist())
    assert calibrator.classes_.tolist() == ["c", "a", "b"]
    assert np.array_equal(calibrator.transform(P), CALIBRATORS[method]().fit_transform(P, y))


@every_method
def test_only_the_ratios_of_the_weights_matter(method):
    P, y = draw(200, 0.5, [0.5, 0.0, -0.5])
    weight = np.random.default_rng(0).random(200)
    small = CALIBRATORS[method]().fit(P, y, sample_weight=weight)
    large = CALIBRATORS[method]().fit(P, y, sample_weight=1000 * weight)
    np.testing.assert_allclose(small.scale_, large.scale_, rtol=1e-10)
    np.testing.assert_allclose(small.bias_, large.bias_, atol=1e-10)


@every_method
def test_a_weight_of_two_is_an_item_twice(method):
    P, y = draw(500, 0.5, [0.5, 0.0, -0.5])
    twice = np.arange(500) % 3 == 0
    weighted = CALIBRATORS[method]().fit(P, y, sample_weight=1.0 + twice)
    repeated = CALIBRATORS[method]().fit(np.vstack([P, P[twice]]), np.append(y, y[twice]))
    # The weight of the prior differs by a third of 1e-2 / 500.
    np.testing.assert_allclose(weighted.transform(P), repeated.transform(P), atol=1e-4)


@every_method
def test_the_state_restores_the_calibrator(method):
    P, y = draw(200, 0.5, [0.5, 0.0, -0.5])
    calibrator = CALIBRATORS[method]().fit(P, np.array(["x", "y", "z"])[y])
    # What JSON keeps
    plain = {name: np.asarray(value).tolist() for name, value in calibrator.state().items()}
    restored = CALIBRATORS[method].from_state(plain)
    assert np.array_equal(restored.transform(P), calibrator.transform(P))
    assert restored.classes_.tolist() == ["x", "y", "z"]
    assert restored.nll_after_ == calibrator.nll_after_
    assert restored.converged_ is True


@every_method
def test_the_same_input_gives_the_same_bits_and_is_not_changed(method):
    P, y = draw(3000, 0.5, [0.5, 0.0, -0.5])
    kept = P.copy()
    first = CALIBRATORS[method]().fit_transform(P, y)
    assert np.array_equal(first, CALIBRATORS[method]().fit_transform(P, y))
    assert np.array_equal(P, kept)


@every_method
def test_two_hundred_classes_with_few_items_converge(method):
    P, y = draw(1000, 0.7, np.zeros(200))
    y[:200] = np.arange(200)
    calibrator = CALIBRATORS[method]().fit(P, y)
    assert calibrator.converged_
    assert calibrator.nll_after_ < calibrator.nll_before_


# --- errors ------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize(
    ("P", "y", "more", "sentence"),
    [
        ([0.5, 0.5], ["a", "b"], {}, "P has 1 dimension"),
        ([[1.0], [1.0]], ["a", "b"], {}, "P has 1 columns, but there are 2 classes"),
        ([[0.5, 0.6]] * 2, ["a", "b"], {}, "Row 0 of P sums to 1.1"),
        ([[0.5, 0.5]] * 2, ["a", "b", "a"], {}, "P has 2 rows, but y has 3 labels"),
        ([[0.5, 0.5]] * 2, ["a", "a"], {}, "P has 2 columns, but there are 1 classes"),
        ([[0.5, 0.5]] * 2, ["a", "b"], {"classes": ["a", "a"]}, "classes names 'a' more than once"),
        ([[0.5, 0.5]] * 2, ["a", "b"], {"classes": ["a", "c"]}, "label 'b' in row 1 of y is not"),
        ([[0.5, 0.5]] * 2, ["a", "a"], {"classes": ["a", "c"]}, "Class 'c' has no reference items"),
        (np.ones((0, 2)), [], {"classes": ["a", "b"]}, "y is empty"),
        ([[0.5, 0.5]] * 2, ["a", "b"], {"sample_weight": [1, 0]}, "class number 1 all have weight"),
        ([[0.5, 0.5]] * 2, ["a", "b"], {"sample_weight": [1, -1]}, r"sample_weight\[1\] is -1"),
        ([[0.5, 0.5]] * 2, ["a", "b"], {"sample_weight": [1]}, "sample_weight has shape"),
        (
            [[0.5, 0.5]] * 2,
            np.array(["a", None], dtype=object),
            {},
            "label in row 1 of y is missing",
        ),
    ],
)
def test_wrong_input_is_named(method, P, y, more, sentence):
    with pytest.raises(InputError, match=sentence):
        CALIBRATORS[method]().fit(P, y, **more)


@every_method
def test_transform_needs_a_fit_and_its_columns(method):
    calibrator = CALIBRATORS[method]()
    with pytest.raises(InputError, match="is not fitted"):
        calibrator.transform([[0.5, 0.5]])
    with pytest.raises(InputError, match="is not fitted"):
        calibrator.state()
    calibrator.fit([[0.6, 0.4], [0.4, 0.6]], ["a", "b"])
    with pytest.raises(InputError, match="P has 3 columns, but there are 2 classes"):
        calibrator.transform([[0.2, 0.3, 0.5]])
