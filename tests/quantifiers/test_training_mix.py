"""Posteriors made for another mix than that of the references: EMQ learns which."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from truemix import EMQ, BayesianEMQ
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
