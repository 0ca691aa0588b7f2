"""The classifier's performance on a batch, against closed forms and simulated truths."""

import numpy as np
import pytest
from scipy.stats import beta

from truemix import ACC, CC, EMQ, PACC, BayesianACC, BayesianKDEy, Bootstrap, InputError, KDEy
from truemix.persistence import load, save
from truemix.trust import joint_draws as joint_module
from truemix.trust.joint_draws import joint_draws

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
    # 1,000 references of a class decide a rate to 1.2 points, and the mix to one: three standard
    # errors, with the precision of the rare class as much as its share varies.
    assert found.accuracy.value == pytest.approx(CORRECT, abs=0.03)
    assert found.recall[:, 0] == pytest.approx([CORRECT, CORRECT], abs=0.06)
    # Bayes' rule at the estimated mix; the rarer the class, the more its precision varies.
    mix = estimate.of("population").prevalence
    precision = mix * CORRECT / (mix * CORRECT + mix[::-1] * (1.0 - CORRECT))
    assert found.precision[:, 0] == pytest.approx(precision, abs=0.04)


@pytest.mark.parametrize("estimand", ["batch", "population"])
def test_the_confusion_matrix_adds_up_to_one_to_the_mix_and_to_the_decisions(estimate, estimand):
    view = estimate.of(estimand)
    found = view.performance()
    assert found.confusion.sum() == pytest.approx(1.0)
    # Rows are the mix, up to what decisions alone say about it: within its standard deviation.
    assert found.confusion.sum(axis=1) == pytest.approx(view.prevalence, abs=0.015)
    # Columns are known in the batch; in the population 5,000 items tell them to 0.6 points.
    error = 1e-12 if estimand == "batch" else 0.02
    assert found.confusion.sum(axis=0) == pytest.approx(view.classify_and_count, abs=error)
    assert found.accuracy.value == pytest.approx(np.trace(found.confusion))
    assert (found.confusion_bounds[..., 0] <= found.confusion).all()
    assert (found.confusion <= found.confusion_bounds[..., 1]).all()


def test_every_draw_keeps_the_decisions_of_the_batch(estimate):
    draws = joint_draws(estimate.batch, estimate)
    assert draws.shape == (400, 2, 2)
    expected = np.broadcast_to(estimate.classify_and_count, (len(draws), 2))
    np.testing.assert_allclose(draws.sum(axis=1), expected)


def test_intervals_of_the_accuracy_hold_the_truth_as_often_as_they_say():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=100), n=1500)
    rng = np.random.default_rng(5)
    n_spam = rng.binomial(200, rng.uniform(0.05, 0.95, 100))
    batches = [scores(rng, 200 - n, n) for n in n_spam]
    correct = [
        (X.argmax(axis=1) == np.repeat([0, 1], [200 - n, n])).mean()
        for X, n in zip(batches, n_spam, strict=True)
    ]
    estimates = quantifier.quantify_by(np.concatenate(batches), np.repeat(np.arange(100), 200))
    found = [each.performance().accuracy for each in estimates.values()]
    inside = [each.lower <= x <= each.upper for each, x in zip(found, correct, strict=True)]
    # Of 100 intervals at 95 %, at least 89 hold the truth with a probability of 99.6 %.
    assert np.mean(inside) >= 0.89
    # An interval of everything would do so, too. The labels of 200 items, of which 19 % are wrong,
    # vary by 2.8 points: 11 points for 95 %, and the mix is not much more.
    assert np.mean([each.upper - each.lower for each in found]) < 0.14
    errors = np.array([each.value for each in found]) - correct
    # The mean of 100 errors has a standard error of 0.3 points; a point is the references' share.
    assert abs(errors.mean()) < 0.015


def test_intervals_of_the_accuracy_allow_for_few_references():
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(60):
        quantifier = BayesianKDEy(**FIXED, random_state=0, draws=100, self_calibration=False)
        quantifier.fit(scores(rng, 30, 30), np.repeat(LABELS, 30))
        n_spam = rng.binomial(200, rng.uniform(0.05, 0.95))
        X, y = scores(rng, 200 - n_spam, n_spam), np.repeat([0, 1], [200 - n_spam, n_spam])
        found = quantifier.quantify(X).performance().accuracy
        inside.append(found.lower <= (X.argmax(axis=1) == y).mean() <= found.upper)
    # Of 60 intervals at 95 %, at least 52 hold the truth with a probability of 99.7 %.
    assert np.sum(inside) >= 52


def test_labels_of_a_batch_are_whole_items_and_vary_as_they_should():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=400))
    estimate = quantifier.quantify(scores(np.random.default_rng(3), 50, 50))
    draws = joint_draws(estimate.batch, estimate).trace(axis1=1, axis2=2)
    assert draws * 100 == pytest.approx(np.round(draws * 100))
    # The labels of 100 items of which 19 % are wrong: sqrt(0.19 * 0.81 / 100) is 3.9 points, and
    # the mix adds to it; 400 draws tell a standard deviation to 4 %.
    assert 0.03 < draws.std() < 0.06


def test_rates_given_the_mix_follow_their_posterior():
    # With two decisions and one class, labels are known: the posterior is a Dirichlet distribution.
    rng = np.random.default_rng(0)
    known, decided = np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([30.0, 10.0])
    drawn = [joint_module._rates(np.array([1.0, 0.0]), known, decided, rng) for _ in range(1000)]
    # The mean of 1,000 draws with standard deviations of 6 and 19 points: 0.2 and 0.6 points.
    assert np.mean(drawn, axis=0)[0] == pytest.approx([33 / 44, 11 / 44], abs=0.008)
    assert np.mean(drawn, axis=0)[1] == pytest.approx([0.25, 0.75], abs=0.02)


def test_sampled_rows_give_nearly_the_same():
    quantifier = fitted(BayesianKDEy(**FIXED, random_state=0, draws=200))
    X = scores(np.random.default_rng(1), 1800, 200)
    whole = quantifier.quantify(X).performance()
    sampled = quantifier.quantify(quantifier.summarize(X, capacity=500))
    part = sampled.performance()
    # Strata hold items of one decision, so that decisions are exact up to rounding of an item.
    decided = part.confusion.sum(axis=0)
    assert decided == pytest.approx(whole.confusion.sum(axis=0), abs=1 / 2000)
    assert part.accuracy.value == pytest.approx(whole.accuracy.value, abs=0.03)


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
    assert repr(found).splitlines()[3].split()[1] == "\N{EN DASH}"


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
