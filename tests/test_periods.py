"""Times of any library, unit and zone are in the periods that pandas and polars put them into."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from truemix import InputError
from truemix._arrow_periods import PeriodReader
from truemix._periods import PERIODS
from truemix.groups import by_period

ZONES = [None, "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]
# Both sides of changes of the clock, of new years and leap days, before 1970 and long after.
AROUND = [
    "1960-02-29", "1960-12-31", "1969-12-31", "1999-12-31", "2000-02-29", "2004-12-31",
    "2009-01-01", "2010-01-03", "2020-12-31", "2023-04-01", "2023-09-30", "2023-11-05",
    "2024-02-29", "2024-03-10", "2024-03-31", "2024-04-06", "2024-10-06", "2024-10-27",
    "2024-11-03", "2024-12-29", "2100-02-28",
]  # fmt: skip


def instants(zone):
    """Return times 97 minutes apart, two days around each of these days."""
    steps = pd.timedelta_range("-30h", "40h", freq="97min")
    days = [pd.Timestamp(day, tz="UTC") + steps for day in AROUND]
    found = days[0].append(days[1:])
    return found.tz_localize(None) if zone is None else found.tz_convert(zone)


def by_pandas(times, every):
    """Return the periods as pandas finds them."""
    local = times.tz_localize(None)
    if every == "hour":
        zones = [""] * len(times) if times.tz is None else times.strftime("%z")
        offsets = [f"{zone[:3]}:{zone[3:]}" if zone else "" for zone in zones]
        pairs = zip(local.floor("h").strftime("%Y-%m-%d %H:00"), offsets, strict=True)
        return [f"{hour}{offset}" for hour, offset in pairs]
    if every == "week":
        weeks = local.isocalendar()
        return [f"{y}-W{w:02d}" for y, w in zip(weeks["year"], weeks["week"], strict=True)]
    frequency = {"day": "D", "month": "M", "quarter": "Q", "year": "Y"}[every]
    return [str(each).replace("Q", "-Q") for each in local.to_period(frequency)]


@pytest.mark.parametrize("zone", ZONES)
def test_periods_are_those_of_pandas_in_the_zone_of_the_column(zone):
    times = instants(zone)
    column = pa.array(times)
    texts = times.strftime("%Y-%m-%dT%H:%M:%S" + ("" if zone is None else "%z")).tolist()
    for every in PERIODS:
        expected = by_pandas(times, every)
        assert by_period(column, every) == expected
        assert by_period(texts, every) == expected


def test_periods_are_those_of_polars():
    """Across the change of the clock in autumn, where an hour comes twice."""
    times = instants("Europe/Berlin")
    column = (
        pl.Series(times.tz_convert(None).to_numpy())
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone("Europe/Berlin")
    )
    forms = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
    for every, form in forms.items():
        assert by_period(column, every) == column.dt.strftime(form).to_list()
    hours = column.dt.truncate("1h")
    assert by_period(column, "hour") == hours.dt.strftime("%Y-%m-%d %H:%M%:z").to_list()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_units_do_not_matter(unit, zone):
    times = instants(zone)[::13].as_unit(unit)
    arrays = [times, pd.Series(times), pa.array(times), pa.chunked_array([pa.array(times)])]
    if zone is None:
        arrays += [times.to_numpy(), pl.Series(times.to_numpy())] if unit != "s" else []
        arrays.append(times.to_pydatetime().tolist())
    for every in ("hour", "week"):
        expected = by_pandas(times, every)
        for array in arrays:
            assert by_period(array, every) == expected


def test_nanoseconds_before_an_hour_are_before_it():
    last = np.datetime64("1969-12-31T23:59:59.999999999")
    times = np.array([last, last + np.timedelta64(1, "ns")])
    assert by_period(times, "hour") == ["1969-12-31 23:00", "1970-01-01 00:00"]
    assert by_period([str(time) for time in times], "year") == ["1969", "1970"]


def test_dates_of_any_kind_are_days():
    dates = [datetime.date(1960, 2, 29), datetime.date(2024, 12, 30)]
    for column in (
        dates,
        pa.array(dates, pa.date32()),
        pa.array(dates, pa.date64()),
        pl.Series(dates),
        np.array(dates, "datetime64[D]"),
        pd.Series(pd.PeriodIndex(dates, freq="D")),
    ):
        assert by_period(column, "week") == ["1960-W09", "2025-W01"]
    assert by_period(np.array(["1960-02", "2024-12"], "datetime64[M]"), "quarter") == [
        "1960-Q1",
        "2024-Q4",
    ]


def test_text_is_grouped_by_the_date_that_it_is_written_with():
    """The same instant, on two days."""
    times = ["2024-01-01T00:30+09:00", "2023-12-31T15:30Z"]
    assert by_period(times, "year") == ["2024", "2023"]
    assert by_period(times, "hour") == ["2024-01-01 00:00+09:00", "2023-12-31 15:00+00:00"]


def test_the_first_and_the_last_year_of_the_calendar():
    assert by_period(["0001-01-01", "9999-12-31"], "week") == ["0001-W01", "9999-W52"]
    column = pa.array([datetime.datetime(9999, 12, 30, 1)], pa.timestamp("us"))
    assert by_period(column, "hour") == ["9999-12-30 01:00"]


def test_batches_and_fixed_offsets_are_read():
    reader = PeriodReader("day")
    column = pa.array([0], pa.timestamp("s", "+05:30"))
    assert reader.read(column, "x") == (["1970-01-01"], [0])
    assert reader.read(column[:0], "x")[0] == []
    assert reader.zones == {"+05:30"}


@pytest.mark.parametrize(
    ("times", "every", "sentence"),
    [
        (
            ["2024-03-01", "01/02/2024"],
            "day",
            "Row 1 of groups has '01/02/2024'; day and month can",
        ),
        (
            ["2024-03-01", "2024-03"],
            "day",
            "Row 1 of groups has '2024-03'; a month is not within a",
        ),
        (["2024-03-01 10:00", "2024-03-01T10:00Z"], "day", "it has an offset from UTC, and times"),
        (["2024-03-01 10:00Z", "2024-03-01T10:00"], "day", "it has no offset from UTC, and times"),
        (["2024-03-01", None], "day", "The group of row 1 is missing"),
        (pd.Series([pd.NaT, pd.Timestamp("2024")]), "day", "Row 0 of groups has no time; every"),
        (pa.array([1709251200]), "day", "groups holds numbers; expected dates or times"),
        (pa.array([datetime.time(8)]), "day", "groups holds times of day; expected dates or times"),
        (pa.array([0], pa.date32()), "hour", "holds dates without a time of day"),
        (pa.array([2**62], pa.timestamp("s")), "day", "no date of a year from 1 to 9999"),
        (
            ["2024-03-01"],
            "fortnight",
            "'every' parameter must be one of 'hour', 'day', .* Got 'fort",
        ),
    ],
)
def test_what_is_in_no_period_is_one_sentence(times, every, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        by_period(times, every)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert str(again) == str(caught.value)
