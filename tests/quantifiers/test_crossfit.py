"""Cross-fitting: targets are scored by the models of the folds, as the references were."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from support import posteriors
from truemix import (
    ACC,
    CC,
    EMQ,
    PCC,
    BayesianACC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    InputError,
    KDEy,
)
from truemix.densities import kde_log_likelihood
from truemix.inference import maximize_mixture
from truemix.metrics import absolute_error
from truemix.quantifiers.content_order import feature_order

SMOOTH = {"bandwidth": 0.4, "shrinkage": 0.1}


@pytest.fixture(scope="module")
def features():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 6)) + 1.2 * np.eye(6)[y]
    labels = rng.choice(3, 150, p=[0.6, 0.3, 0.1])
    return X, y, rng.normal(size=(150, 6)) + 1.2 * np.eye(6)[labels]


@pytest.fixture(scope="module")
def by_hand(features):
    """Out-of-fold posteriors of the references, and those of the targets from each fold model."""
    X, y, T = features
    references, targets = np.empty((240, 3)), []
    order = feature_order(X, y)
    for rows in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y[order]):
        train, test = order[rows[0]], order[rows[1]]
        model = LogisticRegression().fit(X[train], y[train])
        references[test] = model.predict_proba(X[test])
        targets.append(model.predict_proba(T))
    return references, np.stack(targets)


def fitted(quantifier, features):
    X, y, _ = features
    return clone(quantifier).set_params(classifier=LogisticRegression(), crossfit=True).fit(X, y)


def test_targets_are_scored_by_each_model_of_the_folds(features, by_hand):
    found = fitted(PCC(), features)
    np.testing.assert_allclose(found.posteriors(features[2]), by_hand[1], atol=1e-12)
    np.testing.assert_allclose(found.predict(features[2]), by_hand[1].mean(axis=(0, 1)))


def test_the_maximum_likelihood_is_that_of_all_models_scores_together(features, by_hand):
    references, targets = by_hand
    mix = fitted(KDEy(**SMOOTH), features).predict(features[2])
    stacked = kde_log_likelihood(references, features[1], targets.reshape(-1, 3), **SMOOTH)
    # Two paths of the solver to a gap of 1e-8, flat to 1e-4 in the shares.
    np.testing.assert_allclose(mix, maximize_mixture(stacked).prevalence, atol=1e-4)
    mix = fitted(EMQ(calibration=None), features).predict(features[2])
    ratios = np.log(targets.reshape(-1, 3)) - np.log([1 / 3] * 3)
    np.testing.assert_allclose(mix, maximize_mixture(ratios).prevalence, atol=1e-4)


def test_counting_averages_the_models_decisions(features, by_hand):
    decided = np.eye(3)[by_hand[1].argmax(axis=2)].mean(axis=(0, 1))
    found = fitted(CC(), features)
    np.testing.assert_allclose(found.predict(features[2]), decided)
    np.testing.assert_allclose(found.quantify(features[2]).classify_and_count, decided)
    assert found.quantify(features[2]).n_items == 150


def test_a_posterior_takes_the_models_in_turn_and_counts_each_item_once(features):
    options = {"random_state": 0, "reference_uncertainty": None, "estimand": "population"}
    crossfit = fitted(BayesianKDEy(**SMOOTH, **options), features).quantify(features[2])
    assert crossfit.diagnostics["replicates"] == 5
    plain = BayesianKDEy(classifier=LogisticRegression(), crossfit=False, **SMOOTH, **options).fit(
        *features[:2]
    )
    width = np.diff(plain.quantify(features[2]).interval())
    # The product of five posteriors would be narrower by sqrt(5) = 2.2; their mixture is as wide
    # as they are, and wider by how far the models differ, which is little.
    ratio = np.diff(crossfit.interval()) / width
    assert (ratio > 0.85).all()
    assert (ratio < 1.4).all()


@pytest.mark.parametrize(
    "quantifier",
    [
        CC(),
        PCC(),
        ACC(),
        EMQ(),
        EMQ(calibration="bcts"),
        KDEy(**SMOOTH),
        BayesianACC(random_state=0),
        BayesianEMQ(random_state=0),
        BayesianEMQ(random_state=0, prior="mapls"),
        BayesianKDEy(**SMOOTH, random_state=0),
        BayesianKDEy(**SMOOTH, random_state=0, temperature=2.0, draws=100),
    ],
    ids=repr,
)
def test_every_quantifier_can_and_groups_are_the_same_as_one_by_one(quantifier, features):
    found, T = fitted(quantifier, features), features[2]
    groups = np.repeat(["a", "b"], [60, 90])
    by_group = found.quantify_by(T, groups)
    for group in ("a", "b"):
        alone = found.quantify(T[groups == group])
        np.testing.assert_allclose(alone.prevalence, by_group[group].prevalence, atol=1e-9)
        assert alone.prevalence.sum() == pytest.approx(1)
        if alone.draws is not None:
            np.testing.assert_allclose(alone.draws, by_group[group].draws, atol=1e-9)
    again = found.quantify(T[groups == "b"])
    np.testing.assert_array_equal(again.prevalence, alone.prevalence)


def test_bootstrap_takes_it_from_the_quantifier_inside(features):
    X, y, T = features
    inner = KDEy(classifier=LogisticRegression(), crossfit=True, **SMOOTH)
    found = Bootstrap(inner, draws=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.quantify(T).of("batch").prevalence, inner.fit(X, y).predict(T))


def test_given_posteriors_are_what_they_are():
    P, codes = posteriors(60, 3, seed=0)
    with_it, without = (KDEy(crossfit=each, **SMOOTH).fit(P, codes) for each in (True, False))
    np.testing.assert_array_equal(with_it.predict(P), without.predict(P))


def test_a_wrong_value_is_named():
    P, codes = posteriors(60, 3, seed=0)
    with pytest.raises(InputError, match="'crossfit' parameter must be True or False"):
        KDEy(crossfit="yes").fit(P, codes)


class SharperWithMore(ClassifierMixin, BaseEstimator):
    """The posteriors are given, and the more items it was trained on, the surer it is."""

    def fit(self, X, y):
        self.classes_, self.power_ = np.unique(y), len(y) / 1000
        return self

    def predict_proba(self, X):
        powered = X**self.power_
        return powered / powered.sum(axis=1, keepdims=True)


def test_cross_fitting_is_unbiased_where_refitting_is_not():
    """Fold models of 1000 items, a refitted one of 2000, which is twice as sure of itself."""
    reference, codes = posteriors(2000, 3, seed=1, sharpness=2)
    truth = np.array([0.6, 0.3, 0.1])
    errors = {}
    for crossfit in (True, False):
        found = KDEy(
            classifier=SharperWithMore(), cv=2, crossfit=crossfit, bandwidth=0.2, shrinkage=0.1
        ).fit(reference, codes)
        mixes = [
            found.predict(posteriors(1000, 3, seed=seed, sharpness=2, mix=truth)[0])
            for seed in range(100, 110)
        ]
        errors[crossfit] = absolute_error(truth, np.mean(mixes, axis=0))
    # Ten batches of 1000 know each share to 0.007 at worst, and 2000 references are finite too.
    assert errors[True] < 0.01
    assert errors[False] > 0.02
