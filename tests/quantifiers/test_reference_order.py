"""The same references give the same answer in any order and under any names."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from support import posteriors
from truemix import (
    ACC,
    EMQ,
    BayesianACC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    KDEy,
)
from truemix.quantifiers.content_order import feature_order, reference_order

NAMES = np.array(["ant", "bee", "cat"])


def references(n=120, rounded=False, seed=5):
    P, codes = posteriors(n, 3, seed)
    if rounded:
        P = P.round(1)
        P /= P.sum(axis=1, keepdims=True)
    return P, codes


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_references_is_one_of_their_contents(seed, rounded):
    P, codes = references(60, rounded)
    rng = np.random.default_rng(seed)
    rows, renamed = rng.permutation(len(P)), rng.permutation(3)
    # Class k is column renamed[k] now.
    Q = np.empty_like(P)
    Q[:, renamed] = P
    first = reference_order(P, codes)
    second = reference_order(Q[rows], renamed[codes[rows]])
    np.testing.assert_array_equal(P[first], Q[rows][second][:, renamed])
    np.testing.assert_array_equal(renamed[codes[first]], renamed[codes[rows]][second])


@pytest.mark.parametrize(
    "quantifier",
    [
        KDEy(),
        KDEy(unknown=True),
        BayesianKDEy(draws=200, random_state=1),
        EMQ(),
        BayesianEMQ(draws=200, random_state=1),
        ACC(),
        BayesianACC(draws=200, random_state=1),
        Bootstrap(KDEy(bandwidth=0.5, shrinkage=0.5), draws=50, references=True, random_state=1),
    ],
    ids=lambda quantifier: repr(quantifier)[:30],
)
def test_shuffled_references_give_the_same_answer(quantifier):
    P, codes = references()
    target, _ = posteriors(150, 3, 1, mix=[0.6, 0.3, 0.1])
    first = quantifier.fit(P, NAMES[codes]).quantify(target)
    rows = np.random.default_rng(0).permutation(len(P))
    second = quantifier.fit(P[rows], NAMES[codes[rows]]).quantify(target)
    np.testing.assert_array_equal(first.prevalence, second.prevalence)
    if first.draws is not None:
        np.testing.assert_array_equal(first.draws, second.draws)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("unknown", [False, True])
def test_renamed_classes_give_the_same_answer(seed, unknown):
    P, codes = references(seed=seed)
    target, _ = posteriors(150, 3, 1, mix=[0.6, 0.3, 0.1])
    order = np.array([2, 0, 1])
    first = KDEy(unknown=unknown).fit(P, NAMES[codes])
    # Class k gets the name, and so the column, of class order[k].
    columns = np.argsort(order)
    second = KDEy(unknown=unknown).fit(P[:, columns], NAMES[order[codes]])
    assert second.selection_[0] == pytest.approx(first.selection_[0])
    # Maximum likelihood stops at a duality gap, at about 1e-7 of a share.
    np.testing.assert_allclose(
        second.predict(target[:, columns])[order], first.predict(target), atol=1e-6
    )


def items(n=90):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, n)
    # Small whole numbers: some rows occur twice, with different labels.
    return np.round(rng.normal(codes[:, None], 1.5, (n, 3))), codes


def frame_of(X):
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["b"] = frame["b"].astype(int).astype(str).astype("category").cat.codes
    return frame


@pytest.mark.parametrize("table", [np.asarray, csr_matrix, frame_of])
@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(), RandomForestClassifier(10, random_state=0)],
    ids=["logistic", "forest"],
)
@pytest.mark.parametrize("crossfit", [False, True])
def test_classifiers_are_trained_in_an_order_of_contents(table, classifier, crossfit):
    X, codes = items()
    rows = np.random.default_rng(0).permutation(len(X))
    target = table(X)
    answers = [
        ACC(classifier=classifier, crossfit=crossfit).fit(table(x), NAMES[y]).predict(target)
        for x, y in [(X, codes), (X[rows], codes[rows])]
    ]
    np.testing.assert_array_equal(*answers)


def test_containers_with_the_same_numbers_have_the_same_order():
    X, codes = items()
    expected = feature_order(X, codes)
    for table in (csr_matrix(X), pd.DataFrame(X), X.astype(np.float32), X.astype(object), -0.0 + X):
        np.testing.assert_array_equal(feature_order(table, codes), expected)


def test_text_and_missing_cells_are_contents_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "yy", None], 40), "b": rng.choice([1, np.nan], 40)})
    codes, rows = rng.integers(0, 2, 40), rng.permutation(40)
    first = frame.iloc[feature_order(frame, codes)]
    second = frame.iloc[rows].iloc[feature_order(frame.iloc[rows], codes[rows])]
    pd.testing.assert_frame_equal(first.reset_index(drop=True), second.reset_index(drop=True))
