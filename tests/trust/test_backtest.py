"""Backtests: items that were not learned from, truths that are known, numbers that follow."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import truemix
from support import Given, posteriors
from truemix import (
    ACC,
    CC,
    EMQ,
    PCC,
    BayesianKDEy,
    Bootstrap,
    InputError,
    KDEy,
    NotFittedError,
    backtest,
    metrics,
)
from truemix.models import kernel_density
from truemix.trust.backtesting import backtest_of

SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.1}
NAMES = np.array(["a", "b", "c"])
FAST = {"bag_size": 40, "n_bags": 10, "n_references": 150, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    P, codes = posteriors(300, 3, seed=0)
    return P, NAMES[codes]


@pytest.fixture(scope="module")
def bayesian(data):
    quantifier = BayesianKDEy(**SMOOTH, draws=200)
    return backtest(quantifier, *data, bag_size=[10, 30], n_bags=20, random_state=0)


def perfect(n, n_classes=3):
    """Return posteriors of a classifier that is never wrong, and the labels."""
    codes = np.arange(n) % n_classes
    return np.eye(n_classes)[codes], NAMES[codes]


# --- what is compared with what ---------------------------------------------------------------


class Careful(ClassifierMixin, BaseEstimator):
    """A classifier that refuses to score an item that it was trained on."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), set(X[:, 0].tolist())
        return self

    def predict_proba(self, X):
        if self.seen_ & set(X[:, 0].tolist()):
            raise AssertionError("an item is scored by a model that has seen it")
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


def test_no_item_is_scored_by_a_model_that_has_seen_it():
    X, y = np.arange(90.0)[:, None], NAMES[np.arange(90) % 3]
    tested = backtest(PCC(classifier=Careful(), cv=3), X, y, bag_size=5, n_bags=10, n_folds=4)
    assert tested.estimated == pytest.approx(np.full(tested.true.shape, 1 / 3))
    # It would have been noticed.
    with pytest.raises(AssertionError, match="has seen it"):
        PCC(classifier=Careful()).fit(X, y).quantify(X)


def test_a_classifier_that_is_never_wrong_has_no_error_in_the_batch_view():
    tested = backtest(CC(), *perfect(300), n_bags=30, random_state=0)
    assert tested.estimand == "batch"
    assert tested.summary()["mean_error"] == pytest.approx(0.0, abs=1e-12)


def test_in_the_population_view_its_error_is_that_of_sampling():
    quantifier = Bootstrap(CC(), draws=50)
    options = {"bag_size": 40, "n_bags": 400, "n_references": 100, "random_state": 0}
    tested = backtest(quantifier, *perfect(3000), **options)
    assert tested.estimand == "population"
    assert (tested.n_items == 40).mean() > 0.9
    squares = (tested.counted - tested.true) ** 2
    expected = tested.true * (1.0 - tested.true) / tested.n_items[:, None]
    # The mean of 400 squares of roughly normal numbers: sqrt(2 / 400), 7 %; three of these.
    assert squares.mean() == pytest.approx(expected.mean(), rel=0.21)


def test_intervals_hold_the_truth_as_often_as_they_say_where_label_shift_holds():
    P, codes = posteriors(900, 3, seed=3)
    quantifier = BayesianKDEy(**SMOOTH, draws=200)
    options = {"bag_size": 60, "n_bags": 60, "n_references": 700, "random_state": 0}
    for estimand in ("batch", "population"):
        found = backtest(quantifier.set_params(estimand=estimand), P, codes, **options).summary()
        # 180 intervals of 95 %, three standard errors of 1.6 points if classes were independent;
        # wider is allowed, since replicates of the references are meant to be careful.
        assert found["soft_coverage"] > 0.90
        assert found["hard_coverage"] > 0.86
        assert found["mean_error"] < found["counting_error"]


def test_overconfident_intervals_are_found_out():
    P, codes = posteriors(900, 3, seed=3)
    quantifier = truemix.BayesianEMQ(calibration=None, draws=200)
    options = {"bag_size": 80, "n_references": 700, "random_state": 0}
    held = {}
    for power in (3, 9):
        sharper = P**power / (P**power).sum(axis=1, keepdims=True)
        held[power] = backtest(quantifier, sharper, codes, **options).summary()["soft_coverage"]
    # The densities of these items are Dirichlet, which makes the third power the true posterior.
    # 300 intervals: three standard errors are 4 points.
    assert held[3] > 0.91
    assert held[9] < 0.8


# --- what does not matter ---------------------------------------------------------------------


def same(found, other):
    assert found.random_state == other.random_state
    for name in ("fold", "n_items", "n_references", "true", "estimated", "counted", "interval"):
        np.testing.assert_array_equal(getattr(found, name), getattr(other, name))


def test_the_same_seed_gives_the_same_answer_in_any_order_of_rows(data):
    P, y = data
    quantifier = BayesianKDEy(**SMOOTH, draws=100)
    first = backtest(quantifier, P, y, **FAST)
    shuffled = np.random.default_rng(0).permutation(len(y))
    same(first, backtest(quantifier, P[shuffled], y[shuffled], **FAST))
    other = backtest(quantifier, P, y, **{**FAST, "random_state": 1})
    assert not np.array_equal(first.true, other.true)
    # What was drawn is known, so that it can be repeated.
    fresh = backtest(quantifier, P, y, **{**FAST, "random_state": None})
    same(fresh, backtest(quantifier, P, y, **{**FAST, "random_state": fresh.random_state}))


def test_any_container_of_posteriors_gives_the_same_answer(data):
    P, y = data
    expected = backtest(EMQ(), P, y, **FAST)
    columns = {name: P[:, k] for name, k in (("c", 2), ("a", 0), ("b", 1))}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), P.tolist()):
        same(expected, backtest(EMQ(), table, list(y), **FAST))
    reordered = backtest(EMQ(), columns_of(columns, "cab"), y, classes=["c", "a", "b"], **FAST)
    assert reordered.classes.tolist() == ["c", "a", "b"]


def columns_of(columns, order):
    return pd.DataFrame({name: columns[name] for name in order})


def test_any_container_of_features_gives_the_same_answer(data):
    P, y = data
    quantifier = PCC(classifier=LogisticRegression(), cv=2)
    expected = backtest(quantifier, P, y, **FAST)
    for table in (sparse.coo_array(P), pd.DataFrame(P)):
        found = backtest(quantifier, table, y, **FAST)
        np.testing.assert_array_equal(found.true, expected.true)
        # Sparse and dense rows are summed in another order by the solver.
        np.testing.assert_allclose(found.estimated, expected.estimated, atol=1e-4)
    names = pl.DataFrame({"x": P[:, 0], "z": P[:, 1]})
    assert len(backtest(quantifier, names, y, **FAST).frame()) == 10


class Trained(Given):
    """Counts how often it is trained."""

    times = 0

    def fit(self, X, y):
        Trained.times += 1
        return super().fit(X, y)


def test_rounding_on_another_processor_does_not_change_the_bags(data):
    P, codes = data
    noise = 1.0 + 1e-13 * np.random.default_rng(0).normal(size=P.shape)
    near = P * noise / (P * noise).sum(axis=1, keepdims=True)
    first, other = (backtest(EMQ(), each, codes, **FAST) for each in (P, near))
    assert (near != P).mean() > 0.5
    np.testing.assert_array_equal(other.true, first.true)
    np.testing.assert_allclose(other.estimated, first.estimated, atol=1e-5)


def test_a_frozen_classifier_is_not_trained_again(data):
    classifier = FrozenEstimator(Trained().fit(*data))
    Trained.times = 0
    found = backtest(EMQ(classifier=classifier), *data, **FAST)
    assert Trained.times == 0
    np.testing.assert_array_equal(found.estimated, backtest(EMQ(), *data, **FAST).estimated)


# --- sizes, references and folds --------------------------------------------------------------


def test_by_default_sizes_are_a_ladder_and_references_a_quarter_a_half_and_all():
    P, codes = posteriors(1000, 2, seed=1)
    tested = backtest(CC(), P, codes, n_bags=20, random_state=0)
    assert tested.sizes == [30, 100]
    found = tested.summary()
    assert [run["bag_size"] for run in found["by_size"]] == [30, 100]
    assert [run["n_references"] for run in found["by_references"]] == [200, 400, 800]
    assert found["by_size"][-1] == found["by_references"][-1]
    assert found["n_folds"] == 5
    assert len(tested.frame()) == 40
    assert len(tested.frame(fewer_references=True)) == 80
    # Twenty bags of each size are four from each fold.
    assert tested.frame().groupby(["bag_size", "fold"]).size().unique().tolist() == [4]


def test_few_items_have_small_bags_and_few_folds():
    P, codes = posteriors(8, 2, seed=1)
    tested = backtest(PCC(), P, codes, n_bags=6, random_state=0)
    assert (tested.n_folds, tested.sizes) == (4, [1])
    P, codes = posteriors(4, 2, seed=1)
    tested = backtest(PCC(), P, codes, n_bags=6, random_state=0)
    assert (tested.n_folds, len(tested.frame())) == (2, 6)


def test_references_that_were_asked_for():
    P, codes = posteriors(500, 2, seed=1)
    tested = backtest(PCC(), P, codes, bag_size=20, n_bags=5, n_references=[40, 100])
    runs = tested.summary()["by_references"]
    assert [run["n_references"] for run in runs] == [40, 100]
    assert tested.frame()["n_references"].unique().tolist() == [100]


def test_fewer_references_are_tried_on_the_same_bags(bayesian):
    headline = bayesian.bag_size == 30
    steps = [bayesian.true[headline & (bayesian.reference_step == step)] for step in range(3)]
    np.testing.assert_array_equal(steps[0], steps[2])
    np.testing.assert_array_equal(steps[1], steps[2])


def test_one_bag_needs_one_fold():
    P, codes = posteriors(60, 2, seed=1)
    tested = backtest(PCC(), P, codes, bag_size=5, n_bags=1, random_state=0)
    assert len(tested.frame()) == 1
    assert "On 1 mixture of your own" in tested.summary()["sentence"]


# --- the result -------------------------------------------------------------------------------


def test_the_frame_has_the_metrics_of_each_bag(bayesian):
    frame = bayesian.frame()
    assert len(frame) == 40
    for row in frame.to_dict("records"):
        true, estimated, counted, lower, upper = (
            np.array([row[f"{kind}_{name}"] for name in NAMES])
            for kind in ("true", "estimated", "counted", "lower", "upper")
        )
        single = np.column_stack([lower, upper])
        assert row["absolute_error"] == pytest.approx(metrics.absolute_error(true, estimated))
        assert row["counting_error"] == pytest.approx(metrics.absolute_error(true, counted))
        assert row["soft_coverage"] == pytest.approx(metrics.soft_coverage(true, single))
        assert row["mean_width"] == pytest.approx((upper - lower).mean())
        # All at once is asked of wider intervals.
        assert row["hard_coverage"] in ((1.0,) if row["soft_coverage"] == 1 else (0.0, 1.0))
        assert true.sum() == pytest.approx(1.0)
        assert (true * row["n_items"]).round(9).tolist() == (true * row["n_items"]).round().tolist()


def test_the_summary_is_the_mean_of_the_frame_and_plain(bayesian):
    found, frame = bayesian.summary(), bayesian.frame()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    largest = frame[frame["bag_size"] == 30]
    pairs = {"mean_error": "absolute_error"} | {
        name: name for name in ("counting_error", "soft_coverage", "hard_coverage", "mean_width")
    }
    for name, column in pairs.items():
        assert found[name] == pytest.approx(largest[column].mean())
        smallest = frame.loc[frame["bag_size"] == 10, column].mean()
        assert found["by_size"][0][name] == pytest.approx(smallest)
    classes = pd.DataFrame(found["classes"]).set_index("class")
    assert classes.index.tolist() == NAMES.tolist()
    assert classes["mean_error"].mean() == pytest.approx(found["mean_error"])
    assert classes["coverage"].mean() == pytest.approx(found["soft_coverage"])
    assert classes["mean_width"].mean() == pytest.approx(found["mean_width"])
    off = largest["estimated_b"] - largest["true_b"]
    assert classes.loc["b", "bias"] == pytest.approx(off.mean())
    # Both mixes sum to one.
    assert classes["bias"].sum() == pytest.approx(0.0, abs=1e-12)


def test_the_repr_says_it_in_a_sentence(bayesian):
    lines = repr(bayesian).splitlines()
    assert lines[0] == "BayesianKDEy: a backtest on mixtures of 300 items in 5 folds"
    assert lines[1].split() == [
        "items", "references", "error", "counting's", "width", "held", "all", "held",
    ]  # fmt: skip
    assert [line.split()[1] for line in lines[2:6]] == ["240", "240", "120", "60"]
    found = bayesian.summary()
    assert lines[6] == found["sentence"]
    assert found["sentence"] == (
        f"On 20 mixtures of your own reference items the mean error was "
        f"{100 * found['mean_error']:.1f} points, counting's {100 * found['counting_error']:.1f}, "
        f"and 95 % intervals held the truth {100 * found['soft_coverage']:.0f} % of the time."
    )
    assert "<table>" in bayesian._repr_html_()


def test_methods_without_draws_have_errors_alone(data):
    tested = backtest(EMQ(), *data, **FAST)
    found = tested.summary()
    assert found["soft_coverage"] is found["hard_coverage"] is found["mean_width"] is None
    assert json.dumps(found, allow_nan=False)
    assert found["sentence"].endswith(f"counting's {100 * found['counting_error']:.1f}.")
    assert repr(tested).splitlines()[1].split() == ["items", "references", "error", "counting's"]
    assert not {"soft_coverage", "lower_a"} & set(tested.frame())
    assert len(tested.plot().axes) == 1


def test_bags_that_had_to_shrink_are_told():
    P, codes = posteriors(400, 2, seed=1, mix=[0.95, 0.05])
    tested = backtest(PCC(), P, codes, bag_size=200, n_bags=20, random_state=0)
    assert tested.n_items.max() < 200
    assert "Most bags of size 200 have fewer items" in repr(tested)


def test_how_many_items_are_enough():
    P, codes = posteriors(3000, 2, seed=2)
    tested = backtest(EMQ(), P, codes, bag_size=[20, 200], n_references=2000, random_state=0)
    small, large = (run["mean_error"] for run in tested.summary()["by_size"])
    assert tested.how_many_items(small) == 20
    assert tested.how_many_items(large) in (200, 201)
    assert tested.how_many_items(0.9 * large) is None
    # On logarithmic scales the middle of both errors is the middle of both sizes.
    assert tested.how_many_items(np.sqrt(small * large)) == pytest.approx(np.sqrt(20 * 200), abs=1)
    with pytest.raises(InputError, match="'error' parameter must be a number between 0 and 1"):
        tested.how_many_items(2)


def test_plots_have_two_panels_or_one_in_given_axes(bayesian):
    figure = bayesian.plot()
    errors, coverage = figure.axes
    assert [line.get_label() for line in errors.lines] == [
        "error", "counting's error", "width of 95 % intervals",
    ]  # fmt: skip
    found = bayesian.summary()["by_size"]
    assert errors.lines[0].get_xdata().tolist() == [run["n_items"] for run in found]
    assert errors.lines[1].get_ydata().tolist() == [run["counting_error"] for run in found]
    assert coverage.lines[1].get_ydata().tolist() == [run["soft_coverage"] for run in found]
    axes = Figure().add_subplot()
    assert bayesian.plot(ax=axes) is axes.figure
    assert len(axes.lines) == 3
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="expected matplotlib Axes"):
        bayesian.plot(ax=1)


# --- of a fitted quantifier -------------------------------------------------------------------


def test_a_fitted_quantifier_is_tested_without_training_or_choosing_again(data, monkeypatch):
    fitted = KDEy(classifier=Trained(), cv=3).fit(*data)
    Trained.times = 0

    def refuse(*_):
        raise AssertionError("the smoothing is chosen again")

    monkeypatch.setattr(kernel_density, "choose_smoothing", refuse)
    tested = backtest_of(fitted, bag_size=20, n_bags=30)
    assert Trained.times == 0
    assert (tested.n_folds, tested.n_labelled, len(tested.true)) == (5, 300, 30)
    # Its classifier gives the posteriors as they are, so this is the backtest of them.
    smooth = {"bandwidth": fitted.bandwidth_, "shrinkage": fitted.shrinkage_}
    direct = backtest(KDEy(**smooth), *data, bag_size=20, n_bags=30, random_state=0)
    found, expected = tested.summary(), direct.summary()
    # Other bags of the same items: a difference of two means over 30 bags has a standard error of
    # 0.009 here, and 0.03 is more than three of these.
    assert found["counting_error"] == pytest.approx(expected["counting_error"], abs=0.03)
    assert found["mean_error"] == pytest.approx(expected["mean_error"], abs=0.03)


@pytest.mark.parametrize(
    "quantifier",
    [
        ACC(classifier=Given()),
        EMQ(classifier=Given()),
        Bootstrap(KDEy(), draws=20),
        BayesianKDEy(draws=50, unknown=True),
        truemix.MixtureQuantifier(
            model=truemix.models.KernelDensity(), inference=truemix.inference.MaximumLikelihood()
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_kind_of_quantifier_can_be_tested(data, quantifier):
    tested = backtest_of(quantifier.fit(*data), bag_size=20, n_bags=4)
    assert tested.true.shape == (4, 3)
    assert tested.summary()["mean_error"] < 0.3
    assert (tested.interval is None) == (not hasattr(quantifier.inference_, "draws"))


def test_large_bags_make_halves_and_many_references_a_part_in_proportion():
    P, codes = posteriors(600, 2, seed=0, mix=[0.8, 0.2])
    fitted = PCC().fit(P, codes)
    assert backtest_of(fitted, bag_size=50, n_bags=4).n_folds == 5
    assert backtest_of(fitted, bag_size=100, n_bags=4).n_folds == 2
    part = backtest_of(fitted, bag_size=10, n_bags=4, max_references=200)
    assert part.n_labelled == pytest.approx(200, abs=1)


def test_without_references_there_is_no_backtest(data, tmp_path):
    fitted = ACC().fit(*data)
    truemix.save(fitted, tmp_path / "acc")
    assert backtest_of(truemix.load(tmp_path / "acc")) is None
    truemix.save(KDEy(**SMOOTH).fit(*data), tmp_path / "kdey")
    assert backtest_of(truemix.load(tmp_path / "kdey"), bag_size=20, n_bags=4) is not None
    single = PCC().fit([[0.9, 0.1], [0.2, 0.8], [0.8, 0.2]], ["a", "b", "a"])
    assert backtest_of(single) is None
    with pytest.raises(NotFittedError, match="before it is backtested"):
        backtest_of(ACC())


# --- what cannot be tested --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bag_size": 0}, "The 'bag_size' parameter must be a whole number between 1 and"),
        ({"bag_size": "30"}, "'bag_size' parameter must be a whole number, or a sequence of them"),
        ({"bag_size": []}, "bag_size is empty; expected at least one whole number"),
        ({"n_bags": 0}, "The 'n_bags' parameter must be a whole number"),
        ({"n_folds": 1}, "The 'n_folds' parameter must be a whole number between 2 and"),
        ({"level": 1.0}, "The 'level' parameter must be"),
        (
            {"n_references": [10, 250]},
            "The 'n_references' parameter asks for 250, but with 5 folds only 240 items are left "
            "to learn from; expected at most as many. Lower it",
        ),
        ({"n_references": 1.5}, "The 'n_references' parameter must be a whole number"),
        ({"random_state": "x"}, "The 'random_state' parameter must be None, an integer"),
        ({"classes": ["a", "b"]}, "label 'c'"),
    ],
)
def test_wrong_parameters_are_one_sentence(data, change, sentence):
    with pytest.raises(InputError, match=sentence):
        backtest(EMQ(), *data, **{**FAST, **change})


def test_classes_with_too_few_items_are_named(data):
    P, y = data
    rows = np.flatnonzero(y != "b")
    one = np.append(rows, np.flatnonzero(y == "b")[:1])
    sentence = "Class 'b' has only 1 item in y; a backtest needs at least 2, one to learn from and"
    with pytest.raises(InputError, match=sentence):
        backtest(EMQ(), P[one], y[one], **FAST)
    two = np.append(rows, np.flatnonzero(y == "b")[:2])
    assert backtest(EMQ(), P[two], y[two], bag_size=10, n_bags=4).n_folds == 2
    sentence = "Class 'b' has only 2 items in y; a backtest needs at least 3, two to train a"
    with pytest.raises(InputError, match=sentence):
        backtest(PCC(classifier=Given()), P[two], y[two], **FAST)


def test_only_quantifiers_can_be_tested_and_rows_are_those_of_the_user(data):
    P, y = data
    with pytest.raises(InputError, match="'quantifier' parameter must be a truemix quantifier"):
        backtest(LogisticRegression(), P, y)
    with pytest.raises(InputError, match="'bandwidth' parameter"):
        backtest(KDEy(bandwidth=-1), P, y)
    wrong = P.copy()
    wrong[123] = 2.0
    with pytest.raises(InputError, match="Row 123 of X sums to 6"):
        backtest(EMQ(), wrong, y)
