"""Citizenship: scikit-learn's own checks, and what users do with its estimators."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import truemix
from truemix import (
    ACC,
    CC,
    EMQ,
    PACC,
    PCC,
    PQ,
    BayesianACC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    KDEy,
    MixtureQuantifier,
)
from truemix.inference import MaximumLikelihood, Posterior
from truemix.models import KernelDensity, PosteriorRatio
from truemix.protocols import DirichletBags
from truemix.selection import GridSearch

# What fits in a millisecond: the checks are about the estimators, and fit each a hundred times.
NB = GaussianNB()
SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.1}
SAMPLED = {"draws": 50, "warmup": 20, "random_state": 0}
BAGS = DirichletBags(n_bags=3, bag_size=20, random_state=0)
# Posteriors are needed as X without a classifier, and the checks bring features.
WITH_CLASSIFIER = [
    CC(classifier=LinearSVC()),
    PCC(classifier=BernoulliNB()),
    ACC(classifier=NB),
    PACC(classifier=NB),
    EMQ(classifier=make_pipeline(StandardScaler(), NB), calibration="bcts"),
    KDEy(classifier=NB, **SMOOTH),
    KDEy(classifier=NB, kernel="gaussian", bandwidth=0.1, unknown=True),
    BayesianACC(classifier=NB, **SAMPLED),
    PQ(classifier=NB, **SAMPLED),
    MixtureQuantifier(
        model=PosteriorRatio(), inference=MaximumLikelihood(), classifier=NB, crossfit=False
    ),
    MixtureQuantifier(model=KernelDensity(**SMOOTH), inference=Posterior(**SAMPLED), classifier=NB),
    BayesianEMQ(classifier=NB, **SAMPLED),
    BayesianEMQ(classifier=NB, calibration="ts", reference_uncertainty="bootstrap", **SAMPLED),
    BayesianKDEy(classifier=NB, **SMOOTH, **SAMPLED),
    BayesianKDEy(classifier=NB, reference_uncertainty=None, **SMOOTH, **SAMPLED),
    Bootstrap(PCC(classifier=NB), draws=50, random_state=0),
    Bootstrap(ACC(classifier=NB), draws=50, references=True, random_state=0),
    GridSearch(PCC(classifier=NB), {"classifier__var_smoothing": [1e-9, 0.1]}, protocol=BAGS),
    GridSearch(CC(classifier=LinearSVC()), {"classifier__C": [0.1]}, protocol=BAGS, refit=False),
]


def expected_to_fail(estimator):
    """Return checks that an answer of one vector per batch cannot pass, each with its reason."""
    checks = {
        "check_methods_subset_invariance": "predict describes the batch, not its items one by one",
        "check_methods_sample_order_invariance": "predict returns one share per class, not item",
    }
    if get_tags(estimator).input_tags.sparse:
        reason = "expects one prediction per row; test_sparse_features_are_features covers sparse"
        checks |= {f"check_estimator_sparse_{kind}": reason for kind in ("array", "matrix")}
    return checks


@parametrize_with_checks(WITH_CLASSIFIER, expected_failed_checks=expected_to_fail)
def test_scikit_learn_checks_hold(estimator, check):
    check(estimator)


def test_no_public_estimator_is_left_out():
    public = [getattr(truemix, name) for name in truemix.__all__]
    estimators = {
        each for each in public if isinstance(each, type) and issubclass(each, BaseEstimator)
    }
    assert {type(each) for each in WITH_CLASSIFIER} == estimators | {GridSearch}


@pytest.mark.parametrize("estimator", WITH_CLASSIFIER, ids=repr)
def test_parameters_can_be_read_set_and_cloned(estimator):
    copy = clone(estimator)
    assert repr(copy) == repr(estimator)
    place = "quantifier__cv" if hasattr(estimator, "quantifier") else "cv"
    before = estimator.get_params()[place]
    assert copy.set_params(**{place: 3}).get_params()[place] == 3
    assert estimator.get_params()[place] == before != 3
    assert type(estimator).__name__ in estimator_html_repr(estimator)


def with_multinomial(estimator):
    """Return an estimator whose classifier counts words, and takes sparse tables of them."""
    place = "quantifier__classifier" if hasattr(estimator, "quantifier") else "classifier"
    copy = clone(estimator).set_params(**{place: MultinomialNB()})
    return copy.set_params(grid={"cv": [2, 5]}) if isinstance(copy, GridSearch) else copy


def counts_of_words():
    y = np.arange(90) % 3
    return np.random.default_rng(0).poisson(1 + 2 * np.eye(3, 6)[y]), y


@pytest.mark.parametrize("estimator", WITH_CLASSIFIER, ids=repr)
def test_sparse_features_are_features(estimator):
    X, y = counts_of_words()
    if isinstance(estimator, PQ):
        y = y % 2
    dense, thin = with_multinomial(estimator), with_multinomial(estimator)
    assert get_tags(thin).input_tags.sparse
    dense.fit(X[:60], y[:60])
    thin.fit(sparse.csr_array(X[:60]), y[:60])
    # Only sums of the classifier may be taken in another order.
    found = thin.predict(sparse.csr_array(X[60:]))
    np.testing.assert_allclose(found, dense.predict(X[60:]), atol=1e-9)
    assert thin.n_features_in_ == dense.n_features_in_ == 6


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_any_sparse_format_is_good(form):
    X, y = counts_of_words()
    plain = PCC(classifier=MultinomialNB())
    for quantifier in (plain, GridSearch(plain, {"cv": [2, 5]}, protocol=BAGS)):
        expected = clone(quantifier).fit(X[:60], y[:60]).predict(X[60:])
        for kind in (sparse.csr_array, sparse.csr_matrix):
            parts = (kind(part).asformat(form) for part in (X[:60], X[60:]))
            found = clone(quantifier).fit(next(parts), y[:60]).predict(next(parts))
            np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_search_knows_the_columns_of_its_best_quantifier():
    X, y = counts_of_words()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    search = GridSearch(PCC(classifier=MultinomialNB()), {"cv": [2]}, protocol=BAGS)
    assert not hasattr(search, "n_features_in_")
    assert not hasattr(search, "feature_names_in_")
    for refit in (True, False):
        search.set_params(refit=refit).fit(frame, y)
        assert (search.n_features_in_, search.feature_names_in_.tolist()) == (6, list("abcdef"))
        search.fit(X, y)
        assert not hasattr(search, "feature_names_in_")
    given = GridSearch(PCC(), {"cv": [2]}, protocol=BAGS).fit(np.eye(3)[y], y)
    assert given.n_features_in_ == 3
    assert not get_tags(given).input_tags.sparse


def test_nested_parameters_are_reachable_and_effective():
    quantifier = KDEy(classifier=make_pipeline(StandardScaler(), LogisticRegression()))
    quantifier.set_params(classifier__logisticregression__C=0.01, bandwidth=0.3)
    assert quantifier.get_params()["classifier__logisticregression__C"] == 0.01
    X = [[float(i % 2), float(i)] for i in range(40)]
    quantifier.fit(X, [i % 2 for i in range(40)])
    assert quantifier._scorer.models[0][-1].C == 0.01
    assert quantifier.bandwidth_ == 0.3


def test_constructors_take_keywords_only():
    with pytest.raises(TypeError, match="positional"):
        KDEy(LogisticRegression())
