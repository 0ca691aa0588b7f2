"""``--by`` with ``--every``, and ``--by`` twice: in every format, by batches and in summaries."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, contents, fails, reference_frame, run, target_frame
from truemix import PCC

COUNTED = ("--label", "label", "--method", "pcc", "--quiet")
JSON = ("--format", "json")
ZONE = "Europe/Berlin"


def items(n=150):
    """Return items over a winter, some in the hour that comes twice, but none in January."""
    frame = target_frame(n).drop(columns="week")
    at = pd.date_range("2023-10-29 00:10", periods=n, freq="29h", tz="UTC")
    at = at[:0].append([at[:12].floor("D") + np.arange(12) * pd.Timedelta("37min"), at[12:]])
    at = at.where((at.month != 1), at + pd.Timedelta(days=31))
    return frame.assign(region=np.array(["south", "north", "east"])[np.arange(n) % 3], at=at)


@pytest.fixture
def folder(tmp_path):
    frame = items()
    frame["at"] = frame["at"].dt.tz_convert(ZONE)
    reference_frame().to_csv(tmp_path / "reference.csv", index=False)
    frame.to_csv(tmp_path / "target.csv", index=False)
    frame.to_parquet(tmp_path / "target.parquet", index=False)
    return tmp_path


@pytest.fixture
def estimate(folder, capsys):
    def command(target="target.parquet", *options):
        files = (folder / "reference.csv", folder / target)
        done = run(capsys, "estimate", *files, *COUNTED, *JSON, *options)
        assert done.code == 0, done.err
        return done.json

    return command


@pytest.fixture
def refused(folder, capsys):
    def command(*options, target="target.parquet"):
        files = (folder / "reference.csv", folder / target)
        return fails(capsys, "estimate", *files, *COUNTED, *options)

    return command


def shares(found):
    return [
        [group["group"], group["n_items"], *(each["share"] for each in group["classes"])]
        for group in found["groups"]
    ]


@pytest.mark.parametrize("every", ["hour", "day", "week", "month", "quarter", "year"])
def test_groups_are_those_of_python_in_every_format(estimate, every):
    frame = items().assign(at=lambda table: table["at"].dt.tz_convert(ZONE))
    reference = reference_frame()
    fitted = PCC().fit(reference[CLASSES], reference["label"])
    expected = [
        [group, each.n_items, *each.prevalence]
        for group, each in fitted.quantify_by(frame[CLASSES], frame["at"], every=every).items()
    ]
    for target in ("target.csv", "target.parquet"):
        found = estimate(target, "--by", "at", "--every", every)
        assert [row[:2] for row in shares(found)] == [row[:2] for row in expected]
        np.testing.assert_allclose(
            [row[2:] for row in shares(found)], [row[2:] for row in expected], atol=1e-12
        )
        assert (found["by"], found["every"], found["grouping"]) == ("at", every, every)
        assert found["ordered"]


def test_a_month_without_items_is_a_gap_and_no_estimate(estimate, folder, capsys):
    found = estimate("target.csv", "--by", "at", "--every", "month")
    months = [group["group"] for group in found["groups"]]
    assert months[:4] == ["2023-10", "2023-11", "2023-12", "2024-02"]
    assert [group["position"] for group in found["groups"]] == [0, 1, 2, *range(4, len(months) + 1)]
    assert [group["follows"] for group in found["groups"]] == [None, *range(len(months) - 1)]
    assert found["gaps"] == [{"first": "2024-01", "last": "2024-01", "n_periods": 1, "after": 2}]
    assert found["series"] == [list(range(len(months)))]
    files = (folder / "reference.csv", folder / "target.csv")
    by = ("--by", "at", "--every", "month")
    lines = run(capsys, "estimate", *files, *COUNTED, *by).out.splitlines()
    assert lines[0] == "PCC: the mix of 150 items by month"
    assert lines[1].split()[:3] == ["month", "class", "estimate"]
    assert lines[11].split() == ["2024-01", "no", "items", "0"]
    text = run(capsys, "estimate", *files, *COUNTED, *by, "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(dict.fromkeys(row["group"] for row in rows)) == months


def test_groups_of_two_columns_follow_each_other_within_one_of_them(folder, capsys):
    files = (folder / "reference.csv", folder / "target.parquet")
    options = ("--label", "label", "--method", "bayesian-acc", "--draws", "100", "--quiet")
    options = (*options, "--by", "region", "--by", "at", "--every", "quarter")
    done = run(capsys, "estimate", *files, *options, *JSON)
    assert done.code == 0
    found = done.json
    assert (found["by"], found["grouping"]) == ("region, at", "region and quarter")
    assert (found["keys"], found["along"], found["ordered"]) == (["region", "at"], 1, False)
    names = [group["group"] for group in found["groups"]]
    assert names[:4] == ["east, 2023-Q4", "east, 2024-Q1", "east, 2024-Q2", "north, 2023-Q4"]
    assert found["groups"][1]["keys"] == ["east", "2024-Q1"]
    for place, group in enumerate(found["groups"]):
        first = group["keys"][1] == "2023-Q4"
        assert group["follows"] == (None if first else place - 1)
        assert (group["classes"][0]["prob_increase"] is None) == first
    text = run(capsys, "estimate", *files, *options, "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0])[:3] == ["region", "at", "class"]
    assert [rows[0]["prob_increase"] == "", rows[3]["prob_increase"] == ""] == [True, False]
    lines = run(capsys, "estimate", *files, *options).out.splitlines()
    assert lines[1].split()[:3] == ["region", "quarter", "class"]
    assert lines[-1].endswith("larger than in the group before, within the same region")


def test_the_columns_of_a_result_are_not_overwritten_by_groups(folder, capsys):
    frame = items().rename(columns={"region": "share"})
    frame.to_csv(folder / "target.csv", index=False)
    files = (folder / "reference.csv", folder / "target.csv")
    by = ("--by", "share", "--by", "at", "--every", "year", "--format", "csv")
    lines = run(capsys, "estimate", *files, *COUNTED, *by).out.splitlines()
    assert lines[0].startswith("group_1,group_2,class,share,")


@pytest.mark.parametrize("by", [("--by", "at"), ("--by", "region", "--by", "at")])
def test_batches_and_files_do_not_matter(estimate, folder, monkeypatch, by):
    expected = shares(estimate("target.parquet", *by, "--every", "month"))
    frame = pd.read_parquet(folder / "target.parquet")
    (folder / "parts").mkdir()
    frame[:40].to_csv(folder / "parts" / "a.csv", index=False)
    frame[40:90].to_parquet(folder / "parts" / "b.parquet")
    # The same instants in UTC: other months for none of them.
    later = frame[90:].assign(at=frame["at"].dt.tz_convert("UTC"))
    later.to_feather(folder / "parts" / "c.arrow")
    assert (later["at"].dt.month == frame["at"][90:].dt.month).all()
    assert shares(estimate("parts", *by, "--every", "month")) == expected
    monkeypatch.setattr("truemix.cli.tables.arrow.BATCH_ROWS", 7)
    monkeypatch.setattr("truemix.cli._file_summaries._BATCH_NUMBERS", 20)
    assert shares(estimate("target.parquet", *by, "--every", "month")) == expected


def test_folders_tell_days_that_become_months(estimate, folder):
    frame = pd.read_parquet(folder / "target.parquet")[::5]
    frame.to_parquet(folder / "target.parquet")
    expected = shares(
        estimate("target.parquet", "--by", "region", "--by", "at", "--every", "month")
    )
    days = frame["at"].dt.strftime("%Y-%m-%d")
    for day, part in frame.drop(columns="at").groupby(days):
        place = folder / "days" / f"at={day}"
        place.mkdir(parents=True)
        part.to_csv(place / "part.csv", index=False)
    found = estimate("days", "--by", "region", "--by", "at", "--every", "month")
    assert shares(found) == expected
    assert [
        group["group"] for group in estimate("days", "--by", "at", "--every", "year")["groups"]
    ] == [
        "2023",
        "2024",
    ]


def test_summaries_of_days_answer_for_months(estimate, folder, capsys):
    files = (folder / "reference.csv", folder / "target.parquet")
    pd.read_parquet(files[1])[::4].to_parquet(files[1])
    by = ("--by", "region", "--by", "at")
    out = folder / "summaries"
    options = (*COUNTED, *by, "--every", "day", "--out", out)
    assert run(capsys, "summarize", *files, *options).code == 0
    assert contents(out) == ["region=east", "region=north", "region=south"]
    assert contents(out / "region=south")[0] == "at=2023-10-29"
    assert contents(out / "region=south" / "at=2023-10-29") == ["summary.npz"]
    for each in (by, by[2:], (*by[2:], *by[:2])):
        expected = estimate("target.parquet", *each, "--every", "month")
        assert shares(estimate("summaries", *each, "--every", "month")) == shares(expected)
    # As they are, without any period.
    assert len(estimate("summaries", "--by", "at")["groups"]) == len(
        estimate("target.parquet", "--by", "at", "--every", "day")["groups"]
    )


def test_a_summary_of_groups_says_which_they_are(folder, capsys):
    files = (folder / "reference.csv", folder / "target.parquet")
    by = ("--by", "region", "--by", "at", "--every", "year")
    out = ("--out", folder / "summaries")
    lines = run(capsys, "summarize", *files, *COUNTED, *by, *out).out.splitlines()
    assert lines[1].split() == ["region", "year", "items", "rows", "exact"]
    out = ("--out", folder / "others", *JSON)
    found = run(capsys, "summarize", *files, *COUNTED, *by, *out).json
    assert (found["keys"], found["every"]) == (["region", "at"], "year")
    assert found["summaries"][0]["keys"] == ["east", "2023"]


def test_the_check_has_the_same_groups(folder, capsys):
    files = (folder / "reference.csv", folder / "target.parquet")
    options = ("--label", "label", "--bandwidth", "0.3", "--shrinkage", "0.5", "--quiet")
    by = ("--by", "region", "--by", "at", "--every", "year")
    found = run(capsys, "check", *files, *options, *by, *JSON).json
    assert [group["keys"] for group in found["groups"]] == [
        [region, year] for region in ("east", "north", "south") for year in ("2023", "2024")
    ]
    lines = run(capsys, "check", *files, *options, *by).out.splitlines()
    assert lines[1].split()[:3] == ["region", "year", "fits"]


def test_the_command_in_the_result_groups_again(estimate):
    found = estimate("target.csv", "--by", "region", "--by", "at", "--every", "year")
    assert "--by region --by at --every year" in found["command"]


def test_different_clocks_are_grouped_as_they_are_written_and_said(folder, capsys):
    files = (folder / "reference.csv", folder / "target.csv")
    options = [each for each in COUNTED if each != "--quiet"]
    done = run(capsys, "estimate", *files, *options, "--by", "at", "--every", "week")
    assert (
        "Note: times in 'at' have different zones or offsets from UTC ('+01:00', '+02:00'); each "
        "is in the period of the date and the clock that it is written with."
    ) in done.err.splitlines()
    files = (folder / "reference.csv", folder / "target.parquet")
    done = run(capsys, "estimate", *files, *options, "--by", "at", "--every", "week")
    assert "offsets" not in done.err


# --- wrong combinations -----------------------------------------------------------------------


def test_periods_need_a_column(refused):
    assert refused("--every", "month") == (
        "--every month needs the column of times that items are grouped by; add --by COLUMN, or "
        "leave it out."
    )
    assert refused("--by", "at", "--every", "fortnight") == (
        "The option --every is 'fortnight'; expected one of hour, day, week, month, quarter, year."
    )


def test_a_column_twice_and_a_column_that_is_missing(refused):
    assert refused("--by", "region", "--by", "region") == (
        "--by names 'region' twice; expected different columns, to group by each combination of "
        "them. Leave one of them out."
    )
    assert refused("--by", "region", "--by", "att", "--every", "day").startswith(
        "target.parquet has no column 'att' (as --by says); its columns are "
    )


def test_a_column_that_is_no_time(refused):
    assert refused("--by", "egg", "--every", "day") == (
        "Column 'egg' of target.parquet holds numbers; expected dates or times, as text such as "
        "2024-02-01 14:30 or of a type for them."
    )
    assert refused("--by", "region", "--every", "day", target="target.csv") == (
        "Line 2 of target.csv has 'south' in column 'region'; expected a date or a time. Write "
        "dates such as 2024-02-01, or times such as 2024-02-01 14:30."
    )
    assert refused("--by", "region", "--by", "egg", "--every", "day") == (
        "target.parquet: Groups are told by 'region', 'egg', and none of them holds dates or "
        "times; periods are made of exactly one. Leave the periods out, or name other columns."
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("01/02/2024", "has '01/02/2024' in column 'at'; day and month can be mistaken for each"),
        ("2024-02-30", "has '2024-02-30' in column 'at'; no calendar and no clock has that."),
        (
            "2024-02-03 10:00",
            "has '2024-02-03 10:00' in column 'at'; it has no offset from UTC, and times",
        ),
        ("2024-02", "has '2024-02' in column 'at'; a month is not within a day."),
        ("1709251200", "has '1709251200' in column 'at'; expected a date or a time. If it counts"),
        ("", "has no group in column 'at'; every item needs one."),
    ],
)
def test_a_bad_time_is_named_by_its_line(refused, folder, value, sentence):
    frame = pd.read_csv(folder / "target.csv")
    frame.loc[100, "at"] = value
    frame.to_csv(folder / "target.csv", index=False)
    found = refused("--by", "at", "--every", "day", target="target.csv")
    assert found.startswith(f"Line 102 of target.csv {sentence}")


def test_times_outside_the_calendar(refused, folder):
    frame = pd.read_parquet(folder / "target.parquet")
    times = np.zeros(150, "datetime64[s]")
    times[7] = np.datetime64("12000-01-01")
    frame.assign(at=times).to_parquet(folder / "target.parquet")
    assert refused("--by", "at", "--every", "year").startswith(
        "Row 8 of target.parquet has no date of a year from 1 to 9999"
    )


def test_too_many_periods_say_which_ones_fit(refused, monkeypatch):
    monkeypatch.setattr("truemix.cli._groups.MAX_GROUPS", 40)
    assert refused("--by", "at", "--every", "hour") == (
        "Column 'at' of target.parquet has items in more than 40 hours. --every week fits: that "
        "makes 23 of them so far."
    )
    assert refused("--by", "region", "--by", "at", "--every", "day") == (
        "Columns 'region', 'at' of target.parquet make more than 40 groups. --every month fits: "
        "that makes 18 of them so far."
    )
    assert refused("--by", "at", "--by", "egg").endswith(
        "make more than 40 groups; expected groups of items, such as weeks or regions."
    )
    monkeypatch.setattr("truemix.cli._groups.MAX_GROUPS", 1)
    assert refused("--by", "at", "--every", "year").endswith("1 years. Group by something else.")


def test_a_folder_that_is_no_time(refused, folder):
    place = folder / "days" / "day=01%2F02%2F2024"
    place.mkdir(parents=True)
    items().to_csv(place / "part.csv", index=False)
    assert refused("--by", "day", "--every", "month", target="days") == (
        "part.csv is in a folder whose 'day' is '01/02/2024'; day and "
        "month can be mistaken for each other. Write dates such as 2024-02-01, or times such as "
        "2024-02-01 14:30."
    )
