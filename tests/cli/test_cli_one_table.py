"""One table: rows with a label are the reference, those without are the target."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

import truemix
from cli_support import fails, reference_frame, run, target_frame
from truemix import ACC

POINT = ("--label", "label", "--method", "acc", "--no-check", "--format", "json")


@pytest.fixture
def sides(tmp_path):
    """Return the two files, the same rows in one file in a random order, and that table."""
    reference, target = reference_frame(), target_frame()
    reference["week"] = "none"
    reference.to_csv(tmp_path / "reference.csv", index=False)
    target.to_csv(tmp_path / "target.csv", index=False)
    both = pd.concat([reference, target], ignore_index=True)
    both = both.sample(frac=1.0, random_state=0).reset_index(drop=True)
    both.to_csv(tmp_path / "both.csv", index=False)
    return [tmp_path / f"{name}.csv" for name in ("reference", "target", "both")], both


def shares(done):
    return [[each["share"] for each in group["classes"]] for group in done.json["groups"]]


@pytest.mark.parametrize("by", [(), ("--by", "week")])
def test_the_answer_is_that_of_two_files(capsys, sides, by):
    (reference, target, both), _ = sides
    expected = run(capsys, "estimate", reference, target, *POINT, *by, "--quiet")
    found = run(capsys, "estimate", both, *POINT, *by)
    np.testing.assert_allclose(shares(found), shares(expected))
    assert found.json["reference"]["n_items"] == 120
    assert (
        "rows of both.csv with a label in column 'label' are the reference, the others the target."
        in found.err
    )


@pytest.mark.parametrize("kind", ["parquet", "feather", "npz", "csv.gz"])
def test_every_format_may_hold_both(capsys, sides, tmp_path, kind):
    paths, both = sides
    place = tmp_path / f"again.{kind}"
    if kind == "npz":
        columns = {name: both[name].to_numpy() for name in both if name != "week"}
        np.savez(place, **{**columns, "label": both["label"].fillna("").to_numpy(dtype=str)})
    elif kind == "csv.gz":
        both.to_csv(place, index=False)
    else:
        getattr(both, f"to_{kind}")(place)
    expected = run(capsys, "estimate", paths[2], *POINT, "--quiet")
    assert shares(run(capsys, "estimate", place, *POINT, "--quiet")) == shares(expected)


def test_stdin_may_hold_both(capsys, sides, monkeypatch):
    paths, _ = sides
    expected = run(capsys, "estimate", paths[2], *POINT, "--quiet")
    stream = io.TextIOWrapper(io.BytesIO(paths[2].read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert shares(run(capsys, "estimate", "-", *POINT, "--quiet")) == shares(expected)


def test_features_are_trained_on_the_labelled_rows(capsys, sides, tmp_path):
    (reference, target, both), _ = sides
    command = (*POINT, "--classifier", "logistic", "--quiet")
    frame = pd.read_csv(reference).drop(columns="week")
    frame.to_csv(reference, index=False)
    whole = pd.read_csv(both).drop(columns="week")
    whole.to_csv(both, index=False)
    found = run(capsys, "estimate", both, *command)
    np.testing.assert_allclose(
        shares(found), shares(run(capsys, "estimate", reference, target, *command)), atol=1e-6
    )


def test_rows_are_named_by_their_number_in_the_file(capsys, sides, tmp_path):
    (_, _, both), table = sides
    unlabelled = 1 + np.flatnonzero(table["label"].isna())
    out = tmp_path / "out.csv"
    quick = ("--label", "label", "--method", "acc", "--quiet")
    assert run(capsys, "sample", both, *quick, "--n", "7", "--out", out).code == 0
    chosen = pd.read_csv(out)
    assert set(chosen["row"]) <= set(unlabelled)
    chosen["label"] = "ham"
    chosen.to_csv(out, index=False)
    done = run(capsys, "estimate", both, *quick, "--no-check", "--labelled", out)
    assert "7 of 150 items are labelled" in done.out
    chosen.loc[0, "row"] = int(1 + np.flatnonzero(table["label"].notna())[0])
    chosen.to_csv(out, index=False)
    assert "expected a row of TARGET" in fails(capsys, "estimate", both, *quick, "--labelled", out)
    broken = table.copy()
    row = int(unlabelled[10]) - 1
    broken.loc[row, "ham"] = 7.0
    broken.to_csv(both, index=False)
    # Lines are counted from the header on.
    assert fails(capsys, "estimate", both, *quick).startswith(f"Line {row + 2} of both.csv")


def test_summaries_checks_and_corrections_work_on_one_table(capsys, sides, tmp_path):
    (_, _, both), table = sides
    label = ("--label", "label", "--quiet")
    fast = ("--bandwidth", "0.3", "--shrinkage", "0.5")
    assert run(capsys, "check", both, *label, *fast, "--items", tmp_path / "items.csv").code == 0
    items = pd.read_csv(tmp_path / "items.csv")
    assert set(items["row"]) == set(1 + np.flatnonzero(table["label"].isna()))
    point = ("--method", "acc")
    out = tmp_path / "out.csv"
    assert run(capsys, "adapt", both, *label, *point, "--out", out).code == 0
    assert len(pd.read_csv(out)) == 150
    summary = tmp_path / "summary.npz"
    assert run(capsys, "summarize", both, *label, *point, "--out", summary).code == 0


def test_backtests_leave_rows_without_a_label_out(capsys, sides):
    (_, _, both), _ = sides
    command = ("--label", "label", "--method", "acc", "--n-bags", "4", "--bag-size", "10")
    found = run(capsys, "backtest", both, *command, "--n-references", "50", "--format", "json")
    assert found.json["reference"]["n_items"] == 120
    assert "rows of both.csv without a label in column 'label' are left out" in found.err


def test_what_is_no_table_of_both_sides_is_one_sentence(capsys, sides, tmp_path):
    (reference, target, both), table = sides
    assert "so that none is left for the target" in fails(
        capsys, "estimate", reference, "--label", "label"
    )
    empty = tmp_path / "empty.csv"
    table.assign(label="").to_csv(empty, index=False)
    assert "No row of empty.csv has a label in column 'label'" in fails(
        capsys, "estimate", empty, "--label", "label"
    )
    assert "TARGET is missing" in fails(capsys, "estimate", both)
    assert "has no column 'label'" in fails(capsys, "check", target, "--label", "label")
    saved = tmp_path / "saved"
    truemix.save(ACC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"]), saved)
    assert "is a saved quantifier, which holds no items" in fails(capsys, "estimate", saved)
