"""Natural sort order of groups, and whether they are sequential, as weeks are and regions not."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _places(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name, in full and by its first three letters."""
    return {spelt: place for place, name in enumerate(names) for spelt in (name, name[:3])}


_PLACES = {"month": _places(_MONTHS), "weekday": _places(_WEEKDAYS)}
_DIGITS = re.compile(r"(\d{1,18})")
_YEAR = r"(?:1[6-9]|2[01])\d\d"
_DATE = rf"{_YEAR}[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}})?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
# Parts of a year, and what else is counted from one to the next.
_PART = "h|half|q|quarter|m|month|w|wk|cw|week|d|day"
_COUNTED = (
    "hour|day|wk|cw|week|month|quarter|half|year|fy|season|period|sprint|round|wave|phase|"
    "iteration|epoch|step|version|ver|release|revision|rev|build|generation|gen|v|w|q|h"
)
# How names are written whose numbers tell the order, the most significant number first. What is in
# the group "word" must be the same in all names.
_SHAPES = {
    name: re.compile(pattern)
    for name, pattern in {
        "date": rf"{_DATE}(?:[t ]{_CLOCK}(?:z|[+-]00:?00)?)?",
        "span of dates": rf"{_DATE}/{_DATE}",
        "time of day": _CLOCK,
        "part of a year": rf"(?:fy ?)?{_YEAR}[ _/-]*(?P<word>{_PART})[ _-]*\d{{1,3}}(?:-\d)?",
        "version": r"(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2}))*",
    }.items()
}
_PART_THEN_YEAR = re.compile(
    rf"(?P<word>{_PART})[ _-]*(?P<part>\d{{1,3}})[ ,._/-]+(?:fy ?)?(?P<year>{_YEAR})"
)
_MONTH_AND_YEAR = re.compile(
    rf"(?P<month>[a-z]+)\.?[ ,_-]+(?P<year>{_YEAR})|(?P<year_first>{_YEAR})[ _-](?P<name>[a-z]+)"
)
# Whatever stands in front, as in "model v2"; the word itself must not be the end of another one.
_WORD_AND_NUMBER = re.compile(
    rf"(?P<word>(?:\D*[\W_])?(?:{_COUNTED}))[ _.#:-]*(?P<numbers>\d+(?:\.\d+)*)"
)


def in_order(groups: Iterable[Any]) -> bool:
    """Return whether groups are sequential, so that each can be compared with the one before.

    They do if they ascend and are all of one of these kinds:

    - numbers (also as text) and dates;
    - text that begins with the year: ``2024-03-01``, ``2024/03``, ``2024-W09``, ``2024Q1``; also
      ``Q1 2024`` and ``Mar 2024``;
    - the same word with a number, if the word counts time or versions: ``week 9``, ``day 3``,
      ``v1.10``, ``model v2``; versions without a word, ``1.10.2``;
    - times of the day, ``08:30``;
    - English names of the months of one year or of weekdays, in full or by three letters.

    Other text has no order, whether or not there are numbers in it: ``region 3`` does not come
    after ``region 2``, and ``01/02/2024`` is January in one country and February in another.
    Numbers alone do not tell whether they count weeks or shops; shops are better called ``shop 3``.

    Examples
    --------
    >>> in_order(["2024-W09", "2024-W10"]), in_order([3, 4]), in_order(["Feb", "Mar"])
    (True, True, True)
    >>> in_order(["north", "south"]), in_order(["store 3", "store 4"])
    (False, False)
    """
    names = list(groups)
    places: list[Any] | None = names
    if not all(map(_is_number, names)) and not all(map(_is_date, names)):
        places = _places_of_text([str(name) for name in names])
    try:
        return places is not None and all(before < now for before, now in pairwise(places))
    except (OverflowError, TypeError):
        # Dates with a time zone and without one.
        return False


def sorted_groups(groups: Iterable[Any]) -> list[Any]:
    """Return groups sorted as people would: numbers, dates and months as such, also as text.

    Examples
    --------
    >>> sorted_groups(["week 10", "week 9"]), sorted_groups(["Mar", "Jan", "Feb"])
    (['week 9', 'week 10'], ['Jan', 'Feb', 'Mar'])
    >>> sorted_groups(["store 10", "store 9"])
    ['store 9', 'store 10']
    """
    names = list(groups)
    if not all(isinstance(name, str) for name in names):
        try:
            return sorted(names)
        except (OverflowError, TypeError):
            return sorted(names, key=str)
    places = _places_of_text(names)
    if places is None:
        return sorted(names, key=_natural_key)
    by_name = dict(zip(names, places, strict=True))
    return sorted(names, key=lambda name: (by_name[name], name))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date | np.datetime64)


def _places_of_text(names: list[str]) -> list[Any] | None:
    """Return what to sort names by if they have an order, else None."""
    numbers = _as_numbers(names)
    if numbers is not None:
        return numbers
    found = [_kind_and_place(name.strip().lower()) for name in names]
    kinds = {None if each is None else each[0] for each in found}
    if None in kinds or len(kinds) > 1:
        return None
    return [each[1] for each in found if each is not None]


def _as_numbers(names: list[str]) -> list[float] | None:
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return None
    # 1.9 and 1.10 are versions, 1.90 and 1.10 are numbers.
    same_decimals = len({len(name.partition(".")[2]) for name in names}) == 1
    exact = same_decimals or all(
        name in {repr(number), f"{number:.0f}"} for name, number in zip(names, numbers, strict=True)
    )
    return numbers if exact and all(map(math.isfinite, numbers)) else None


def _kind_and_place(name: str) -> tuple[str, tuple[int, ...]] | None:
    """Return what kind of name it is and its place among others of that kind; None if unknown."""
    for kind, places in _PLACES.items():
        if name.removesuffix(".") in places:
            return kind, (places[name.removesuffix(".")],)
    for kind, shape in _SHAPES.items():
        if match := shape.fullmatch(name):
            return f"{kind} {match.groupdict().get('word')}", _numbers(name)
    if match := _MONTH_AND_YEAR.fullmatch(name):
        month = _PLACES["month"].get(match["month"] or match["name"])
        year = match["year"] or match["year_first"]
        return None if month is None else ("month and year", (int(year), month))
    if match := _PART_THEN_YEAR.fullmatch(name):
        return f"part, then year {match['word']}", (int(match["year"]), int(match["part"]))
    if match := _WORD_AND_NUMBER.fullmatch(name):
        return f"number {match['word'].strip()}", _numbers(match["numbers"])
    return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in _DIGITS.findall(text))


def _natural_key(text: str) -> tuple[Any, ...]:
    """Return what sorts text with the numbers in it as numbers."""
    parts = _DIGITS.split(text)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts)), text
