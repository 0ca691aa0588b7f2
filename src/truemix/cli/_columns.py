"""Columns of a table as arrays: numbers straight into place, labels and groups as codes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix import _arrow_columns as arrow
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.cli.tables.table import LABEL, Table
from truemix.exceptions import InputError
from truemix.validation import LARGEST_EXACT, shown, shown_list


class Rows:
    """A float matrix that grows by rows: it is resized in place, without a copy of it all."""

    def __init__(self, n_columns: int) -> None:
        self._buffer = np.empty((0, n_columns))
        self._length = 0

    def add(self, values: FloatArray) -> None:
        """Append rows."""
        end = self._length + len(values)
        if end > len(self._buffer):
            # A third more; unused pages of it take no memory.
            room = max(end, self._length + self._length // 3, 1024)
            self._buffer.resize((room, self._buffer.shape[1]), refcheck=False)
        self._buffer[self._length : end] = values
        self._length = end

    def array(self) -> FloatArray:
        """Return all rows."""
        return self._buffer[: self._length]


def numbers(
    columns: pa.RecordBatch | pa.Table, table: Table, start: int, *, may_miss: bool = False
) -> FloatArray:
    """Return a batch that begins at row ``start``, as floats; what is missing is NaN."""
    values = np.empty((columns.num_rows, columns.num_columns))
    names = columns.schema.names
    for place, column in enumerate(columns.columns):
        if pa.types.is_integer(column.type) and column.type.bit_width == 64:
            whole = np.asarray(column.fill_null(0))
            beyond = np.flatnonzero((whole > LARGEST_EXACT) | (whole < -LARGEST_EXACT))
            if beyond.size:
                raise table.bad_cell(
                    start + int(beyond[0]),
                    names[place],
                    f"{whole[beyond[0]]}",
                    "whole numbers beyond 2**53 are rounded as features or posteriors. Write the "
                    "column as text if it holds names, or in larger units.",
                )
        values[:, place] = column.cast(pa.float64(), safe=False)
    wrong = np.isinf(values) if may_miss else ~np.isfinite(values)
    if wrong.any():
        row, place = (int(each[0]) for each in np.nonzero(wrong))
        found, expected = f"{values[row, place]:g}", "expected a finite number"
        expected += ", or nothing if it is missing." if may_miss else "."
        if np.isnan(values[row, place]):
            found, expected = "no value", "expected a number. Fill it in or remove such rows."
        raise table.bad_cell(start + row, names[place], found, expected)
    return values


def as_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column as text, with empty text for what is missing."""
    return pc.fill_null(arrow.decoded(column).cast(pa.string()), "")


def is_number(kind: pa.DataType) -> bool:
    """Return whether a column of this type can be read as numbers."""
    # Columns without any value too: missing values are reported by row.
    return arrow.meaning(kind) in {arrow.NUMBERS, arrow.TRUTH, arrow.NOTHING}


def check_calendar(column: pa.Array | pa.ChunkedArray, table: Table, name: str, start: int) -> None:
    """Refuse dates and times that no calendar and no clock has."""
    row = arrow.row_out_of_range(column)
    if row is not None:
        found = "no date of a year from 1 to 9999 and no time of day"
        remedy = "repair it, or check the unit that it was written with."
        raise table.bad_cell(start + row, name, found, remedy)


# --- labels and groups -------------------------------------------------------------------------


class Codes:
    """Dictionary encoding of a column over all batches: a code for each row, and its values."""

    def __init__(self, table: Table, name: str, role: str) -> None:
        self._table, self._name, self._role = table, name, role
        self._numbers: dict[Any, int] = {}
        self._parts: list[IntArray] = []

    def add(self, start: int, column: pa.Array) -> None:
        """Append a part of the column that begins at row ``start``; no value may be missing."""
        self._parts.append(self.encode(start, column))

    def encode(self, start: int, column: pa.Array) -> IntArray:
        """Return the codes of a part that begins at row ``start``, without keeping them."""
        return self.encode_present(self.present(start, column))

    def present(self, start: int, column: pa.Array) -> pa.Array:
        """Return a part of the column in usual types; refuse it if a value is missing."""
        check_calendar(column, self._table, self._name, start)
        column = arrow.with_python_type(arrow.decoded(column))
        missing = pc.is_null(column, nan_is_null=True)
        if pa.types.is_string(column.type):
            missing = pc.or_kleene(missing, pc.equal(column, ""))
        row = pc.index(missing, pa.scalar(True)).as_py()
        if row >= 0:
            remedy = "every item needs one. Fill it in or remove such rows."
            raise self.bad(start + row, f"no {self._role}", remedy)
        return column

    def bad(self, row: int, found: str, expected: str) -> InputError:
        """Return the error for a value of the column that is not what it should be."""
        return self._table.bad_cell(row, self._name, found, expected)

    def encode_present(self, column: pa.Array) -> IntArray:
        """Return the codes of a part that :meth:`present` has returned."""
        coded = column.dictionary_encode()
        return self.encode_values(coded.dictionary.to_pylist(), coded.indices.to_numpy())

    def encode_values(self, found: Sequence[Any], places: IntArray) -> IntArray:
        """Return the codes of rows, given distinct values and the place of each row's."""
        numbers = [self._numbers.setdefault(value, len(self._numbers)) for value in found]
        return np.asarray(np.array(numbers, dtype=np.intp)[places])

    @property
    def values(self) -> list[Any]:
        """What occurs, in the order of first occurrence."""
        return list(self._numbers)

    def ranked(self, order: list[int]) -> IntArray:
        """Return the place of each row's value, if values are put in this order."""
        ranks = np.empty(len(order), dtype=np.intp)
        ranks[order] = np.arange(len(order))
        return np.asarray(ranks[np.concatenate(self._parts)])


class Labels(NamedTuple):
    """The classes in order, and the place of each item's class among them."""

    classes: AnyArray
    codes: IntArray

    @property
    def items(self) -> AnyArray:
        """The label of each item."""
        return self.classes[self.codes]

    @property
    def names(self) -> list[str]:
        """The classes as columns are named after them."""
        return [str(label) for label in self.classes.tolist()]


def read_labels(table: Table, label: str | None) -> tuple[str, Labels]:
    """Return the column of labels, and them: whole numbers if all of them are, else text."""
    label = table.default_label if label is None else label
    if label is None:
        raise InputError(
            f"The option --label is missing: it names the column of {table.name} that holds the "
            f"labels. Its columns are {shown_list(table.columns)}."
        )
    table.need([label], "the labels, as --label says")
    found = Codes(table, label, "label")
    for start, batch in table.batches({label: LABEL}):
        found.add(start, batch.column(label))
    if not found.values:
        raise InputError(f"{table.name} has no rows below its header; at least one is needed.")
    names = [_column_name(value, table, label) for value in found.values]
    numeric = all(is_whole(name) for name in names)
    known: list[Any] = [int(name) for name in names] if numeric else names
    order = sorted(range(len(known)), key=known.__getitem__)
    classes = [known[place] for place in order]
    if len(classes) < 2:
        raise InputError(
            f"Column {shown(label)} of {table.name} holds only the label {shown(names[0])}; "
            "a mix needs at least two classes. Check that it is the column of labels."
        )
    return label, Labels(np.array(classes), found.ranked(order))


def _column_name(value: Any, table: Table, name: str) -> str:
    """Return a label as a column would be named after it."""
    if isinstance(value, bool):
        # Columns of truth values are called True or true, as their writer does.
        spellings = (str(value), str(value).lower(), str(value).upper())
        return next((text for text in spellings if text in table.columns), str(value))
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        value = int(value)
    place = f"The label {shown(value)} in column {shown(name)} of {table.name}"
    if not isinstance(value, str | int):
        raise InputError(
            f"{place} is of type {type(value).__name__}; labels must be text, whole numbers or "
            "truth values."
        )
    if isinstance(value, str) and value.endswith("\0"):
        raise InputError(
            f"{place} ends with a zero byte, which is not told from the label without it; remove "
            "such bytes."
        )
    return str(value)


def is_whole(text: str) -> bool:
    """Return whether text is an integer as Python writes it, so that nothing is lost."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 18 and str(int(text)) == text
