"""The group of each item, batch by batch: values of columns or folders, or periods of times."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from truemix._arrow_periods import BadTimeError, PeriodReader, time_key
from truemix._group_order import sorted_groups
from truemix._periods import coarser, period_name, period_of
from truemix._times import parse_time
from truemix._typing import IntArray
from truemix.cli._columns import Codes, is_whole
from truemix.cli._grouping import Grouping
from truemix.cli._progress import Progress
from truemix.cli.tables.table import Table
from truemix.exceptions import InputError
from truemix.report.plain import plain_name
from truemix.validation import shown, shown_list

# Each group keeps its draws; more groups than this are a sign of a wrong column.
MAX_GROUPS = 10_000


class Groups(NamedTuple):
    """The names of groups in order, and the place of each item's group among them."""

    names: list[Any]
    codes: IntArray


class GroupReader:
    """The groups of a table's items, encoded over all batches.

    Parameters
    ----------
    grouping : Grouping
    table : Table or None
        None if folders tell everything.
    known : mapping of column to text
        What the folders say of all items.
    name : str
        What messages call the file.

    Attributes
    ----------
    columns : list of str
        The columns that are read from the table.
    timed : str or None
        The column whose times become periods, as soon as anything was read.
    """

    def __init__(
        self, grouping: Grouping, table: Table | None, known: Mapping[str, str], name: str
    ) -> None:
        self._grouping, self._table, self._name = grouping, table, name
        self._told = {column: known[column] for column in grouping.columns if column in known}
        self.columns = [column for column in grouping.columns if column not in known]
        self._codes = {} if table is None else {c: Codes(table, c, "group") for c in self.columns}
        self._periods = None if grouping.every is None else PeriodReader(grouping.every)
        self._groups: dict[tuple[Any, ...], int] = {}
        self.timed: str | None = None

    @property
    def zones(self) -> set[str]:
        """Time zones, or offsets from UTC, that were met; empty text for times without one."""
        return set() if self._periods is None else self._periods.zones

    @property
    def values(self) -> list[Any]:
        """The groups by their codes: a value, or a tuple with one for each column."""
        return [group if len(group) > 1 else group[0] for group in self._groups]

    def encode(self, start: int, batch: pa.RecordBatch) -> IntArray:
        """Return the code of each row's group in a batch that begins at row ``start``."""
        codes = np.zeros(batch.num_rows, dtype=np.intp)
        if not batch.num_rows:
            return codes
        self._find_times({name: batch.column(name) for name in self.columns})
        parts = [self._codes_of(name, start, batch.column(name)) for name in self.columns]
        for part in parts:
            codes = np.unique(codes * (part.max() + 1) + part, return_inverse=True)[1]
        firsts = np.unique(codes, return_index=True)[1].tolist()
        values = [self._codes[name].values for name in self.columns]
        numbers = [
            self._number([each[part[row]] for each, part in zip(values, parts, strict=True)])
            for row in firsts
        ]
        check_n_groups(self.values, self._grouping, self._name)
        return np.array(numbers, dtype=np.intp)[codes]

    def told_by_folders(self) -> Any:
        """Return the group of all items, of which the folders say everything."""
        self._find_times({})
        self._number([])
        return self.values[0]

    def _number(self, values: Sequence[Any]) -> int:
        """Return the number of a group, from the values in the columns of the table."""
        told = {**self._told, **dict(zip(self.columns, values, strict=True))}
        group = tuple(told[name] for name in self._grouping.columns)
        return self._groups.setdefault(group, len(self._groups))

    def _find_times(self, columns: Mapping[str, pa.Array]) -> None:
        """Find out which column holds times, and put what folders say of them into periods."""
        if self._periods is None or self.timed is not None:
            return
        told = {name: pa.array([value]) for name, value in self._told.items()}
        known = {**columns, **told}
        try:
            names = self._grouping.columns
            self.timed = names[0] if len(names) == 1 else time_key({n: known[n] for n in names})
            if self.timed in told:
                self._told[self.timed] = self._periods.read(told[self.timed], "")[0][0]
        except BadTimeError as error:
            where = f"{self._name} is in a folder whose {shown(self.timed)} is {error.found}"
            raise InputError(f"{where}; {error.expected}") from None
        except InputError as error:
            raise InputError(f"{self._name}: {error}") from None

    def _codes_of(self, name: str, start: int, column: pa.Array) -> IntArray:
        codes = self._codes[name]
        column = codes.present(start, column)
        if self._periods is None or name != self.timed:
            return codes.encode_present(column)
        try:
            periods, places = self._periods.read(column, f"Column {shown(name)} of {self._name}")
        except BadTimeError as error:
            raise codes.bad(start + error.row, error.found, error.expected) from None
        return codes.encode_values(periods, places)


def check_n_groups(values: Sequence[Any], grouping: Grouping, where: str) -> None:
    """Refuse columns with more different values than anybody compares."""
    if len(values) <= MAX_GROUPS:
        return
    names, every = grouping.columns, grouping.every
    several = len(names) > 1
    which = f"Column{'s' * several} {shown_list(names)} of {where}"
    if every is None:
        too_many = f"{'make' if several else 'has'} more than {MAX_GROUPS:,}"
        what = "groups" if several else "different values"
        raise InputError(
            f"{which} {too_many} {what}; expected groups of items, such as weeks or regions."
        )
    counts = {longer: len(_by_longer(values, every, longer)) for longer in coarser(every)}
    fitting = next((longer for longer, n in counts.items() if n <= MAX_GROUPS), None)
    advice = "Group by something else."
    if fitting is not None:
        advice = f"--every {fitting} fits: that makes {counts[fitting]:,} of them so far."
    too_many = f"{MAX_GROUPS:,} {'groups' if several else f'{every}s'}"
    raise InputError(
        f"{which} {'make' if several else 'has items in'} more than {too_many}. {advice}"
    )


def _by_longer(values: Sequence[Any], every: str, longer: str) -> set[Any]:
    """Return groups with their periods replaced by longer ones."""

    def part(value: Any) -> Any:
        is_period = isinstance(value, str) and period_of(value) == every
        return period_name(parse_time(value), longer) if is_period else value

    return {tuple(map(part, each)) if isinstance(each, tuple) else part(each) for each in values}


def note_zones(column: str | None, zones: set[str], progress: Progress) -> None:
    """Say what becomes of times with different clocks."""
    if len(zones) > 1:
        offsets = [zone or "none" for zone in sorted(zones)]
        progress.note(
            f"times in {column!r} have different zones or offsets from UTC "
            f"({shown_list(offsets, most=4)}); each is in the period of the date and the clock "
            "that it is written with."
        )


# --- names ------------------------------------------------------------------------------------


def name_groups(
    values: Sequence[Any], grouping: Grouping, timed: str | None
) -> tuple[list[int], list[Any]]:
    """Return the order in which people would sort distinct groups, and their names in it.

    Values are numbers where all of a column are whole numbers, periods are text.
    """
    several = len(grouping.columns) > 1
    parts = [value if several else (value,) for value in values]
    columns = list(zip(*parts, strict=True))
    named = [
        column if name == timed else _named(column)
        for name, column in zip(grouping.columns, columns, strict=True)
    ]
    rows = list(zip(*named, strict=True))
    ranks = []
    for column in columns:
        ordered = sorted_groups(dict.fromkeys(column))
        ranks.append({value: rank for rank, value in enumerate(ordered)})
    order = sorted(
        range(len(parts)),
        key=lambda place: [rank[v] for rank, v in zip(ranks, parts[place], strict=True)],
    )
    return order, [rows[place] if several else rows[place][0] for place in order]


def _named(column: Sequence[Any]) -> list[Any]:
    # Numbers in CSV files come as text.
    if all(isinstance(value, str) and is_whole(value) for value in column):
        return [int(value) for value in column]
    plain = str | bool | int | float | datetime.date
    return [value if isinstance(value, plain) else str(value) for value in column]


def alike(values: Sequence[Any], n_columns: int) -> list[Any]:
    """Return groups of files of different formats alike: as text where types differ.

    Examples
    --------
    >>> alike(["1", datetime.date(2024, 3, 1)], 1), alike([("a", 1), ("a", 2.5)], 2)
    (['1', '2024-03-01'], [('a', 1), ('a', 2.5)])
    """
    if n_columns == 1:
        return _alike(values)
    columns = [_alike(column) for column in zip(*values, strict=True)]
    return list(zip(*columns, strict=True))


def _alike(column: Sequence[Any]) -> list[Any]:
    if len({type(value) for value in column}) > 1 and not all(map(_is_number, column)):
        return [str(plain_name(value)) for value in column]
    return list(column)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
