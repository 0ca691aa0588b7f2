"""``truemix demo``: files that make sense, and that the shown commands work on."""

import shlex

import numpy as np
import pandas as pd

from cli_support import contents, fails, run
from truemix.cli._example import TOPICS


def test_every_command_that_it_shows_works(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run(capsys, "demo")
    assert shown.code == 0
    assert contents(tmp_path / "truemix-demo") == ["reference.csv", "target.csv", "truth.csv"]
    enter, *commands = shown.out.partition("Try:\n")[2].splitlines()
    assert enter.split() == ["cd", "truemix-demo"]
    monkeypatch.chdir("truemix-demo")
    for line in commands:
        program, *arguments = shlex.split(line)
        assert program == "truemix"
        done = run(capsys, *arguments)
        assert done.code == 0, done.err
    made = ["adapted.csv", "report.html", "tuned.npz", "weeks.csv"]
    assert set(contents(".")) == {"reference.csv", "target.csv", "truth.csv", *made}
    _check_weeks(pd.read_csv("weeks.csv"), pd.read_csv("truth.csv"))


def _check_weeks(weeks, truth):
    """Most true shares are inside; the estimate is nearer than counting, above all at the peak."""
    true = truth.set_index("week")[list(TOPICS)].stack().rename("true").reset_index()
    both = weeks.merge(true, left_on=["group", "class"], right_on=["week", "level_1"])
    assert len(both) == 48
    assert both["n_items"].between(40, 400).all()
    inside = both["true"].between(both["lower"] - 1e-4, both["upper"] + 1e-4)
    assert inside.mean() > 0.8
    error, counted = ((both[name] - both["true"]).abs() for name in ("share", "classify_and_count"))
    assert error.mean() < 0.75 * counted.mean()
    peak = both[(both["class"] == "delivery") & (both["true"] > 0.35)]
    assert (peak["classify_and_count"] < peak["true"] - 0.08).all()
    assert ((peak["share"] - peak["true"]).abs() < 0.08).all()


def test_files_are_small_and_rows_sum_to_one(tmp_path, capsys):
    run(capsys, "demo", tmp_path, "--quiet")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 500_000
    reference = pd.read_csv(tmp_path / "reference.csv")
    assert len(reference) == 1000
    for name in ("reference.csv", "target.csv"):
        sums = pd.read_csv(tmp_path / name)[list(TOPICS)].sum(axis=1)
        np.testing.assert_allclose(sums, 1, atol=1e-12)


def test_nothing_else_is_overwritten(tmp_path, capsys):
    assert run(capsys, "demo", tmp_path).code == 0
    assert run(capsys, "demo", tmp_path).code == 0
    other = tmp_path / "truth.csv"
    other.write_text("mine")
    sentence = f"There is already another {other}; choose another folder, or use --force to replace"
    assert fails(capsys, "demo", tmp_path).startswith(sentence)
    assert other.read_text() == "mine"
    assert run(capsys, "demo", tmp_path, "--force").code == 0
    assert other.read_text().startswith("week,tickets,")
    assert fails(capsys, "demo", other).startswith(f"Cannot write to {other}: {other} is a file")
