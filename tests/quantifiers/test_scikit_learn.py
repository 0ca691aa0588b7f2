"""Citizenship: scikit-learn's own checks, and what users do with its estimators."""

import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks

from truemix import ACC, CC, EMQ, PCC, KDEy

# Checks that an answer of one vector per batch cannot pass, each with its reason.
ONE_VECTOR_PER_BATCH = {
    "check_methods_subset_invariance": "predict describes the batch, not its items one by one",
    "check_methods_sample_order_invariance": "predict returns one share per class, not per item",
    "check_estimator_sparse_array": "expects one prediction per row; test_base covers sparse",
    "check_estimator_sparse_matrix": "expects one prediction per row; test_base covers sparse",
}
# Posteriors are needed as X without a classifier, and the checks bring features.
WITH_CLASSIFIER = [
    CC(classifier=LinearSVC()),
    PCC(classifier=LogisticRegression()),
    ACC(classifier=LogisticRegression()),
    EMQ(classifier=make_pipeline(StandardScaler(), LogisticRegression()), calibration="bcts"),
    KDEy(classifier=RandomForestClassifier(10, random_state=0), bandwidth=0.3, shrinkage=0.1),
    KDEy(classifier=LogisticRegression(), kernel="gaussian", bandwidth=0.1),
]


@parametrize_with_checks(
    WITH_CLASSIFIER, expected_failed_checks=lambda estimator: ONE_VECTOR_PER_BATCH
)
def test_scikit_learn_checks_hold(estimator, check):
    check(estimator)


@pytest.mark.parametrize("quantifier", WITH_CLASSIFIER, ids=repr)
def test_parameters_can_be_read_set_and_cloned(quantifier):
    copy = clone(quantifier)
    assert repr(copy) == repr(quantifier)
    assert copy.set_params(cv=3).get_params()["cv"] == 3
    assert quantifier.cv == 5
    assert type(quantifier).__name__ in estimator_html_repr(quantifier)


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
