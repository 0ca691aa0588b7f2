"""``truemix check``, and checks and unknown shares of ``truemix estimate``."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

import truemix
from cli_support import CLASSES, FAST, fails, reference_frame, run, target_frame, written
from truemix import KDEy
from truemix.checks import label_shift, label_shift_by

KERNEL = ("--bandwidth", "0.3", "--shrinkage", "0.5")


def blurred(frame, rows=slice(None)):
    """The same items, scored by a model that is much less sure."""
    frame = frame.copy()
    P = frame.loc[frame.index[rows], CLASSES].to_numpy() ** 0.3
    frame.loc[frame.index[rows], CLASSES] = P / P.sum(axis=1, keepdims=True)
    return frame


@pytest.fixture
def quantifier():
    frame = reference_frame(600)
    return KDEy(bandwidth=0.3, shrinkage=0.5).fit(frame[CLASSES], frame["label"])


def weeks(n):
    """Three weeks: each group is checked with thousands of bags if there are many."""
    return target_frame(n).assign(week=[f"week {1 + 3 * i // n}" for i in range(n)])


@pytest.fixture
def good(tmp_path):
    return written(tmp_path, reference_frame(600), weeks(300))


@pytest.fixture
def bad(tmp_path):
    return written(tmp_path, reference_frame(600), blurred(weeks(300), slice(200, None)))


def test_a_target_that_fits_passes(good, quantifier, capsys):
    done = run(capsys, "check", *good, "--label", "label", *KERNEL, "--seed", "2")
    assert done.code == 0
    assert done.out.startswith("Label shift: passed at significance level 0.05\nclass")
    assert "Nothing speaks against these 300 items" in done.out
    as_json = run(
        capsys, "check", *good, "--label", "label", *KERNEL, "--seed", "2", "--format", "json"
    ).json
    expected = label_shift(quantifier, weeks(300)[CLASSES], random_state=2)
    assert as_json["groups"][0]["p_value"] == expected.p_value
    assert as_json["passed"] is True


def test_significance_is_how_often_the_check_may_fail_by_chance(good, capsys):
    options = ("--label", "label", *KERNEL, "--seed", "2", "--format", "json")
    p_value = run(capsys, "check", *good, *options).json["groups"][0]["p_value"]
    for significance, passes in ((p_value / 2, True), (p_value, False)):
        done = run(capsys, "check", *good, *options, "--significance", significance)
        assert done.json["significance"] == significance
        assert done.json["groups"][0]["significance"] == significance
        assert done.json["passed"] is passes
        assert done.code == (0 if passes else 3)


def test_level_is_the_coverage_of_intervals_and_not_an_option_of_the_check(good, capsys):
    done = run(capsys, "check", *good, "--label", "label", "--level", "0.05")
    assert done.code == 2
    assert "--significance" in done.err
    assert "--level" not in run(capsys, "check", "--help").out


def test_a_target_that_does_not_fit_has_exit_code_3(bad, capsys):
    done = run(capsys, "check", *bad, "--label", "label", *KERNEL)
    assert done.code == 3
    assert done.out.startswith("Label shift: failed")
    assert "do not look like any mix of the reference classes" in done.out


def test_groups_are_checked_one_by_one(bad, quantifier, capsys):
    options = ("--label", "label", *KERNEL, "--by", "week")
    done = run(capsys, "check", *bad, *options, "--format", "csv")
    assert done.code == 3
    target = blurred(weeks(300), slice(200, None))
    expected = label_shift_by(quantifier, target[CLASSES], target["week"], random_state=0)
    rows = {row["group"]: row for row in csv.DictReader(io.StringIO(done.out))}
    assert set(rows) == set(expected)
    for week, row in rows.items():
        assert float(row["adjusted_p_value"]) == expected[week].adjusted_p_value
        assert (row["passed"] == "True") == expected[week].passed
    shown = run(capsys, "check", *bad, *options)
    assert ": These 100 items do not look like" in shown.out


def test_items_are_listed_with_their_rows(bad, tmp_path, capsys):
    listed = tmp_path / "items.csv"
    run(capsys, "check", *bad, "--label", "label", *KERNEL, "--items", listed)
    frame = pd.read_csv(listed)
    assert sorted(frame["row"]) == list(range(1, 301))
    assert frame["p_value"].is_monotonic_increasing
    by_week = tmp_path / "by_week.csv"
    run(capsys, "check", *bad, "--label", "label", *KERNEL, "--by", "week", "--items", by_week)
    frame = pd.read_csv(by_week)
    of_row = weeks(300)["week"]
    assert (frame["group"].to_numpy() == of_row[frame["row"] - 1].to_numpy()).all()


def test_a_saved_quantifier_may_stand_for_the_reference(bad, quantifier, tmp_path, capsys):
    saved = tmp_path / "q.npz"
    truemix.save(quantifier, saved)
    done = run(capsys, "check", saved, bad[1], "--format", "json")
    assert done.code == 3
    expected = run(capsys, "check", *bad, "--label", "label", *KERNEL, "--format", "json")
    assert done.json["groups"] == expected.json["groups"]


def test_an_estimate_with_a_check_says_so_everywhere(bad, tmp_path, capsys):
    page = tmp_path / "report.html"
    options = ("--label", "label", *FAST, "--unknown")
    done = run(capsys, "estimate", *bad, *options, "--format", "json", "--report", page)
    assert done.code == 3
    assert "Warning: These 300 items do not look like any mix" in done.err
    group = done.json["groups"][0]
    assert group["checks"]["label_shift"]["passed"] is False
    assert group["unknown"]["lower"] <= group["unknown"]["share"] <= group["unknown"]["upper"]
    assert done.json["command"].endswith("--unknown")
    html = page.read_text()
    assert "How far off could the estimate be?" in html
    assert "do not look like any mix" in html
    assert "seem to belong to none of these classes" in html
    as_csv = run(capsys, "estimate", *bad, *options, "--format", "csv")
    row = next(csv.DictReader(io.StringIO(as_csv.out)))
    assert float(row["unknown"]) == group["unknown"]["share"]
    assert float(row["check_p_value"]) == group["checks"]["label_shift"]["p_value"]
    table = run(capsys, "estimate", *bad, *options, "--by", "week")
    assert "fits" in table.out.splitlines()[1]


def test_a_check_that_passes_is_told_too(good, tmp_path, capsys):
    page = tmp_path / "report.html"
    done = run(capsys, "estimate", *good, "--label", "label", *FAST, "--report", page)
    assert done.code == 0
    assert "Nothing speaks against these 300 items" in done.out
    assert "Nothing speaks against these 300 items" in page.read_text()
    assert "✓</span> passed" in page.read_text()
    as_json = run(capsys, "estimate", *good, "--label", "label", *FAST, "--format", "json").json
    assert as_json["groups"][0]["checks"]["label_shift"]["verdict"] == "passed"
    assert as_json["groups"][0]["unknown"] is None


def test_what_is_not_checked_is_not_called_checked_anywhere(bad, tmp_path, capsys):
    page = tmp_path / "report.html"
    command = ("estimate", *bad, "--label", "label", *FAST, "--no-check")
    done = run(capsys, *command, "--report", page)
    assert done.code == 0
    assert "Label shift: not checked. --no-check was given." in done.out
    html = page.read_text()
    assert "✓</span> passed" not in html
    assert "label shift: not checked" in html
    assert "Label shift: not checked. --no-check was given." in html
    as_json = run(capsys, *command, "--format", "json").json
    assert as_json["groups"][0]["checks"]["label_shift"] == {
        "checked": False,
        "verdict": "not checked",
        "explanation": "Label shift: not checked. --no-check was given.",
    }
    assert as_json["command"].endswith("--no-check")
    (row, *_) = csv.DictReader(io.StringIO(run(capsys, *command, "--format", "csv").out))
    assert (row["check"], row["check_p_value"]) == ("not checked", "")
    by_week = run(capsys, *command, "--by", "week").out
    assert "Label shift: not checked." in by_week
    assert "fits" not in by_week.splitlines()[1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--method", "cc"), "CC does not assume it"),
        (("--method", "acc", "--classifier", "logistic"), "keeps only the classifier's decisions"),
        (("--method", "emq", "--classifier", "logistic"), "scores targets with a classifier refit"),
    ],
)
def test_where_nothing_can_be_checked_that_is_said_and_the_answer_given(
    good, capsys, options, reason
):
    command = ("estimate", *good, "--label", "label", *options)
    done = run(capsys, *command, "--format", "json")
    assert done.code == 0
    shift = done.json["groups"][0]["checks"]["label_shift"]
    assert shift["verdict"] == "not checked"
    assert reason in shift["explanation"]
    if "--classifier" in options:
        assert reason in fails(capsys, *command, "--check")


def test_a_classifier_is_cross_fitted_for_the_check(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3)) + y[:, None]
    reference = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=np.array(["no", "yes"])[y])
    files = written(tmp_path, reference, pd.DataFrame(X[:100] + 8.0, columns=["a", "b", "c"]))
    options = ("--label", "label", "--classifier", "logistic")
    assert run(capsys, "check", *files, *options, *KERNEL).code == 3
    sentence = fails(capsys, "estimate", *files, *options, "--method", "emq", "--check")
    assert "both scored alike" in sentence


def test_wrong_options_are_one_sentence(good, capsys):
    assert fails(capsys, "check", *good, "--label", "label", "--significance", "2") == (
        "The 'significance' parameter must be a positive number between 0.0001 and 0.9. Got 2.0 "
        "instead."
    )
    sentence = fails(capsys, "estimate", *good, "--label", "label", "--method", "emq", "--unknown")
    assert "The method emq has no unknown" in sentence
