"""Dates and times in text: the spellings that are read, and those that could be mistaken."""

import datetime

import pandas as pd
import pytest

from truemix._periods import PERIODS, coarser, number_of, numbered, period_name, step_of
from truemix._times import NotATimeError, parse_time

# That pandas reads in the same way.
SPELLINGS = [
    "2024-03-01",
    "2024/03/01",
    "2024.03.01",
    "20240301",
    "20240301T140507",
    "2024-03-01T14:05:07.123456789",
    "2024-03-01 14:05",
    "2024-03-01 02:05 PM",
    "2024-03-01 12:05 AM",
    "2024-03-01T14:05:07Z",
    "2024-03-01 14:05:07+05:30",
    "2024-03-01 14:05:07 -0330",
    "2024-03-01T14:05:07-08",
    "2024-03-01 14:05 UTC",
    "1 March 2024",
    "01-Mar-2024",
    "1 Mar 2024 14:05",
    "March 1, 2024",
    "Mar 1 2024, 14:05",
    "Fri, 01 Mar 2024 14:05:07 GMT",
    "1960-02-29T23:59:59",
    "1677-09-22",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_spelling_is_the_time_that_pandas_reads(text):
    expected = pd.Timestamp(text)
    for spelt in (text, text.lower(), f"  {text} "):
        unit, start, offset = parse_time(spelt)
        assert unit == ("hour" if ":" in text or "T" in text else "day")
        assert start == expected.tz_localize(None).floor("s").to_pydatetime()
        zone = None if expected.tz is None else expected.utcoffset().total_seconds() / 60
        assert offset == zone


@pytest.mark.parametrize(
    ("text", "unit", "start"),
    [
        ("2024-W09-5", "day", "2024-03-01"),
        ("2024W095", "day", "2024-03-01"),
        ("2020-W53", "week", "2020-12-28"),
        ("2024-03", "month", "2024-03-01"),
        ("Sept 2024", "month", "2024-09-01"),
        ("2024 May", "month", "2024-05-01"),
        ("2024Q3", "quarter", "2024-07-01"),
        ("Q4 2024", "quarter", "2024-10-01"),
        ("2024", "year", "2024-01-01"),
        ("2024-03-01T10:00+01:00[Europe/Berlin]", "hour", "2024-03-01T10:00"),
        # A leap second.
        ("2016-12-31T23:59:60Z", "hour", "2016-12-31T23:59:59"),
    ],
)
def test_periods_and_rarer_spellings_are_read(text, unit, start):
    found = parse_time(text)
    assert (found.unit, found.start) == (unit, datetime.datetime.fromisoformat(start))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("01/02/2024", "day and month can be mistaken"),
        ("1.2.24", "day and month can be mistaken"),
        ("13/02/2024 10:30", "day and month can be mistaken"),
        ("1709251200", "does not say in which unit"),
        ("1709251200.5", "does not say in which unit"),
        ("2023-02-29", "no calendar and no clock"),
        ("2024-13-01", "no calendar and no clock"),
        ("2024-03-01 24:30", "no calendar and no clock"),
        ("2024-03-01 13:00 PM", "no calendar and no clock"),
        ("2024-03-01T10:00+25:00", "no calendar and no clock"),
        ("2024-W53", "no calendar and no clock"),
        ("0000-01-01", "no calendar and no clock"),
        ("north", "expected a date or a time"),
        ("12 monkeys 2024", "expected a date or a time"),
        ("week 9", "expected a date or a time"),
        ("14:30", "expected a date or a time"),
        ("\u0662\u0660\u0662\u0664-03-01", "expected a date or a time"),
        ("", "expected a date or a time"),
    ],
)
def test_what_can_be_mistaken_or_is_no_time_is_refused(text, reason):
    with pytest.raises(NotATimeError, match=reason):
        parse_time(text)


def test_periods_are_numbered_without_gaps_over_four_hundred_years():
    """The calendar repeats after that."""
    first = parse_time("1800-01-01")
    for every in PERIODS[1:]:
        # Often enough to meet each of them; of days those around 1900, which had no leap day.
        days = range(0, 146_097, 6 if every == "week" else 25)
        days = range(36_400, 36_700) if every == "day" else days
        times = [first._replace(start=first.start + datetime.timedelta(days=d)) for d in days]
        names = list(dict.fromkeys(period_name(time, every) for time in times))
        tried = names[:: 1 if every == "day" else 7]
        numbers = [number_of(name, every) for name in tried]
        step = step_of(every) * (1 if every == "day" else 7)
        assert numbers == list(range(numbers[0], numbers[-1] + 1, step))
        assert [numbered(number, every, names[0]) for number in numbers] == tried


def test_what_lies_within_longer_periods_as_a_whole():
    assert coarser("hour") == ["day", "week", "month", "quarter", "year"]
    # A week may begin in one month and end in another.
    assert coarser("week") == []
    for text, every in (("2024-W09", "month"), ("2024", "quarter"), ("2024-03-01", "hour")):
        with pytest.raises(NotATimeError, match=f"is not within an? {every}"):
            period_name(parse_time(text), every)
