"""The order of groups: how people sort them, which follow each other, and which are missing.

Everything that compares a group with the one before it asks a :class:`GroupOrder`.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from truemix._periods import number_of, numbered, period_of, step_of
from truemix._times import MONTHS, NotATimeError, parse_time

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _places(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name, in full and by its first three letters."""
    return {spelt: place for place, name in enumerate(names) for spelt in (name, name[:3])}


_PLACES = {"month": _places(MONTHS) | {"sept": 8}, "weekday": _places(_WEEKDAYS)}
# What people sort by size or degree: one of these is more than another, but does not follow it, so
# that nothing rises from one to the next.
_SCALES = (
    ("xxxs", "xxs", "xs", "s", "m", "l", "xl", "xxl", "2xl", "xxxl", "3xl", "4xl", "5xl"),
    ("tiny", "small", "medium", "large", "huge"),
    ("extra small", "small", "medium", "large", "extra large"),
    ("very low", "low", "medium", "high", "very high", "critical"),
    ("very low", "low", "moderate", "high", "very high"),
    ("very bad", "bad", "neutral", "good", "very good", "excellent"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very negative", "negative", "neutral", "positive", "very positive"),
    ("strongly disagree", "disagree", "somewhat disagree", "neutral",
     "neither agree nor disagree", "somewhat agree", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("never", "rarely", "sometimes", "often", "usually", "always"),
)  # fmt: skip
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
        "date": rf"{_DATE}(?:[t ]{_CLOCK})?",
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
_INSTANT = re.compile(rf"{_DATE}[t ]{_CLOCK}(?:z|[+-]\d{{2}}:?\d{{2}})")
# Whatever stands in front, as in "model v2"; the word itself must not be the end of another one.
_WORD_AND_NUMBER = re.compile(
    rf"(?P<word>(?:\D*[\W_])?(?:{_COUNTED}))[ _.#:-]*(?P<numbers>\d+(?:\.\d+)*)"
)


@dataclass(frozen=True)
class Gap:
    """Periods without any item, between two groups.

    Attributes
    ----------
    first, last : str
        The first and the last of them.
    n_periods : int
        How many there are.
    after : int
        The place of the group before the gap; the group behind it follows that one.
    """

    first: str
    last: str
    n_periods: int
    after: int


@dataclass(frozen=True)
class GroupOrder:
    """Groups in the order in which they are shown, and which of them follow each other.

    Groups are told by one key, such as a week, or by tuples of several, such as a region and a
    week. They follow each other along one key, and only where all other keys are the same.

    Attributes
    ----------
    names : tuple
        The groups.
    every : str or None
        Which periods they are, if they are times that were put into periods.
    along : int or None
        The key along which groups follow each other, None if there is no order in any of them.
    """

    names: tuple[Any, ...]
    every: str | None
    along: int | None

    @property
    def n_keys(self) -> int:
        """How many keys tell a group."""
        return n_keys(self.names)

    @property
    def ordered(self) -> bool:
        """Whether all groups follow each other, one by one."""
        return self.along is not None and len(self.series) < 2

    def parts(self, place: int) -> tuple[Any, ...]:
        """Return the keys of a group."""
        name = self.names[place]
        return name if self.n_keys > 1 else (name,)

    @cached_property
    def series(self) -> list[list[int]]:
        """The places of groups whose other keys are the same; one series without an order."""
        if self.along is None:
            return [list(range(len(self.names)))]
        return list(_by_other_keys([self.parts(p) for p in range(len(self.names))], self.along))

    @cached_property
    def follows(self) -> list[int | None]:
        """For each group the place of the one that it follows; None for those without one."""
        before: list[int | None] = [None] * len(self.names)
        if self.along is not None:
            for places in self.series:
                for last, place in pairwise(places):
                    before[place] = last
        return before

    @cached_property
    def positions(self) -> list[int | None]:
        """For each group how many periods it is behind the first of all; None for no periods."""
        if self._counted is None:
            return [None] * len(self.names)
        every, numbers = self._counted
        first = min(numbers)
        return [(number - first) // step_of(every) for number in numbers]

    @cached_property
    def gaps(self) -> list[Gap]:
        """The periods without items, between those with items."""
        if self._counted is None:
            return []
        every, numbers = self._counted
        step, found = step_of(every), []
        for before, after in (pair for places in self.series for pair in pairwise(places)):
            n_missing = (numbers[after] - numbers[before]) // step - 1
            if n_missing > 0:
                ends = (numbers[before] + step, numbers[before] + n_missing * step)
                like = str(self.parts(before)[self.along or 0])
                first, last = (numbered(end, every, like) for end in ends)
                found.append(Gap(first, last, n_missing, before))
        return found

    @cached_property
    def _counted(self) -> tuple[str, list[int]] | None:
        """Which periods the groups are, and their numbers; None for others.

        Without ``every``, names must leave no doubt: dates may be one per week, and numbers of four
        digits no years.
        """
        along = self.along
        if along is None or not self.names:
            return None
        names = [str(self.parts(place)[along]) for place in range(len(self.names))]
        kinds = {period_of(name) for name in set(names)}
        known = {self.every} if self.every is not None else {"week", "month", "quarter"}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is None or kind not in known:
            return None
        return kind, [number_of(name, kind) for name in names]


def group_order(groups: Iterable[Any], every: str | None = None) -> GroupOrder:
    """Return the order of groups, which are given as they are shown.

    They follow each other if they ascend and are all of one of these kinds:

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

    Parameters
    ----------
    groups : iterable
        Names, or tuples of several keys each.
    every : str, optional
        Which periods they are, if they were made from times.

    Examples
    --------
    >>> [group_order(names).ordered for names in (["2024-W09", "2024-W10"], [3, 4], ["Feb", "Mar"])]
    [True, True, True]
    >>> group_order(["north", "south"]).ordered, group_order(["store 3", "store 4"]).ordered
    (False, False)
    >>> order = group_order([("north", "2024-01"), ("north", "2024-03"), ("south", "2024-02")])
    >>> order.follows, order.gaps
    ([None, 0, None], [Gap(first='2024-02', last='2024-02', n_periods=1, after=0)])
    """
    names = tuple(groups)
    several = n_keys(names) > 1
    parts = [name if several else (name,) for name in names]
    columns = list(zip(*parts, strict=True))
    kept = [k for k, column in enumerate(columns) if _ascends(parts, k, column)]
    # Along the key that was made from times; else rather along names of months than along numbers,
    # which may be shops, and along the last one that tells groups apart.
    kept.sort(
        key=lambda k: (
            _is_period(columns[k], every),
            len(set(columns[k])) > 1,
            not _are_numbers(columns[k]),
            k,
        )
    )
    return GroupOrder(names, every, kept[-1] if kept else None)


def n_keys(names: Sequence[Any]) -> int:
    """Return how many keys tell a group.

    Examples
    --------
    >>> n_keys(["a", "b"]), n_keys([("a", 1), ("a", 2)])
    (1, 2)
    """
    lengths = {len(name) if isinstance(name, tuple) else 1 for name in names}
    return lengths.pop() if len(lengths) == 1 else 1


def key_columns(by: Sequence[str] | None, n_keys: int, taken: Collection[str]) -> list[str]:
    """Return the columns of a table that tell the group; ``taken`` are those behind them.

    Examples
    --------
    >>> key_columns(["month"], 1, ["class"]), key_columns(["region", "month"], 2, ["class"])
    (['group'], ['region', 'month'])
    """
    if n_keys < 2:
        return ["group"] * n_keys
    if by is not None and len(by) == n_keys and not {*by} & {*taken}:
        return list(by)
    return [f"group_{number}" for number in range(1, n_keys + 1)]


def _is_period(values: Sequence[Any], every: str | None) -> bool:
    return every is not None and all(
        isinstance(value, str) and period_of(value) == every for value in set(values)
    )


def _ascends(parts: Sequence[tuple[Hashable, ...]], key: int, values: Sequence[Any]) -> bool:
    """Return whether groups follow each other along a key, where all others are the same."""
    distinct = list(dict.fromkeys(values))
    places: list[Any] | None = distinct
    if not all(map(_is_number, distinct)) and not all(map(_is_date, distinct)):
        places = _places_of_text([str(value) for value in distinct])
    if places is None:
        return False
    place_of = dict(zip(distinct, places, strict=True))
    try:
        return all(
            place_of[values[before]] < place_of[values[after]]
            for chain in _by_other_keys(parts, key)
            for before, after in pairwise(chain)
        )
    except (OverflowError, TypeError):
        # Dates with a time zone and without one.
        return False


def _by_other_keys(parts: Sequence[tuple[Hashable, ...]], key: int) -> Iterable[list[int]]:
    """Return the places of groups that differ in one key only."""
    found: dict[tuple[Hashable, ...], list[int]] = {}
    for place, each in enumerate(parts):
        found.setdefault((*each[:key], *each[key + 1 :]), []).append(place)
    return found.values()


def sorted_groups(groups: Iterable[Any]) -> list[Any]:
    """Return groups sorted as people would: numbers, dates and months as such, also as text.

    Tuples are sorted by their first key, then by the next.

    Examples
    --------
    >>> sorted_groups(["week 10", "week 9"]), sorted_groups(["Mar", "Jan", "Feb"])
    (['week 9', 'week 10'], ['Jan', 'Feb', 'Mar'])
    >>> sorted_groups(["store 10", "store 9"]), sorted_groups(["L", "S", "XL", "M"])
    (['store 9', 'store 10'], ['S', 'M', 'L', 'XL'])
    >>> sorted_groups([("b", "Feb"), ("b", "Jan"), ("a", "Mar")])
    [('a', 'Mar'), ('b', 'Jan'), ('b', 'Feb')]
    """
    names = list(groups)
    if n_keys(names) > 1:
        ranks = [
            {value: rank for rank, value in enumerate(sorted_groups(dict.fromkeys(column)))}
            for column in zip(*names, strict=True)
        ]
        return sorted(
            names, key=lambda name: [rank[part] for rank, part in zip(ranks, name, strict=True)]
        )
    if not all(isinstance(name, str) for name in names):
        try:
            return sorted(names)
        except (OverflowError, TypeError):
            return sorted(names, key=str)
    places = _places_of_text(names) or _places_on_scale(names)
    if places is None:
        return sorted(names, key=_natural_key)
    by_name = dict(zip(names, places, strict=True))
    return sorted(names, key=lambda name: (by_name[name], name))


def _places_on_scale(names: list[str]) -> list[int] | None:
    """Return the places of names on a scale that has them all, None if there is none."""
    tidy = [" ".join(name.lower().split()) for name in names]
    scale = next((scale for scale in _SCALES if set(tidy) <= set(scale)), None)
    return None if scale is None else [scale.index(name) for name in tidy]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(map(_is_number, values)) or _as_numbers([str(value) for value in values]) is not None


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
    if _INSTANT.fullmatch(name):
        return _instant(name)
    if match := _MONTH_AND_YEAR.fullmatch(name):
        month = _PLACES["month"].get(match["month"] or match["name"])
        year = match["year"] or match["year_first"]
        return None if month is None else ("month and year", (int(year), month))
    if match := _PART_THEN_YEAR.fullmatch(name):
        return f"part, then year {match['word']}", (int(match["year"]), int(match["part"]))
    match = _WORD_AND_NUMBER.fullmatch(name)
    return match and (f"number {match['word'].strip()}", _numbers(match["numbers"]))


def _instant(name: str) -> tuple[str, tuple[int, ...]] | None:
    """Return the place of a time with an offset, in seconds of UTC."""
    try:
        time = parse_time(name)
    except NotATimeError:
        return None
    seconds = int((time.start - datetime.datetime.min).total_seconds())
    return "instant", (seconds - 60 * (time.offset or 0),)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in _DIGITS.findall(text))


def _natural_key(text: str) -> tuple[Any, ...]:
    """Return what sorts text with the numbers in it as numbers."""
    parts = _DIGITS.split(text)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts)), text
