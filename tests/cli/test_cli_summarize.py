"""Summaries that were written are read back as the target that they stand for."""

import numpy as np
import pytest

from cli_support import FAST, contents, fails, reference_frame, run, target_frame, written

LABEL = ("--label", "label")
JSON = ("--format", "json", "--quiet")


@pytest.fixture
def files(tmp_path):
    return written(tmp_path)


def groups(done):
    assert done.code == 0
    return done.json["groups"]


def test_a_summary_stands_for_its_target(files, tmp_path, capsys):
    options = (*LABEL, *FAST)
    out = tmp_path / "summary.npz"
    done = run(capsys, "summarize", *files, *options, "--out", out)
    assert done.code == 0
    assert done.out.splitlines() == [
        "Summary of 150 items of target.csv",
        "items  rows  exact",
        "  150   150    yes",
    ]
    assert done.err.splitlines() == [f"Wrote {out}", "Note: not used in target.csv: 'week'."]
    expected = run(capsys, "estimate", *files, *options, *JSON)
    found = run(capsys, "estimate", files[0], out, *options, *JSON)
    assert groups(found) == groups(expected)
    assert found.json["target"] == {"name": "summary.npz", "n_items": 150}


def test_summaries_and_tables_together_are_one_target(files, tmp_path, capsys):
    options = (*LABEL, *FAST)
    parts = []
    for number in range(3):
        part = tmp_path / f"part-{number}.csv"
        target_frame()[50 * number : 50 * (number + 1)].to_csv(part, index=False)
        parts.append(part)
    (tmp_path / "mixed").mkdir()
    for number, part in enumerate(parts[:2]):
        out = tmp_path / "mixed" / f"{number}.npz"
        assert run(capsys, "summarize", files[0], part, *options, "--out", out).code == 0
    expected = run(capsys, "estimate", *files, *options, *JSON)
    found = run(capsys, "estimate", files[0], tmp_path / "mixed", parts[2], *options, *JSON)
    assert groups(found) == groups(expected)


@pytest.mark.parametrize("by", ["week", "a/b =c"])
def test_groups_become_folders_that_are_read_back(files, tmp_path, capsys, by):
    target_frame().rename(columns={"week": by}).to_csv(files[1], index=False)
    options = (*LABEL, *FAST, "--by", by)
    out = tmp_path / "summaries"
    done = run(capsys, "summarize", *files, *options, "--out", out, "--format", "json")
    assert done.code == 0
    assert done.json["by"] == by
    assert done.json["summaries"][9] == {
        "group": "week 10",
        "keys": ["week 10"],
        "n_items": 15,
        "n_rows": 15,
        "exact": True,
    }
    assert done.err == f"Wrote {out}\n"
    assert contents(out)[1].endswith("=week%2010")
    assert contents(tmp_path) == ["reference.csv", "summaries", "target.csv"]
    expected = groups(run(capsys, "estimate", *files, *options, *JSON))
    assert groups(run(capsys, "estimate", files[0], out, *options, *JSON)) == expected
    # Together they are the target again.
    whole = run(capsys, "estimate", *files, *LABEL, *FAST, *JSON)
    assert groups(run(capsys, "estimate", files[0], out, *LABEL, *FAST, *JSON)) == groups(whole)


def test_a_saved_quantifier_summarises_too(files, tmp_path, capsys):
    saved, out = tmp_path / "saved", tmp_path / "summary"
    options = ("--method", "kdey", "--grid", "bandwidth=0.3", "--shrinkage", "0.5")
    assert run(capsys, "tune", files[0], *LABEL, *options, "--out", saved).code == 0
    assert run(capsys, "summarize", saved, files[1], "--out", out).code == 0
    expected = groups(run(capsys, "estimate", saved, files[1], *JSON))
    assert groups(run(capsys, "estimate", saved, out, *JSON)) == expected


def test_a_summary_by_another_quantifier_is_named(files, tmp_path, capsys):
    out = tmp_path / "summary.npz"
    options = (*LABEL, "--method", "pcc")
    assert run(capsys, "summarize", *files, *options, "--out", out).code == 0
    reference_frame(90).to_csv(files[0], index=False)
    for targets in ([out], [files[1], out]):
        sentence = fails(capsys, "estimate", files[0], *targets, *options)
        assert sentence.startswith("summary.npz is a summary by another quantifier; expected one")
    done = run(capsys, "estimate", files[0], files[1], out, *options, "--skip-bad-files", *JSON)
    assert done.json["target"]["skipped_files"] == ["summary.npz"]


def test_a_damaged_summary_is_named(files, tmp_path, capsys):
    out = tmp_path / "summary.npz"
    options = (*LABEL, "--method", "pcc")
    assert run(capsys, "summarize", *files, *options, "--out", out).code == 0
    data = bytearray(out.read_bytes())
    data[len(data) // 2] ^= 1
    out.write_bytes(data)
    sentence = fails(capsys, "estimate", files[0], out, *options)
    assert "'summary.npz' is damaged, was changed, or is not a saved summary" in sentence
    assert str(tmp_path) not in sentence


def test_a_summary_has_no_columns(files, tmp_path, capsys):
    out = tmp_path / "summary.npz"
    options = (*LABEL, "--method", "pcc")
    assert run(capsys, "summarize", *files, *options, "--out", out).code == 0
    assert fails(capsys, "estimate", files[0], out, *options, "--by", "week") == (
        "summary.npz is a summary, which has no columns, and is in no folder named week=…; --by "
        "week needs one. Make it again with truemix summarize --by."
    )
    # A summary is no quantifier, and no labelled items.
    assert "summary" in fails(capsys, "estimate", out, files[1], *options)


def test_where_summaries_cannot_be_written(files, tmp_path, capsys):
    options = (*LABEL, "--method", "pcc")
    done = run(capsys, "summarize", *files, *options)
    assert done.code == 2
    assert "--out" in done.err
    sentence = fails(capsys, "summarize", *files, *options, "--out", files[1])
    assert sentence.startswith(f"The option --out names {files[1]}, which this command already")
    by = (*options, "--by", "week", "--out")
    assert fails(capsys, "summarize", *files, *by, tmp_path) == (
        f"Cannot write to {tmp_path}: it is not empty; with --by, --out must name a new or an "
        "empty folder."
    )
    sentence = fails(capsys, "summarize", *files, *by, files[1])
    assert sentence.startswith(f"Cannot write to {files[1]}: it is a file; with --by")
    missing = tmp_path / "missing" / "out"
    assert fails(capsys, "summarize", *files, *by, missing) == (
        f"Cannot write to {missing}: {missing.parent} is no folder; make it first."
    )
    (tmp_path / "empty").mkdir()
    assert run(capsys, "summarize", *files, *by, tmp_path / "empty").code == 0
    assert len(contents(tmp_path / "empty")) == 10


def test_a_failure_leaves_no_part_of_a_folder(files, tmp_path, capsys, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("truemix.summaries.Summary.save", refuse)
    options = (*LABEL, "--method", "pcc", "--by", "week", "--out", tmp_path / "out")
    assert "No space left" in fails(capsys, "summarize", *files, *options)
    assert contents(tmp_path) == ["reference.csv", "target.csv"]


def test_features_are_summarised_by_their_posteriors(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    frame = target_frame(200)[["egg"]].assign(size=y + rng.normal(size=200))
    frame[:100].assign(label=y[:100]).to_csv(tmp_path / "reference.csv", index=False)
    frame[100:].to_csv(tmp_path / "target.csv", index=False)
    files = tmp_path / "reference.csv", tmp_path / "target.csv"
    options = (*LABEL, "--classifier", "logistic", "--method", "emq")
    out = tmp_path / "summary"
    assert run(capsys, "summarize", *files, *options, "--out", out).code == 0
    expected = groups(run(capsys, "estimate", *files, *options, *JSON))
    assert groups(run(capsys, "estimate", files[0], out, *options, *JSON)) == expected
