"""Hours, days, ISO weeks, months, quarters and years: their names, and which of them are missing.

The name of a period tells everything about it: ``2024-03-01 14:00+01:00``, ``2024-03-01``,
``2024-W09``, ``2024-03``, ``2024-Q1``, ``2024``.
"""

from __future__ import annotations

import datetime

from truemix._times import NotATimeError, Time, parse_time, shown_offset

PERIODS = ("hour", "day", "week", "month", "quarter", "year")
# The periods that each one lies within as a whole.
_WITHIN = {
    "hour": PERIODS,
    "day": PERIODS[1:],
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}
_A = {every: f"{'an' if every == 'hour' else 'a'} {every}" for every in PERIODS}
_EPOCH = datetime.datetime(1, 1, 1)


def period_name(time: Time, every: str) -> str:
    """Return the name of the period that a time is in; raise for what is longer than that.

    Examples
    --------
    >>> time = parse_time("2024-12-30 23:59+01:00")
    >>> [period_name(time, every) for every in PERIODS]
    ['2024-12-30 23:00+01:00', '2024-12-30', '2025-W01', '2024-12', '2024-Q4', '2024']
    """
    if every not in _WITHIN[time.unit]:
        raise NotATimeError(
            f"{_A[time.unit]} is not within {_A[every]}. Give dates and times, or a longer period."
        )
    start = time.start
    if every == "hour":
        offset = "" if time.offset is None else shown_offset(time.offset)
        return f"{start.isoformat(' ', 'hours')}:00{offset}"
    if every == "week":
        year, week, _ = start.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if every == "quarter":
        return f"{start.year:04d}-Q{(start.month + 2) // 3}"
    return start.date().isoformat()[: {"day": 10, "month": 7, "year": 4}[every]]


def coarser(every: str) -> list[str]:
    """Return the periods that one of these lies within, the shortest first.

    Examples
    --------
    >>> coarser("day"), coarser("week")
    (['week', 'month', 'quarter', 'year'], [])
    """
    return [each for each in _WITHIN[every] if each != every]


def period_of(name: str) -> str | None:
    """Return what period a name says, None if it is no name of one.

    Examples
    --------
    >>> period_of("2024-W09"), period_of("Mar 2024"), period_of("north")
    ('week', 'month', None)
    """
    try:
        return parse_time(name).unit
    except NotATimeError:
        return None


def number_of(name: str, every: str) -> int:
    """Return the number of a period, counted without gaps; of hours in minutes of UTC.

    Examples
    --------
    >>> number_of("2024-01", "month") - number_of("2023-12", "month")
    1
    """
    time = parse_time(name)
    start = time.start
    if every == "hour":
        return int((start - _EPOCH).total_seconds()) // 60 - (time.offset or 0)
    if every == "day":
        return start.toordinal()
    if every == "week":
        # The first day of the calendar was a Monday.
        return (start.toordinal() - 1) // 7
    if every == "month":
        return 12 * start.year + start.month - 1
    return 4 * start.year + (start.month - 1) // 3 if every == "quarter" else start.year


def step_of(every: str) -> int:
    """Return how far the numbers of two periods that follow each other are apart."""
    return 60 if every == "hour" else 1


def numbered(number: int, every: str, like: str) -> str:
    """Return the name of a period from its number; an hour by the clock of the name ``like``.

    Examples
    --------
    >>> numbered(number_of("2024-W01", "week") - 1, "week", "2024-W01")
    '2023-W52'
    """
    offset = parse_time(like).offset
    if every == "hour":
        start = _EPOCH + datetime.timedelta(minutes=number + (offset or 0))
    elif every == "day":
        start = datetime.datetime.fromordinal(number)
    elif every == "week":
        start = datetime.datetime.fromordinal(7 * number + 1)
    elif every == "month":
        start = datetime.datetime(number // 12, number % 12 + 1, 1)
    elif every == "quarter":
        start = datetime.datetime(number // 4, 3 * (number % 4) + 1, 1)
    else:
        start = datetime.datetime(number, 1, 1)
    return period_name(Time("hour", start, offset), every)
