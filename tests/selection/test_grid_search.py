"""GridSearch: the same answers as trying every setting by itself, with the work shared."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

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
    NotFittedError,
    metrics,
)
from truemix.protocols import DirichletBags, GridBags, NaturalBags
from truemix.selection import GridSearch, SearchInterrupted
from truemix.selection._validation import split

NAMES = np.array(["cat", "dog", "eel"])
BAGS = DirichletBags(n_bags=6, bag_size=80, random_state=3)
SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.1}
SHORT = {"draws": 40, "warmup": 20, "random_state": 0}


@pytest.fixture(scope="module")
def given():
    P, codes = posteriors(240, 3, seed=0)
    return P, NAMES[codes]


@pytest.fixture(scope="module")
def features():
    rng = np.random.default_rng(1)
    codes = np.arange(240) % 3
    return rng.normal(size=(240, 4)) + 1.2 * np.eye(3, 4)[codes], NAMES[codes]


def brute_force(quantifier, settings, X, y, metric, protocol=BAGS, share=0.4):
    """Return the mean error of each setting: plain fit on one part, plain predict on each bag."""
    classes, codes = np.unique(y, return_inverse=True)
    held_out = split(codes, classes, share)
    rest = np.setdiff1d(np.arange(len(y)), held_out)
    scores = []
    for setting in settings:
        fitted = clone(quantifier).set_params(**clone(setting, safe=False)).fit(X[rest], y[rest])
        scores.append(
            [
                metric(bag.prevalence, fitted.predict(X[held_out[bag.index]]))
                for bag in protocol.bags(y[held_out], classes)
            ]
        )
    scores = np.array(scores)
    return scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])


def settings_of(search, names):
    rows = search.results_[names].to_dict("records")
    return [{name: row[name] for name in names} for row in rows]


CASES = [
    (KDEy(), {"bandwidth": [1.0, 0.1, 0.3], "shrinkage": [0.5, 0.0], "kernel": ["ilr"]}),
    (KDEy(shrinkage=0.1), {"kernel": ["gaussian", "aitchison"], "bandwidth": [0.2, "auto"]}),
    (EMQ(), {"calibration": [None, "bcts", "ts"]}),
    (CC(), {"cv": [3, 5]}),
    (PCC(), {"cv": [3]}),
    (ACC(), {"cv": [3]}),
    (BayesianKDEy(**SMOOTH, **SHORT), {"bandwidth": [0.3, 1.0], "estimand": ["population"]}),
    (BayesianKDEy(**SMOOTH, **SHORT), {"temperature": [1.0, 5.0]}),
    (KDEy(**SMOOTH), {"bandwidth": [0.2, 0.4], "unknown": [True, False]}),
    (BayesianKDEy(**SMOOTH, **SHORT), {"bandwidth": [0.2, 0.4], "unknown": [True, False]}),
    (BayesianEMQ(**SHORT), {"prior": [0.5, "mapls"]}),
    (BayesianACC(**SHORT), {"prior": [0.5, 5.0]}),
    (Bootstrap(CC(), draws=30, random_state=0), {"quantifier": [CC(), KDEy(**SMOOTH), PCC()]}),
    (
        Bootstrap(KDEy(), draws=9, random_state=0),
        {"quantifier__bandwidth": [0.1, 1.0], "quantifier__shrinkage": [0.5]},
    ),
]


@pytest.mark.parametrize(("quantifier", "grid"), CASES, ids=lambda case: repr(case)[:60])
def test_scores_are_those_of_plain_fits_and_predictions(quantifier, grid, given):
    X, y = given
    search = GridSearch(quantifier, grid, protocol=BAGS).fit(X, y)
    settings = settings_of(search, list(grid))
    mean, error = brute_force(quantifier, settings, X, y, metrics.absolute_error)
    # Both solvers stop at a gap of 1e-8 in the likelihood, from different starts.
    np.testing.assert_allclose(search.results_["score"], mean, atol=1e-5)
    np.testing.assert_allclose(search.results_["standard_error"], error, atol=1e-5)
    assert search.best_score_ == search.results_["score"].min()
    assert search.best_params_ == settings[search.results_["score"].argmin()]
    again = clone(quantifier).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X[:50]), again.predict(X[:50]))


def test_with_a_classifier_scores_are_those_of_plain_fits(features):
    X, y = features
    quantifier = KDEy(classifier=LogisticRegression())
    grid = {"bandwidth": [0.3, 1.0], "classifier__C": [0.01, 1.0], "shrinkage": [0.1]}
    search = GridSearch(quantifier, grid, protocol=BAGS).fit(X, y)
    mean, _ = brute_force(quantifier, settings_of(search, list(grid)), X, y, metrics.absolute_error)
    np.testing.assert_allclose(search.results_["score"], mean, atol=1e-5)
    assert search.best_params_["classifier__C"] == search.best_quantifier_.classifier.C
    np.testing.assert_array_equal(search.classes_, NAMES)
    np.testing.assert_array_equal(
        search.train_prevalence_, search.best_quantifier_.train_prevalence_
    )


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("absolute_error", metrics.absolute_error),
        ("squared_error", metrics.squared_error),
        ("kl_divergence", lambda p, q: metrics.kl_divergence(p, q, eps=1 / 160)),
        (
            "relative_absolute_error",
            lambda p, q: metrics.relative_absolute_error(p, q, eps=1 / 160),
        ),
        ("weight_ratio_error", lambda p, q: metrics.weight_ratio_error(p, q, [1 / 3] * 3)),
    ],
)
def test_metrics_go_by_name_or_as_functions(name, definition, given):
    X, y = given
    grid = {"calibration": [None, "ts"]}
    by_name = GridSearch(EMQ(), grid, protocol=BAGS, metric=name).fit(X, y)
    by_function = GridSearch(EMQ(), grid, protocol=BAGS, metric=definition).fit(X, y)
    np.testing.assert_allclose(by_name.results_["score"], by_function.results_["score"])
    mean, _ = brute_force(EMQ(), settings_of(by_name, ["calibration"]), X, y, definition)
    np.testing.assert_allclose(by_name.results_["score"], mean, rtol=1e-3)


@pytest.mark.parametrize("protocol", [NaturalBags(n_bags=3, bag_size=50), GridBags(n_points=3)])
def test_other_protocols_and_shares_work(protocol, given):
    X, y = given
    search = GridSearch(KDEy(), {"bandwidth": [0.1], "shrinkage": [0.1]}, protocol=protocol,
                        validation=0.25).fit(X, y)  # fmt: skip
    mean, _ = brute_force(KDEy(), [{"bandwidth": 0.1, "shrinkage": 0.1}], X, y,
                          metrics.absolute_error, protocol, 0.25)  # fmt: skip
    np.testing.assert_allclose(search.best_score_, mean[0], atol=1e-5)


def test_the_default_protocol_is_the_papers(given):
    X, y = given
    grid = {"bandwidth": [0.1, 1.0], "shrinkage": [0.1]}
    paper = DirichletBags(alpha=1, n_bags=100, bag_size=1000, random_state=0)
    default = GridSearch(KDEy(), grid).fit(X, y)
    stated = GridSearch(KDEy(), grid, protocol=paper, validation=0.4).fit(X, y)
    assert default.results_["score"].tolist() == stated.results_["score"].tolist()


class Counting(ClassifierMixin, BaseEstimator):
    """Logistic regression that counts how often any copy of it was trained."""

    fits = 0

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        type(self).fits += 1
        self.model_ = LogisticRegression(C=self.C).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def number_of_fits(quantifier, grid, features):
    Counting.fits = 0
    GridSearch(quantifier, grid, protocol=BAGS, refit=False).fit(*features)
    return Counting.fits


def test_the_classifier_is_trained_once_per_classifier_setting(features):
    once = 3 + 1  # folds, and on all references
    smooth = {"bandwidth": [0.1, 0.3, 1.0], "shrinkage": [0.1, 0.5]}
    quantifier = KDEy(classifier=Counting(), cv=3, crossfit=False)
    assert number_of_fits(quantifier, smooth, features) == once
    assert number_of_fits(quantifier, {**smooth, "classifier__C": [1, 10]}, features) == 2 * once
    grids = [
        {"classifier__C": [1.0, 10.0], "kernel": ["gaussian"], "bandwidth": [0.1]},
        {"classifier__C": [1.0], **smooth},
        {"classifier": [Counting(C=10.0)], **smooth},
    ]
    assert number_of_fits(quantifier, grids, features) == 2 * once
    assert number_of_fits(quantifier, {**smooth, "cv": [3, 4]}, features) == once + 5
    # Cross-fitting scores targets with the models of the folds: nothing is trained on everything.
    assert number_of_fits(quantifier, {**smooth, "crossfit": [False, True]}, features) == once + 3


def test_a_classifier_that_cannot_be_pickled_is_trained_once_too(features):
    pipeline = make_pipeline(FunctionTransformer(lambda X: X), Counting())
    grid = {"bandwidth": [0.1, 1.0], "shrinkage": [0.1], "classifier__counting__C": [1.0, 2.0]}
    assert number_of_fits(KDEy(classifier=pipeline, cv=3), grid, features) == 2 * 3
    assert number_of_fits(Bootstrap(KDEy(classifier=pipeline, cv=3), draws=5),
                          {"quantifier__bandwidth": [0.1, 1.0]}, features) == 3  # fmt: skip


def test_classifiers_themselves_can_be_compared(features):
    X, y = features
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    grid = [
        {"classifier": [pipeline], "classifier__logisticregression__C": [0.1, 1.0]},
        {"classifier": [GaussianNB()]},
    ]
    search = GridSearch(EMQ(), grid, protocol=BAGS).fit(X, y)
    assert len(search.results_) == 3
    assert search.results_["classifier__logisticregression__C"].isna().tolist() == [0, 0, 1]
    assert pipeline[-1].C == 1.0
    decided = GridSearch(ACC(), {"classifier": [LinearSVC()]}, protocol=BAGS).fit(X, y)
    assert isinstance(decided.best_quantifier_.classifier, LinearSVC)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    search = GridSearch(EMQ(classifier=frozen), {"calibration": [None, "ts"]}, protocol=BAGS)
    assert search.fit(X, y).predict(X[:9]).shape == (3,)


def test_results_do_not_depend_on_the_number_of_workers(features):
    X, y = features
    grid = {"classifier__C": [0.01, 0.1, 1.0], "bandwidth": [0.3, 1.0], "shrinkage": [0.1]}
    one, two = (
        GridSearch(KDEy(classifier=LogisticRegression()), grid, protocol=BAGS, n_jobs=n).fit(X, y)
        for n in (1, 2)
    )
    pd.testing.assert_frame_equal(
        one.results_.drop(columns="seconds"), two.results_.drop(columns="seconds")
    )
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_the_table_has_one_row_per_setting_with_its_rank_and_time(given):
    grid = [
        {"bandwidth": [0.1, 1.0], "shrinkage": np.array([0.25, 0.5])},
        {"kernel": ["gaussian"], "bandwidth": [0.05], "shrinkage": [0.0]},
    ]
    search = GridSearch(KDEy(), grid, protocol=BAGS).fit(*given)
    table = search.results_
    assert list(table.columns) == [
        "bandwidth", "shrinkage", "kernel", "score", "standard_error", "rank", "seconds",
    ]  # fmt: skip
    assert table["kernel"].tolist() == ["aitchison"] * 4 + ["gaussian"]
    assert table["bandwidth"].tolist() == [0.1, 0.1, 1.0, 1.0, 0.05]
    assert sorted(table["rank"]) == [1, 2, 3, 4, 5]
    assert (table["seconds"] > 0).all()
    assert isinstance(search.best_params_["shrinkage"], float)


def test_frames_sparse_features_and_class_orders_come_in_as_for_quantifiers(given, features):
    P, y = given
    grid = {"bandwidth": [0.1, 1.0], "shrinkage": [0.1]}
    order = ["eel", "cat", "dog"]
    expected = GridSearch(KDEy(), grid, protocol=BAGS).fit(P, y)
    for frame in (pd.DataFrame, pl.DataFrame):
        table = frame({name: P[:, k] for k, name in enumerate(NAMES)})
        search = GridSearch(KDEy(), grid, protocol=BAGS).fit(table, y.tolist())
        assert search.results_["score"].tolist() == expected.results_["score"].tolist()
        np.testing.assert_array_equal(search.predict(table), expected.predict(P))
    other = GridSearch(KDEy(), grid, protocol=BAGS).fit(P[:, [2, 0, 1]], y, classes=order)
    assert other.classes_.tolist() == order
    X, y = features
    quantifier = EMQ(classifier=LogisticRegression())
    for table in (sparse.csr_array(X), pd.DataFrame(X, columns=list("abcd"))):
        search = GridSearch(quantifier, {"calibration": [None]}, protocol=BAGS).fit(table, y)
        assert search.predict(table).shape == (3,)


def test_without_refit_the_best_stays_fitted_without_the_items_held_out(given):
    X, y = given
    grid = {"bandwidth": [0.1, 1.0], "shrinkage": [0.1]}
    search = GridSearch(KDEy(), grid, protocol=BAGS, refit=False).fit(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    rest = np.setdiff1d(np.arange(len(y)), split(codes, NAMES, 0.4))
    fitted = KDEy(**search.best_params_).fit(X[rest], y[rest])
    np.testing.assert_array_equal(search.predict(X), fitted.predict(X))
    assert search.best_quantifier_.n_features_in_ == 3


def test_estimates_come_from_the_best_quantifier(given):
    X, y = given
    search = GridSearch(KDEy(), {"bandwidth": [0.1, 1.0], "shrinkage": [0.1]}, protocol=BAGS)
    with pytest.raises(NotFittedError, match="This GridSearch is not fitted yet; call fit"):
        search.predict(X)
    search.fit(X, y)
    assert search.quantify(X).settings["bandwidth"] == search.best_params_["bandwidth"]
    assert set(search.quantify_by(X, np.arange(240) % 2)) == {0, 1}
    assert clone(search).grid == search.grid


def test_the_split_holds_out_the_share_of_each_class():
    codes = np.repeat([0, 1, 2], [100, 10, 2])
    held_out = split(codes, NAMES, 0.4)
    assert np.bincount(codes[held_out]).tolist() == [40, 4, 1]
    np.testing.assert_array_equal(held_out, split(codes, NAMES, 0.4))


# --- interruption -----------------------------------------------------------------------------


class InterruptAt:
    """A metric, during whose n-th call the user presses Ctrl-C."""

    def __init__(self, call):
        self.left = call

    def __call__(self, true, estimated):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return metrics.absolute_error(true, estimated)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interrupted_search_keeps_what_is_finished(n_jobs, features):
    X, y = features
    quantifier = KDEy(classifier=LogisticRegression(), shrinkage=0.1)
    grid = {"classifier__C": [1.0, 0.1], "bandwidth": [0.1, 0.3, 1.0]}
    whole = GridSearch(quantifier, grid, protocol=BAGS).fit(X, y)
    search = GridSearch(quantifier, grid, protocol=BAGS, metric=InterruptAt(4 * 6 + 2),
                        n_jobs=n_jobs)  # fmt: skip
    sentence = "interrupted after 4 of 6 settings; the best of these was taken"
    with pytest.warns(SearchInterrupted, match=sentence):
        search.fit(X, y)
    pd.testing.assert_frame_equal(
        search.results_.drop(columns=["seconds", "rank"]),
        whole.results_.head(4).drop(columns=["seconds", "rank"]),
    )
    assert search.best_score_ == whole.results_["score"].head(4).min()
    assert search.predict(X).shape == (3,)


def test_a_search_that_is_interrupted_before_the_first_result_ends():
    P, codes = posteriors(60, 3, seed=0)
    search = GridSearch(PCC(), {"cv": [3]}, protocol=BAGS, metric=InterruptAt(1))
    with pytest.raises(KeyboardInterrupt):
        search.fit(P, codes)
    assert not hasattr(search, "results_")


def test_ctrl_c_from_outside_interrupts_too(given):
    calls = []

    def press(true, estimated):
        calls.append(1)
        # A real signal while the second setting is scored: the first one is finished.
        if len(calls) == 101:
            threading.Timer(0.02, os.kill, [os.getpid(), signal.SIGINT]).start()
        return metrics.absolute_error(true, estimated)

    grid = {"bandwidth": np.logspace(-1, 1, 10), "shrinkage": np.linspace(0.1, 0.9, 20).tolist()}
    # With a handler that raises, whatever this process inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        search = GridSearch(KDEy(), grid, metric=press)
        with pytest.warns(SearchInterrupted, match="of 200 settings"):
            search.fit(*given)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 0 < len(search.results_) < 200


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"quantifier": LogisticRegression()}, "'quantifier' parameter must be a truemix quant"),
        ({"grid": {}}, "The grid is empty; expected at least one parameter"),
        ({"grid": []}, "The grid is empty; expected at least one parameter"),
        ({"grid": [{}]}, "The grid is empty; expected at least one parameter"),
        ({"grid": 3}, "'grid' parameter must be a mapping from parameter to a list"),
        ({"grid": "bandwidth"}, "'grid' parameter must be a mapping from parameter to a list"),
        ({"grid": [3]}, "'grid' parameter must be a mapping from parameter to a list"),
        ({"grid": {"bandwidth": []}}, "The grid has no values for 'bandwidth'; expected at least"),
        ({"grid": {"kernel": "ilr"}}, r"'ilr' for 'kernel'; expected a list .* pass \['ilr'\]"),
        ({"grid": {"bandwidth": 0.1}}, r"0.1 for 'bandwidth'; expected a list .* pass \[0.1\]"),
        (
            {"grid": {"bandwith": [1.0]}},
            r"'bandwith', which KDEy\(\) does not have; expected one of 'averaging', 'bandwidth'",
        ),
        ({"grid": {"classifier__C": [1.0]}}, "the 'classifier' of this KDEy is None, which has no"),
        (
            {"grid": {"classifier": [GaussianNB()], "classifier__C": [1.0]}},
            "'classifier__C', which the 'classifier' of this KDEy does not have; expected one of "
            "'classifier__priors', 'classifier__var_smoothing'",
        ),
        (
            {"grid": {"shrinkage": [0.1], "bandwidth": [1.0, -1.0]}},
            "The setting shrinkage=0.1, bandwidth=-1.0 cannot be used: The 'bandwidth' parameter",
        ),
        ({"metric": "accuracy"}, "'metric' parameter must be one of 'absolute_error', "),
        ({"metric": None}, "'metric' parameter must be one of 'absolute_error', "),
        ({"metric": lambda p, q: "bad"}, "metric returned 'bad' for bag 0; expected a number"),
        ({"metric": lambda p, q: float("nan")}, "metric returned nan for bag 0; expected a number"),
        ({"validation": 0}, "'validation' parameter must be a number between 0 and 1"),
        ({"validation": 1.0}, "'validation' parameter must be a number between 0 and 1"),
        ({"validation": "half"}, "'validation' parameter must be a number between 0 and 1"),
        ({"validation": True}, "'validation' parameter must be a number between 0 and 1"),
        ({"protocol": 100}, "'protocol' parameter must be a protocol, such as Dirichlet"),
        ({"n_jobs": 0}, "'n_jobs' parameter must be None or a whole number other than 0"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter must be None or a whole number other than 0"),
    ],
)
def test_wrong_parameters_get_a_sentence(changes, sentence, given):
    good = {"quantifier": KDEy(), "grid": {"bandwidth": [1.0], "shrinkage": [0.1]},
            "protocol": BAGS}  # fmt: skip
    with pytest.raises(InputError, match=sentence):
        GridSearch(**{**good, **changes}).fit(*given)


class Failing(ClassifierMixin, BaseEstimator):
    def __init__(self, how=ValueError):
        self.how = how

    def fit(self, X, y):
        raise self.how("no luck")

    def predict_proba(self, X):
        raise NotImplementedError


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_setting_that_fails_is_named(n_jobs, features):
    grid = {"classifier": [LogisticRegression(), Failing()], "calibration": [None]}
    with pytest.raises(InputError, match=r"classifier=Failing\(\), .* cannot be used: no luck"):
        GridSearch(EMQ(), grid, protocol=BAGS, n_jobs=n_jobs).fit(*features)


@pytest.mark.parametrize("kind", [RuntimeError, TypeError])
def test_an_error_of_another_kind_keeps_its_kind(kind, features):
    grid = {"classifier": [Failing(kind)]}
    with pytest.raises(kind, match="no luck") as caught:
        GridSearch(EMQ(), grid, protocol=BAGS).fit(*features)
    assert "This happened with the setting classifier=Failing" in caught.value.__notes__[0]


def test_a_class_of_one_item_cannot_be_split(given):
    X, _ = given
    with pytest.raises(InputError, match="Class 'dog' has only 1 item in y; expected at least 2"):
        GridSearch(KDEy(), {"bandwidth": [0.1]}).fit(X[:4], np.array(["cat", "cat", "dog", "eel"]))


def test_a_bad_row_is_counted_as_the_user_counts(given):
    X, y = given
    wrong = X.copy()
    wrong[17] *= 2
    with pytest.raises(InputError, match="Row 17 of X sums to 2"):
        GridSearch(KDEy(), {"bandwidth": [0.1]}).fit(wrong, y)


# --- progress ---------------------------------------------------------------------------------


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("verbose", [False, True])
def test_progress_is_shown_in_terminals_only(is_terminal, verbose, given, capsys, monkeypatch):
    grid = {"bandwidth": [0.1, 1.0], "shrinkage": [0.1]}
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr("truemix._progress.DELAY", 0.0)
    GridSearch(KDEy(), grid, protocol=BAGS, verbose=verbose).fit(*given)
    out, err = capsys.readouterr()
    assert out == ""
    if is_terminal and verbose:
        assert "settings" in err
    else:
        assert err == ""
