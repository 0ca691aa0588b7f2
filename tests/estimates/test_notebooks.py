"""What notebooks show: small tables, escaped, without a script, in the colours of the notebook."""

import html
import re

import numpy as np
import pytest

from truemix import BayesianKDEy, backtest
from truemix.checks import label_shift

NAMES = np.array(["<script>x</script>", "b & c"])


def scores(rng, first, second):
    p = np.concatenate([rng.beta(2, 4, first), rng.beta(4, 2, second)])
    return np.column_stack([1.0 - p, p])


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    settings = {"bandwidth": 0.3, "shrinkage": 0.1, "draws": 100, "self_calibration": False}
    quantifier = BayesianKDEy(**settings, random_state=0)
    P, y = scores(rng, 200, 200), np.repeat(NAMES, 200)
    quantifier.fit(P, y)
    X = scores(rng, 80, 20)
    estimate = quantifier.quantify(X)
    return {
        "estimate": estimate,
        "groups": quantifier.quantify_by(X, np.arange(100) % 2),
        "comparison": estimate.compare(estimate),
        "check": label_shift(quantifier, X, random_state=0),
        "performance": estimate.performance(),
        "sensitivity": estimate._sensitivity(0.95, "sensitivity"),
        "backtest": backtest(quantifier, P, y, bag_size=30, n_bags=5, random_state=0),
    }


@pytest.mark.parametrize(
    "name", ["estimate", "groups", "comparison", "check", "performance", "sensitivity", "backtest"]
)
def test_results_show_themselves_as_small_escaped_tables(name, results):
    shown = results[name]._repr_html_()
    assert shown.startswith("<div>") and "<table>" in shown
    assert "<script" not in shown
    assert "color" not in shown and "background" not in shown
    assert len(shown) < 5_000
    opened, closed = re.findall(r"<(\w+)", shown), re.findall(r"</(\w+)", shown)
    assert sorted(opened) == sorted(closed)
    if name != "backtest":
        assert html.escape("<script>x</script>") in shown


def test_the_table_of_a_check_has_its_numbers(results):
    check = results["check"]
    shown = results["check"]._repr_html_()
    assert check.verdict in shown and html.escape(check.explanation) in shown
    assert f"{100 * check.prevalence[1]:.1f} %" in shown
    assert f"{check.class_scores[1]:+.1f}" in shown
