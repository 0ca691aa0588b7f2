"""The classifier's performance on a batch, against closed forms and simulated truths."""

import numpy as np
import pytest
from scipy.stats import beta

from truemix import ACC, CC, EMQ, PACC, BayesianACC, BayesianKDEy, Bootstrap, InputError, KDEy
from truemix.persistence import load, save
from truemix.trust.joint_draws import MAX_DRAWS, joint_draws

LABELS = np.array(["ham", "spam"])
FIXED = {"bandwidth": 0.3, "shrinkage": 0.1}
# An item of each class is decided correctly with this probability: Beta(2, 4) below one half.
CORRECT = beta(2, 4).cdf(0.5)


def scores(rng, n_ham, n_spam):
    p = np.concatenate([rng.beta(2, 4, n_ham), rng.beta(4, 2, n_spam)])
    return np.column_stack([1.0 - p, p])


def references(rng, n=1000):
    return scores(rng, n, n), np.repeat(LABELS, n)


def fitted(quantifier, seed=0, n=1000):
    return quantifier.fit(*references(np.random.default_rng(seed), n))


@pytest.fixture(scope="module")
def estimate():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=400))
    return quantifier.quantify(scores(np.random.default_rng(1), 4500, 500))


def test_performance_is_the_closed_form_of_two_known_densities(estimate):
    found = estimate.of("population").performance()
    # 1,000 references of a class decide a rate to 1.2 points, and 10 % of 5,000 items are spam:
    # three standard errors, and a bias of the kernel's smoothing of about one point.
    assert found.accuracy.value == pytest.approx(CORRECT, abs=0.03)
    assert found.recall[:, 0] == pytest.approx([CORRECT, CORRECT], abs=0.06)
    precision = np.array([0.9, 0.1]) * CORRECT
    precision /= precision + np.array([0.1, 0.9]) * (1.0 - CORRECT)
    assert found.precision[0, 0] == pytest.approx(precision[0], abs=0.03)
    assert found.precision[1, 0] == pytest.approx(precision[1], abs=0.08)


@pytest.mark.parametrize("estimand", ["batch", "population"])
def test_the_confusion_matrix_adds_up_to_one_to_the_mix_and_to_the_decisions(estimate, estimand):
    view = estimate.of(estimand)
    found = view.performance()
    assert found.confusion.sum() == pytest.approx(1.0)
    # Rows are the mix: responsibilities at draws of the mix average to it, up to the posterior's
    # skewness and the replicates left out (well below its standard deviation of 1.5 points).
    assert found.confusion.sum(axis=1) == pytest.approx(view.prevalence, abs=0.01)
    # Columns are known exactly in the batch, and up to sqrt(0.2 / 5000 / 200) in the population.
    error = 1e-12 if estimand == "batch" else 0.002
    assert found.confusion.sum(axis=0) == pytest.approx(view.classify_and_count, abs=error)
    assert found.accuracy.value == pytest.approx(np.trace(found.confusion))
    assert (found.confusion_bounds[..., 0] <= found.confusion).all()
    assert (found.confusion <= found.confusion_bounds[..., 1]).all()


def test_every_draw_keeps_the_decisions_of_the_batch(estimate):
    draws = joint_draws(estimate.batch, estimate)
    assert draws.shape == (MAX_DRAWS, 2, 2)
    expected = np.broadcast_to(estimate.classify_and_count, (len(draws), 2))
    assert draws.sum(axis=1) == pytest.approx(expected)


def test_intervals_of_the_accuracy_hold_the_truth_as_often_as_they_say():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=200), n=2000)
    rng = np.random.default_rng(5)
    inside, errors = [], []
    for share in rng.uniform(0.05, 0.95, 120):
        n_spam = int(rng.binomial(200, share))
        X = scores(rng, 200 - n_spam, n_spam)
        truth = (X.argmax(axis=1) == np.repeat([0, 1], [200 - n_spam, n_spam])).mean()
        found = quantifier.quantify(X).performance()
        inside.append(found.accuracy.lower <= truth <= found.accuracy.upper)
        errors.append(found.accuracy.value - truth)
    # The binomial of 120 intervals at 95 %: 108 to 120 are inside with a probability of 98.6 %.
    assert 0.90 <= np.mean(inside)
    # Intervals without any information would be inside, too: the accuracy of 200 known items
    # varies by 2.8 points, and the estimate is nearer than that.
    assert np.std(errors) < 0.028
    # The mean of 120 errors has a standard error of 0.2 points.
    assert abs(np.mean(errors)) < 0.01


def test_the_batch_view_is_wider_by_the_labels_of_its_items():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=400))
    estimate = quantifier.quantify(scores(np.random.default_rng(3), 50, 50))
    draws = joint_draws(estimate.batch, estimate).trace(axis1=1, axis2=2)
    # Labels of 100 items, of which the mean of r (1 - r) is about 0.12: 3.5 points; 200 draws tell
    # a standard deviation to 5 %.
    assert 0.025 < draws.std() < 0.05
    # The accuracy of one of 100 items is a whole number of items.
    assert draws * 100 == pytest.approx(np.round(draws * 100))


def test_many_rows_have_the_same_spread_as_few(monkeypatch):
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=400))
    estimate = quantifier.quantify(scores(np.random.default_rng(3), 300, 300))
    exact = joint_draws(estimate.batch, estimate)
    monkeypatch.setattr("truemix.trust.joint_draws.MAX_EXACT_ROWS", 10)
    normal = joint_draws(estimate.batch, estimate)
    # Two samples of 200 draws: standard deviations differ by 7 %, means by a tenth of one.
    assert normal.std(axis=0) == pytest.approx(exact.std(axis=0), rel=0.25)
    assert np.abs(normal.mean(axis=0) - exact.mean(axis=0)).max() < 0.4 * exact.std(axis=0).max()


def test_sampled_rows_give_the_same_with_an_error_of_their_own(estimate, monkeypatch):
    whole = estimate.performance()
    monkeypatch.setattr("truemix.trust.joint_draws.MAX_ROWS", 1000)
    part = estimate.performance()
    width = whole.accuracy.upper - whole.accuracy.lower
    assert part.accuracy.value == pytest.approx(whole.accuracy.value, abs=width)
    assert part.confusion.sum(axis=0) == pytest.approx(whole.confusion.sum(axis=0), abs=1e-6)


def test_decisions_alone_give_the_closed_form():
    quantifier = fitted(BayesianACC(random_state=0))
    estimate = quantifier.quantify(scores(np.random.default_rng(1), 4500, 500))
    found = estimate.performance()
    assert found.accuracy.value == pytest.approx(CORRECT, abs=0.03)
    assert found.accuracy.lower < CORRECT < found.accuracy.upper
    assert found.confusion.sum(axis=0) == pytest.approx(estimate.classify_and_count)
    assert estimate.of("population").performance().accuracy.value == pytest.approx(
        found.accuracy.value, abs=0.01
    )


@pytest.mark.parametrize("quantifier", [KDEy(**FIXED), EMQ(), ACC(), PACC()], ids=repr)
def test_a_point_estimate_has_values_without_intervals(quantifier):
    estimate = fitted(quantifier).quantify(scores(np.random.default_rng(1), 900, 100))
    found = estimate.performance()
    assert found.accuracy.value == pytest.approx(CORRECT, abs=0.04)
    assert found.accuracy.lower is None
    assert found.confusion_bounds is None
    assert np.isnan(found.precision[:, 1:]).all()
    assert found.summary()["classes"][0]["recall_lower"] is None
    assert "intervals" not in repr(found)


def test_several_layers_are_averaged():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=200))
    rng = np.random.default_rng(2)
    X = scores(rng, 150, 150)
    both = quantifier.quantify(np.stack([X, X[::-1]])).performance()
    # The same items in another order, so that rows differ, but not what is known on average.
    alone = quantifier.quantify(X).performance()
    assert both.accuracy.value == pytest.approx(alone.accuracy.value, abs=0.05)
    assert both.confusion.sum() == pytest.approx(1.0)


def test_a_bootstrap_and_an_unknown_class_have_a_performance():
    batch = scores(np.random.default_rng(1), 300, 100)
    for quantifier in (
        Bootstrap(KDEy(**FIXED), draws=50, references=True, random_state=0),
        BayesianKDEy(**FIXED, draws=100, unknown=True, random_state=0),
    ):
        found = fitted(quantifier).quantify(batch).performance()
        assert found.accuracy.lower < CORRECT < found.accuracy.upper
        assert found.confusion.sum() == pytest.approx(1.0)


def test_a_class_that_is_never_decided_has_no_precision():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=100))
    found = quantifier.quantify([[0.9, 0.1], [0.8, 0.2]]).performance()
    assert np.isnan(found.precision[1]).all()
    assert found.summary()["classes"][1]["precision"] is None
    assert "–" in repr(found).splitlines()[3]


def test_the_same_seed_gives_the_same_performance(estimate):
    one, two = estimate.performance(), estimate.performance()
    assert one.accuracy == two.accuracy
    np.testing.assert_array_equal(one.frame().to_numpy(), two.frame().to_numpy())
    assert list(one.frame().columns[:3]) == ["precision", "precision_lower", "precision_upper"]


def test_counting_knows_nothing_of_errors():
    estimate = fitted(CC()).quantify(scores(np.random.default_rng(1), 90, 10))
    with pytest.raises(InputError, match="CC adds up what the classifier says and knows nothing"):
        estimate.performance()


def test_a_loaded_quantifier_without_references_says_so(tmp_path):
    save(fitted(PACC()), tmp_path / "pacc.npz")
    estimate = load(tmp_path / "pacc.npz").quantify(scores(np.random.default_rng(1), 90, 10))
    with pytest.raises(InputError, match=r"PACC was loaded .* no reference items; how often"):
        estimate.performance()
