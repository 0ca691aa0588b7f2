"""Several files, patterns, folders and partitions are one target, with one answer."""

import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, FAST, fails, reference_frame, run, target_frame, written

LABEL = ("--label", "label")
PCC = (*LABEL, "--method", "pcc")
JSON = ("--format", "json", "--quiet")
DAYS = [f"2026-01-{day:02d}" for day in (1, 2, 10)]


def frame_with_days():
    return target_frame().assign(day=[DAYS[i % 3] for i in range(150)])


@pytest.fixture
def parts(tmp_path):
    """Write a target in one file, and in a folder of many by day; return both."""
    written(tmp_path, target=frame_with_days())
    folder = tmp_path / "data"
    for day, rows in frame_with_days().groupby("day"):
        inside = folder / f"day={day}"
        inside.mkdir(parents=True)
        frame = rows.drop(columns="day")
        frame[:20].to_parquet(inside / "a.parquet", index=False)
        frame[20:30].to_csv(inside / "b.tsv", sep="\t", index=False)
        (inside / "c.csv.gz").write_bytes(gzip.compress(frame[30:].to_csv(index=False).encode()))
        # What Spark leaves behind, and what is no table.
        (inside / "_SUCCESS").write_text("")
        (inside / "_metadata.parquet").write_text("")
        (inside / ".a.csv.crc").write_text("")
        (inside / "readme.txt").write_text("")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "x.csv").write_text("")
    return tmp_path / "target.csv", folder


@pytest.fixture
def estimate(tmp_path, parts, capsys):
    """Return a function that estimates the mix of some targets."""

    def estimated(*targets, call=run):
        return call(capsys, "estimate", tmp_path / "reference.csv", *targets)

    return estimated


def groups(done):
    assert done.code == 0
    return done.json["groups"]


# --- what is one target -----------------------------------------------------------------------


def test_files_folders_and_patterns_give_the_answer_of_one_file(estimate, parts):
    whole, folder = parts
    expected = groups(estimate(whole, *LABEL, *FAST, *JSON))
    files = sorted(folder.rglob("*.*"))
    files = [path for path in files if path.name in {"a.parquet", "b.tsv", "c.csv.gz"}]
    for targets in (
        files,
        files[::-1],
        [folder],
        [folder / "day=*" / "[a-c].*"],
        [folder / "*"],
        [folder / "**"],
        [folder / "day=2026-01-01", folder / "day=2026-01-02", folder / "*-10" / "[abc].*"],
    ):
        assert groups(estimate(*targets, *LABEL, *FAST, *JSON)) == expected


def test_groups_of_a_column_are_found_over_all_files(estimate, parts):
    whole, folder = parts
    options = ("--by", "week", *LABEL, *FAST, *JSON)
    assert groups(estimate(folder, *options)) == groups(estimate(whole, *options))


def test_folders_tell_groups(estimate, parts):
    whole, folder = parts
    options = ("--by", "day", *LABEL, *FAST, *JSON)
    found = groups(estimate(folder, *options))
    assert found == groups(estimate(whole, *options))
    assert [group["group"] for group in found] == DAYS
    # As a shell would have expanded a pattern.
    one_by_one = [folder / f"day={day}" for day in DAYS]
    assert groups(estimate(*one_by_one, *options)) == found


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["10", "9", "2"], [2, 9, 10]),
        (["b%2Fc", "a b", "caf%C3%A9"], ["a b", "b/c", "café"]),
        (["week 10", "week 9", "01"], ["01", "week 9", "week 10"]),
    ],
)
def test_names_of_folders_are_decoded_and_numbers_where_all_are(estimate, tmp_path, values, names):
    for value in values:
        (tmp_path / "more" / f"key={value}" / "x=y").mkdir(parents=True)
        target_frame(20).to_csv(tmp_path / "more" / f"key={value}" / "x=y" / "t.csv", index=False)
    done = estimate(tmp_path / "more", *PCC, "--by", "key", *JSON)
    assert [group["group"] for group in groups(done)] == names


def test_groups_of_different_formats_are_the_same_groups(estimate, tmp_path):
    weeks = target_frame(60).assign(week=[9, 10] * 30)
    weeks[:30].to_csv(tmp_path / "text.csv", index=False)
    weeks[30:].to_parquet(tmp_path / "numbers.parquet")
    files = tmp_path / "text.csv", tmp_path / "numbers.parquet"
    found = groups(estimate(*files, *PCC, "--by", "week", *JSON))
    assert [(group["group"], group["n_items"]) for group in found] == [(9, 30), (10, 30)]
    days = weeks.assign(day=["2026-01-01"] * 60)
    days[:30].to_csv(tmp_path / "text.csv", index=False)
    days[30:].assign(day=pd.Timestamp("2026-01-01")).to_parquet(tmp_path / "numbers.parquet")
    (group,) = groups(estimate(*files, *PCC, "--by", "day", *JSON))
    assert (group["group"], group["n_items"]) == ("2026-01-01", 60)


def test_the_folder_is_believed_rather_than_the_column(estimate, tmp_path):
    folder = tmp_path / "more" / "week=7"
    folder.mkdir(parents=True)
    target_frame(20).to_csv(folder / "t.csv", index=False)
    done = estimate(folder, *PCC, "--by", "week", "--format", "json")
    assert [group["group"] for group in groups(done)] == [7]
    assert "Note: the names of folders tell 'week'; the column of that name was not used." in (
        done.err.splitlines()
    )


def test_batches_do_not_matter(estimate, parts, monkeypatch):
    whole, folder = parts
    expected = groups(estimate(whole, *LABEL, *FAST, "--by", "week", *JSON))
    monkeypatch.setattr("truemix.cli._file_summaries._BATCH_NUMBERS", 10)
    monkeypatch.setattr("truemix.cli.tables.arrow.BATCH_ROWS", 7)
    assert groups(estimate(folder, *LABEL, *FAST, "--by", "week", *JSON)) == expected


def test_features_of_several_files(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=240)
    frame = pd.DataFrame({"size": y + rng.normal(size=240), "colour": [*"rgb"] * 80})
    frame[:120].assign(kind=np.array(["cat", "dog"])[y[:120]]).to_csv(
        tmp_path / "reference.csv", index=False
    )
    frame[120:].to_csv(tmp_path / "whole.csv", index=False)
    frame[120:180].to_csv(tmp_path / "one.csv", index=False)
    frame[180:].to_parquet(tmp_path / "other.parquet")
    options = ("--label", "kind", "--classifier", "logistic", "--method", "emq", *JSON)
    shares = []
    for targets in (["whole.csv"], ["one.csv", "other.parquet"]):
        files = [tmp_path / name for name in ["reference.csv", *targets]]
        (group,) = groups(run(capsys, "estimate", *files, *options))
        shares.append([each["share"] for each in group["classes"]])
    # A product of matrices may depend on how many rows it has.
    np.testing.assert_allclose(shares[0], shares[1], rtol=1e-9)


# --- what is said of them ---------------------------------------------------------------------


def test_results_say_how_many_files_there_were(estimate, parts, tmp_path):
    _, folder = parts
    report = tmp_path / "report.html"
    done = estimate(folder, *PCC, "--format", "json", "--report", report)
    expected = {"name": "9 files in data", "n_items": 150, "n_files": 9, "skipped_files": []}
    assert done.json["target"] == expected
    assert done.json["command"].startswith("truemix estimate reference.csv data --label label")
    assert "<dt>Files</dt><dd>9</dd>" in report.read_text()
    assert "Note: not used in 9 files in data: 'week'." in done.err.splitlines()
    assert estimate(folder, *PCC).out.startswith("PCC: the mix of 150 items in 9 files\n")
    found = estimate(folder / "*" / "a.*", *PCC, *JSON).json["target"]
    assert (found["name"], found["n_files"]) == ("3 files like a.*", 3)
    found = estimate(*folder.glob("*/b.tsv"), *PCC, *JSON).json["target"]
    assert (found["name"], found["n_files"]) == ("3 files", 3)
    found = estimate(folder / "day=2026-01-01" / "a.parquet", *PCC, *JSON).json["target"]
    assert found == {"name": "a.parquet", "n_items": 20}


def test_rows_that_were_renormalised_are_told_once(estimate, tmp_path):
    frame = target_frame()[CLASSES]
    frame["egg"] += 4e-4
    for number in range(3):
        frame.to_csv(tmp_path / f"part-{number}.csv", index=False)
    done = estimate(tmp_path / "part-*.csv", *PCC, "--format", "json")
    assert done.err.splitlines() == [
        "Note: rows of 3 files like part-*.csv were renormalised; they sum to 1 only within 0.0004."
    ]


def test_stdin_may_be_one_of_several(estimate, tmp_path, parts, monkeypatch):
    whole, _ = parts
    frame = frame_with_days()
    frame[100:].to_csv(tmp_path / "rest.csv", index=False)
    data = io.BytesIO(frame[:100].to_csv(index=False).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    expected = groups(estimate(whole, *PCC, *JSON))
    assert groups(estimate("-", tmp_path / "rest.csv", *PCC, *JSON)) == expected


# --- what is wrong ----------------------------------------------------------------------------


def test_nothing_is_found(estimate, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("")
    assert estimate(tmp_path / "empty", *PCC, call=fails) == (
        f"The folder {tmp_path / 'empty'} holds no tables; expected files that end in .csv, .tsv, "
        ".jsonl, .ndjson, .parquet, .pq, .arrow, .arrows, .feather, .ipc, .npz (also .gz). Names "
        "that begin with . or _ are left out."
    )
    assert estimate(tmp_path / "no*.csv", *PCC, call=fails) == (
        f"No file is like {tmp_path / 'no*.csv'}; expected the pattern of some tables (CSV, TSV, "
        "JSON Lines, Parquet, Arrow or NPZ). Check it, and the folder that it begins in."
    )
    assert estimate(tmp_path / "target.csv", tmp_path / "no.csv", *PCC, call=fails) == (
        f"There is no file {tmp_path / 'no.csv'}; expected a table (CSV, TSV, JSON Lines, "
        "Parquet, Arrow or NPZ), or - for stdin. Check the name."
    )


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(estimate, tmp_path):
    target_frame().to_csv(tmp_path / "[1].csv", index=False)
    assert estimate(tmp_path / "[1].csv", *PCC, *JSON).json["target"]["name"] == "[1].csv"


def test_the_same_file_twice(estimate, parts, tmp_path):
    whole, folder = parts
    (tmp_path / "link.csv").symlink_to(whole)
    assert estimate(whole, whole, *PCC, call=fails) == (
        "TARGET names the same file more than once: target.csv. Items must not count twice; leave "
        "one of them out."
    )
    sentence = estimate(whole, tmp_path / "link.csv", *PCC, call=fails)
    assert "target.csv and link.csv, which are one." in sentence
    assert "more than once" in estimate(folder, folder / "*", *PCC, call=fails)
    assert estimate("-", "-", *PCC, call=fails) == (
        "TARGET has - more than once, but stdin can be read only once."
    )


def test_the_reference_is_not_found_among_the_targets(estimate, tmp_path):
    sentence = estimate(tmp_path, *PCC, call=fails)
    assert sentence.startswith(f"{tmp_path} as TARGET holds {tmp_path / 'reference.csv'} too")
    # Who names it means it.
    target = reference_frame().to_csv(index=False)
    (tmp_path / "reference.csv").write_text(target)
    assert estimate(tmp_path / "reference.csv", *PCC).code == 0


def test_a_group_that_nobody_tells(estimate, parts, tmp_path):
    _, folder = parts
    sentence = estimate(folder, *PCC, "--by", "hour", call=fails)
    assert sentence == (
        "data/day=2026-01-01/a.parquet has no column 'hour' (as --by says; its folders say day); "
        "its columns are 'egg', 'ham', 'spam', 'week'."
    )
    target_frame().to_csv(tmp_path / "other.csv", index=False)
    sentence = estimate(folder, tmp_path / "other.csv", *PCC, "--by", "day", call=fails)
    assert sentence.startswith("other.csv has no column 'day' (as --by says); its columns are ")
    for value in ("", "__HIVE_DEFAULT_PARTITION__"):
        inside = tmp_path / "none" / f"day={value}"
        inside.mkdir(parents=True)
        target_frame().to_csv(inside / "t.csv", index=False)
        sentence = estimate(inside, *PCC, "--by", "day", call=fails)
        assert sentence.startswith("t.csv is in a folder without a value for 'day'; every item")


def test_too_many_groups_over_all_files(estimate, tmp_path, monkeypatch):
    monkeypatch.setattr("truemix.cli._groups.MAX_GROUPS", 12)
    for number in range(2):
        weeks = [f"week {10 * number + i % 10}" for i in range(20)]
        target_frame(20).assign(week=weeks).to_csv(tmp_path / f"part-{number}.csv", index=False)
    assert estimate(tmp_path / "part-*", *PCC, "--by", "week", call=fails) == (
        "Column 'week' of 2 files like part-* has more than 12 different values; expected groups "
        "of items, such as weeks or regions."
    )


# --- damaged files ----------------------------------------------------------------------------


@pytest.fixture
def damaged(parts):
    """Damage two of nine files; one of them only in its last row."""
    _, folder = parts
    path = folder / "day=2026-01-02" / "a.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with (folder / "day=2026-01-10" / "b.tsv").open("a") as file:
        file.write("0.1\t0.1\t0.1\tweek 1\n")
    return folder


def test_the_first_damaged_file_is_named(estimate, damaged):
    sentence = estimate(damaged, *PCC, call=fails)
    assert sentence.startswith("data/day=2026-01-02/a.parquet is not a complete Parquet file (")
    assert sentence.endswith(
        "; write or copy it again. Or go on without such files: --skip-bad-files."
    )


def test_damaged_files_are_skipped_whole_and_counted(
    estimate, damaged, parts, tmp_path, monkeypatch
):
    # The last row of a file is bad, so that all others have been read before.
    monkeypatch.setattr("truemix.cli._file_summaries._BATCH_NUMBERS", 10)
    report = tmp_path / "report.html"
    options = (*LABEL, *FAST, "--by", "week", "--skip-bad-files")
    done = estimate(damaged, *options, "--format", "json", "--report", report)
    bad = ["data/day=2026-01-02/a.parquet", "data/day=2026-01-10/b.tsv"]
    target = done.json["target"]
    assert (target["n_files"], target["n_items"]) == (9, 120)
    assert target["skipped_files"] == bad
    (note,) = [line for line in done.err.splitlines() if "left out" in line]
    assert note.startswith(f"Note: left out 2 of 9 files: {bad[0]} is not a complete Parquet file")
    assert f"; Line 12 of {bad[1]} sums to 0.3 over" in note
    assert "9, of which 2 left out as damaged: <bdi>data/day=" in report.read_text()
    assert "--skip-bad-files" in done.json["command"]
    table = estimate(damaged, *options).out
    assert table.startswith("BayesianKDEy: the mix of 120 items in 7 of 9 files by week\n")
    for name in bad:
        (damaged.parent / name).unlink()
    assert groups(estimate(damaged, *options, *JSON)) == done.json["groups"]


def test_nothing_is_left_if_all_files_are_bad(estimate, tmp_path):
    for number in range(3):
        (tmp_path / f"part-{number}.csv").write_text("egg,ham,spam\n1,1,1\n")
    sentence = estimate(tmp_path / "part-*", *PCC, "--skip-bad-files", call=fails)
    assert sentence.startswith("None of the 3 files can be used. Line 2 of ")
    assert sentence.partition("Line 2 of ")[2].startswith(f"{tmp_path.name}/part-0.csv sums to 3")
    for number in range(3):
        (tmp_path / f"part-{number}.csv").write_text("egg,ham,spam\n")
    assert estimate(tmp_path / "part-*", *PCC, call=fails) == (
        "3 files like part-* have no rows; at least one item is needed."
    )
    (tmp_path / "part-1.csv").write_text("egg,ham,spam\n1,0,0\n")
    assert estimate(tmp_path / "part-*", *PCC).code == 0


def test_a_first_file_that_is_bad_is_skipped_too(estimate, tmp_path):
    (tmp_path / "part-0.csv").write_text("egg,ham\n1,0\n")
    (tmp_path / "part-1.csv").write_text("egg,ham,spam\n1,0,0\n")
    assert "no column 'spam'" in estimate(tmp_path / "part-*", *PCC, call=fails)
    done = estimate(tmp_path / "part-*", *PCC, "--skip-bad-files", *JSON)
    assert done.json["target"]["skipped_files"] == [f"{tmp_path.name}/part-0.csv"]
