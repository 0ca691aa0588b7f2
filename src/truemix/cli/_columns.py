"""Columns of a table as arrays: numbers straight into place, labels and groups as codes."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import (
    NOTHING,
    NUMBERS,
    TRUTH,
    meaning,
    row_out_of_range,
    with_python_type,
)
from truemix._group_order import sorted_groups
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.cli._formats import Table
from truemix.exceptions import InputError
from truemix.validation import LARGEST_EXACT, shown


class Rows:
    """A table of numbers that grows: room is made in place, without a copy of it all.

    Examples
    --------
    >>> rows = Rows(2)
    >>> rows.add(np.ones((3, 2)))
    >>> rows.array().shape
    (3, 2)
    """

    def __init__(self, n_columns: int) -> None:
        self._buffer = np.empty((0, n_columns))
        self.length = 0

    def add(self, values: FloatArray) -> None:
        """Append rows."""
        end = self.length + len(values)
        if end > len(self._buffer):
            # A third more: room that is not used stays untouched, and takes no memory.
            room = max(end, self.length + self.length // 3, 1024)
            self._buffer.resize((room, self._buffer.shape[1]), refcheck=False)
        self._buffer[self.length : end] = values
        self.length = end

    def array(self) -> FloatArray:
        """Return all rows."""
        return self._buffer[: self.length]


def numbers(batch: pa.RecordBatch, names: list[str], table: Table, start: int) -> FloatArray:
    """Return columns of a batch that begins at row ``start``; each value must be a number."""
    values = np.empty((batch.num_rows, len(names)))
    place_of = {name: place for place, name in enumerate(batch.schema.names)}
    for place, name in enumerate(names):
        column = batch.column(place_of[name])
        table.check_role("posterior", name, column.type)
        if column.null_count:
            row = start + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise _missing(table, row, name)
        values[:, place] = as_floats(column, table, name, start)
    finite = np.isfinite(values)
    if not finite.all():
        row, place = (int(each[0]) for each in np.nonzero(~finite))
        if np.isnan(values[row, place]):
            raise _missing(table, start + row, names[place])
        raise InputError(
            f"{table.place(start + row)} has {values[row, place]:g} in column "
            f"{shown(names[place])}; expected a finite number."
        )
    return values


def as_floats(column: pa.Array, table: Table, name: str, start: int) -> FloatArray:
    """Return a column that begins at row ``start`` as floats, which must tell its values apart."""
    if pa.types.is_integer(column.type) and column.type.bit_width == 64:
        limit = pa.scalar(LARGEST_EXACT, column.type)
        beyond = pc.greater(column, limit)
        if pa.types.is_signed_integer(column.type):
            beyond = pc.or_(beyond, pc.less(column, pa.scalar(-LARGEST_EXACT, column.type)))
        row = pc.index(beyond, pa.scalar(True)).as_py()
        if row >= 0:
            raise InputError(
                f"{table.place(start + row)} has {column[row].as_py()} in column {shown(name)}; "
                "whole numbers beyond 2**53 are rounded as features or posteriors. Write the "
                "column as text if it holds names, or in larger units."
            )
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _missing(table: Table, row: int, name: str) -> InputError:
    return InputError(
        f"{table.place(row)} has no value in column {shown(name)}; expected a number. Fill it in "
        "or remove such rows."
    )


def decoded(column: pa.Array) -> pa.Array:
    """Return a column without the dictionary that it may be written with."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column of this type can be read as numbers."""
    # A column without any value: what is missing is said by row.
    return meaning(kind) in {NUMBERS, TRUTH, NOTHING}


class Codes:
    """Values of a column as numbers, and which value each number stands for."""

    def __init__(self, table: Table, name: str, role: str, most: int | None = None) -> None:
        self._table, self._name, self._role, self._most = table, name, role, most
        self._numbers: dict[Any, int] = {}
        self._parts: list[IntArray] = []
        self.length = 0

    def add(self, column: pa.Array) -> None:
        """Append a part of the column."""
        self._table.check_role(self._role, self._name, column.type)
        check_calendar(column, self._table, self._name, self.length)
        column = with_python_type(column)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        if column.null_count:
            self._complain(int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]))
        places = column.indices.to_numpy(zero_copy_only=False).astype(np.intp)
        # A dictionary may hold values that do not occur.
        used, places = np.unique(places, return_inverse=True)
        found = column.dictionary.take(pa.array(used)).to_pylist()
        for number, value in enumerate(found):
            if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
                self._complain(int(np.flatnonzero(places == number)[0]))
        numbers = [self._numbers.setdefault(value, len(self._numbers)) for value in found]
        self._parts.append(np.array(numbers, dtype=np.intp)[places])
        self.length += len(places)
        if self._most is not None and len(self._numbers) > self._most:
            raise InputError(
                f"Column {shown(self._name)} of {self._table.name} has more than {self._most:,} "
                f"different values; expected {self._role}s of items, such as weeks or regions."
            )

    @property
    def values(self) -> list[Any]:
        """What occurs, in the order of first occurrence."""
        return list(self._numbers)

    def array(self) -> IntArray:
        """Return the place of each row's value in ``values``."""
        return np.concatenate(self._parts) if self._parts else np.empty(0, dtype=np.intp)

    def _complain(self, row: int) -> None:
        raise InputError(
            f"{self._table.place(self.length + row)} has no {self._role} in column "
            f"{shown(self._name)}; every item needs one. Fill it in or remove such rows."
        )


@dataclass(frozen=True)
class Labels:
    """Labels of all items: the classes in order, the place of each item's class, their names."""

    classes: AnyArray
    codes: IntArray
    names: list[str]

    @property
    def items(self) -> AnyArray:
        """The label of each item."""
        return self.classes[self.codes]


def labels_of(codes: Codes, table: Table, name: str) -> Labels:
    """Return labels, as whole numbers if all of them are, and as text otherwise."""
    spelt = [_spelt(value, table, name) for value in codes.values]
    numeric = all(_is_whole(text) for text in spelt)
    order = sorted(range(len(spelt)), key=lambda i: int(spelt[i]) if numeric else spelt[i])
    names = [spelt[i] for i in order]
    for text in names:
        if text.endswith("\0"):
            raise InputError(
                f"The label {shown(text)} in column {shown(name)} of {table.name} ends with a zero "
                "byte, which is not told from the label without it; remove such bytes."
            )
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.arange(len(order))
    classes = np.array([int(text) for text in names]) if numeric else np.array(names)
    return Labels(classes, ranks[codes.array()], names)


def _spelt(value: Any, table: Table, name: str) -> str:
    """Return a label as a column would be named after it."""
    if isinstance(value, bool):
        # Columns of truth values are called True or true, as their writer does.
        spellings = (str(value), str(value).lower(), str(value).upper())
        return next((text for text in spellings if text in table.columns), str(value))
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, str | int):
        return str(value)
    raise InputError(
        f"The label {shown(value)} in column {shown(name)} of {table.name} is of type "
        f"{type(value).__name__}; labels must be text, whole numbers or truth values."
    )


def _is_whole(text: str) -> bool:
    """Tell whether text is a whole number as Python writes it, so that nothing is lost."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 18 and str(int(text)) == text


@dataclass(frozen=True)
class Groups:
    """The names of groups in order, and the place of each item's group among them."""

    names: list[Any]
    codes: IntArray


def groups_of(codes: Codes) -> Groups:
    """Return groups sorted as people would: numbers, dates and months as such, also as text."""
    values = codes.values
    order = sorted_groups(values)
    rank = {value: place for place, value in enumerate(order)}
    ranks = np.array([rank[value] for value in values], dtype=np.intp)
    # Numbers in CSV files come as text.
    whole = all(isinstance(value, str) and _is_whole(value) for value in values)
    return Groups([int(value) if whole else _shown(value) for value in order], ranks[codes.array()])


def _shown(value: Any) -> Any:
    return value if isinstance(value, str | bool | int | float | datetime.date) else str(value)


def check_calendar(column: pa.Array, table: Table, name: str, start: int) -> None:
    """Refuse dates and times that no calendar and no clock has."""
    row = row_out_of_range(column)
    if row is not None:
        raise InputError(
            f"{table.place(start + row)} has no date of a year from 1 to 9999 and no time of day "
            f"in column {shown(name)}; repair it, or check the unit that it was written with."
        )


def as_text(column: pa.Array) -> pa.Array:
    """Return a column as text, with empty text for what is missing."""
    return pc.fill_null(decoded(column).cast(pa.string()), "")
