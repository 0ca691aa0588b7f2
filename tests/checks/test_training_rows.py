"""References scored by the model that was trained on them: named as the cause, and nothing else."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from truemix import KDEy
from truemix.checks import label_shift

SMOOTH = {"bandwidth": 0.5, "shrinkage": 0.5}


@pytest.fixture(scope="module")
def data():
    """Three classes that overlap: no honest model is always right."""
    X, y = make_classification(
        1800, n_features=8, n_informative=5, n_classes=3, flip_y=0.15, random_state=0
    )
    return train_test_split(X, y, train_size=1200, random_state=0, stratify=y)


def cause_of(model, reference, labels, target):
    fitted = KDEy(**SMOOTH).fit(model.predict_proba(reference), labels)
    return label_shift(fitted, model.predict_proba(target), random_state=0)


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(50, random_state=0), DecisionTreeClassifier(random_state=0)]
)
def test_a_model_that_has_learned_its_rows_by_heart_is_recognised(data, model):
    X, T, y, _ = data
    check = cause_of(model.fit(X, y), X, y, T)
    assert check.cause is not None
    assert "score held-out items instead" in check.cause
    assert check.cause in check.explanation
    assert check.verdict != "passed"


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(50, random_state=0), LogisticRegression(max_iter=500)]
)
def test_held_out_references_are_not_suspected(data, model):
    X, T, y, _ = data
    model.fit(X[:600], y[:600])
    assert cause_of(model, X[600:], y[600:], T).cause is None


def test_other_violations_have_other_causes(data):
    X, T, y, _ = data
    model = RandomForestClassifier(50, random_state=0).fit(X[:600], y[:600])
    noisy = T + np.random.default_rng(0).normal(0.0, 3.0, T.shape)
    check = cause_of(model, X[600:], y[600:], noisy)
    assert check.verdict == "failed"
    assert check.cause is None
