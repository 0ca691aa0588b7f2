"""evaluate, cross_fit, quantify_bags, and bags from items that are given."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from support import posteriors
from truemix import CC, EMQ, PCC, BayesianKDEy, InputError, KDEy, NotFittedError, evaluate, metrics
from truemix.protocols import DirichletBags
from truemix.quantifiers import cross_fit
from truemix.selection import GridSearch, calibrate_temperature

BAGS = DirichletBags(n_bags=6, bag_size=80, random_state=0)
SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.1}


@pytest.fixture(scope="module")
def data():
    return posteriors(200, 3, seed=0), posteriors(300, 3, seed=1)


def test_both_views_of_one_run_are_scored(data):
    (P, y), (pool, labels) = data
    fitted = BayesianKDEy(**SMOOTH, draws=100, random_state=0, estimand="population").fit(P, y)
    names = ("soft_coverage", "hard_coverage", "winkler_score", "width")
    both = evaluate(fitted, pool, labels, protocol=BAGS, metrics=names, also="batch")
    batch = BayesianKDEy(**SMOOTH, draws=100, random_state=0).fit(P, y)
    alone = evaluate(batch, pool, labels, protocol=BAGS, metrics=names)
    for name in names:
        np.testing.assert_allclose(both[f"batch_{name}"], alone[name], atol=1e-12)
    assert not np.allclose(both["width"], both["batch_width"])
    with pytest.raises(InputError, match="'also' parameter must be one of 'batch', 'population'"):
        evaluate(fitted, pool, labels, protocol=BAGS, also="items")


def test_every_metric_is_that_of_the_estimates(data):
    (P, y), (pool, labels) = data
    fitted = BayesianKDEy(**SMOOTH, draws=100, random_state=0).fit(P, y)
    frame = evaluate(fitted, pool, labels, protocol=BAGS, level=0.9)
    assert frame["quantifier"].unique().tolist() == ["BayesianKDEy"]
    for row, bag in zip(frame.itertuples(), BAGS.bags(labels), strict=True):
        estimate = fitted.quantify(pool[bag.index])
        np.testing.assert_allclose(row.estimated, estimate.prevalence, atol=1e-12)
        np.testing.assert_array_equal(row.true, bag.prevalence)
        single = estimate.interval(0.9)
        joint = estimate.interval(0.9, simultaneous=True)
        truth = bag.prevalence
        assert row.n_items == 80
        assert row.winkler_score == pytest.approx(metrics.winkler_score(truth, single, 0.9))
        assert row.soft_coverage == pytest.approx(metrics.soft_coverage(truth, single))
        assert row.hard_coverage == metrics.hard_coverage(truth, joint)
        assert row.amplitude == pytest.approx(metrics.amplitude(single))
        own = metrics.relative_absolute_error(truth, estimate.prevalence, eps=0.5 / 80)
        assert row.relative_absolute_error == pytest.approx(own)
        assert not row.failed


def test_methods_without_draws_have_no_intervals_and_functions_are_metrics(data):
    (P, y), (pool, labels) = data

    def worst(true, estimated):
        return np.abs(true - estimated).max()

    fitted = {"classify_and_count": CC().fit(P, y), "mean": PCC().fit(P, y)}
    frame = evaluate(fitted, pool, labels, protocol=BAGS, metrics=[worst, "winkler_score"])
    assert "winkler_score" not in frame
    assert len(frame) == 12
    row = frame.iloc[7]
    assert row["worst"] == worst(row["true"], row["estimated"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"quantifiers": {}}, "no quantifiers to evaluate"),
        ({"quantifiers": {"a": 3}}, "'quantifiers' parameter must be fitted truemix quantifiers"),
        ({"metrics": "absolute_error"}, "'metrics' parameter must be a list of metrics"),
        ({"metrics": ["error"]}, "'metrics' parameter must be one of 'absolute_error'"),
        ({"level": 2}, "'level' parameter must be"),
    ],
)
def test_wrong_input_is_named(change, sentence, data):
    (P, y), (pool, labels) = data
    given = {"quantifiers": CC().fit(P, y), "metrics": ["absolute_error"], **change}
    with pytest.raises(InputError, match=sentence):
        evaluate(given.pop("quantifiers"), pool, labels, protocol=BAGS, **given)


def test_quantifiers_must_be_fitted_on_the_same_classes(data):
    (P, y), (pool, labels) = data
    with pytest.raises(NotFittedError, match="quantifier CC is not fitted yet"):
        evaluate(CC(), pool, labels, protocol=BAGS)
    both = {"a": CC().fit(P, y), "b": CC().fit(P, y + 1)}
    with pytest.raises(InputError, match="fitted on different classes"):
        evaluate(both, pool, labels, protocol=BAGS)


@pytest.mark.parametrize("crossfit", [False, True])
def test_a_classifier_trained_once_gives_what_a_quantifier_trains(crossfit):
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 4)) + 2 * np.eye(3, 4)[y]
    target = rng.normal(size=(60, 4)) + 2 * np.eye(3, 4)[np.arange(60) % 2]
    trained = cross_fit(LogisticRegression(), X, y)
    for quantifier in (KDEy(**SMOOTH), EMQ(), BayesianKDEy(**SMOOTH, draws=100, random_state=0)):
        given = quantifier.fit(trained.posteriors, y)
        found = given.quantify(trained.score(target, crossfit=crossfit))
        own = type(quantifier)(**{**quantifier.get_params(), "classifier": LogisticRegression()})
        expected = own.set_params(crossfit=crossfit).fit(X, y).quantify(target)
        np.testing.assert_allclose(found.prevalence, expected.prevalence, atol=1e-9)


def test_bags_may_be_drawn_from_items_that_are_given(data):
    (P, y), validation = data
    grid = {"bandwidth": [0.1, 0.4], "shrinkage": [0.1]}
    search = GridSearch(KDEy(), grid, protocol=BAGS, validation=validation).fit(P, y)
    for setting, score in zip(grid["bandwidth"], search.results_["score"], strict=True):
        fitted = KDEy(bandwidth=setting, shrinkage=0.1).fit(P, y)
        frame = evaluate(fitted, *validation, protocol=BAGS, metrics=["absolute_error"])
        assert score == pytest.approx(frame["absolute_error"].mean(), abs=1e-5)
    quantifier = BayesianKDEy(**SMOOTH, reference_uncertainty=None, draws=60, random_state=0)
    found = calibrate_temperature(
        quantifier, P, y, protocol=BAGS, grid=[1.0], validation=validation, verbose=False
    )
    frame = evaluate(quantifier.fit(P, y), *validation, protocol=BAGS)
    expected = frame["winkler_score"].mean()
    assert found.results["winkler_score"][0] == pytest.approx(expected, rel=1e-6)
    with pytest.raises(InputError, match="'validation' parameter must be a share, or labelled"):
        GridSearch(KDEy(), grid, validation=(P, y, 3)).fit(P, y)


def test_rows_of_bags_must_exist(data):
    (P, y), (pool, _) = data
    fitted = PCC().fit(P, y)
    assert list(fitted.quantify_bags(pool, [])) == []
    with pytest.raises(InputError, match="Bag 1 holds the row number 300 at position 0"):
        list(fitted.quantify_bags(pool, [[0], [300]]))
