"""``truemix backtest``, and the backtest in the report of an estimate."""

import csv
import io
import json

import numpy as np
import pytest

from cli_support import CLASSES, FAST, fails, reference_frame, run, target_frame, written
from truemix import EMQ, BayesianKDEy, backtest
from truemix.cli import backtest as command_module
from truemix.trust import backtest_runs

LABEL = ("--label", "label")
FEW = ("--bag-size", "10", "--n-bags", "6")


@pytest.fixture
def files(tmp_path):
    return written(tmp_path)


def test_the_result_is_that_of_the_library(files, capsys):
    sizes = ("--bag-size", "5", "--bag-size", "10", "--n-bags", "6", "--folds", "4")
    more = ("--n-references", "60", "--seed", "3", "--level", "0.9", *FAST)
    command = ("backtest", files[0], *LABEL, *sizes, *more)
    done = run(capsys, *command, "--format", "json")
    assert done.code == 0
    frame = reference_frame()
    quantifier = BayesianKDEy(bandwidth=0.3, shrinkage=0.5, draws=200, random_state=3)
    options = {"bag_size": [5, 10], "n_bags": 6, "n_folds": 4, "n_references": 60, "level": 0.9}
    tested = backtest(quantifier, frame[CLASSES], frame["label"], **options, random_state=3)
    expected = json.loads(json.dumps(tested.summary()))
    assert {name: done.json[name] for name in expected} == expected
    assert done.json["reference"] == {"name": "reference.csv", "n_items": 120}
    rows = list(csv.DictReader(io.StringIO(run(capsys, *command, "--format", "csv").out)))
    assert len(rows) == 12
    assert [float(row["absolute_error"]) for row in rows] == tested.frame()[
        "absolute_error"
    ].tolist()
    assert [float(row["true_ham"]) for row in rows] == tested.frame()["true_ham"].tolist()
    done = run(capsys, *command)
    assert done.out == f"{tested!r}\n"
    assert done.err == ""


def test_prior_and_point_methods(files, capsys):
    done = run(capsys, "backtest", files[0], *LABEL, "--method", "emq", *FEW)
    assert done.code == 0
    assert done.out.splitlines()[1].split() == ["items", "references", "error", "counting's"]
    frame = reference_frame()
    tested = backtest(EMQ(), frame[CLASSES], frame["label"], bag_size=10, n_bags=6, random_state=0)
    assert done.out == f"{tested!r}\n"
    prior = ("--prior", "egg=50,ham=1,spam=1")
    plain = run(capsys, "backtest", files[0], *LABEL, *FEW, *FAST, "--format", "json").json
    other = run(capsys, "backtest", files[0], *LABEL, *FEW, *FAST, *prior, "--format", "json").json
    bias = [content["classes"][0]["bias"] for content in (plain, other)]
    assert bias[1] > bias[0] + 0.05


def test_a_classifier_is_trained_in_each_fold(files, capsys):
    options = ("--classifier", "logistic", "--method", "pcc", *FEW, "--format", "json")
    options += ("--folds", "2", "--n-references", "50")
    done = run(capsys, "backtest", files[0], *LABEL, *options)
    assert done.code == 0
    assert done.json["features"] == ["egg", "ham", "spam"]
    assert done.json["mean_error"] < 0.3


def test_the_page_holds_the_numbers_and_no_markup_of_the_data(tmp_path, capsys):
    names = ["<b>egg</b>", "ham", "spam"]
    files = written(tmp_path, reference_frame(names=names), target_frame(names=names))
    page, out = tmp_path / "page.html", tmp_path / "out.json"
    command = ("backtest", files[0], *LABEL, *FAST, "--bag-size", "5", *FEW)
    done = run(capsys, *command, "--report", page, "--out", out)
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == [f"Wrote {out}", f"Wrote {page}"]
    text, content = page.read_text("utf-8"), json.loads(out.read_text("utf-8"))
    assert content["sentence"].replace(" %", "\xa0%").replace("'", "&#39;") in text
    assert "&lt;b&gt;egg&lt;/b&gt;" in text
    assert "<b>egg" not in text
    # Errors, widths and coverage against two sizes.
    assert text.count("<figure>") == 3


def test_a_report_of_an_estimate_has_a_backtest(files, tmp_path, capsys):
    page, out = tmp_path / "page.html", tmp_path / "out.json"
    command = ("estimate", *files, *LABEL, *FAST, "--no-check")
    assert run(capsys, *command, "--format", "json").json["backtest"] is None
    assert run(capsys, *command, "--report", page, "--out", out).code == 0
    tested = json.loads(out.read_text("utf-8"))["backtest"]
    assert tested["n_bags"] == 50
    assert tested["sentence"].startswith("On 50 mixtures of your own reference items the mean")
    text = page.read_text("utf-8")
    assert "Would it have worked on the reference?" in text
    assert tested["sentence"].replace(" %", "\xa0%").replace("'", "&#39;") in text
    # With groups, bags are as large as these: fifteen items each.
    assert run(capsys, *command, "--by", "week", "--report", page, "--out", out).code in (0, 3)
    assert json.loads(out.read_text("utf-8"))["backtest"]["bag_size"] == 15


def test_a_report_of_a_quantifier_without_references_has_none(files, tmp_path, capsys):
    tuned, page = tmp_path / "tuned.npz", tmp_path / "page.html"
    grid = ("--grid", "calibration=none", "--out", tuned)
    assert run(capsys, "tune", files[0], *LABEL, "--method", "emq", *grid).code == 0
    done = run(capsys, "estimate", tuned, files[1], "--report", page, "--format", "json")
    assert done.json["backtest"] is None
    assert 'id="backtest"' not in page.read_text("utf-8")


def test_many_failed_diagnostics_are_an_exit_code_and_few_are_a_note(files, capsys, monkeypatch):
    kept, numbers = backtest_runs._kept, iter(range(1000))

    def failing(estimate, level):
        if next(numbers) % 30 == 0:
            estimate.diagnostics["failed"] = ["R-hat is 1.2."]
        return kept(estimate, level)

    monkeypatch.setattr(backtest_runs, "_kept", failing)
    command = (
        "backtest",
        files[0],
        *LABEL,
        "--method",
        "pcc",
        "--bag-size",
        "10",
        "--n-bags",
        "60",
    )
    command += ("--n-references", "50")
    done = run(capsys, *command)
    assert (done.code, done.err) == (0, "")
    assert "Note: A diagnostic failed in 2 estimates of the backtest." in done.out
    monkeypatch.setattr(command_module, "_TOLERATED", 0.01)
    done = run(capsys, *command)
    assert (done.code, done.err) == (
        3,
        "Warning: A diagnostic failed in 2 estimates of the backtest.\n",
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--bag-size", "0"], "The 'bag_size' parameter must be a whole number between 1 and"),
        (["--n-bags", "0"], "The 'n_bags' parameter must be a whole number"),
        (["--folds", "1"], "The 'n_folds' parameter must be a whole number between 2 and"),
        (["--n-references", "97"], "The 'n_references' parameter asks for 97, but with 5 folds"),
        (["--method", "emq", "--level", "0.9"], "The method emq gives no intervals, so --level"),
        (["--label", "nothing"], "The option --label is given twice; it takes one value"),
    ],
)
def test_wrong_options_are_one_sentence(files, capsys, options, sentence):
    assert fails(capsys, "backtest", files[0], *LABEL, *options).startswith(sentence)


def test_a_class_of_one_item_and_a_saved_quantifier(files, tmp_path, capsys):
    frame = reference_frame()
    few = frame[(frame["label"] != "ham") | (np.cumsum(frame["label"] == "ham") <= 1)]
    few.to_csv(tmp_path / "few.csv", index=False)
    sentence = fails(capsys, "backtest", tmp_path / "few.csv", *LABEL, "--method", "pcc")
    assert sentence.startswith("Class 'ham' has only 1 item in y; a backtest needs at least 2")
    tuned = tmp_path / "tuned.npz"
    grid = ("--grid", "calibration=none", "--out", tuned)
    run(capsys, "tune", files[0], *LABEL, "--method", "emq", *grid)
    assert fails(capsys, "backtest", tuned) == (
        "tuned.npz is a saved quantifier; a backtest needs the labelled items that it learned "
        "from. Give these as REFERENCE."
    )
