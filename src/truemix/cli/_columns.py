"""Values of a column: numbers as floats, straight into place, and everything else as text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import NOTHING, NUMBERS, TRUTH, meaning, row_out_of_range
from truemix._typing import FloatArray
from truemix.cli.tables.table import Table
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
        self._length = 0

    def add(self, values: FloatArray) -> None:
        """Append rows."""
        end = self._length + len(values)
        if end > len(self._buffer):
            # A third more: room that is not used stays untouched, and takes no memory.
            room = max(end, self._length + self._length // 3, 1024)
            self._buffer.resize((room, self._buffer.shape[1]), refcheck=False)
        self._buffer[self._length : end] = values
        self._length = end

    def array(self) -> FloatArray:
        """Return all rows."""
        return self._buffer[: self._length]


def numbers(batch: pa.RecordBatch, names: list[str], table: Table, start: int) -> FloatArray:
    """Return columns of a batch that begins at row ``start``; each value must be a number."""
    values = np.empty((batch.num_rows, len(names)))
    place_of = {name: place for place, name in enumerate(batch.schema.names)}
    for place, name in enumerate(names):
        values[:, place] = as_floats(batch.column(place_of[name]), table, name, start)
    finite = np.isfinite(values)
    if not finite.all():
        row, place = (int(each[0]) for each in np.nonzero(~finite))
        where, name = table.place(start + row), shown(names[place])
        if np.isnan(values[row, place]):
            raise InputError(
                f"{where} has no value in column {name}; expected a number. Fill it in or remove "
                "such rows."
            )
        raise InputError(
            f"{where} has {values[row, place]:g} in column {name}; expected a finite number."
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


def as_text(column: pa.Array) -> pa.Array:
    """Return a column as text, with empty text for what is missing."""
    return pc.fill_null(decoded(column).cast(pa.string()), "")


def decoded(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, without the dictionary that it may be written with."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column of this type can be read as numbers."""
    # A column without any value: what is missing is said by row.
    return meaning(kind) in {NUMBERS, TRUTH, NOTHING}


def check_calendar(column: pa.Array, table: Table, name: str, start: int) -> None:
    """Refuse dates and times that no calendar and no clock has."""
    row = row_out_of_range(column)
    if row is not None:
        raise InputError(
            f"{table.place(start + row)} has no date of a year from 1 to 9999 and no time of day "
            f"in column {shown(name)}; repair it, or check the unit that it was written with."
        )
