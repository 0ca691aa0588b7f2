"""Feature columns for classifiers: numbers, and everything else as codes of categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import shown_type
from truemix._typing import FloatArray
from truemix.cli._columns import Rows, as_text, check_calendar, decoded, is_number, numbers
from truemix.cli._progress import Progress
from truemix.cli.tables.table import Column, Table
from truemix.exceptions import InputError
from truemix.validation import shown

# The code of categories that the reference does not have.
UNKNOWN = -1


@dataclass(frozen=True)
class Features:
    """Which columns are features, and of which kind, as the reference decides.

    Missing numbers are NaN; a missing category is empty text, which is a category of its own.
    Categories become their places among those of the reference, so that all features fit into one
    array of numbers.

    Attributes
    ----------
    types : dict
        The type of each column; text is read as that type.
    reference : str
        Name of the file that decided it.
    categories : dict
        The texts that occur in each column that is not numeric, sorted.
    left_out : dict
        Columns that no classifier is trained on, because they look like keys: name → reason.
    """

    types: dict[str, pa.DataType]
    reference: str
    categories: dict[str, pa.Array]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def numeric(self) -> list[str]:
        """Columns that are numbers, dates (as seconds) or truth values."""
        return [name for name, kind in self.types.items() if not pa.types.is_string(kind)]

    @property
    def categorical(self) -> list[str]:
        """All other columns."""
        return list(self.categories)

    def array(self, batch: pa.RecordBatch | pa.Table, table: Table, start: int) -> FloatArray:
        """Return a batch that begins at row ``start``: numbers, then codes of categories."""
        columns_of_numbers = {
            name: self._as_number(decoded(batch.column(name)), name, table) for name in self.numeric
        }
        values = np.empty((batch.num_rows, len(self.types)))
        n_numeric = len(columns_of_numbers)
        if columns_of_numbers:
            values[:, :n_numeric] = numbers(columns_of_numbers, table, start, may_miss=True)
        for place, (name, known) in enumerate(self.categories.items(), start=n_numeric):
            text = _category(batch.column(name), table, name, start)
            codes = pc.fill_null(pc.index_in(text, value_set=known), UNKNOWN)
            values[:, place] = codes.to_numpy(zero_copy_only=False)
        return values

    def _as_number(self, column: pa.Array, name: str, table: Table) -> pa.Array:
        if is_date(column.type):
            return column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        if not is_number(column.type):
            raise InputError(
                f"Column {shown(name)} of {table.name} is of type {shown_type(column.type)}, but "
                f"{self.reference} has numbers there; expected the same kind of column in both."
            )
        return column


class FeatureReader:
    """Gathers the features that a reference has.

    Attributes
    ----------
    wanted : dict
        The columns to read.
    left_out : collection of str
        Columns that are known and not read.
    """

    def __init__(self, table: Table, features: Features) -> None:
        what = f"a feature in {features.reference}"
        table.need_all(features.types, what, "Add it, or drop it from the reference.")
        self._table, self._features = table, features
        self.left_out = features.left_out
        self._rows = Rows(len(features.types))
        self.wanted = {name: Column("feature", kind) for name, kind in features.types.items()}

    def add(self, start: int, batch: pa.RecordBatch) -> None:
        """Take a batch that begins at row ``start``."""
        self._rows.add(self._features.array(batch, self._table, start))

    def items(self, unused: list[str], progress: Progress) -> FloatArray:
        """Return all rows."""
        return self._rows.array()


def features_of(whole: pa.Table, table: Table) -> Features:
    """Return the kinds of all columns of a reference."""
    types, categories = {}, {}
    for name in whole.column_names:
        kind = whole.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_boolean(kind) or is_date(kind):
            types[name] = kind
        elif is_number(kind):
            types[name] = pa.float64()
        else:
            types[name] = pa.string()
            text = pc.unique(_category(whole.column(name), table, name, 0))
            categories[name] = text.take(pc.array_sort_indices(text))
    return Features(types, table.name, categories)


def _category(column: pa.Array | pa.ChunkedArray, table: Table, name: str, start: int) -> pa.Array:
    """Return a column that begins at row ``start`` as text."""
    column = decoded(column)
    check_calendar(column, table, name, start)
    return as_text(column)


def training_columns(features: Features | None) -> dict[str, Any]:
    """Return for the output which columns a classifier was trained on, and which were left out."""
    if features is None:
        return {"features": None, "left_out": None}
    return {"features": list(features.types), "left_out": features.left_out}


def is_date(kind: pa.DataType) -> bool:
    """Return whether a column holds dates, with or without the time of the day."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
