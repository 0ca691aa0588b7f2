"""Wrong files and options: one sentence that says where and what to do, and exit code 1."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, FAST, contents, fails, reference_frame, run, target_frame, written

LABEL = ("--label", "label")


@pytest.fixture
def files(tmp_path):
    return written(tmp_path)


@pytest.fixture
def estimate(files, tmp_path, capsys):
    """Return a function that estimates with other files or options and returns the sentence."""

    def sentence(*options, reference=files[0], target=files[1]):
        before = contents(tmp_path)
        found = fails(capsys, "estimate", reference, target, *options)
        assert contents(tmp_path) == before
        return found

    return sentence


def write(tmp_path, content, name="wrong.csv"):
    path = tmp_path / name
    if isinstance(content, pd.DataFrame):
        content = content.to_csv(index=False)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- files ------------------------------------------------------------------------------------


def test_a_missing_file(estimate):
    assert estimate(*LABEL, target="nothing.csv") == (
        "There is no file nothing.csv; expected a table (CSV, TSV, JSON Lines, Parquet, Arrow "
        "or NPZ), or - for stdin. Check the name."
    )


def test_a_folder(estimate, tmp_path):
    assert estimate(*LABEL, reference=tmp_path) == f"{tmp_path} is a folder; expected a file."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "wrong.csv is empty; expected a table with a header and at least one row."),
        ("\n\n", "wrong.csv has only empty lines; expected a header and rows."),
        ("egg,ham,spam\n", "wrong.csv has no rows; at least one item is needed."),
        (
            "egg|ham|spam\n1|0|0\n",
            "wrong.csv has a single column, 'egg|ham|spam'; expected columns separated by one of "
            "comma, semicolon, tab, among them 'egg' (the posterior of that class).",
        ),
        (
            "egg,ham,ham\n1,0,0\n",
            "wrong.csv has more than one column named 'ham'; expected each name once. Rename or "
            "drop columns.",
        ),
        (
            "egg,ham,spam\n1,0,0\n\n0.5,0.5\n",
            "Line 4 of wrong.csv has 2 values, but the header names 3 columns (separated by "
            "commas); expected one value for each. Repair the line, or put values that hold the "
            "separator in double quotes.",
        ),
        (
            'egg,ham,spam,note\n1,0,0,"two\nlines"\n1,zero,0,x\n',
            "Line 4 of wrong.csv has 'zero' in column 'ham'; expected a number.",
        ),
        (
            "egg;ham;spam\n0,5;0,5;0\n",
            "Line 2 of wrong.csv has '0,5' in column 'egg'; expected a number; write decimals with "
            "a point.",
        ),
        (
            "egg,ham,spam\n1,0,0\n1,,0\n",
            "Line 3 of wrong.csv has no value in column 'ham'; expected a number. Fill it in or "
            "remove such rows.",
        ),
        (
            "egg,ham,spam\n1,0,0\n1,inf,0\n",
            "Line 3 of wrong.csv has inf in column 'ham'; expected a finite number.",
        ),
        (
            "egg,ham\n1,0\n",
            "wrong.csv has no column 'spam' (the posterior of that class); its columns are 'egg', "
            "'ham'.",
        ),
        (
            "egg,ham,Spam \n1,0,0\n",
            "wrong.csv has no column 'spam' (the posterior of that class); its columns are 'egg', "
            "'ham', 'Spam '. Did you mean 'Spam '?",
        ),
        (
            "egg,ham,spam\n1,0,0\n0.4,0.3,0.1\n",
            "Line 3 of wrong.csv sums to 0.8 over the columns 'egg', 'ham', 'spam'. Posteriors "
            "must be at least 0 and sum to 1 in each row (within 0.001).",
        ),
        (
            "egg,ham,spam\n2.5,-1,3\n",
            "Line 2 of wrong.csv sums to 4.5 and has 2.5 in column 'egg': these look like logits "
            "or scores. Posteriors must be at least 0 and sum to 1 in each row; apply softmax or "
            "use predict_proba, or add --logits if they are logits.",
        ),
        (
            "egg,ham,spam,caf\xe9\n1,0,0,0\n".encode("latin-1"),
            "wrong.csv is not text in UTF-8 (found the name of column 4); save it as CSV in UTF-8.",
        ),
        (
            "egg,ham,spam\n1,0,0\n".encode("utf-16"),
            "wrong.csv is not text in UTF-8 (found a byte order mark of UTF-16 or zero bytes); "
            "save it as CSV in UTF-8.",
        ),
    ],
)
def test_wrong_text(estimate, tmp_path, content, sentence):
    assert estimate(*LABEL, target=write(tmp_path, content)) == sentence


@pytest.mark.parametrize("name", ["cut.parquet", "cut.feather", "cut.npz", "cut.csv.gz"])
def test_truncated_files(estimate, tmp_path, name):
    frame = target_frame()
    if name.endswith("parquet"):
        frame.to_parquet(tmp_path / name)
    elif name.endswith("feather"):
        frame.to_feather(tmp_path / name)
    elif name.endswith("npz"):
        np.savez(tmp_path / name, X=frame[CLASSES].to_numpy())
    else:
        frame.to_csv(tmp_path / name, index=False)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    sentence = estimate(*LABEL, target=tmp_path / name)
    assert sentence.startswith(f"{name} is not a complete ")
    assert sentence.endswith("; write or copy it again.")


def test_text_that_pretends_to_be_parquet(estimate, tmp_path):
    assert estimate(*LABEL, target=write(tmp_path, "egg,ham", "wrong.parquet")) == (
        "wrong.parquet does not begin like Parquet data; it is damaged or has the wrong extension. "
        "Write it again, or rename it if it holds text."
    )


def test_wrong_columns_of_parquet(estimate, tmp_path):
    path = tmp_path / "wrong.parquet"
    frame = target_frame()
    frame.loc[7, "ham"] = np.nan
    frame.to_parquet(path)
    assert estimate(*LABEL, target=path).startswith("Row 8 of wrong.parquet has no value in column")
    frame["ham"] = "0.5"
    frame.to_parquet(path)
    sentence = estimate(*LABEL, target=path)
    assert (
        sentence
        == "Column 'ham' of wrong.parquet holds text; expected numbers. Write it as numbers."
    )


def test_arrays_that_could_run_code_are_refused(estimate, tmp_path):
    np.savez(tmp_path / "wrong.npz", X=np.eye(3), classes=CLASSES.astype(object))
    assert estimate(*LABEL, target=tmp_path / "wrong.npz") == (
        "The array 'classes' in wrong.npz holds Python objects, which are not read because they "
        "can run code; save it as numbers or text, for example with astype(str)."
    )
    np.save(tmp_path / "wrong.npy", np.eye(3))
    sentence = estimate(*LABEL, target=tmp_path / "wrong.npy")
    assert sentence.startswith("wrong.npy holds a single NumPy array; save it as X in an NPZ file")
    np.savez(tmp_path / "short.npz", X=np.eye(3), classes=CLASSES[:2])
    assert estimate(*LABEL, target=tmp_path / "short.npz") == (
        "In short.npz 'X' has 3 columns and 'classes' names 2; expected one name per column."
    )


# --- labels and groups ------------------------------------------------------------------------


def test_the_label_column(estimate, tmp_path):
    assert estimate() == (
        "The option --label is missing: it names the column of reference.csv that holds the "
        "labels. Its columns are 'label', 'egg', 'ham', 'spam'."
    )
    assert estimate("--label", "lable") == (
        "reference.csv has no column 'lable' (the labels, as --label says); its columns are "
        "'label', 'egg', 'ham', 'spam'. Did you mean 'label'?"
    )
    assert estimate("--label", "ham").endswith(
        "Column 'ham' has 120 different values; is it the column of labels?"
    )
    frame = reference_frame()
    frame.loc[4, "label"] = None
    assert estimate(*LABEL, reference=write(tmp_path, frame)) == (
        "Line 6 of wrong.csv has no label in column 'label'; every item needs one. Fill it in or "
        "remove such rows."
    )
    frame["label"] = "ham"
    assert estimate(*LABEL, reference=write(tmp_path, frame)) == (
        "Column 'label' of wrong.csv holds only the label 'ham'; a mix needs at least two classes. "
        "Check that it is the column of labels."
    )


def test_a_class_without_column_or_without_items(estimate, tmp_path):
    frame = reference_frame()
    assert estimate(*LABEL, reference=write(tmp_path, frame.drop(columns="egg"))) == (
        "wrong.csv has no column 'egg' (the posterior of that class); its columns are 'label', "
        "'ham', 'spam'. If these are features, add --classifier; if posteriors have other names, "
        "--columns 'PATTERN{}'."
    )
    sentence = estimate(*LABEL, reference=write(tmp_path, frame[frame["label"] != "egg"]))
    assert sentence.startswith("Line 2 of wrong.csv sums to 0.")
    assert sentence.endswith(
        "If one of 'egg' is a class too, it has no labelled items in the reference: add some."
    )


def test_groups(estimate, tmp_path):
    assert estimate(*LABEL, "--by", "weak") == (
        "target.csv has no column 'weak' (as --by says); its columns are 'egg', 'ham', 'spam', "
        "'week'. Did you mean 'week'?"
    )
    frame = target_frame()
    frame.loc[2, "week"] = None
    assert estimate(*LABEL, "--by", "week", target=write(tmp_path, frame)) == (
        "Line 4 of wrong.csv has no group in column 'week'; every item needs one. Fill it in or "
        "remove such rows."
    )


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--method", "magic"], "There is no method 'magic'; expected one of bayesian-kdey, "),
        (
            ["--method", "bootstrap"],
            "The method bootstrap repeats a point method; say which one, for example --method "
            "bootstrap-kdey.",
        ),
        (
            ["--method", "emq", "--kernel", "ilr"],
            "The method emq has no kernel; methods that have --kernel are bayesian-kdey, kdey, "
            "bootstrap-kdey. Leave the option out or choose one of these.",
        ),
        (
            ["--method", "KDEy", "--prior", "1"],
            "The method kdey has no prior; methods that have --prior are bayesian-kdey, "
            "bayesian-emq, bayesian-acc, pq. Leave",
        ),
        (
            ["--method", "cc", "--level", "0.9"],
            "The method cc gives no intervals, so --level has no meaning; leave it out, or choose "
            "pq or a method that begins with bayesian or bootstrap.",
        ),
        (["--level", "95"], "The 'level' parameter must be a number between 0 and 1"),
        (["--seed", "-1"], "The option --seed is -1; expected a whole number from 0 on."),
        (
            ["--temperature", "0"],
            "The 'temperature' parameter must be a positive number between 0.001 and 1e9.",
        ),
        (["--kernel", "box"], "The 'kernel' parameter must be one of 'aitchison', 'ilr'"),
        (["--bandwidth", "wide"], "The 'bandwidth' parameter must be a positive number"),
        (["--estimand", "all"], "The 'estimand' parameter must be one of 'batch'"),
        (
            ["--prior", "mapls"],
            "The adaptive prior mapls belongs to the method bayesian-emq, not to bayesian-kdey",
        ),
        (["--prior", "-1"], "The option --prior is '-1'; expected a positive number"),
        (["--prior", "ham=much"], "The option --prior is 'ham=much'; expected a positive number"),
        (
            ["--prior", "egg=1,ham=1,bacon=1"],
            "The option --prior names the class 'bacon'; expected one of 'egg', 'ham', 'spam'.",
        ),
        (["--prior", "egg=1"], "The 'prior' parameter does not name 'ham'; expected a number"),
        (
            ["--classifier", "oracle"],
            "There is no classifier 'oracle'; expected one of logistic, random-forest, gradient-",
        ),
        (
            ["--classifier", "logistic:C"],
            "The option --classifier has 'C' after the name; expected NAME=VALUE, as in logistic",
        ),
        (
            ["--classifier", "logistic:D=1"],
            "The classifier logistic has no parameter 'D'; expected one of C, class_weight,",
        ),
    ],
)
def test_wrong_options(estimate, options, sentence):
    assert estimate(*LABEL, *options).startswith(sentence)


def test_a_wrong_value_for_a_classifier(estimate):
    sentence = estimate(*LABEL, "--method", "cc", "--classifier", "logistic:C=-1")
    assert sentence.startswith("The classifier cannot be trained: The 'C' parameter of Logistic")


def test_usage_is_for_typer(capsys):
    for arguments in (
        ["estimate"],
        ["estimate", "a", "b", "--format", "xml"],
        ["sing"],
    ):
        done = run(capsys, *arguments)
        assert done.code == 2
        assert done.err.startswith("Usage: truemix")


# --- output -----------------------------------------------------------------------------------


def test_files_that_cannot_be_written(estimate, files, tmp_path):
    missing, inside = tmp_path / "missing" / "x.json", tmp_path / "target.csv" / "x.json"
    for option in ("--out", "--report"):
        assert estimate(*LABEL, option, missing) == (
            f"Cannot write {missing}: {missing.parent} does not exist; make it first."
        )
        assert estimate(*LABEL, option, inside) == (
            f"Cannot write {inside}: {inside.parent} is not a folder."
        )
        assert estimate(*LABEL, option, tmp_path) == (
            f"Cannot write {tmp_path}: it is a folder; expected a file."
        )
        assert estimate(*LABEL, option, files[0]) == (
            f"The option {option} names {files[0]}, which this command already uses; choose "
            "another file."
        )
    both = estimate(*LABEL, "--out", tmp_path / "x", "--report", tmp_path / "x")
    assert both.startswith("The option --report names ")


# Root may write everywhere, so it becomes somebody else: once everything is imported, because
# that one may not be allowed to read where Python and truemix are.
AS_NOBODY = """
import os, sys
from truemix.cli import main
arguments, out = sys.argv[1:-1], sys.argv[-1]
main([*arguments, "--out", os.path.join("missing", "x.json")])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main([*arguments, "--out", out]))
"""


def as_nobody(place, out):
    """Estimate as somebody who is not root, and return what is said of the output."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", AS_NOBODY, "estimate", *written(place), *LABEL, str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr.splitlines()[1:]


@pytest.mark.skipif(os.name == "nt", reason="folders of Windows have no mode that forbids writing")
def test_a_read_only_folder_and_a_read_only_file():
    # Not tmp_path, which only its owner may enter.
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        folder = place / "locked"
        folder.mkdir(mode=0o555)
        protected = place / "protected.json"
        protected.write_text("old")
        protected.chmod(0o444)
        assert as_nobody(place, folder / "x.json") == [
            f"Error: Cannot write {folder / 'x.json'}: the folder {folder} may not be written."
        ]
        assert contents(folder) == []
        assert as_nobody(place, protected) == [
            f"Error: Cannot write {protected}: it is write-protected."
        ]
        assert protected.read_text() == "old"


def test_a_disk_that_refuses_leaves_nothing_behind(files, tmp_path, capsys, monkeypatch):
    # The folder is there and may be written when the command begins, and not when it ends.
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("truemix._files.create_part", refuse)
    options = [*LABEL, *FAST, "--out", tmp_path / "x.json"]
    sentence = fails(capsys, "estimate", *files, *options)
    assert sentence.startswith(f"Cannot write {str(tmp_path / 'x.json')!r} (Permission denied)")
    assert contents(tmp_path) == ["reference.csv", "target.csv"]
