"""``truemix adapt``: corrected posteriors in every format, and class weights."""

import numpy as np
import pandas as pd
import pytest
from pyarrow import csv

from cli_support import CLASSES, contents, fails, reference_frame, run, target_frame, written
from truemix import EMQ

LABEL = ("--label", "label", "--method", "emq")


@pytest.fixture
def files(tmp_path):
    return written(tmp_path)


@pytest.fixture(scope="module")
def estimate():
    P, Q = reference_frame(), target_frame()
    return EMQ().fit(P[CLASSES], P["label"]).quantify(Q[CLASSES])


def read(path):
    if path.suffix == ".npz":
        with np.load(path) as archive:
            frame = pd.DataFrame(archive["X"], columns=archive["classes"])
            return frame.assign(week=archive["week"])
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix in {".arrow", ".feather"}:
        return pd.read_feather(path)
    options = csv.ParseOptions(delimiter="	" if path.suffix == ".tsv" else ",")
    return csv.read_csv(path, parse_options=options).to_pandas()


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "arrow", "feather", "npz"])
def test_posteriors_are_the_librarys_in_every_format(files, tmp_path, capsys, estimate, extension):
    out = tmp_path / f"adapted.{extension}"
    done = run(capsys, "adapt", *files, *LABEL, "--keep", "week", "--out", out)
    assert done.code == 0
    assert done.err == f"Wrote {out}\n"
    frame, Q = read(out), target_frame()
    assert set(frame.columns) == {"week", *CLASSES}
    np.testing.assert_array_equal(frame[CLASSES], estimate.adapt(Q[CLASSES]))
    assert frame["week"].tolist() == Q["week"].tolist()


def test_weights_are_the_librarys(files, tmp_path, capsys, estimate):
    expected = estimate.weights()["weight"].tolist()
    done = run(capsys, "adapt", *files, *LABEL, "--format", "json")
    assert [each["weight"] for each in done.json["classes"]] == expected
    weights = tmp_path / "weights.csv"
    assert run(capsys, "adapt", *files, *LABEL, "--weights", weights, "--quiet").out == ""
    rows = csv.read_csv(weights).to_pylist()
    assert [row["weight"] for row in rows] == expected
    assert [row["class"] for row in rows] == CLASSES.tolist()
    lines = run(capsys, "adapt", *files, *LABEL).out.splitlines()
    assert lines[0] == "EMQ: class weights for 150 items"
    assert [line.split()[1] for line in lines[2:-1]] == [f"{weight:.3f}" for weight in expected]
    assert lines[-1] == "Label shift: not checked. truemix check tells."


def test_weights_of_a_bayesian_method_have_intervals(files, capsys):
    options = ["--label", "label", "--method", "bayesian-emq", "--level", "0.5"]
    done = run(capsys, "adapt", *files, *options, "--format", "json")
    for each in done.json["classes"]:
        assert each["lower"] <= each["weight"] <= each["upper"]
    lines = run(capsys, "adapt", *files, *options).out.splitlines()
    assert lines[-2].startswith("50 % equal-tailed intervals;")


def test_names_survive_the_way_through_csv(tmp_path, capsys):
    names = np.array(['a, "quoted"\nbreak', "semi; colon", "卵 œuf"])
    files = written(tmp_path, reference_frame(names=names), target_frame(names=names))
    out = tmp_path / "adapted.csv"
    assert run(capsys, "adapt", *files, *LABEL, "--out", out).code == 0
    assert pd.read_csv(out).columns.tolist() == sorted(names)
    # What was written can be read again; but adapted posteriors are none of the classifier's.
    done = run(capsys, "estimate", files[0], out, *LABEL)
    assert done.code == 3
    assert "do not look like any mix of the reference classes" in done.err


def test_wrong_options(files, tmp_path, capsys):
    before = contents(tmp_path)
    for options, sentence in [
        (["--out", tmp_path / "x.docx"], f"The extension of {tmp_path / 'x.docx'} names no format"),
        (["--keep", "week"], "The option --keep is about the file of --out; name that file too."),
        (["--keep", "weak", "--out", tmp_path / "x.csv"], "target.csv has no column 'weak'"),
        (["--keep", "ham", "--out", tmp_path / "x.csv"], "The option --keep names 'ham', which is"),
        (["--out", files[1]], f"The option --out names {files[1]}, which this command already"),
    ]:
        assert fails(capsys, "adapt", *files, *LABEL, *options).startswith(sentence)
    assert contents(tmp_path) == before
