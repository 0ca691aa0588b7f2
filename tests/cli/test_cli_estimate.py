"""The command's answers are the library's, in every form that it writes them."""

import csv
import io
import json
import re
from html import escape
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, FAST, contents, reference_frame, run, target_frame, written
from truemix import EMQ, BayesianEMQ, BayesianKDEy, Bootstrap
from truemix.estimates.text import DASH, percent

STRANGE = np.array(['a, "quoted"\nbreak', "semi; colon\tand tab", "卵 œuf <b>"])


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_answer_is_the_librarys_to_the_last_digit(tmp_path, capsys):
    files = written(tmp_path)
    done = run(capsys, "estimate", *files, "--label", "label", *FAST, "--format", "json")
    assert done.code == 0
    quantifier = BayesianKDEy(bandwidth=0.3, shrinkage=0.5, draws=200, random_state=0)
    P, Q = reference_frame(), target_frame()
    estimate = quantifier.fit(P[CLASSES], P["label"]).quantify(Q[CLASSES])
    frame = estimate.frame().reset_index()
    found = pd.DataFrame(done.json["groups"][0]["classes"])
    assert found["class"].tolist() == CLASSES.tolist()
    for own, name in [
        ("share", "prevalence"),
        *((n, n) for n in ("lower", "upper", "classify_and_count")),
    ]:
        np.testing.assert_array_equal(found[own], frame[name])
    assert done.json["reference"] == {"name": "reference.csv", "n_items": 120}
    assert done.json["target"] == {"name": "target.csv", "n_items": 150}


@pytest.mark.parametrize(
    ("options", "quantifier"),
    [
        (["--method", "EMQ", "--calibration", "bcts"], EMQ(calibration="bcts")),
        (
            ["--method", "bayesian_emq", "--prior", "mapls", "--seed", "3"],
            BayesianEMQ(prior="mapls", random_state=3),
        ),
        (
            ["--method", "BayesianEMQ", "--prior", "ham=2,spam=3", "--prior", "egg=1"],
            BayesianEMQ(prior={"egg": 1, "ham": 2, "spam": 3}, random_state=0),
        ),
        (
            [
                *("--kernel", "gaussian", "--bandwidth", "0.1", "--temperature", "2"),
                *("--estimand", "population", "--draws", "100"),
                *("--reference-uncertainty", "none"),
            ],
            BayesianKDEy(
                kernel="gaussian",
                bandwidth=0.1,
                temperature=2.0,
                estimand="population",
                draws=100,
                random_state=0,
                reference_uncertainty=None,
            ),
        ),
        (
            ["--method", "bootstrap-emq", "--draws", "20"],
            Bootstrap(EMQ(), draws=20, random_state=0),
        ),
    ],
)
def test_options_reach_the_method(tmp_path, capsys, options, quantifier):
    files = written(tmp_path)
    done = run(capsys, "estimate", *files, "--label", "label", *options, "--format", "json")
    P, Q = reference_frame(), target_frame()
    estimate = quantifier.fit(P[CLASSES], P["label"]).quantify(Q[CLASSES])
    shares = [each["share"] for each in done.json["groups"][0]["classes"]]
    assert shares == estimate.prevalence.tolist()


def test_json_csv_and_table_carry_the_same_numbers(tmp_path, capsys):
    command = ["estimate", *written(tmp_path), "--label", "label", "--by", "week", *FAST]
    summary = run(capsys, *command, "--format", "json").json
    flat = rows(run(capsys, *command, "--format", "csv").out)
    title, header, *lines = run(capsys, *command).out.splitlines()
    expected = [(group, each) for group in summary["groups"] for each in group["classes"]]
    assert title == "BayesianKDEy: the mix of 150 items by week"
    names = "week class estimate interval counted reference P(higher) fits items"
    assert header.split() == names.split()
    assert len(flat) == len(expected) == len(lines) - 2 == 30
    for (group, each), row, line in zip(expected, flat, lines[:-2], strict=True):
        assert row.pop("group") == group["group"]
        assert row.pop("class") == each["class"]
        assert int(row.pop("n_items")) == group["n_items"] == 15
        shift = group["checks"]["label_shift"]
        assert row.pop("check") == shift["verdict"]
        assert float(row.pop("check_p_value")) == shift["adjusted_p_value"]
        assert {k: float(v) if v else None for k, v in row.items()} == {k: each[k] for k in row}
        assert line.startswith(f"{group['group']}  ")
        for name in ("share", "classify_and_count", "reference"):
            assert percent(each[name]) in line
        assert f"{100 * each['lower']:.1f} {DASH} " in line
        assert f"{100 * each['upper']:.1f} %" in line


def test_groups_are_sorted_as_people_do_and_tell_what_rose(tmp_path, capsys):
    command = ["estimate", *written(tmp_path), "--label", "label", "--by", "week", *FAST]
    groups = run(capsys, *command, "--format", "json").json["groups"]
    assert [group["group"] for group in groups] == [f"week {i}" for i in range(1, 11)]
    quantifier = BayesianKDEy(bandwidth=0.3, shrinkage=0.5, draws=200, random_state=0)
    P, Q = reference_frame(), target_frame()
    quantifier.fit(P[CLASSES], P["label"])
    frame = quantifier.quantify_by(Q[CLASSES], Q["week"]).frame()
    found = pd.DataFrame([each for group in groups for each in group["classes"]])
    np.testing.assert_array_equal(found["share"], frame["prevalence"])
    np.testing.assert_array_equal(found["prob_increase"].astype(float), frame["prob_increase"])
    assert found["prob_increase"].isna().sum() == 3


def test_groups_without_an_order_have_no_probability_of_an_increase(tmp_path, capsys):
    target = target_frame()
    target["week"] = target["week"].str.replace("week", "region")
    files = written(tmp_path, target=target)
    command = ["estimate", *files, "--label", "label", "--by", "week", *FAST]
    table = run(capsys, *command).out
    assert "P(higher)" not in table
    flat = rows(run(capsys, *command, "--format", "csv").out)
    assert "prob_increase" not in flat[0]
    summary = run(capsys, *command, "--format", "json").json
    assert summary["ordered"] is False
    found = [each["prob_increase"] for group in summary["groups"] for each in group["classes"]]
    assert found == [None] * 30


def test_without_groups_there_is_no_probability_of_an_increase(tmp_path, capsys):
    command = ["estimate", *written(tmp_path), "--label", "label", *FAST, "--format", "csv"]
    assert "prob_increase" not in rows(run(capsys, *command).out)[0]


def test_months_are_sorted_as_in_the_calendar_and_rise_since_the_month_before(tmp_path, capsys):
    months = ["Apr", "Aug", "Feb", "Jan"]
    target = target_frame(120)
    target["month"] = [months[i % 4] for i in range(120)]
    files = written(tmp_path, target=target)
    command = ["estimate", *files, "--label", "label", "--by", "month", *FAST]
    groups = run(capsys, *command, "--format", "json").json["groups"]
    assert [group["group"] for group in groups] == ["Jan", "Feb", "Apr", "Aug"]
    first, *later = [[each["prob_increase"] for each in group["classes"]] for group in groups]
    assert first == [None] * 3
    # The library has the same order, and so the same months before.
    P = reference_frame()
    quantifier = BayesianKDEy(bandwidth=0.3, shrinkage=0.5, draws=200, random_state=0)
    found = quantifier.fit(P[CLASSES], P["label"]).quantify_by(target[CLASSES], target["month"])
    assert list(found) == ["Jan", "Feb", "Apr", "Aug"]
    assert np.ravel(later).tolist() == found.frame()["prob_increase"].tolist()[3:]


def test_a_group_of_one_item_has_a_wide_interval(tmp_path, capsys):
    target = target_frame(31)
    files = written(tmp_path, target=target)
    done = run(
        capsys,
        "estimate",
        *files,
        "--label",
        "label",
        "--by",
        "week",
        *FAST,
        "--quiet",
        "--seed",
        "1",
    )
    assert done.code == 0
    assert done.out.splitlines()[-3].split()[:2] == ["week", "3"]
    assert done.out.splitlines()[-3].split()[-1] == "1"


def test_names_of_classes_may_hold_anything(tmp_path, capsys):
    files = written(tmp_path, reference_frame(names=STRANGE), target_frame(names=STRANGE))
    command = ["estimate", *files, "--label", "label", "--method", "emq", "--no-check"]
    summary = run(capsys, *command, "--format", "json").json
    found = [each["class"] for each in summary["groups"][0]["classes"]]
    assert found == sorted(STRANGE)
    flat = rows(run(capsys, *command, "--format", "csv").out)
    assert [row["class"] for row in flat] == sorted(STRANGE)
    table = run(capsys, *command).out.splitlines()
    assert len(table) == 6
    assert table[2].startswith(r'a, "quoted"\nbreak')
    assert table[-1] == "Label shift: not checked. --no-check was given."
    prior = [f"--prior={name}={k}" for k, name in enumerate(STRANGE, start=1)]
    command = [*command[:-2], "bayesian-emq", "--no-check"]
    assert run(capsys, *command, *prior).code == 0


@pytest.mark.parametrize(
    ("spelt", "classes"),
    [([2, 10, 9], [2, 9, 10]), ([True, False, True], None), (["02", "10", "9"], ["02", "10", "9"])],
)
def test_labels_may_be_numbers_or_truth_values(tmp_path, capsys, spelt, classes):
    reference, target = reference_frame(), target_frame()
    if classes is None:
        # Two classes, spelt as pandas spells truth values in columns and as CSV does in cells.
        for frame in (reference, target):
            frame["True"] = frame.pop("egg") + frame.pop("spam")
            frame["False"] = frame.pop("ham")
        reference["label"] = reference["label"] != "ham"
        classes = ["False", "True"]
    else:
        names = {old: str(new) for old, new in zip(CLASSES, spelt, strict=True)}
        reference["label"] = reference["label"].map(dict(zip(CLASSES, spelt, strict=True)))
        reference, target = reference.rename(columns=names), target.rename(columns=names)
    files = written(tmp_path, reference, target)
    reference.to_parquet(tmp_path / "reference.parquet")
    options = ["--label", "label", "--method", "emq", "--format", "json"]
    from_csv = run(capsys, "estimate", *files, *options)
    from_parquet = run(capsys, "estimate", tmp_path / "reference.parquet", files[1], *options)
    for done in (from_csv, from_parquet):
        assert [each["class"] for each in done.json["groups"][0]["classes"]] == classes
    assert from_csv.json["groups"] == from_parquet.json["groups"]


@pytest.mark.parametrize(
    ("weeks", "order"),
    [
        ([10, 9, 2], [2, 9, 10]),
        (["1.10", "1.9", "1.2"], ["1.2", "1.9", "1.10"]),
        (["0.5", "0.25", "-1.0"], ["-1.0", "0.25", "0.5"]),
        (["2024-01-10", "2024-01-09", "2023-12-31"], ["2023-12-31", "2024-01-09", "2024-01-10"]),
        (["b", "a", "C"], ["C", "a", "b"]),
    ],
)
def test_groups_are_numbers_where_all_are(tmp_path, capsys, weeks, order):
    target = target_frame(30)
    target["week"] = [weeks[i % 3] for i in range(30)]
    files = written(tmp_path, target=target)
    options = ["--label", "label", "--method", "cc", "--by", "week", "--format", "json"]
    groups = run(capsys, "estimate", *files, *options).json["groups"]
    assert [group["group"] for group in groups] == order


def test_dates_of_parquet_are_sorted_as_dates(tmp_path, capsys):
    target = target_frame(30)
    target["week"] = pd.to_datetime(["2024-01-10", "2024-01-09", "2023-12-31"] * 10)
    target.to_parquet(tmp_path / "target.parquet")
    reference, _ = written(tmp_path)
    options = ["--label", "label", "--method", "cc", "--by", "week", "--format", "json"]
    groups = run(capsys, "estimate", reference, tmp_path / "target.parquet", *options).json
    names = [group["group"] for group in groups["groups"]]
    assert names == ["2023-12-31", "2024-01-09", "2024-01-10"]


def test_the_same_command_gives_the_same_bytes(tmp_path, capsys):
    command = ["estimate", *written(tmp_path), "--label", "label", *FAST, "--format", "json"]
    first = run(capsys, *command)
    assert run(capsys, *command, "--out", tmp_path / "again.json").out == ""
    assert (tmp_path / "again.json").read_text() == first.out
    words = ["truemix", "estimate", "reference.csv", "target.csv", "--label", "label", *FAST]
    assert first.json["command"] == " ".join(words)
    assert run(capsys, *command, "--seed", "1").out != first.out


def test_out_and_report_are_written_and_named(tmp_path, capsys):
    files = written(tmp_path)
    out, report = tmp_path / "result.csv", tmp_path / "report.html"
    options = ["--label", "label", *FAST, "--out", out, "--report", report]
    done = run(capsys, "estimate", *files, *options)
    assert done.code == 0
    assert done.out == ""
    assert done.err.splitlines()[:2] == [f"Wrote {out}", f"Wrote {report}"]
    assert [row["class"] for row in rows(out.read_text())] == CLASSES.tolist()
    assert report.read_text().lstrip().lower().startswith("<!doctype html>")
    assert contents(tmp_path) == ["reference.csv", "report.html", "result.csv", "target.csv"]


def test_notes_are_short_and_can_be_silenced(tmp_path, capsys):
    target = target_frame().assign(id=1)
    target["egg"] += 4e-4
    files = written(tmp_path, target=target)
    command = ["estimate", *files, "--label", "label", "--method", "cc"]
    done = run(capsys, *command)
    assert done.code == 0
    assert done.err.splitlines() == [
        "Note: rows of target.csv were renormalised; they sum to 1 only within 0.0004.",
        "Note: not used in target.csv: 'week', 'id'.",
    ]
    assert run(capsys, *command, "--quiet").err == ""
    timed = run(capsys, *command, "--timings").err.splitlines()[-1]
    assert timed.startswith("Time: read reference 0.")
    assert [part.split()[0] for part in timed.split(", ")[1:]] == ["read", "fit", "quantify"]


def test_a_failed_diagnostic_is_said_and_the_result_still_shown(tmp_path, capsys):
    # A classifier that always decides for ham says nothing about the mix.
    reference, target = reference_frame(), target_frame()
    for frame in (reference, target):
        frame[CLASSES] = [0.3, 0.4, 0.3]
    files = written(tmp_path, reference, target)
    options = ["--label", "label", "--method", "acc", "--format", "json", "--quiet"]
    done = run(capsys, "estimate", *files, *options)
    assert done.code == 3
    assert len(done.json["groups"]) == 1
    assert done.json["ok"] is False
    assert done.err.startswith("Warning: ")
    assert len(done.err.splitlines()) == 1


def test_json_is_readable_text(tmp_path, capsys):
    files = written(tmp_path, reference_frame(names=STRANGE), target_frame(names=STRANGE))
    done = run(capsys, "estimate", *files, "--label", "label", "--method", "cc", "--format", "json")
    assert "卵 œuf" in done.out
    assert json.dumps(done.json, indent=2, ensure_ascii=False) + "\n" == done.out


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--method", "bayesian-emq", "--draws", "100"], 0, ""),
        (["--method", "bayesian-emq", "--draws", "1"], 3, "95 % interval needs at least 40 draws"),
        (
            ["--method", "bayesian-emq", "--draws", "100", "--level", "0.99"],
            3,
            "fewer than the 200",
        ),
        (
            ["--method", "bayesian-acc", "--draws", "100", "--level", "0.99"],
            3,
            "fewer than the 200",
        ),
        (["--method", "bootstrap-cc", "--draws", "30"], 3, "30 independent draws are fewer than"),
    ],
)
def test_too_few_draws_for_the_level_are_told(tmp_path, capsys, options, code, sentence):
    done = run(capsys, "estimate", *written(tmp_path), "--label", "label", "--no-check", *options)
    assert done.code == code
    assert sentence in done.err


@pytest.mark.parametrize("seed", range(3))
def test_chains_that_came_to_rest_in_different_corners_are_told(tmp_path, capsys, seed):
    # Posteriors that hardly tell classes apart: each class alone explains the target.
    rng = np.random.default_rng(1)
    frames = [
        pd.DataFrame(rng.dirichlet([30.0] * 3, n), columns=CLASSES).assign(label=CLASSES[codes])
        for n, codes in ((60, np.arange(60) % 3), (30, rng.integers(3, size=30)))
    ]
    files = written(tmp_path, frames[0], frames[1].drop(columns="label"))
    options = ("--method", "bayesian-emq", "--calibration", "none", "--prior", "0.000001")
    done = run(
        capsys, "estimate", *files, "--label", "label", "--no-check", *options, "--draws", "100",
        "--seed", seed,
    )  # fmt: skip
    assert done.code == 3
    assert done.err.startswith("Warning: ")


def test_pacc_and_pq_are_methods_too(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.beta(2, 4, 200), rng.beta(4, 2, 200)])
    reference = pd.DataFrame({"no": 1 - p, "yes": p, "label": ["no"] * 200 + ["yes"] * 200})
    p = np.concatenate([rng.beta(2, 4, 180), rng.beta(4, 2, 20)])
    target = pd.DataFrame({"no": 1 - p, "yes": p})
    files = [tmp_path / "reference.csv", tmp_path / "target.csv"]
    reference.to_csv(files[0], index=False)
    target.to_csv(files[1], index=False)
    for method in ("pacc", "pq"):
        command = ("estimate", *files, "--label", "label", "--method", method, "--no-check")
        done = run(capsys, *command, "--format", "json")
        assert done.code == 0
        _, yes = done.json["groups"][0]["classes"]
        assert yes["share"] == pytest.approx(0.1, abs=0.08)
        assert (yes["lower"] is None) == (method == "pacc")


def test_the_report_tells_the_story_of_the_json_and_holds_its_csv(tmp_path, capsys):
    files, page = written(tmp_path), tmp_path / "report.html"
    whole = ["estimate", *files, "--label", "label", *FAST]
    command = [*whole, "--by", "week"]
    summary = run(capsys, *command, "--format", "json", "--report", page).json
    html = page.read_text("utf-8")
    for sentence in summary["sentences"]:
        assert escape(sentence).replace(" %", "\xa0%") in html.replace("\xa0to\xa0", " to ")
    [alone] = run(capsys, *whole, "--format", "json").json["groups"]
    # Summaries of groups add up to that of all items, byte for byte.
    assert summary["overall"]["classes"] == alone["classes"]
    offered = unquote(re.search('href="data:text/csv;charset=utf-8,([^"]*)"', html)[1])
    assert offered == run(capsys, *command, "--format", "csv", "--safe-csv").out
