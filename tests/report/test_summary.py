import datetime
import json

import numpy as np
import pytest

import truemix
from estimate_support import estimate, sampled
from support import posteriors
from truemix import Estimate, EstimateSet, InputError
from truemix.estimates.checks import RecordedCheck
from truemix.report.page import render_page
from truemix.report.summary import LEVELS, summarize

NOT_CHECKED = "Assumed, not checked: items of a class look as they did in the reference."
KEYS = [
    "truemix",
    "method",
    "estimand",
    "level",
    "interval",
    "reference",
    "target",
    "by",
    "command",
    "headline",
    "ok",
    "groups",
    "settings",
    "overall",
    "change",
    "largest_move",
]


def two(spam=0.31, half_width=0.03, counted=0.22, **changes):
    """Return an estimate of ham and spam whose 95 % interval is spam ± half_width."""
    share = np.array([1 - spam, spam])
    offsets = np.linspace(-half_width, half_width, 1000) / 0.95
    fields = {
        "classes": np.array(["ham", "spam"]),
        "prevalence": share,
        "classify_and_count": np.array([1 - counted, counted]),
        "train_prevalence": np.array([0.5, 0.5]),
        "n_items": 1000,
        "method": "BayesianKDEy",
        "draws": share + np.stack([-offsets, offsets], axis=1),
        "estimand": "population",
    }
    return Estimate(**{**fields, **changes})


# --- the dict ---------------------------------------------------------------------------------


def test_the_keys_are_those_that_were_agreed_and_the_numbers_those_of_the_estimate():
    full = sampled([2.0, 3.0, 5.0], settings={"prior": 1.0})
    summary = summarize(
        full, level=0.9, reference="a/b/ref.csv", n_reference=50, target="C:\\x\\t.csv", command="x"
    )
    assert set(KEYS) <= set(summary)
    assert summary["interval"] == "equal-tailed"
    assert summary["level"] == 0.9
    assert summary["reference"] == {"name": "ref.csv", "n_items": 50}
    assert summary["target"] == {"name": "t.csv", "n_items": 200}
    assert summary["settings"] == {"prior": 1.0}
    [group] = summary["groups"]
    assert group["group"] is None
    assert group["n_items"] == 200
    frame = full.frame(0.9)
    assert [row["class"] for row in group["classes"]] == frame.index.tolist()
    for column, key in {"prevalence": "share", **{c: c for c in frame.columns[1:]}}.items():
        assert [row[key] for row in group["classes"]] == frame[column].tolist()
    assert all(row["prob_increase"] is None for row in group["classes"])


def test_a_point_estimate_has_no_interval_and_no_quantiles():
    summary = summarize(estimate(3))
    assert summary["interval"] is None
    [group] = summary["groups"]
    assert group["quantiles"] is None
    assert all(row["lower"] is None and row["upper"] is None for row in group["classes"])
    assert "probability" not in summary["headline"]


def test_quantiles_are_draws_with_the_stated_probability_below():
    full = sampled([2.0, 3.0], n_draws=1000)
    shape = summarize(full)["groups"][0]["quantiles"]
    assert shape["levels"] == LEVELS
    assert "draws" not in shape
    for column, values in zip(full.draws.T, shape["values"], strict=True):
        assert values == sorted(values)
        below = [(column <= value + 1e-6).mean() for value in values]
        assert (np.array(below) >= np.array(LEVELS) - 1e-9).all()


def test_three_classes_come_with_a_few_of_the_draws():
    full = sampled([2.0, 3.0, 4.0], n_draws=1000)
    shown = np.array(summarize(full)["groups"][0]["quantiles"]["draws"])
    assert 100 <= len(shown) <= 300
    np.testing.assert_allclose(shown, full.draws[::4], atol=1e-6)


def test_the_probability_of_an_increase_is_what_the_set_of_estimates_says():
    estimates = EstimateSet({week: sampled([2.0, 3.0, 4.0], seed=week) for week in (1, 2, 3)})
    summary = summarize(estimates, by="week")
    assert summary["by"] == "week"
    assert summary["target"]["n_items"] == 600
    found = [row["prob_increase"] for group in summary["groups"] for row in group["classes"]]
    expected = estimates.frame()["prob_increase"].tolist()
    assert found[:3] == [None] * 3
    assert found[3:] == expected[3:]


@pytest.mark.parametrize(
    "names", [("east", "north", "west"), ("store 1", "store 2", "store 3"), (3, 2, 1)]
)
def test_nothing_rises_between_groups_without_an_order(names):
    estimates = EstimateSet({name: sampled([2.0, 3.0], seed=len(str(name))) for name in names})
    summary = summarize(estimates)
    assert summary["ordered"] is False
    entries = [row for group in summary["groups"] for row in group["classes"]]
    assert [row["prob_increase"] for row in entries] == [None] * 6
    assert "prob_increase" not in estimates.frame()


def test_many_groups_keep_the_shape_of_the_last_one_only():
    estimates = EstimateSet({week: sampled(np.ones(20), n_draws=50) for week in range(60)})
    groups = summarize(estimates)["groups"]
    assert [group["quantiles"] is not None for group in groups] == [False] * 59 + [True]


def test_the_summary_is_json_whatever_is_in_it():
    odd = estimate(
        2,
        classes=np.array([True, False], dtype=object),
        settings={"classifier": object(), "prior": {1: np.float32(0.5)}, "limit": np.inf},
        diagnostics={"condition": np.inf, "later": {"p": np.nan, "at": np.arange(2)}, "map": None},
    )
    day = EstimateSet({np.datetime64("2024-05-01"): odd, datetime.datetime(2024, 5, 8): odd})
    summary = summarize(day)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert [group["group"] for group in summary["groups"]] == ["2024-05-01", "2024-05-08"]
    assert summary["groups"][0]["classes"][0]["class"] is True
    assert summary["settings"]["limit"] is None
    assert summary["groups"][0]["diagnostics"]["later"] == {"p": None, "at": [0, 1]}
    # Where an object is in memory differs from run to run.
    assert " at 0x" not in json.dumps(summary)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([0.5, 0.5], "expected an Estimate or an EstimateSet"),
        (EstimateSet({}), "no groups"),
        (EstimateSet({1: estimate(2), 2: estimate(3)}), "the same classes"),
    ],
)
def test_what_is_no_estimate_is_an_error(wrong, says):
    with pytest.raises(InputError, match=says):
        summarize(wrong)


def test_a_level_that_is_none_is_an_error():
    with pytest.raises(InputError, match="level"):
        summarize(estimate(2), level=95)


# --- the headline -----------------------------------------------------------------------------


def checked(passed):
    """Return the checks of an estimate that was checked."""
    found = {"checked": True, "passed": passed, "explanation": "As was found."}
    return {"label_shift": RecordedCheck({**found, "verdict": "passed" if passed else "failed"})}


def test_the_headline_of_two_classes_is_that_of_the_issue():
    assert summarize(two(checks=checked(True)))["headline"] == (
        "About 31 % spam, between 28 % and 34 % with 95 % probability; "
        "the classifier alone would have said 22 %."
    )


def test_without_a_check_the_headline_says_what_is_assumed():
    sentences = summarize(two())["sentences"]
    assert sentences[0].startswith("About 31 % spam, between 28 % and 34 % with 95 % probability;")
    assert sentences[1:] == [NOT_CHECKED]
    regions = summarize(EstimateSet({"east": two(), "west": two()}))
    assert regions["sentences"][1] == NOT_CHECKED


def test_a_failed_check_comes_first_and_no_probability_is_promised():
    sentences = summarize(two(checks=checked(False)))["sentences"]
    assert sentences == [
        "This batch does not look like a mix of the reference classes.",
        "The estimate holds only if it were one: about 31 % spam (95 % interval 28 % to 34 %); the "
        "classifier alone would have said 22 %.",
    ]


@pytest.mark.parametrize(
    "diagnostics",
    [
        {"failed": ["R-hat is 1.2."]},
        {"converged": False, "iterations": 9, "gap": 0.1},
        {"notes": ["The confusion matrix is singular."]},
    ],
)
def test_a_failed_diagnostic_comes_first_and_no_probability_is_promised(diagnostics):
    found = two(diagnostics=diagnostics, checks=checked(True))
    assert summarize(found)["sentences"] == [
        "A diagnostic failed, so do not rely on these numbers.",
        "About 31 % spam (95 % interval 28 % to 34 %); the classifier alone would have said 22 %.",
    ]
    both = summarize(two(diagnostics=diagnostics, checks=checked(False)))["sentences"]
    assert [sentence.split()[0] for sentence in both] == ["This", "A", "The"]
    assert "probability" not in " ".join(both)


@pytest.mark.parametrize(("before", "now"), [(True, False), (False, True), (False, False)])
def test_nothing_is_sure_about_a_change_if_a_check_failed(before, now):
    weeks = {1: two(0.2, checks=checked(before)), 2: two(0.4, checks=checked(now))}
    summary = summarize(EstimateSet(weeks), by="week")
    odd = "For week 2, the last of 2: this batch does not look like a mix"
    start = "For week 2, the last of 2: about 40 % spam" if now else odd
    assert summary["headline"].startswith(start)
    assert summary["change"] is None
    assert summary["largest_move"] is None
    passed = "only one" if before or now else "none"
    assert summary["sentences"][-1] == (
        f"What has changed cannot be said: of 2 groups, {passed} passed the checks."
    )


def test_groups_that_failed_a_check_are_not_compared_and_counted_once():
    weeks = {week: two(0.1 * week, checks=checked(week not in {1, 5})) for week in range(1, 7)}
    summary = summarize(EstimateSet(weeks), by="week")
    assert (summary["change"]["from"], summary["change"]["to"]) == (2, 6)
    assert summary["sentences"][-2].startswith(
        "From week 2 to week 6, spam changed by +40.0 points ("
    )
    assert summary["sentences"][-1] == "2 of 6 groups failed a check and are not compared."


def test_of_groups_without_an_order_those_that_do_not_fit_are_counted_first():
    failing = {"failed": ["R-hat is 1.2."]}
    groups = {
        "east": two(0.1, checks=checked(False)),
        "south": two(0.2, checks=checked(True), diagnostics=failing),
        "west": two(0.4, checks=checked(False)),
    }
    assert summarize(EstimateSet(groups), by="region")["sentences"] == [
        "2 of 3 groups do not look like a mix of the reference classes.",
        "For 1 of 3 groups a diagnostic failed.",
        "Across 3 groups, spam lies between 10 % (region east) and 40 % (region west).",
    ]


def test_a_method_that_only_counts_promises_nothing():
    for inner, says in {
        "CC": "these are the classifier's own counts, not corrected.",
        "PCC": "PCC does not correct for a mix that differs from the reference.",
    }.items():
        settings = {"quantifier": {"method": inner}}
        found = summarize(two(method="Bootstrap", settings=settings))
        assert found["headline"].startswith("About 31 % spam (95 % interval 28 % to 34 %);")
        assert found["headline"].endswith(says)
        assert "That the mix has not changed" in render_page(found)


def test_a_bootstrap_says_of_what():
    P, y = posteriors(60, 3, seed=0)
    found = truemix.Bootstrap(truemix.PCC(), draws=20, random_state=0).fit(P, y).quantify(P)
    assert found.settings["quantifier"]["method"] == "PCC"


@pytest.mark.parametrize(
    ("changes", "starts"),
    [
        ({"half_width": 0.003}, "About 31.0 % spam, between 30.7 % and 31.3 % with 95 %"),
        ({"spam": 0.004, "half_width": 0.03}, "About 0.4 % spam, between"),
        ({"classes": np.array([0, 1])}, "About 31 % of class 1, between"),
        ({"classes": np.array([False, True])}, "About 31 % of class True, between"),
        ({"classes": np.array(["a", "not b"])}, "About 31 % “not b”, between"),
        ({"half_width": 0.0}, "About 31.000 % spam, to the digits shown with 95 % probability;"),
        ({"draws": None}, "About 31.0 % spam; the classifier alone would have said 22.0 %."),
        ({"method": "Bootstrap"}, "About 31 % spam, between 28 % and 34 % with 95 % confidence"),
        ({"method": "CC", "draws": None}, "About 31.0 % spam; these are the classifier's own"),
    ],
)
def test_the_headline_says_what_is_known_and_no_more(changes, starts):
    assert summarize(two(**changes))["headline"].startswith(starts)


def test_a_count_that_agrees_is_said_to_agree():
    assert summarize(two(counted=0.312))["sentences"][0].endswith("would have said the same.")


def test_of_many_classes_the_largest_is_named_and_the_one_whose_count_is_furthest_off():
    full = sampled([100.0, 200.0, 700.0], classify_and_count=np.array([0.3, 0.1, 0.6]))
    text = summarize(full)["headline"]
    assert "“class 2”, the largest of 3 classes, between" in text
    assert "outside the intervals of 3 of the 3 classes, furthest for “class 0”: 30.0 %" in text
    inside = sampled([10.0, 20.0, 70.0])
    inside = Estimate(**{**vars(inside), "classify_and_count": inside.prevalence})
    assert "inside the intervals of all classes" in summarize(inside)["headline"]


def test_groups_in_order_begin_with_all_of_them_if_their_mix_is_known():
    weeks = EstimateSet({1: two(0.2), 2: two(0.4)})
    assert summarize(weeks)["headline"].startswith("For 2, the last of 2: about 40 % spam")
    summary = summarize(weeks, overall=two(0.3))
    assert summary["sentences"][0].startswith("Overall, about 30 % spam, between 27 % and 33 %")
    assert summary["overall"]["group"] is None
    assert summary["overall"]["quantiles"] is not None


def test_the_mix_of_all_groups_is_that_of_all_items():
    P, y = posteriors(120, 3, seed=0)
    target, _ = posteriors(90, 3, seed=1, mix=[0.2, 0.3, 0.5])
    quantifier = truemix.KDEy(bandwidth=0.3, shrinkage=0.1).fit(P, y)
    weeks = quantifier.quantify_by(target, np.arange(90) % 3)
    whole = summarize(weeks)["overall"]
    shares = [entry["share"] for entry in whole["classes"]]
    # Sums over the same rows in another order.
    np.testing.assert_allclose(shares, quantifier.predict(target), atol=1e-8)
    assert whole["n_items"] == 90
    assert whole["checks"]["label_shift"]["verdict"] == "not checked"


def test_what_changed_is_the_comparison_of_the_last_group_with_the_first():
    weeks = {week: sampled([10.0 + 5 * week, 30.0, 40.0], seed=week) for week in range(4)}
    change = summarize(EstimateSet(weeks), level=0.9)["change"]
    expected = weeks[3].compare(weeks[0], 0.9)
    assert [change["from"], change["to"], change["paired"]] == [0, 3, False]
    table = expected.frame()
    for column in table:
        assert [entry[column] for entry in change["classes"]] == table[column].tolist()


def test_the_largest_move_is_between_any_two_groups_and_says_what_it_was_chosen_from():
    alphas = [[200, 250, 550], [100, 350, 550], [500, 200, 300], [200, 250, 550]]
    weeks = {i: sampled(np.array(a, float), seed=i) for i, a in enumerate(alphas)}
    summary = summarize(EstimateSet(weeks), by="week")
    move = summary["largest_move"]
    assert [move["from"], move["to"], move["class"]] == [1, 2, "class 0"]
    assert move["among"] == 3 * 6
    assert move["chosen_lower"] < move["lower"] < move["difference"] < move["upper"]
    assert "The largest move is that of “class 0”: from" in summary["headline"]
    assert "almost certainly higher (more than 99.9 %)" in summary["headline"]


def test_the_largest_of_many_moves_by_chance_is_called_chance():
    named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weeks = {}
        for week in range(8):
            # Estimates of one and the same mix, each with its own error.
            share = rng.dirichlet([60.0, 80.0, 60.0])
            weeks[week] = sampled(200.0 * share, seed=100 * seed + week, n_draws=200)
        move = summarize(EstimateSet(weeks))["largest_move"]
        named += not move["chosen_lower"] <= 0 <= move["chosen_upper"]
    # At 95 % one in twenty would be right, and extrapolated tails err on the wide side; intervals
    # that do not allow for the choice would name nearly all of them.
    assert named <= 3


def test_a_change_that_is_not_sure_is_said_to_be_so():
    view = {"estimand": "population"}
    old = sampled([100.0, 300.0, 600.0], seed=1, **view)
    again = summarize(EstimateSet({1: old, 2: sampled([100.0, 300.0, 600.0], seed=3, **view)}))
    assert "From 1 to 2, no share has surely changed; the largest" in again["headline"]
    down = summarize(EstimateSet({1: two(0.3), 2: two(0.295)}))["sentences"]
    says = "From 1 to 2, spam has not surely changed: \N{MINUS SIGN}0.5 points"
    assert any(sentence.startswith(says) for sentence in down)


def test_point_estimates_of_groups_name_the_largest_change_without_a_probability():
    new = estimate(3, prevalence=np.array([0.6, 0.3, 0.1]))
    summary = summarize(EstimateSet({1: estimate(3), 2: new}))
    assert (
        summary["sentences"][-1] == "From 1 to 2, “class 0” changed by +43.3 points, most of all."
    )


def test_groups_without_an_order_are_compared_not_followed():
    groups = {"west": two(0.4), "east": two(0.1), "south": two(0.2)}
    summary = summarize(EstimateSet(groups), by="region")
    assert not summary["ordered"]
    assert summary["sentences"][0] == (
        "Across 3 groups, spam lies between 10 % (region east) and 40 % (region west)."
    )


def test_names_cannot_break_the_line_nor_turn_the_words_around():
    nasty = np.array(["a", "line\nbreak \u202eevil"])
    text = summarize(two(classes=nasty))["headline"]
    assert "\n" not in text
    assert "\u202e" not in text
    hebrew = "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}"
    isolated = f"\u2068{hebrew}\u2069"
    assert isolated in summarize(two(classes=np.array(["a", hebrew])))["headline"]


# --- diagnostics ------------------------------------------------------------------------------


def test_failed_diagnostics_are_collected_and_nothing_is_ok_then():
    failing = {"converged": False, "iterations": 9, "gap": 0.1}
    bad = estimate(2, diagnostics=failing)
    summary = summarize(EstimateSet({1: estimate(2), 2: bad}))
    assert not summary["ok"]
    assert [len(group["failed"]) for group in summary["groups"]] == [0, 1]
    assert "9 iterations" in summary["groups"][1]["failed"][0]
    assert summary["groups"][1]["notes"] == []
    assert summarize(estimate(2))["ok"]


def quantifiers():
    return [
        (truemix.CC(), ["nothing that could have gone wrong"]),
        (truemix.PCC(), ["nothing that could have gone wrong"]),
        (truemix.ACC(), ["explains", "magnified up to"]),
        (truemix.EMQ(), ["duality gap"]),
        (truemix.KDEy(bandwidth=0.3, shrinkage=0.1), ["duality gap"]),
        (
            truemix.BayesianACC(random_state=0),
            ["by Gibbs sampling, effective sample size", "R-hat"],
        ),
        (
            truemix.BayesianEMQ(random_state=0, prior="mapls"),
            [
                "effective sample size",
                "started far from the mode",
                "was reweighted 100 times",
                "adaptive prior",
            ],
        ),
        (
            truemix.BayesianKDEy(
                random_state=0,
                bandwidth=0.3,
                shrinkage=0.1,
                sampler="nuts",
                reference_uncertainty=None,
            ),
            ["No-U-Turn sampler, effective sample size", "R-hat", "diverged"],
        ),
        (truemix.Bootstrap(truemix.EMQ(), draws=50, random_state=0), ["resampled", "duality gap"]),
    ]


@pytest.mark.parametrize(("quantifier", "expected"), quantifiers())
def test_every_method_has_its_diagnostics_in_words(quantifier, expected):
    P, y = posteriors(120, 3, seed=0)
    target, _ = posteriors(90, 3, seed=1, mix=[0.2, 0.3, 0.5])
    found = quantifier.fit(P, y).quantify(target)
    summary = summarize(found)
    json.dumps(summary, allow_nan=False)
    assert summary["ok"]
    notes = summary["groups"][0]["notes"]
    assert len(notes) == len(expected)
    for note, part in zip(notes, expected, strict=True):
        assert part in note


def test_how_far_chance_moves_a_share_is_twice_its_standard_error():
    draws = np.tile([[0.4, 0.6], [0.6, 0.4]], (200, 1))
    found = two(draws=draws, diagnostics={"sampler": "gibbs", "ess": 100.0, "rhat": 1.0})
    # A standard deviation of 10 points over the root of 100, twice.
    assert "more than about 2 percentage points" in summarize(found)["groups"][0]["notes"][0]


def test_what_depends_on_the_reference_is_said_as_a_share_of_the_variance():
    found = {
        "sampler": "gibbs",
        "ess": 400.0,
        "replicates": 100,
        "between_variance": np.array([3.0, 3.0]),
        "within_variance": np.array([1.0, 1.0]),
        "mcse": np.array([0.001, 0.002]),
    }
    first, second = summarize(two(diagnostics=found))["groups"][0]["notes"]
    assert "no share by more than about 0.4 percentage points" in first
    assert "reweighted 100 times" in second
    assert "75 % of the uncertainty" in second


def test_unknown_and_odd_diagnostics_do_no_harm():
    odd = {"ess": None, "rhat": "?", "gap": None, "converged": True, "shift": {"passed": True}}
    odd |= {"replicates": 2, "between_variance": None, "within_variance": "?", "mcse": "?"}
    summary = summarize(two(diagnostics=odd))
    assert summary["ok"]
    assert summarize(two(diagnostics={**odd, "ess": 100.0}))["ok"]
    assert summary["groups"][0]["diagnostics"]["shift"] == {"passed": True}


def test_a_singular_confusion_matrix_is_a_failure_and_an_infinity_is_no_number():
    found = {
        "residual": 0.02,
        "condition": np.inf,
        "identifiable": False,
        "never_predicted": ["b"],
        "notes": ["The confusion matrix is singular."],
    }
    summary = summarize(estimate(2, method="ACC", diagnostics=found))
    assert not summary["ok"]
    assert summary["groups"][0]["failed"] == ["The confusion matrix is singular."]
    assert summary["groups"][0]["diagnostics"]["condition"] is None
    assert summary["groups"][0]["notes"] == [
        "The mix explains up to 2.0 % how often the classifier decides for each class.",
        "The classifier never decided for b in the reference.",
    ]


def test_groups_of_two_keys_are_compared_within_the_other_key():
    view = {"estimand": "population"}
    found = {
        (region, month): sampled([100.0 * k, 300.0, 600.0], seed=k, **view)
        for k, (region, month) in enumerate(
            [("north", "2024-01"), ("north", "2024-03"), ("south", "2024-01")], start=1
        )
    }
    estimates = EstimateSet(found, by=["region", "sent"], every="month")
    summary = summarize(estimates)
    assert (summary["by"], summary["grouping"]) == ("region, sent", "region and month")
    assert (summary["along"], summary["ordered"], summary["series"]) == (1, False, [[0, 1], [2]])
    assert [group["follows"] for group in summary["groups"]] == [None, 0, None]
    assert [group["keys"] for group in summary["groups"]] == [list(name) for name in found]
    assert summary["gaps"] == [{"first": "2024-02", "last": "2024-02", "n_periods": 1, "after": 0}]
    rose = [group["classes"][0]["prob_increase"] for group in summary["groups"]]
    assert rose[0] is rose[2] is None
    change = found["north", "2024-03"].compare(found["north", "2024-01"])
    assert rose[1] == change.prob_increase[0]
    assert summary["headline"].startswith("Across 3 groups, ")
    assert "north, 2024-03" in render_page(summary)
    # Keys that nobody named.
    assert summarize(EstimateSet(found))["keys"] == ["group_1", "group_2"]


def test_what_comes_behind_a_gap_is_compared_with_what_was_before_it():
    view = {"estimand": "population"}
    old = sampled([100.0, 300.0, 600.0], seed=1, **view)
    new = sampled([250.0, 450.0, 300.0], seed=2, **view)
    estimates = EstimateSet({"2024-01": old, "2024-04": new}, by=["sent"], every="month")
    summary = summarize(estimates)
    assert summary["headline"].startswith("For month 2024-04, the last of 2: ")
    assert "From month 2024-01 to month 2024-04, “class 2” changed by" in summary["headline"]
    assert [group["position"] for group in summary["groups"]] == [0, 3]
    assert summary["gaps"][0]["n_periods"] == 2
