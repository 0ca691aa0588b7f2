"""Posteriors made for another mix than that of the references: EMQ learns which."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from truemix import EMQ, BayesianEMQ, InputError, load, save
from truemix.calibration import class_biases
from truemix.inference import maximize_mixture
from truemix.metrics import absolute_error, soft_coverage

CENTRES = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
REFERENCE_MIX = np.array([0.55, 0.25, 0.15, 0.05])
K = len(CENTRES)


def features(codes, rng):
    return CENTRES[codes] + rng.normal(size=(len(codes), 2))


def posteriors_for(X, mix):
    """Bayes' rule: the exact posteriors of normal classes under a mix."""
    likelihood = np.exp(-0.5 * ((X[:, None] - CENTRES) ** 2).sum(axis=2))
    joint = likelihood * mix
    return joint / joint.sum(axis=1, keepdims=True)


def trials(n, rng, n_reference=1000):
    """Yield features and classes of references, features of a batch and its mix."""
    for _ in range(n):
        codes = rng.choice(K, n_reference, p=REFERENCE_MIX)
        truth = rng.choice(K, 500, p=rng.dirichlet(np.ones(K)))
        yield (
            features(codes, rng), codes, features(truth, rng), np.bincount(truth, minlength=K) / 500
        )  # fmt: skip


@pytest.mark.parametrize("trained_on", [np.full(K, 1 / K), REFERENCE_MIX], ids=["equal", "same"])
def test_a_classifier_trained_on_another_mix_does_as_well(trained_on):
    rng = np.random.default_rng(0)
    errors = {"auto": [], None: [], "exact": []}
    for X, codes, T, truth in trials(30, rng):
        P, batch = posteriors_for(X, trained_on), posteriors_for(T, trained_on)
        mixes = {c: EMQ(calibration=c).fit(P, codes).predict(batch) for c in ("auto", None)}
        mixes["exact"] = maximize_mixture(np.log(batch / trained_on)).prevalence
        for name, mix in mixes.items():
            errors[name].append(absolute_error(truth, mix))
    means = {name: np.mean(found) for name, found in errors.items()}
    # A thousand references leave the map a little uncertain; the densities themselves are exact.
    assert means["auto"] < 1.25 * means["exact"]
    # Even for the right mix the references' shares, which chance moves, are no better guess.
    factor = 1.0 if trained_on is REFERENCE_MIX else 4.0
    assert means[None] > factor * means["auto"]


def test_intervals_hold_for_a_classifier_trained_on_another_mix():
    rng = np.random.default_rng(1)
    covered = {"auto": [], None: []}
    for X, codes, T, truth in trials(40, rng, n_reference=300):
        P, batch = posteriors_for(X, np.full(K, 1 / K)), posteriors_for(T, np.full(K, 1 / K))
        for calibration, found in covered.items():
            quantifier = BayesianEMQ(calibration=calibration, draws=400, random_state=0)
            found.append(soft_coverage(truth, quantifier.fit(P, codes).quantify(batch).interval()))
    # 160 shares, four at a time from one trial: the mean is known to 2 or 3 points.
    assert np.mean(covered["auto"]) > 0.89
    assert np.mean(covered[None]) < 0.5


def test_class_weights_do_no_harm():
    """A balanced classifier gives posteriors for equal shares, whatever it was trained on."""
    rng = np.random.default_rng(2)
    errors = {(w, c): [] for w in (None, "balanced") for c in ("auto", None)}
    for X, codes, T, truth in trials(6, rng):
        for (class_weight, calibration), found in errors.items():
            classifier = LogisticRegression(class_weight=class_weight)
            quantifier = EMQ(classifier=classifier, cv=3, calibration=calibration).fit(X, codes)
            found.append(absolute_error(truth, quantifier.predict(T)))
    means = {setting: np.mean(found) for setting, found in errors.items()}
    assert means["balanced", "auto"] < 1.1 * means[None, "auto"]
    assert means["balanced", None] > 3 * means["balanced", "auto"]


def test_the_settings_show_what_was_chosen():
    rng = np.random.default_rng(0)
    X, codes, T, _ = next(trials(1, rng))
    P, batch = posteriors_for(X, REFERENCE_MIX), posteriors_for(T, REFERENCE_MIX)
    found = BayesianEMQ(random_state=0, draws=100).fit(P, codes).quantify(batch)
    assert found.settings["calibration"] == "bcts"
    assert found.settings["reference_uncertainty"] == "bootstrap"
    same = BayesianEMQ(
        calibration="bcts", reference_uncertainty="bootstrap", random_state=0, draws=100
    )
    np.testing.assert_array_equal(same.fit(P, codes).quantify(batch).draws, found.draws)
    plain = BayesianEMQ(calibration=None, random_state=0, draws=100).fit(P, codes).quantify(batch)
    assert plain.settings["calibration"] is None
    assert plain.settings["reference_uncertainty"] is None


# --- the mix that posteriors are for ------------------------------------------------------------


def balanced(rng, n_reference=2000):
    """Return references of an unequal mix, with exact posteriors for equal shares."""
    X, codes, T, truth = next(trials(1, rng, n_reference))
    return posteriors_for(X, np.full(K, 1 / K)), codes, posteriors_for(T, np.full(K, 1 / K)), truth


def prevalence_used(choice, P, codes):
    return (
        EMQ(calibration=None, training_prevalence=choice).fit(P, codes).model_.training_prevalence_
    )


def test_the_implied_mix_is_the_one_that_posteriors_are_for():
    found = []
    for seed in range(20):
        P, codes, *_ = balanced(np.random.default_rng(seed))
        found.append(prevalence_used("implied", P, codes))
    # Twenty times 2,000 references: each mean is known to about 0.003.
    np.testing.assert_allclose(np.mean(found, axis=0), 1 / K, atol=0.012)


def test_adapted_to_the_implied_mix_posteriors_are_right_on_average():
    P, codes, *_ = balanced(np.random.default_rng(3), n_reference=300)
    shares = np.bincount(codes, minlength=K) / len(codes)
    adapted = P * shares / prevalence_used("implied", P, codes)
    means = (adapted / adapted.sum(axis=1, keepdims=True)).mean(axis=0)
    # The weak prior of the biases (standard deviation 10) shifts the mean by far less than this.
    np.testing.assert_allclose(means, shares, atol=1e-4)


def test_the_likelihood_ratio_is_that_of_a_general_optimiser():
    P, codes, *_ = balanced(np.random.default_rng(4), n_reference=300)

    def loss(free):
        scores = np.log(P) + np.append(free, 0.0)
        return float(logsumexp(scores, axis=1).sum() - scores[np.arange(300), codes].sum())

    best = minimize(loss, np.zeros(K - 1), tol=1e-10)
    biases, statistic = class_biases(P, codes)
    # Biases have a prior with standard deviation 10 around zero, and mean zero.
    np.testing.assert_allclose(biases - biases[-1], np.append(best.x, 0.0), atol=2e-3)
    assert statistic == pytest.approx(2 * (loss(np.zeros(K - 1)) - best.fun), rel=1e-4)


def test_auto_tells_a_classifier_with_class_weights_and_no_other():
    rng = np.random.default_rng(5)
    taken = {None: 0, "balanced": 0}
    for X, codes, *_ in trials(40, rng, n_reference=400):
        shares = np.bincount(codes, minlength=K) / len(codes)
        for class_weight in taken:
            classifier = LogisticRegression(class_weight=class_weight)
            P = cross_val_predict(classifier, X, codes, cv=3, method="predict_proba")
            taken[class_weight] += (prevalence_used("auto", P, codes) != shares).any()
    # The test has level 0.01, and posteriors that are out of fold fit the mix more closely still.
    assert taken == {None: 0, "balanced": 40}


def test_of_exact_posteriors_the_level_is_what_it_says():
    rng, rejected = np.random.default_rng(6), 0
    for X, codes, *_ in trials(600, rng, n_reference=300):
        P = posteriors_for(X, REFERENCE_MIX)
        rejected += (prevalence_used("auto", P, codes) != np.bincount(codes) / 300).any()
    # Binomial(600, 0.01) is above 14 once in 5,000 runs, and 0 once in 400.
    assert 1 <= rejected <= 14


@pytest.mark.parametrize("kind", [EMQ, BayesianEMQ])
def test_shares_that_are_known_are_what_posteriors_are_divided_by(kind, tmp_path):
    P, codes, batch, _ = balanced(np.random.default_rng(7))
    options = {} if kind is EMQ else {"random_state": 0, "draws": 100}
    quantifier = kind(calibration=None, training_prevalence=[1 / K] * K, **options).fit(P, codes)
    estimate = quantifier.quantify(batch)
    assert estimate.settings["training_prevalence"] == [1 / K] * K
    exact = maximize_mixture(np.log(batch)).prevalence
    # Draws of 500 items have a standard deviation of about 0.03.
    np.testing.assert_allclose(estimate.prevalence, exact, atol=1e-6 if kind is EMQ else 0.02)
    save(quantifier, tmp_path / "saved")
    np.testing.assert_array_equal(
        load(tmp_path / "saved").predict(batch), quantifier.predict(batch)
    )


def test_the_mean_of_posteriors_is_what_it_says():
    P, codes, *_ = balanced(np.random.default_rng(8))
    np.testing.assert_allclose(prevalence_used("posteriors", P, codes), P.mean(axis=0))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"training_prevalence": "auto"}, "they are calibrated; choose calibration=None"),
        ({"calibration": None, "training_prevalence": "mean"}, "one of 'references', 'posteriors'"),
        ({"calibration": None, "training_prevalence": [0.5, 0.5]}, "has 2 numbers; .* 4 classes"),
        ({"calibration": None, "training_prevalence": [1.0, 0.0, 0.0, 0.0]}, "positive shares"),
        ({"calibration": None, "training_prevalence": [0.5, 0.5, 0.5, 0.5]}, "that sum to 1"),
        ({"calibration": None, "training_prevalence": [0.5, np.nan, 0.25, 0.25]}, "finite"),
        ({"calibration": None, "training_prevalence": ["a", "b", "c", "d"]}, "number"),
    ],
)
def test_wrong_training_prevalences_are_one_sentence(given, sentence):
    P, codes, *_ = balanced(np.random.default_rng(9), n_reference=200)
    with pytest.raises(InputError, match=sentence):
        EMQ(**given).fit(P, codes)


def test_a_class_without_any_posterior_has_no_mean():
    P = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    with pytest.raises(InputError, match="Class number 2 has a posterior of zero"):
        EMQ(calibration=None, training_prevalence="posteriors").fit(P, [0, 1, 2])
