"""A failed check in words, tables and files: the range is said, not the narrow interval."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, FAST, reference_frame, run, target_frame, written
from estimate_support import doubtful, estimate, sampled
from truemix import EstimateSet
from truemix.estimates.answers import NEXT_STEP
from truemix.report.summary import summarize

DECIDED = "this batch does not look like a mix of the reference classes."


def test_the_headline_is_the_range_and_ends_with_what_to_do():
    found = doubtful(sampled([60, 40], n_draws=100))
    summary = summarize(found)
    first, counted, last = summary["sentences"]
    lower, upper = (100 * each for each in found.range()[1])
    assert first == (
        f"Between {lower:.0f} % and {upper:.0f} % class 1, depending on what is assumed: {DECIDED}"
    ).replace("class 1", "“class 1”")
    assert counted == "The classifier alone would have said 50 %."
    assert last == NEXT_STEP
    assert summary["headline"].endswith("--out to-label.csv")
    assert "probability" not in summary["headline"]


def test_of_many_classes_the_largest_is_named():
    first = summarize(doubtful(sampled([10, 20, 70])))["sentences"][0]
    assert "“class 2”, the largest of 3 classes, depending on what is assumed" in first


def test_a_failed_diagnostic_is_said_as_well():
    found = doubtful(sampled([60, 40], diagnostics={"failed": ["R-hat is 1.2."]}))
    assert summarize(found)["sentences"][1].startswith("A diagnostic failed")


def test_of_groups_that_follow_each_other_the_last_is_said_and_the_command_is_at_the_end():
    weeks = EstimateSet({1: sampled([60, 40]), 2: doubtful(sampled([60, 40]))})
    sentences = summarize(weeks, by="week")["sentences"]
    assert sentences[0].startswith("For week 2, the last of 2: between ")
    assert sentences[-2].startswith("What has changed cannot be said")
    assert sentences[-1] == NEXT_STEP


def test_of_groups_without_an_order_the_range_of_those_that_failed_is_said():
    groups = EstimateSet({"east": sampled([60, 40]), "west": doubtful(sampled([60, 40]))})
    text = summarize(groups, by="region")["headline"]
    assert "1 of 2 groups does not look like a mix" in text
    lower, upper = (100 * each for each in groups["west"].range()[1])
    assert f"it is between {lower:.0f} % and {upper:.0f} %, depending on what is assumed." in text
    assert NEXT_STEP in text


def test_json_has_answers_and_range_where_the_check_failed():
    groups = EstimateSet({1: sampled([60, 40]), 2: doubtful(sampled([60, 40]))})
    fine, odd = json.loads(json.dumps(summarize(groups)))["groups"]
    assert (fine["answers"], fine["range"], fine["range_level"]) == ([], None, None)
    assert [each["assumption"] for each in odd["answers"]] == ["label shift", "unchanged mix"]
    bounds = groups[2].range().tolist()
    assert [[each["lower"], each["upper"]] for each in odd["range"]] == bounds
    assert odd["answers"][0]["classes"][0].keys() == {"class", "share", "lower", "upper"}
    assert odd["range_level"] == 0.95


def test_classes_that_are_numbers_are_plain_in_json():
    found = doubtful(estimate(2, classes=np.array([0, 1])))
    (group,) = json.loads(json.dumps(summarize(found)))["groups"]
    assert [each["class"] for each in group["range"]] == [0, 1]


# --- the command ------------------------------------------------------------------------------


@pytest.fixture
def odd(tmp_path):
    """Write a target of which one week looks like no mix of the reference classes."""
    target = target_frame(300)
    target["week"] = np.repeat(["week 1", "week 2"], 150)
    undecided = np.random.default_rng(0).dirichlet([60.0, 60.0, 60.0], 150)
    target.loc[target["week"] == "week 2", CLASSES] = undecided
    return written(tmp_path, reference_frame(600), target)


def test_the_command_says_the_range_where_the_check_fails(odd, capsys):
    command = ("estimate", *odd, "--label", "label", *FAST)
    done = run(capsys, *command)
    assert done.code == 3
    assert done.out.splitlines()[1].split()[:4] == ["class", "estimate", "interval", "range"]
    assert "range: from the lowest to the highest of these answers, for " in done.out
    assert "covariate shift (recalibrated PCC): Items that look alike" in done.out
    assert NEXT_STEP in done.out
    found = run(capsys, *command, "--format", "json").json
    (group,) = found["groups"]
    assert found["headline"].startswith("Between ")
    rows = list(csv.DictReader(io.StringIO(run(capsys, *command, "--format", "csv").out)))
    for row, bounds in zip(rows, group["range"], strict=True):
        assert float(row["range_lower"]) == bounds["lower"]
        assert float(row["range_upper"]) == bounds["upper"]


def test_of_groups_only_those_that_fail_have_a_range(odd, capsys):
    done = run(capsys, "estimate", *odd, "--label", "label", *FAST, "--by", "week",
               "--format", "csv")  # fmt: skip
    frame = pd.read_csv(io.StringIO(done.out))
    assert frame.groupby("group")["range_lower"].count().tolist() == [0, 3]
    table = run(capsys, "estimate", *odd, "--label", "label", *FAST, "--by", "week").out
    assert "range: from the lowest to the highest answer, depending on what is assumed" in table


def test_the_command_estimates_the_performance_of_the_classifier(tmp_path, capsys):
    files = written(tmp_path)
    page = tmp_path / "page.html"
    command = ("estimate", *files, "--label", "label", *FAST, "--no-check", "--performance")
    found = run(capsys, *command, "--format", "json", "--report", page).json
    performance = found["groups"][0]["performance"]
    assert performance["accuracy"]["lower"] < performance["accuracy"]["value"]
    assert np.sum(performance["confusion"]) == pytest.approx(1.0)
    assert [each["class"] for each in performance["classes"]] == CLASSES.tolist()
    assert "--performance" in found["command"].split()
    assert "The classifier here" in page.read_text()
    table = run(capsys, *command).out
    assert f"accuracy {100 * performance['accuracy']['value']:.1f} %" in table
    by_week = run(capsys, *command, "--by", "week").out
    assert "accuracy" in by_week.splitlines()[1]
    assert "accuracy: of the classifier's decisions, if label shift holds" in by_week


def test_without_the_option_there_is_no_performance(tmp_path, capsys):
    command = ("estimate", *written(tmp_path), "--label", "label", *FAST, "--no-check")
    assert run(capsys, *command, "--format", "json").json["groups"][0]["performance"] is None


def test_a_method_that_counts_has_no_performance(tmp_path, capsys):
    done = run(capsys, "estimate", *written(tmp_path), "--label", "label", "--method", "cc",
               "--performance")  # fmt: skip
    assert done.code == 1
    assert "CC adds up what the classifier says and knows nothing of its errors" in done.err
