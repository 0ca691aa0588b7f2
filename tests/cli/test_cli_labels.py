"""``truemix sample`` and ``truemix estimate --labelled``: from items to label to labels."""

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, FAST, fails, run, target_frame, written
from support import posteriors

LABEL = ("--label", "label")


@pytest.fixture
def files(tmp_path):
    target = target_frame()
    target["id"] = [f"item {i}" for i in range(len(target))]
    return written(tmp_path, target=target)


def truth(n=150):
    return CLASSES[posteriors(n, 3, 1, mix=[0.6, 0.3, 0.1])[1]]


def labelled_file(tmp_path, rows=range(0, 150, 3), **changes):
    rows = list(rows)
    frame = pd.DataFrame({"id": [f"item {i}" for i in rows], "label": truth()[rows]})
    for name, values in changes.items():
        frame[name] = values
    frame.to_csv(tmp_path / "labelled.csv", index=False)
    return str(tmp_path / "labelled.csv")


def test_a_sample_is_labelled_and_given_back(files, tmp_path, capsys):
    out = tmp_path / "to-label.csv"
    done = run(
        capsys, "sample", *files, *LABEL, *FAST, "--n", "30", "--key", "id", "--keep", "week",
        "--out", out,
    )  # fmt: skip
    assert done.code == 0
    assert "30 items of 150 to label" in done.out
    chosen = pd.read_csv(out)
    assert list(chosen.columns) == ["row", "id", "week", "label", "inclusion"]
    assert len(chosen) == 30
    assert chosen["label"].isna().all()
    assert (chosen["id"] == [f"item {row - 1}" for row in chosen["row"]]).all()
    assert chosen["inclusion"].between(0, 1).all()
    chosen["label"] = truth()[chosen["row"] - 1]
    chosen.to_csv(out, index=False)
    answers = [
        run(capsys, "estimate", *files, *LABEL, *FAST, "--labelled", out, *key, "--format", "json")
        for key in ([], ["--key", "id"])
    ]
    assert answers[0].code == 0
    found = answers[0].json["groups"][0]
    assert found["diagnostics"]["labels"]["n_labels"] == 30
    assert found["diagnostics"]["labels"]["assumption"] == "robust"
    # By row or by key, the items are the same.
    assert answers[1].json["groups"] == answers[0].json["groups"]


def test_a_width_decides_how_many_items_are_chosen(files, tmp_path, capsys):
    out = tmp_path / "to-label.parquet"
    done = run(
        capsys, "sample", *files, *LABEL, *FAST, "--width", "0.2", "--out", out, "--format", "json"
    )
    assert done.code == 0
    content = done.json
    assert content["needed"] == content["n"] == len(pd.read_parquet(out))
    widths = {
        n: np.mean([each["width_if_fails"] for each in content["forecast"] if each["n"] == n])
        for n in (25, content["n"])
    }
    assert widths[content["n"]] <= 0.2
    assert {each["class"] for each in content["forecast"]} == set(CLASSES)
    done = run(capsys, "sample", *files, *LABEL, *FAST, "--width", "0.2", "--n", "10")
    assert f"{content['needed']} labels make intervals 20.0 % wide" in done.out


def test_the_seed_decides_the_sample(files, tmp_path, capsys):
    names = [tmp_path / f"{k}.csv" for k in range(3)]
    for name, seed in zip(names, (0, 0, 1), strict=True):
        run(capsys, "sample", *files, *LABEL, *FAST, "--n", "20", "--out", name, "--seed", seed)
    first, again, other = (name.read_text() for name in names)
    assert first == again != other


def test_labels_of_the_target_are_used_and_said(files, tmp_path, capsys):
    name = labelled_file(tmp_path)
    done = run(capsys, "estimate", *files, *LABEL, *FAST, "--labelled", name, "--key", "id")
    assert done.code == 0
    assert "50 of 150 items are labelled. Your 50 labels agree with the assumption" in done.out
    assert "50 labels of 150 items from labelled.csv" in done.err
    for assumption in ("label-shift", "none"):
        done = run(
            capsys, "estimate", *files, *LABEL, *FAST, "--labelled", name, "--key", "id",
            "--assumption", assumption, "--format", "json",
        )  # fmt: skip
        assert done.json["groups"][0]["diagnostics"]["labels"]["assumption"] == assumption
        assert "--labelled labelled.csv" in done.json["command"]
        assert f"--assumption {assumption}" in done.json["command"]


def test_labels_of_all_items_are_the_count_whatever_their_order(files, tmp_path, capsys):
    name = labelled_file(tmp_path, rows=range(149, -1, -1))
    done = run(
        capsys, "estimate", *files, *LABEL, *FAST, "--labelled", name, "--key", "id",
        "--format", "json",
    )  # fmt: skip
    shares = {each["class"]: each["share"] for each in done.json["groups"][0]["classes"]}
    expected = pd.Series(truth()).value_counts(normalize=True)
    assert shares == pytest.approx(expected.to_dict())


def test_a_partly_filled_column_of_the_target_holds_labels(files, tmp_path, capsys):
    target = pd.read_csv(files[1])
    labels = pd.Series(truth()).where(np.arange(150) % 3 == 0)
    target.assign(label=labels).to_csv(files[1], index=False)
    inside = run(capsys, "estimate", *files, *LABEL, *FAST, "--format", "json")
    assert "50 of 150 items of target.csv have a label in column 'label'" in inside.err
    name = labelled_file(tmp_path)
    beside = run(
        capsys, "estimate", *files, *LABEL, *FAST, "--labelled", name, "--key", "id",
        "--format", "json",
    )  # fmt: skip
    assert inside.json["groups"][0]["classes"] == beside.json["groups"][0]["classes"]
    # A full column is not taken for labels: it is there in files for tests.
    target.assign(label=truth()).to_csv(files[1], index=False)
    full = run(capsys, "estimate", *files, *LABEL, *FAST, "--format", "json")
    assert "labels" not in full.json["groups"][0]["diagnostics"]
    target.assign(label=labels.replace("egg", "eggs")).to_csv(files[1], index=False)
    assert fails(capsys, "estimate", *files, *LABEL, *FAST, "--quiet") == (
        "Row 1 of target.csv has the label 'eggs' in column 'label'; expected one of the classes "
        "'egg', 'ham', 'spam', or nothing."
    )


def test_numbers_as_classes_are_found_in_any_format(tmp_path, capsys):
    P, codes = posteriors(120, 2, 2)
    reference = pd.DataFrame(P, columns=["0", "1"]).assign(label=codes)
    P, codes = posteriors(80, 2, 3)
    target = pd.DataFrame(P, columns=["0", "1"]).assign(id=np.arange(80))
    names = written(tmp_path, reference, target)
    labelled = pd.DataFrame({"id": np.arange(80), "label": codes.astype(float)})
    labelled.loc[40:, "label"] = np.nan
    labelled.to_parquet(tmp_path / "labelled.parquet")
    labelled.to_csv(tmp_path / "labelled.csv", index=False)
    found = []
    for name in ("labelled.parquet", "labelled.csv"):
        done = run(
            capsys, "estimate", *names, *LABEL, *FAST, "--labelled", tmp_path / name,
            "--key", "id", "--format", "json",
        )  # fmt: skip
        found.append(done.json["groups"][0])
    assert found[0] == found[1]
    assert found[0]["diagnostics"]["labels"]["n_labels"] == 40


def wrong_label(frame):
    frame.loc[4, "label"] = "eggs"


def twice_in_file(frame):
    frame.loc[4, "id"] = frame.loc[2, "id"]


def not_in_target(frame):
    frame.loc[4, "id"] = "item 999"


def nothing_matches(frame):
    frame["id"] = frame["id"].str.upper()


def no_key(frame):
    frame.loc[4, "id"] = None


def no_labels(frame):
    frame["label"] = None


def bad_inclusion(frame):
    frame["inclusion"] = 0.1
    frame.loc[4, "inclusion"] = 1.5


def no_inclusion(frame):
    frame["inclusion"] = 0.1
    frame.loc[4, "inclusion"] = None


BAD = [
    (
        wrong_label,
        "Line 6 of labelled.csv has the label 'eggs' in column 'label'; expected one of the "
        "classes 'egg', 'ham', 'spam', or nothing.",
    ),
    (
        twice_in_file,
        "Line 6 of labelled.csv has 'item 6' again in column 'id'; expected each item once.",
    ),
    (
        not_in_target,
        "Line 6 of labelled.csv has 'item 999' in column 'id'; no item of target.csv has that key. "
        "Label items of TARGET only.",
    ),
    (
        nothing_matches,
        "No key in column 'id' of labelled.csv is in that column of target.csv: the first is "
        "'ITEM 0' here and 'item 0' there. Check --key and the files.",
    ),
    (
        no_key,
        "Line 6 of labelled.csv has no key in column 'id'; every labelled item needs one.",
    ),
    (no_labels, "labelled.csv has no label in column 'label'; fill some in."),
    (
        bad_inclusion,
        "Line 6 of labelled.csv has '1.5' in column 'inclusion'; expected the probability with "
        "which the item was chosen, above 0 and up to 1.",
    ),
    (
        no_inclusion,
        "Line 6 of labelled.csv has no probability in column 'inclusion'; expected the probability "
        "with which the item was chosen, above 0 and up to 1.",
    ),
]


@pytest.mark.parametrize(("spoil", "sentence"), BAD, ids=lambda each: getattr(each, "__name__", ""))
def test_bad_files_are_told_in_one_sentence(files, tmp_path, capsys, spoil, sentence):
    name = labelled_file(tmp_path)
    frame = pd.read_csv(name)
    spoil(frame)
    frame.to_csv(name, index=False)
    options = ("--labelled", name, "--key", "id", "--quiet")
    assert fails(capsys, "estimate", *files, *LABEL, *FAST, *options) == sentence


def test_a_key_that_names_two_items_of_the_target_is_an_error(files, tmp_path, capsys):
    target = pd.read_csv(files[1])
    target.loc[7, "id"] = "item 3"
    target.to_csv(files[1], index=False)
    options = ("--labelled", labelled_file(tmp_path), "--key", "id", "--quiet")
    assert fails(capsys, "estimate", *files, *LABEL, *FAST, *options) == (
        "Rows 4 and 8 of target.csv both have 'item 3' in column 'id'; expected a key that names "
        "one item."
    )


def test_bad_options_are_told_in_one_sentence(files, tmp_path, capsys):
    name = labelled_file(tmp_path)
    wrong = [
        (["--key", "id"], "The option --key is about the file of --labelled; name that file too."),
        (
            ["--assumption", "none"],
            "The option --assumption is about labels of TARGET, but there are none; name a file of "
            "--labelled, or leave the option out.",
        ),
        (
            ["--labelled", name, "--key", "id", "--by", "week"],
            "Labels are of the whole target, so that --labelled and --by do not go together; "
            "estimate each group by itself.",
        ),
    ]
    for options, sentence in wrong:
        found = fails(capsys, "estimate", *files, *LABEL, *FAST, "--quiet", *options)
        assert found == sentence
    starts = [
        (["--labelled", name, "--key", "key"], "target.csv has no column 'key' (as --key says"),
        (["--labelled", name], "labelled.csv has no column 'row' (rows of TARGET; or name a --key"),
        (
            ["--labelled", name, "--key", "id", "--assumption", "all"],
            "The '--assumption' parameter",
        ),
    ]
    for options, start in starts:
        found = fails(capsys, "estimate", *files, *LABEL, *FAST, "--quiet", *options)
        assert found.startswith(start)
    other = tmp_path / "more.csv"
    target_frame().to_csv(other, index=False)
    options = ("--labelled", name, "--key", "id", "--quiet")
    assert fails(capsys, "estimate", *files, other, *LABEL, *FAST, *options) == (
        "With --labelled TARGET must be one file, because its items are read at once; put them "
        "into one file."
    )
    rows = labelled_file(tmp_path, row=[500] + [1] * 49)
    found = fails(capsys, "estimate", *files, *LABEL, *FAST, "--labelled", rows, "--quiet")
    assert "has '1' again in column 'row'" in found
    rows = labelled_file(tmp_path, row=range(500, 550))
    assert fails(capsys, "estimate", *files, *LABEL, *FAST, "--labelled", rows, "--quiet") == (
        "Line 2 of labelled.csv has '500' in column 'row'; expected a row of TARGET from 1 to 150. "
        "Or name a --key."
    )


def test_bad_options_of_a_sample_are_told_in_one_sentence(files, tmp_path, capsys):
    wrong = [
        (["--n", "0"], "The option --n is 0; expected at least 1 item."),
        (["--width", "7"], "The wanted width is 7; expected a share above 0 and below 1"),
        (["--out", str(tmp_path / "a.npz")], f"{tmp_path / 'a.npz'} would be an NPZ file, which"),
        (["--keep", "week"], "The option --keep is about the file of --out; name that file too."),
    ]
    for options, start in wrong:
        assert fails(capsys, "sample", *files, *LABEL, *FAST, "--quiet", *options).startswith(start)


def test_the_report_says_what_labels_tell(files, tmp_path, capsys):
    page = tmp_path / "page.html"
    name = labelled_file(tmp_path)
    done = run(
        capsys, "estimate", *files, *LABEL, *FAST, "--labelled", name, "--key", "id",
        "--report", page, "--no-check", "--format", "json",
    )  # fmt: skip
    assert done.code == 0
    assert "Your 50 labels agree with the assumption" in done.json["headline"]
    assert "Assumed, not checked" not in done.json["headline"]
    assert "Your 50 labels agree with the assumption" in page.read_text("utf-8")
