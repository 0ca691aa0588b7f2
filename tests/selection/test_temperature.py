"""calibrate_temperature: the best intervals win, and they are those of plain estimates."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from support import posteriors
from truemix import CC, BayesianACC, BayesianEMQ, BayesianKDEy, Bootstrap, InputError, KDEy, metrics
from truemix.protocols import DirichletBags
from truemix.selection import calibrate_temperature
from truemix.selection._validation import split

SHORT = {"draws": 100, "warmup": 50, "random_state": 0}
SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.1}
BAGS = DirichletBags(n_bags=5, bag_size=60, random_state=1)


def brute_force(quantifier, temperatures, X, y, level):
    """Return the table of means over bags from plain fits and estimates."""
    classes, codes = np.unique(y, return_inverse=True)
    held_out = split(codes, classes, 0.4)
    rest = np.setdiff1d(np.arange(len(y)), held_out)
    rows = []
    for temperature in temperatures:
        fitted = clone(quantifier).set_params(temperature=temperature).fit(X[rest], y[rest])
        scores = []
        for bag in BAGS.bags(y[held_out], classes):
            estimate = fitted.quantify(X[held_out[bag.index]])
            box = estimate.interval(level)
            joint = estimate.interval(level, simultaneous=True)
            scores.append(
                [
                    metrics.winkler_score(bag.prevalence, box, level),
                    (box[:, 1] - box[:, 0]).mean(),
                    metrics.soft_coverage(bag.prevalence, box),
                    metrics.hard_coverage(bag.prevalence, joint),
                ]
            )
        rows.append(np.mean(scores, axis=0))
    return np.array(rows)


@pytest.mark.parametrize(
    "quantifier",
    [
        BayesianKDEy(**SMOOTH, **SHORT),
        BayesianKDEy(estimand="population", **SMOOTH, **SHORT),
        BayesianEMQ(**SHORT),
        BayesianEMQ(prior="mapls", calibration="ts", **SHORT),
        BayesianACC(**SHORT),
    ],
    ids=repr,
)
def test_the_table_is_that_of_plain_estimates(quantifier):
    P, codes = posteriors(150, 3, seed=0)
    y = np.array(["cat", "dog", "eel"])[codes]
    grid = [2.0, 1.0, 20.0]
    calibrated = calibrate_temperature(quantifier, P, y, protocol=BAGS, grid=grid, level=0.9)
    names = ["winkler_score", "width", "soft_coverage", "hard_coverage"]
    expected = brute_force(quantifier, grid, P, y, 0.9)
    # The blocks in which the pool is evaluated differ, so the last digits of the densities may.
    np.testing.assert_allclose(calibrated.results[names], expected, rtol=1e-6, atol=1e-9)
    assert calibrated.results["temperature"].tolist() == grid
    best = grid[int(expected[:, 0].argmin())]
    assert calibrated.temperature == calibrated.quantifier.temperature == best
    again = clone(quantifier).set_params(temperature=best).fit(P, y).quantify(P)
    np.testing.assert_array_equal(calibrated.quantifier.quantify(P).draws, again.draws)


def test_posteriors_that_are_too_sure_need_a_higher_temperature():
    P, codes = posteriors(600, 3, seed=0, sharpness=1.0)
    bags = DirichletBags(n_bags=25, bag_size=200)
    chosen = []
    for power in (1, 4):
        # Rows raised to a power are calibrated for no mix at all: EMQ errs, and is sure of it.
        sure = P**power / (P**power).sum(axis=1, keepdims=True)
        quantifier = BayesianEMQ(calibration=None, random_state=0, draws=300, estimand="population")
        calibrated = calibrate_temperature(quantifier, sure, codes, protocol=bags, grid=[1, 4, 16])
        chosen.append(calibrated.temperature)
        assert (np.diff(calibrated.results["width"]) > 0).all()
    assert chosen[0] == 1
    assert chosen[1] > 1


def test_it_works_with_a_classifier_and_shows_its_table():
    rng = np.random.default_rng(0)
    codes = np.arange(150) % 3
    X = rng.normal(size=(150, 4)) + 2 * np.eye(3, 4)[codes]
    quantifier = BayesianKDEy(classifier=LogisticRegression(), **SMOOTH, **SHORT)
    calibrated = calibrate_temperature(
        quantifier, X, codes, protocol=BAGS, grid=[1.0, 3.0], classes=[2, 0, 1]
    )
    assert calibrated.quantifier.classes_.tolist() == [2, 0, 1]
    assert repr(calibrated).startswith(f"Temperature {calibrated.temperature:g} for BayesianKDEy")
    assert "winkler_score" in repr(calibrated)
    assert not hasattr(quantifier, "classes_")


def test_without_a_seed_the_copy_has_none_either():
    P, codes = posteriors(90, 3, seed=0)
    quantifier = BayesianACC(draws=20)
    calibrated = calibrate_temperature(quantifier, P, codes, protocol=BAGS, grid=[1, 2])
    assert calibrated.quantifier.random_state is None


@pytest.mark.parametrize(
    ("quantifier", "changes", "sentence"),
    [
        (KDEy(), {}, "must be a Bayesian quantifier .* Others have no temperature"),
        (Bootstrap(CC()), {}, "must be a Bayesian quantifier .* Others have no temperature"),
        (3, {}, "'quantifier' parameter must be a truemix quantifier"),
        (BayesianACC(), {"grid": []}, "The grid is empty; expected at least one temperature"),
        (BayesianACC(), {"grid": [1, 0]}, r"'grid\[1\]' parameter must be a positive number"),
        (BayesianACC(), {"grid": 3}, "'grid' parameter must be a sequence of positive"),
        (BayesianACC(), {"grid": ["hot"]}, r"'grid\[0\]' parameter must be a positive"),
        (BayesianACC(), {"level": 95}, "'level' parameter must be a number between 0 and 1"),
        (BayesianACC(), {"validation": 2}, "'validation' parameter must be a number between"),
        (
            BayesianKDEy(sampler="gibbs"),
            {"grid": [1.0, 2.0]},
            "The setting temperature=2.0 cannot be used: .* use sampler='auto'",
        ),
    ],
    ids=repr,
)
def test_wrong_parameters_get_a_sentence(quantifier, changes, sentence):
    P, codes = posteriors(60, 3, seed=0)
    with pytest.raises(InputError, match=sentence):
        calibrate_temperature(quantifier, P, codes, protocol=BAGS, **changes)


def test_nothing_is_printed_outside_a_terminal(capsys):
    P, codes = posteriors(90, 3, seed=0)
    calibrate_temperature(BayesianACC(**SHORT), P, codes, protocol=BAGS, grid=[1.0])
    assert capsys.readouterr() == ("", "")
