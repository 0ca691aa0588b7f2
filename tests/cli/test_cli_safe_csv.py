"""With --safe-csv no spreadsheet takes text for a formula; without it, text stays as it is."""

import csv
import io

import pandas as pd
import pytest

from cli_support import CLASSES, reference_frame, run, target_frame, written
from truemix.report.csv_text import as_csv

# What spreadsheets take for the beginning of a formula, also behind characters they skip.
FORMULAS = ['=HYPERLINK("http://x")', "+1+1", "-1+1"]
OTHER = ["@SUM(A1)", "\t=1+1", "\r=1+1", "plain", "a=b"]
PCC = ("--label", "label", "--method", "pcc", "--quiet")


@pytest.fixture
def files(tmp_path):
    target = target_frame(names=FORMULAS)
    target["week"] = [OTHER[i % len(OTHER)] for i in range(len(target))]
    files = written(tmp_path, reference_frame(names=FORMULAS), target)
    # Not every CSV file can hold all of that; what is in a file decides, not its name.
    target.to_parquet(files[1])
    return files


def cells(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def column(text, name):
    header, *rows = cells(text)
    return [row[header.index(name)] for row in rows]


def test_estimates(files, capsys):
    command = ("estimate", *files, *PCC, "--by", "week", "--format", "csv")
    plain, safe = run(capsys, *command).out, run(capsys, *command, "--safe-csv").out
    assert set(column(plain, "class")) == set(FORMULAS)
    assert set(column(plain, "group")) == set(OTHER)
    assert set(column(safe, "class")) == {f"'{each}" for each in FORMULAS}
    assert set(column(safe, "group")) == {"'@SUM(A1)", "'\t=1+1", "'\r=1+1", "plain", "a=b"}
    # Numbers are no text, whatever sign they have.
    assert column(safe, "share") == column(plain, "share")


def test_posteriors_and_weights(files, tmp_path, capsys):
    for extension, separator in (("csv", ","), ("tsv", "\t")):
        out, weights = tmp_path / f"out.{extension}", tmp_path / "weights.csv"
        command = ("adapt", *files, *PCC, "--keep", "week", "--out", out, "--weights", weights)
        assert run(capsys, *command).code == 0
        before = pd.read_csv(out, sep=separator)
        assert before.columns.tolist() == ["week", *sorted(FORMULAS)]
        assert run(capsys, *command, "--safe-csv").code == 0
        after = pd.read_csv(out, sep=separator)
        assert after.columns.tolist() == ["week", *(f"'{each}" for each in sorted(FORMULAS))]
        assert set(after["week"]) == {"'@SUM(A1)", "'\t=1+1", "'\r=1+1", "plain", "a=b"}
        assert after.iloc[:, 1:].to_numpy().tolist() == before.iloc[:, 1:].to_numpy().tolist()
        assert set(column(weights.read_text(), "class")) == {f"'{each}" for each in FORMULAS}


def test_kept_numbers_stay_numbers(tmp_path, capsys):
    target = target_frame().assign(week=-1.5)
    out = tmp_path / "out.csv"
    command = ("adapt", *written(tmp_path, target=target), *PCC, "--keep", "week", "--out", out)
    target.to_parquet(tmp_path / "target.csv")
    assert run(capsys, *command, "--safe-csv").code == 0
    assert set(pd.read_csv(out)["week"]) == {-1.5}


def test_items_of_a_check_and_settings(files, tmp_path, capsys):
    items = tmp_path / "items.csv"
    options = ("--bandwidth", "0.3", "--shrinkage", "0.5", "--label", "label", "--quiet")
    run(capsys, "check", *files, *options, "--by", "week", "--items", items, "--safe-csv")
    assert set(column(items.read_text(), "resembles")) <= {f"'{each}" for each in FORMULAS}
    assert "'@SUM(A1)" in column(items.read_text(), "group")
    tuned = ("tune", files[0], "--label", "label", "--method", "kdey", "--quiet", "--format", "csv")
    grid = ("--grid", "bandwidth=0.3", "--grid", "shrinkage=0.5")
    done = run(capsys, *tuned, *grid, "--safe-csv")
    assert done.code == 0
    assert CLASSES[0] not in done.out
    assert cells(done.out)[0][-1] == "standard_error"


@pytest.mark.parametrize("name", ["a\rb", "a\nb", "a\r\nb", '"', " ", "a,b", "\r"])
def test_any_text_can_be_read_back(name):
    assert cells(as_csv([{"class": name, "share": 0.5}])) == [["class", "share"], [name, "0.5"]]
    assert as_csv([{"class": "a"}]) == "class\na\n"
