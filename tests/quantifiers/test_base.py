"""What every quantifier does with data, labels, classifiers and groups."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from support import posteriors
from truemix import ACC, CC, EMQ, PCC, InputError, InputNote, KDEy, NotFittedError
from truemix.quantifiers.content_order import feature_order, reference_order

POINT_METHODS = [
    CC(),
    PCC(),
    ACC(),
    EMQ(),
    EMQ(calibration="bcts"),
    KDEy(bandwidth=0.3, shrinkage=0.05),
    KDEy(kernel="ilr", bandwidth=0.3, shrinkage=0.05),
]
every_method = pytest.mark.parametrize("quantifier", POINT_METHODS, ids=repr)


@pytest.fixture(scope="module")
def reference():
    P, codes = posteriors(300, 3, seed=0)
    return P, np.array(["cat", "dog", "eel"])[codes]


@pytest.fixture(scope="module")
def target():
    return posteriors(200, 3, seed=1, mix=[0.7, 0.2, 0.1])[0]


@pytest.fixture(scope="module")
def features():
    X, y = make_classification(900, 8, n_informative=5, n_classes=3, class_sep=1.0, random_state=0)
    return X[:600], y[:600], X[600:]


@every_method
def test_the_answer_is_a_mix_in_class_order(quantifier, reference, target):
    fitted = clone(quantifier).fit(*reference)
    mix = fitted.predict(target)
    assert mix.shape == (3,)
    assert mix.sum() == pytest.approx(1)
    assert (mix >= 0).all()
    assert fitted.classes_.tolist() == ["cat", "dog", "eel"]
    np.testing.assert_allclose(fitted.train_prevalence_, 1 / 3)
    np.testing.assert_array_equal(fitted.predict(target), mix)
    np.testing.assert_array_equal(fitted.quantify(target).prevalence, mix)


@every_method
def test_the_order_of_rows_does_not_matter(quantifier, reference, target):
    rng = np.random.default_rng(0)
    P, y = reference
    shuffle = rng.permutation(len(P))
    expected = clone(quantifier).fit(P, y).predict(target)
    found = clone(quantifier).fit(P[shuffle], y[shuffle]).predict(rng.permutation(target))
    # Sums in another order; the solver stops within a gap of 1e-8, flat to about 1e-5 in shares.
    np.testing.assert_allclose(found, expected, atol=1e-4)


@every_method
@pytest.mark.parametrize(
    "names", [["a", "b", "c"], [-7, 0, 100], [1.0, 2.0, 3.0]], ids=["text", "ints", "whole floats"]
)
def test_any_labels_give_the_same_answer(quantifier, reference, target, names):
    P, y = reference
    expected = clone(quantifier).fit(P, y).predict(target)
    renamed = np.array(names)[np.unique(y, return_inverse=True)[1]]
    fitted = clone(quantifier).fit(P, renamed)
    np.testing.assert_array_equal(fitted.predict(target), expected)
    assert fitted.classes_.tolist() == names


@every_method
def test_booleans_are_labels_too(quantifier):
    P, codes = posteriors(200, 2, seed=2)
    fitted = clone(quantifier).fit(P, codes.astype(bool))
    assert fitted.classes_.tolist() == [False, True]
    np.testing.assert_array_equal(
        fitted.predict(P[:50]), clone(quantifier).fit(P, codes).predict(P[:50])
    )


@every_method
def test_given_classes_order_the_columns(quantifier, reference, target):
    P, y = reference
    expected = clone(quantifier).fit(P, y).predict(target)
    order = [2, 0, 1]
    fitted = clone(quantifier).fit(P[:, order], y, classes=["eel", "cat", "dog"])
    assert fitted.classes_.tolist() == ["eel", "cat", "dog"]
    np.testing.assert_allclose(fitted.predict(target[:, order]), expected[order], atol=1e-4)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames_are_matched_by_column_name(library, reference, target):
    P, y = reference
    expected = KDEy().fit(P, y).predict(target)

    def frame(values):
        shuffled = pd.DataFrame(values, columns=["cat", "dog", "eel"])[["eel", "cat", "dog"]]
        return {
            "pandas": lambda: shuffled,
            "polars": lambda: pl.from_pandas(shuffled),
            "pyarrow": lambda: pa.Table.from_pandas(shuffled),
        }[library]()

    labels = {"pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.array}[library](y)
    fitted = KDEy().fit(frame(P), labels)
    np.testing.assert_array_equal(fitted.predict(frame(target)), expected)
    # Arrays have no names: they come in class order.
    np.testing.assert_array_equal(fitted.predict(target), expected)
    assert fitted.feature_names_in_.tolist() == ["eel", "cat", "dog"]
    assert fitted.n_features_in_ == 3


def test_columns_may_spell_integer_classes_as_text(reference, target):
    P, y = reference
    codes = np.unique(y, return_inverse=True)[1] + 5
    frame = pd.DataFrame(P, columns=["5", "6", "7"])[["7", "6", "5"]]
    np.testing.assert_array_equal(
        PCC().fit(frame, codes).predict(target), PCC().fit(P, codes).predict(target)
    )


def test_a_frame_without_names_is_taken_by_position(reference, target):
    P, y = reference
    np.testing.assert_array_equal(
        PCC().fit(pd.DataFrame(P), y).predict(pd.DataFrame(target)), PCC().fit(P, y).predict(target)
    )


def test_float32_lists_and_tiny_batches_work(reference, target):
    P, y = reference
    fitted = KDEy().fit(P.astype(np.float32), list(y))
    expected = KDEy().fit(P, y).predict(target)
    # float32 posteriors carry 1e-7 each; they are renormalised silently.
    np.testing.assert_allclose(fitted.predict(target.astype(np.float32)), expected, atol=1e-4)
    # The most likely mix of a single item is the class under which it is most likely.
    np.testing.assert_allclose(fitted.predict([[0.1, 0.2, 0.7]]), [0, 0, 1], atol=1e-6)


def test_row_sums_are_renormalised_silently_or_with_a_note(reference, target):
    P, y = reference
    fitted = PCC().fit(P, y)
    expected = fitted.predict(target)
    np.testing.assert_allclose(fitted.predict(target * (1 + 1e-7)), expected, atol=1e-15)
    with pytest.warns(InputNote, match="Rows of X were renormalised: they sum to 1 only within"):
        np.testing.assert_allclose(fitted.predict(target * (1 + 1e-4)), expected, atol=1e-15)


# --- with a classifier ---------------------------------------------------------------------------


@every_method
def test_a_classifier_is_scored_out_of_fold_and_refitted(quantifier, features):
    X, y, T = features
    fitted = clone(quantifier).set_params(classifier=LogisticRegression()).fit(X, y)
    mix = fitted.predict(T)
    assert mix.sum() == pytest.approx(1)
    assert fitted.n_features_in_ == 8
    # The user's own object is left alone, and nested parameters are reachable.
    assert not hasattr(fitted.classifier, "coef_")
    assert fitted.set_params(classifier__C=0.5).classifier.C == 0.5
    # Targets are scored by the model refitted on everything: same as doing it by hand.
    fitted.set_params(crossfit=False, classifier__C=1.0).fit(X, y)
    scorer = LogisticRegression().fit(X, y)
    hard = isinstance(quantifier, CC | ACC)
    scores = np.eye(3)[scorer.predict(T)] if hard else scorer.predict_proba(T)
    np.testing.assert_allclose(fitted.posteriors(T), scores[None], atol=1e-12)


def test_reference_posteriors_come_from_models_that_have_not_seen_the_item(features):
    X, y, _ = features
    # A forest of one full tree repeats its training labels, so in-sample confusion is perfect.
    memory = RandomForestClassifier(1, bootstrap=False, random_state=0)
    fitted = ACC(classifier=memory, cv=KFold(4)).fit(X, y)
    by_hand = np.zeros((3, 3))
    for train, test in KFold(4).split(X):
        predicted = clone(memory).fit(X[train], y[train]).predict(X[test])
        np.add.at(by_hand, (predicted, y[test]), 1)
    np.testing.assert_allclose(fitted.confusion_, by_hand / by_hand.sum(axis=0))
    assert np.trace(fitted.confusion_) < 2.9


@every_method
def test_a_frozen_classifier_is_not_trained_again(quantifier, features):
    X, y, T = features
    trained = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], y[:300])
    frozen = clone(quantifier).set_params(classifier=FrozenEstimator(trained))
    mix = frozen.fit(X[300:], y[300:]).predict(T)
    given = clone(quantifier).fit(trained.predict_proba(X[300:]), y[300:])
    np.testing.assert_allclose(mix, given.predict(trained.predict_proba(T)), atol=1e-9)


@pytest.mark.parametrize("quantifier", [CC(), ACC()], ids=repr)
def test_counting_decisions_needs_predict_only(quantifier, features):
    X, y, T = features
    fitted = clone(quantifier).set_params(classifier=RidgeClassifier()).fit(X, y)
    order = feature_order(X, y)
    X, y = X[order], y[order]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    out_of_fold = cross_val_predict(RidgeClassifier(), X, y, cv=folds)
    decided = RidgeClassifier().fit(X, y).predict(T)
    # Decisions as posteriors of one and zero.
    given = clone(quantifier).fit(np.eye(3)[out_of_fold], y)
    np.testing.assert_allclose(fitted.predict(T), given.predict(np.eye(3)[decided]), atol=1e-12)
    if isinstance(quantifier, CC):
        np.testing.assert_allclose(fitted.predict(T), np.bincount(decided) / len(T))


@pytest.mark.parametrize("library", ["sparse", "pandas", "polars", "pyarrow"])
def test_features_come_in_any_container(library, features):
    X, y, T = features
    expected = EMQ(classifier=LogisticRegression()).fit(X, y).predict(T)
    names = [f"f{j}" for j in range(8)]
    container = {
        "sparse": csr_array,
        "pandas": lambda values: pd.DataFrame(values, columns=names),
        "polars": lambda values: pl.DataFrame(values, schema=names),
        "pyarrow": lambda values: pa.table(dict(zip(names, values.T, strict=True))),
    }[library]
    fitted = EMQ(classifier=LogisticRegression()).fit(container(X), y)
    # Sparse input takes another route through the optimiser of the classifier.
    np.testing.assert_allclose(fitted.predict(container(T)), expected, atol=1e-4)
    if library != "sparse":
        assert fitted.feature_names_in_.tolist() == names


def test_a_rare_class_with_fewer_items_than_folds_still_works(features):
    X, y, T = features
    kept = np.concatenate([np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:3]])
    fitted = KDEy(classifier=LogisticRegression(), cv=5).fit(X[kept], y[kept])
    kept = kept[feature_order(X[kept], y[kept])]
    # Each of the three is scored by a model that knows the other two.
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cross_val_predict(
            LogisticRegression(), X[kept], y[kept], cv=folds, method="predict_proba"
        )
    rows = reference_order(expected, y[kept])
    np.testing.assert_allclose(fitted._references[0], expected[rows])
    assert (expected[y[kept] == 2, 2] > 0).all()
    assert (fitted.predict(T) > 0).all()


# --- groups -------------------------------------------------------------------------------------


@every_method
def test_quantify_by_is_quantify_group_by_group(quantifier, reference, target):
    fitted = clone(quantifier).fit(*reference)
    weeks = np.array(["w2", "w10", "w1"])[np.arange(len(target)) % 3]
    estimates = fitted.quantify_by(target, weeks)
    assert list(estimates) == ["w1", "w2", "w10"]
    for week, estimate in estimates.items():
        alone = fitted.quantify(target[weeks == week])
        np.testing.assert_allclose(estimate.prevalence, alone.prevalence, atol=1e-12)
        assert estimate.n_items == (weeks == week).sum()
    table = estimates.frame()
    assert list(table.columns) == [
        "group",
        "class",
        "prevalence",
        "classify_and_count",
        "reference",
        "n_items",
    ]
    assert len(table) == 9
    assert repr(estimates).startswith("EstimateSet: 3 groups\n[w1] ")


def test_groups_of_dates_and_one_item_work(reference, target):
    fitted = KDEy().fit(*reference)
    days = pd.Series(pd.to_datetime(["2026-01-02", "2026-01-01", "2026-01-02"]))
    estimates = fitted.quantify_by(target[:3], days)
    assert [str(day)[:10] for day in estimates] == ["2026-01-01", "2026-01-02"]
    assert [estimate.n_items for estimate in estimates.values()] == [1, 2]


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (["a"], "X has 3 rows, but groups has 1 entries"),
        (["a", None, "b"], "The group of row 1 is missing"),
        ([["a"], ["b"], ["c"]], "groups must be one-dimensional"),
    ],
)
def test_bad_groups_get_one_clear_sentence(reference, target, groups, sentence):
    with pytest.raises(InputError, match=sentence):
        PCC().fit(*reference).quantify_by(target[:3], groups)


# --- mistakes -----------------------------------------------------------------------------------


@every_method
def test_an_unfitted_quantifier_says_so(quantifier, target):
    name = type(quantifier).__name__
    for call in (lambda q: q.predict(target), lambda q: q.quantify(target)):
        with pytest.raises(NotFittedError, match=f"This {name} is not fitted yet; call fit"):
            call(clone(quantifier))


@pytest.mark.parametrize(
    ("quantifier", "sentence"),
    [
        (KDEy(bandwidth=0), "'bandwidth' parameter must be a positive number .* Got 0 instead"),
        (KDEy(bandwidth=-0.5), "Got -0.5 instead"),
        (KDEy(bandwidth=True), "Got True instead"),
        (KDEy(bandwidth=[0.1, 0.2]), r"Got \[0.1, 0.2\] instead"),
        (KDEy(bandwidth="wide"), "Got 'wide' instead"),
        (KDEy(shrinkage=1), "'shrinkage' parameter must be a number between 0 and 1 - 1e-9"),
        (KDEy(shrinkage=float("nan")), "Got nan instead"),
        (KDEy(kernel="epanechnikov"), "'kernel' parameter must be one of 'aitchison', 'ilr'"),
        (KDEy(kernel=None), "Got None instead"),
        (EMQ(calibration="platt"), "'calibration' parameter must be one of 'auto', 'ts', 'bcts'"),
    ],
)
def test_wrong_parameters_are_refused_in_fit(quantifier, sentence, reference):
    with pytest.raises(InputError, match=sentence):
        quantifier.fit(*reference)


@pytest.mark.parametrize("cv", [1, 0, -3, 2.5, "five", True, None])
def test_a_bad_number_of_folds_is_refused(cv, features):
    X, y, _ = features
    with pytest.raises(InputError, match="'cv' parameter must be a whole number of folds"):
        PCC(classifier=LogisticRegression(), cv=cv).fit(X, y)
    with pytest.raises(InputError, match="'cv' parameter"):
        PCC(cv=cv).fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])


def test_a_splitter_must_test_each_row_once(features):
    X, y, _ = features
    with pytest.raises(InputError, match=r"'cv' splitter tests row \d+ \d times; expected each"):
        PCC(classifier=LogisticRegression(), cv=ShuffleSplit(3, random_state=0)).fit(X, y)


@pytest.mark.parametrize("quantifier", [PCC(), EMQ(), KDEy()], ids=repr)
def test_a_classifier_without_posteriors_is_refused_where_they_are_needed(quantifier, features):
    X, y, _ = features
    with pytest.raises(InputError, match=r"LinearSVC has no predict_proba, .* use CC or ACC"):
        clone(quantifier).set_params(classifier=LinearSVC()).fit(X, y)
    with pytest.raises(InputError, match="LinearSVC has no predict_proba"):
        frozen = FrozenEstimator(LinearSVC().fit(X, y))
        clone(quantifier).set_params(classifier=frozen).fit(X, y)


def test_what_is_not_a_classifier_is_refused(features):
    with pytest.raises(InputError, match=r"'classifier' parameter must be .* Got 'str' instead"):
        CC(classifier="logistic").fit(*features[:2])


def test_a_frozen_classifier_must_know_the_same_classes(features):
    X, y, _ = features
    two = FrozenEstimator(LogisticRegression().fit(X[y < 2], y[y < 2]))
    with pytest.raises(InputError, match=r"Class 2 is only in the labels: .* trained on 0, 1"):
        PCC(classifier=two).fit(X, y)
    three = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(InputError, match="Class 2 is only known to the classifier"):
        PCC(classifier=three).fit(X[y < 2], y[y < 2])
    with pytest.raises(InputError, match="frozen classifier has not been trained"):
        PCC(classifier=FrozenEstimator(LogisticRegression())).fit(X, y)


def test_a_class_with_a_single_item_cannot_be_scored_out_of_fold(features):
    X, y, _ = features
    kept = np.concatenate([np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:1]])
    with pytest.raises(InputError, match="Class 2 has only 1 reference item"):
        PCC(classifier=LogisticRegression()).fit(X[kept], y[kept])


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([1.0, 2.0], "X has 1 dimension; .* Reshape your data"),
        (np.empty((0, 8)), "X has no rows"),
        ([[1.0], [1.0, 2.0]], "its rows differ in length"),
        (pd.DataFrame({"a": []}), "X has no rows"),
    ],
)
def test_features_that_are_no_table_get_one_clear_sentence(X, sentence, features):
    fitted = PCC(classifier=LogisticRegression()).fit(*features[:2])
    with pytest.raises(InputError, match=sentence):
        fitted.predict(X)
