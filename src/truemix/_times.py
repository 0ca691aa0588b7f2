"""Dates and times in text, in spellings that everybody reads in the same way.

Whatever could be mistaken is refused: ``01/02/2024`` is January in one country and February in
another.
"""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH_NUMBERS = {
    spelt: number for number, name in enumerate(MONTHS, 1) for spelt in (name, name[:3])
} | {"sept": 9}

_CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?)?"
_HALF = r"(?: ?(?P<half>[ap])\.?m\.?)?"
# The name of a zone behind an offset, as Java writes it, says nothing more.
_ZONE = r"(?: ?(?P<zone>z|utc|gmt|(?:utc|gmt)?[+-]\d\d(?::?\d\d)?)(?:\[[\w/+-]+\])?)?"
_TIME = rf"(?:(?:t|[, ] *){_CLOCK}{_HALF}{_ZONE})?"
_COMPACT_TIME = rf"(?:[t ]?(?P<hour>\d\d)(?P<minute>\d\d)(?:(?P<second>\d\d)(?:[.,]\d+)?)?{_ZONE})?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
_NAME = r"(?P<name>[a-z]{3,9})\.?"
_YEAR, _DAY = r"(?P<year>\d{4})", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_SHAPES = [
    (unit, re.compile(pattern, re.ASCII))
    for unit, pattern in (
        ("day", rf"{_YEAR}(?P<separator>[-/.])(?P<month>\d{{1,2}})(?P=separator){_DAY}{_TIME}"),
        ("day", rf"{_YEAR}(?P<month>\d\d)(?P<day>\d\d){_COMPACT_TIME}"),
        ("day", rf"{_WEEKDAY}{_DAY}[ -]{_NAME},?[ -]{_YEAR}{_TIME}"),
        ("day", rf"{_WEEKDAY}{_NAME} {_DAY},? {_YEAR}{_TIME}"),
        ("day", rf"{_YEAR}-?w(?P<week>\d\d)-?(?P<weekday>[1-7]){_TIME}"),
        ("week", rf"{_YEAR}[- ]?w(?P<week>\d\d?)"),
        ("month", rf"{_YEAR}[-/.](?P<month>\d{{1,2}})"),
        ("month", rf"{_NAME},?[ -]{_YEAR}|(?P<year_first>\d{{4}})[ -](?P<name_last>[a-z]+)"),
        ("quarter", rf"{_YEAR}[- ]?q(?P<quarter>[1-4])"),
        ("quarter", rf"q(?P<quarter>[1-4])[-/. ]?{_YEAR}"),
        ("year", _YEAR),
    )
]
_AMBIGUOUS = re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.](?:\d{2}|\d{4})(?:\D.*)?", re.ASCII)
_SECONDS = re.compile(r"-?\d{9,}(?:\.\d+)?")
_EXAMPLE = "Write dates such as 2024-02-01, or times such as 2024-02-01 14:30."


class NotATimeError(ValueError):
    """Text that is no date; its message says what was expected instead."""


class Time(NamedTuple):
    """A date, a time or a longer period, as it was written.

    Attributes
    ----------
    unit : {"hour", "day", "week", "month", "quarter", "year"}
        How much of it is known.
    start : datetime
        When it begins, by the calendar and the clock that it was written with.
    offset : int or None
        How many minutes that clock is ahead of UTC, if it says.
    """

    unit: str
    start: datetime.datetime
    offset: int | None


def parse_time(text: str) -> Time:
    """Return what a text says, or raise :class:`NotATimeError`.

    Examples
    --------
    >>> parse_time("2024-03-01T14:30:05+01:00")
    Time(unit='hour', start=datetime.datetime(2024, 3, 1, 14, 30, 5), offset=60)
    >>> parse_time("Mar 1, 2024").start, parse_time("2024-W09").unit
    (datetime.datetime(2024, 3, 1, 0, 0), 'week')
    """
    tidy = " ".join(text.lower().split())
    for unit, shape in _SHAPES:
        if match := shape.fullmatch(tidy):
            parts = {name: part for name, part in match.groupdict().items() if part is not None}
            try:
                return _time(unit, parts)
            except KeyError:
                break
            except ValueError:
                raise NotATimeError(f"no calendar and no clock has that. {_EXAMPLE}") from None
    if _AMBIGUOUS.fullmatch(tidy):
        raise NotATimeError(f"day and month can be mistaken for each other. {_EXAMPLE}")
    if _SECONDS.fullmatch(tidy):
        raise NotATimeError(
            "expected a date or a time. If it counts seconds, convert it: a number does not say "
            "in which unit and since when."
        )
    raise NotATimeError(f"expected a date or a time. {_EXAMPLE}")


def _time(unit: str, parts: dict[str, str]) -> Time:
    date = _date(int(parts.get("year") or parts["year_first"]), parts)
    if "hour" not in parts:
        return Time(unit, datetime.datetime.combine(date, datetime.time()), None)
    hour, minute = int(parts["hour"]), int(parts.get("minute", 0))
    if "half" in parts:
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + 12 * (parts["half"] == "p")
    second = int(parts.get("second", 0))
    # Leap seconds belong to the minute that they end.
    clock = datetime.time(hour, minute, 59 if second == 60 else second)
    zone = parts.get("zone")
    offset = None if zone is None else _offset(zone)
    return Time("hour", datetime.datetime.combine(date, clock), offset)


def _date(year: int, parts: dict[str, str]) -> datetime.date:
    if "week" in parts:
        return datetime.date.fromisocalendar(year, int(parts["week"]), int(parts.get("weekday", 1)))
    if "quarter" in parts:
        return datetime.date(year, 3 * int(parts["quarter"]) - 2, 1)
    name = parts.get("name") or parts.get("name_last")
    month = int(parts.get("month", 1)) if name is None else _MONTH_NUMBERS[name]
    return datetime.date(year, month, int(parts.get("day", 1)))


def _offset(zone: str) -> int:
    digits = re.sub("[^0-9]", "", zone).ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError(zone)
    return (hours * 60 + minutes) * (-1 if "-" in zone else 1)


def shown_offset(minutes: int) -> str:
    """Return an offset from UTC as text.

    Examples
    --------
    >>> shown_offset(330), shown_offset(-60), shown_offset(0)
    ('+05:30', '-01:00', '+00:00')
    """
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"
