"""Groups of items by time: the hour, day, week, month, quarter or year that each one is in."""

from __future__ import annotations

from typing import Any

from truemix._arrow_columns import batches_in_role
from truemix._arrow_periods import PeriodReader, time_key
from truemix._periods import PERIODS
from truemix.exceptions import InputError
from truemix.tables import keys_of, times_of, values_of
from truemix.validation import check_choice


def by_period(times: Any, every: str) -> list[str]:
    """Return the name of the period that each time is in.

    Names are such as ``2024-03-01 14:00+01:00``, ``2024-03-01``, ``2024-W09`` (ISO week),
    ``2024-03``, ``2024-Q1`` and ``2024``. ``quantify_by`` knows their order.

    Parameters
    ----------
    times : array-like of shape (n,)
        Dates or times, of any library and unit, or text: ISO 8601, or with the month as an English
        word. Times with a time zone are grouped by the calendar of that zone, text by the date and
        the clock that it is written with, whatever its offset from UTC is.
    every : {"hour", "day", "week", "month", "quarter", "year"}

    Returns
    -------
    list of str

    Examples
    --------
    >>> by_period(["2024-12-30T23:15+01:00", "31 Dec 2024"], "week")
    ['2025-W01', '2025-W01']
    >>> by_period(["2024-12-30T23:15+01:00"], "hour")
    ['2024-12-30 23:00+01:00']
    """
    reader = PeriodReader(check_choice(every, "every", PERIODS))
    found: list[str] = []
    for column in batches_in_role(times_of(times), "group", "groups"):
        names, codes = reader.read(column, "groups", len(found))
        found += [names[code] for code in codes.tolist()]
    return found


def group_labels(groups: Any, every: str | None) -> Any:
    """Return groups with times among them replaced by the names of periods.

    Parameters
    ----------
    groups : array-like, data frame or list of tuples
        One key, or several: then the one with times is meant.
    every : str, optional
        Which periods; without it groups are returned as they are.
    """
    if every is None:
        return groups
    columns = keys_of(groups)
    if len(columns) == 1:
        return by_period(columns[0], every)
    check_choice(every, "every", PERIODS)
    firsts = {f"key {number}": times_of(column[:1]) for number, column in enumerate(columns)}
    timed = list(firsts).index(time_key(firsts))
    labels = [
        by_period(column, every) if number == timed else values_of(column, "group", "groups")
        for number, column in enumerate(columns)
    ]
    lengths = {len(column) for column in labels}
    if len(lengths) > 1:
        raise InputError("The keys of groups differ in length; expected one of each per item.")
    return list(zip(*labels, strict=True))
