"""Columns of dates and times as names of periods, batch by batch."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix import _arrow_columns as arrow
from truemix._periods import period_name, period_of
from truemix._times import NotATimeError, Time, parse_time, shown_offset
from truemix._typing import IntArray
from truemix.exceptions import InputError
from truemix.validation import shown, shown_list

# Of ISO times the minutes are taken away before text is looked at value by value.
_ISO = r"^(\d{4}-\d{2}-\d{2})[T ](\d{2})(?::[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?)?"
_EPOCH = datetime.datetime(1970, 1, 1)
_PER_HOUR = {"s": 3600, "ms": 3600 * 10**3, "us": 3600 * 10**6, "ns": 3600 * 10**9}
# Offsets that are remembered for a message.
_MAX_ZONES = 100


class BadTimeError(InputError):
    """A value that is no time: its row in the batch, and how it was found and what was expected."""

    def __init__(self, row: int, found: str, expected: str, start: int, name: str) -> None:
        super().__init__(f"Row {start + row} of {name} has {found}; {expected}")
        self.row, self.found, self.expected = row, found, expected
        self._given = row, found, expected, start, name

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers of a cluster send it back.
        return type(self), self._given


class PeriodReader:
    """Names of the periods that times are in.

    Times are grouped by the calendar of their column's time zone. Text is grouped by the date and
    the clock that it was written with, whatever its offset from UTC is.

    Parameters
    ----------
    every : str
        Which periods; see :data:`truemix._periods.PERIODS`.

    Attributes
    ----------
    zones : set of str
        Time zones, or offsets from UTC, that were met; empty text for times without one.
    """

    def __init__(self, every: str) -> None:
        self.every = every
        self.zones: set[str] = set()

    def read(self, column: pa.Array, name: str, start: int = 0) -> tuple[list[str], IntArray]:
        """Return the periods in a batch, and the place of each row's among them.

        Parameters
        ----------
        column : Array
            Usual types only; see :func:`truemix._arrow_columns.usual`.
        name : str
            What messages call the column.
        start : int
            The number of its first row, for messages.
        """
        column = arrow.decoded(column)
        meaning = arrow.meaning(column.type)
        if column.null_count:
            row = pc.index(pc.is_null(column), pa.scalar(True)).as_py()
            expected = "every item needs a time. Fill it in or remove such rows."
            raise BadTimeError(row, "no time", expected, start, name)
        if meaning == arrow.DATES:
            return self._of_times(column, name)
        if meaning == arrow.TEXT:
            return self._of_text(column, name, start)
        if not len(column):
            return [], np.empty(0, dtype=np.intp)
        raise InputError(
            f"{name} holds {meaning}; expected dates or times, as text such as 2024-02-01 14:30 or "
            "of a type for them."
        )

    def _of_times(self, column: pa.Array, name: str) -> tuple[list[str], IntArray]:
        if pa.types.is_date(column.type):
            if self.every == "hour":
                raise InputError(
                    f"{name} holds dates without a time of day, which are not within an hour. Give "
                    "times, or a longer period."
                )
            column = column.cast(pa.date32()).cast(pa.timestamp("s"))
        zone = column.type.tz
        self.zones.add(zone or "")
        per_hour = _PER_HOUR[column.type.unit]
        universal = np.asarray(column.cast(pa.int64()))
        local = universal if zone is None else np.asarray(_local(column, name).cast(pa.int64()))
        # Rounded down, before 1970 too.
        hours = local // per_hour
        if self.every != "hour":
            days, codes = np.unique(hours // 24, return_inverse=True)
            starts = [_EPOCH + datetime.timedelta(days=int(day)) for day in days]
            return self._named([Time("day", start, None) for start in starts], codes)
        minutes = (local - universal) // (per_hour // 60)
        pairs, codes = np.unique(np.stack([hours, minutes], 1), axis=0, return_inverse=True)
        times = [
            Time(
                "hour",
                _EPOCH + datetime.timedelta(hours=hour),
                None if zone is None else minute,
            )
            for hour, minute in pairs.tolist()
        ]
        return self._named(times, codes.reshape(-1))

    def _of_text(self, column: pa.Array, name: str, start: int) -> tuple[list[str], IntArray]:
        coded = pc.replace_substring_regex(column, _ISO, r"\1 \2:00").dictionary_encode()
        codes = coded.indices.to_numpy()
        times: list[Time] = []
        for place, text in enumerate(coded.dictionary.to_pylist()):
            try:
                times.append(parse_time(text))
                self._check(times[-1])
            except NotATimeError as error:
                row = int(np.argmax(codes == place))
                found = shown(column[row].as_py())
                raise BadTimeError(row, found, str(error), start, name) from None
        return self._named(times, codes)

    def _check(self, time: Time) -> None:
        """Refuse a time that is longer than the period, or unlike those before it."""
        period_name(time, self.every)
        if time.unit != "hour":
            # A date is the same day by any clock.
            return
        zone = "" if time.offset is None else shown_offset(time.offset)
        if self.zones and (zone == "") != ("" in self.zones):
            has, others = ("no", "have one") if zone == "" else ("an", "have none")
            raise NotATimeError(
                f"it has {has} offset from UTC, and times before it {others}. Write them alike."
            )
        if len(self.zones) < _MAX_ZONES:
            self.zones.add(zone)

    def _named(self, times: list[Time], codes: IntArray) -> tuple[list[str], IntArray]:
        places: dict[str, int] = {}
        of_time = [places.setdefault(period_name(time, self.every), len(places)) for time in times]
        return list(places), np.array(of_time, dtype=np.intp)[codes]


def _local(column: pa.Array, name: str) -> pa.Array:
    try:
        return pc.local_timestamp(column)
    except pa.ArrowInvalid:
        # Python knew the zone, but from tables that Arrow does not read.
        raise InputError(
            f"{name} has times of the zone {column.type.tz}, but there is no table of time zones "
            "on this machine; install one (tzdata), or write times in UTC."
        ) from None


def time_key(columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> str:
    """Return which one of several columns holds times, by its type or else by its first value.

    Examples
    --------
    >>> time_key({"region": pa.array(["north"]), "day": pa.array(["2024-03-01"])})
    'day'
    """
    typed = [n for n, column in columns.items() if arrow.meaning(column.type) == arrow.DATES]
    found = typed or [name for name, column in columns.items() if _begins_with_time(column)]
    if len(found) == 1:
        return found[0]
    what = "more than one of them holds" if found else "none of them holds"
    raise InputError(
        f"Groups are told by {shown_list(list(columns))}, and {what} dates or times; periods are "
        "made of exactly one. Leave the periods out, or name other columns."
    )


def _begins_with_time(column: pa.Array | pa.ChunkedArray) -> bool:
    if arrow.meaning(column.type) != arrow.TEXT or not len(column):
        return False
    first = arrow.decoded(column)[0].as_py()
    return first is not None and period_of(first) is not None
