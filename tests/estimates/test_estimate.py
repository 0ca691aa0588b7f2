from dataclasses import replace

import numpy as np
import pytest

from estimate_support import estimate, sampled
from truemix import InputError
from truemix.estimates import EstimateSet
from truemix.estimates.checks import RecordedCheck


def test_the_repr_is_the_table():
    lines = repr(estimate()).splitlines()
    assert lines[0] == "KDEy: the mix of 1,234 items"
    assert lines[1].split() == ["class", "estimate", "counted", "reference"]
    assert lines[2].split("  ")[0] == "class 0"
    assert lines[2].split()[-6:] == ["16.7", "%", "33.3", "%", "50.0", "%"]
    assert len({len(line) for line in lines[1:5]}) == 1


def test_one_item_is_not_plural():
    assert repr(estimate(n_items=1)).startswith("KDEy: the mix of 1 item\n")


def test_many_classes_show_the_largest_and_say_so():
    lines = repr(estimate(100)).splitlines()
    assert len(lines) == 2 + 30 + 2
    assert lines[2].startswith("class 99")
    assert lines[-2] == "… and 70 smaller classes: see .frame()"
    assert lines[-1] == "Label shift: not checked; quantify(X, check=True) does."


def test_a_failed_diagnostic_shows():
    failed = estimate(diagnostics={"converged": False, "iterations": 7, "gap": 0.25})
    assert "Note: The solver stopped after 7 iterations before it converged (gap 2.5e-01)." in repr(
        failed
    )
    assert not estimate(diagnostics={"converged": True, "iterations": 7, "gap": 0.0}).warnings()


def test_the_frame_has_a_row_per_class():
    table = estimate().frame()
    assert table.index.name == "class"
    assert table.index.tolist() == ["class 0", "class 1", "class 2"]
    assert table.columns.tolist() == ["prevalence", "classify_and_count", "reference"]
    np.testing.assert_allclose(table["prevalence"], [1 / 6, 2 / 6, 3 / 6])


def test_a_set_is_a_mapping():
    both = EstimateSet({"a": estimate(), "b": estimate()})
    assert list(both) == ["a", "b"]
    assert both["a"].n_items == 1234
    assert len(both.frame()) == 6
    assert repr(EstimateSet({})) == "EstimateSet: no groups"
    with pytest.raises(KeyError):
        both["c"]


def test_the_repr_states_the_level_the_kind_and_the_estimand():
    both = sampled([20, 30, 50])
    lines = repr(both).splitlines()
    assert lines[1].split() == ["class", "estimate", "interval", "counted", "reference"]
    assert lines[-2] == "95 % equal-tailed intervals; the mix of these very items (batch)"
    low, high = 100 * both.interval()[0]
    assert f"{low:.1f} – {high:.1f} %" in lines[2]  # noqa: RUF001
    assert len({len(line) for line in lines[1:-2]}) == 1
    assert "the source they come from (population)\n" in repr(both.of("population"))


def test_an_estimate_says_whether_label_shift_was_checked():
    unchecked = "Label shift: not checked"
    assert unchecked in repr(sampled([20, 30]))
    found = {"verdict": "passed", "passed": True, "explanation": "Nothing speaks against it."}
    checked = sampled([20, 30], checks={"label_shift": RecordedCheck(found)})
    assert repr(checked).endswith("\nNothing speaks against it.")
    # Counting does not assume it.
    assert unchecked not in repr(estimate(method="PCC"))


def test_a_failed_diagnostic_of_the_sampler_shows_last():
    failed = sampled([20, 30], diagnostics={"failed": ["R-hat is 1.2; ask for more draws."]})
    assert repr(failed).endswith("\nNote: R-hat is 1.2; ask for more draws.")
    assert failed.warnings() == ["R-hat is 1.2; ask for more draws."]


def test_long_and_odd_class_names_stay_on_one_line():
    names = np.array(["x" * 100 + "1", "x" * 100 + "2", "two\nlines"])
    lines = repr(estimate(classes=names)).splitlines()
    assert len(lines) == 6
    assert len({line.split()[0] for line in lines[2:5]}) == 3
    assert max(map(len, lines)) < 80


def test_html_is_the_same_table_and_escaped():
    names = np.array(["<script>alert(1)</script>", "a & b"])
    page = sampled([3, 4], classes=names, method="<i>")._repr_html_()
    assert "<script>" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a &amp; b" in page
    assert "95 % equal-tailed intervals" in page
    assert page.count("<tr>") == 3


def test_the_other_view_swaps_the_draws():
    batch = sampled([20, 30, 50])
    population = batch.of("population")
    assert population.estimand == "population"
    assert population.draws is batch.other_draws
    assert population.other_draws is batch.draws
    np.testing.assert_array_equal(population.prevalence, batch.other_draws.mean(axis=0))
    back = population.of("batch")
    np.testing.assert_array_equal(back.prevalence, batch.prevalence)
    assert batch.of("batch") is batch


def test_a_point_estimate_is_the_same_in_both_views():
    point = estimate()
    assert point.of("population").estimand == "population"
    assert point.of("population").prevalence is point.prevalence


def test_a_view_without_draws_is_refused():
    with pytest.raises(InputError, match="holds no draws of the population mix, only of the batch"):
        replace(sampled([1, 2]), other_draws=None).of("population")
    with pytest.raises(InputError, match="'estimand' parameter must be one of 'batch'"):
        sampled([1, 2]).of("bag")


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.interval(),
        lambda e: e.region(),
        lambda e: e.probability(lambda p: p["class 0"] > 0.1),
        lambda e: e.to_arviz(),
    ],
)
def test_a_point_estimate_says_what_needs_draws(ask):
    with pytest.raises(InputError, match="needs draws, but this estimate of KDEy is a point est"):
        ask(estimate())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"classify_and_count": np.ones(2)},
            r"classify_and_count has shape \(2,\); expected one share for each of the 3",
        ),
        ({"draws": np.ones((5, 2))}, r"draws has shape \(5, 2\); expected one row per draw"),
        ({"other_draws": np.ones(3)}, r"other_draws has shape \(3,\)"),
        ({"draws": np.ones((0, 3))}, r"draws has shape \(0, 3\)"),
        ({"estimand": "both"}, "'estimand' parameter must be one of"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        estimate(**changes)


def test_probabilities_are_shares_of_the_draws():
    draws = np.array([[0.1, 0.2, 0.7], [0.4, 0.2, 0.4], [0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    e = estimate(draws=draws)
    assert e.probability(lambda p: p["class 0"] > 0.3) == 0.5
    assert e.probability(lambda p: p["class 0"] + p["class 1"] > p["class 2"]) == 0.75
    assert e.probability(lambda p: (p["class 0"] > 0.3) & (p["class 1"] > 0.25)) == 0.25
    assert e.probability(lambda p: p[np.str_("class 2")] >= 0.7) == 0.25
    numbered = estimate(draws=draws, classes=np.array([3, 5, 7]))
    assert numbered.probability(lambda p: p[5] > 0.25) == 0.5


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (lambda p: p["spam"] > 0, "There is no class 'spam'; the classes are 'class 0', 'class 1'"),
        (lambda p: p[0] > 0, "There is no class 0"),
        (lambda p: p[["class 0"]] > 0, "There is no class"),
        (lambda p: p["class 0"], "returned values of type float64 and shape"),
        (lambda p: p["class 0"].mean() > 0.1, r"type bool and shape \(\); expected a condition"),
        (lambda p: 0.1 < p["class 0"] < 0.2, "combine conditions with & and |"),
        ("class 0", "The event is 'class 0'; expected a function"),
    ],
)
def test_events_that_are_none_are_refused(event, sentence):
    with pytest.raises(InputError, match=sentence):
        sampled([1, 2, 3]).probability(event)


def test_an_error_inside_an_event_comes_through():
    with pytest.raises(ZeroDivisionError):
        sampled([1, 2]).probability(lambda p: 1 / 0)
    with pytest.raises(ValueError, match="broadcast"):
        sampled([1, 2]).probability(lambda p: p["class 0"] > np.zeros(3))


def test_the_frame_holds_the_intervals_at_the_level_asked_for():
    both = sampled([20, 30, 50])
    table = both.frame(level=0.5)
    assert table.columns.tolist() == [
        "prevalence",
        "lower",
        "upper",
        "classify_and_count",
        "reference",
    ]
    np.testing.assert_array_equal(table[["lower", "upper"]], both.interval(0.5))


def test_the_frame_of_a_set_says_what_rose():
    groups = {"w1": sampled([10, 90]), "w2": sampled([50, 50], seed=1), "w3": sampled([50, 50])}
    table = EstimateSet(groups).frame()
    assert table.columns.tolist() == [
        *("group", "class", "prevalence", "lower", "upper"),
        *("classify_and_count", "reference", "n_items", "prob_increase"),
    ]
    rose = table.pivot_table(index="group", columns="class", values="prob_increase", dropna=False)
    assert rose.loc["w1"].isna().all()
    assert rose.loc["w2"].tolist() == [1.0, 0.0]
    assert 0.2 < rose.loc["w3", "class 0"] < 0.8
    narrower = EstimateSet(groups).frame(level=0.5)
    assert (narrower["upper"] - narrower["lower"] < table["upper"] - table["lower"]).all()
    points = EstimateSet({"w1": estimate(), "w2": estimate()}).frame()
    assert "prob_increase" not in points
    batch_only = {g: replace(e, other_draws=None) for g, e in groups.items()}
    assert EstimateSet(batch_only).frame()["prob_increase"].isna().all()
