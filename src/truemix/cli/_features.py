"""Feature columns for classifiers: numbers, and everything else as categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from truemix._arrow_columns import shown_type
from truemix.cli._columns import as_text, check_calendar, decoded, is_number, numbers
from truemix.cli._progress import Progress
from truemix.cli.tables.table import Column, Table
from truemix.exceptions import InputError
from truemix.validation import shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Features:
    """Which columns are features, and of which kind, as the reference decides.

    Missing numbers are NaN; a missing category is empty text, which is a category of its own.

    Attributes
    ----------
    types : dict
        The type of each column; text is read as that type.
    reference : str
        Name of the file that decided it.
    left_out : dict
        Columns that no classifier is trained on, because they look like keys: name → reason.
    """

    types: dict[str, pa.DataType]
    reference: str
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def numeric(self) -> list[str]:
        """Columns that are numbers, dates (as seconds) or truth values."""
        return [name for name, kind in self.types.items() if not pa.types.is_string(kind)]

    @property
    def categorical(self) -> list[str]:
        """All other columns."""
        return [name for name, kind in self.types.items() if pa.types.is_string(kind)]

    def frame(self, batch: pa.RecordBatch | pa.Table, table: Table, start: int) -> pd.DataFrame:
        """Return a batch that begins at row ``start`` as scikit-learn takes it."""
        import pandas as pd

        # All numbers in one array: the cost of any operation on a data frame grows with the number
        # of its arrays.
        columns_of_numbers = {
            name: self._as_number(decoded(batch.column(name)), name, table) for name in self.numeric
        }
        values = numbers(columns_of_numbers, table, start, may_miss=True)
        frame = pd.DataFrame(values, columns=self.numeric)
        columns: dict[str, object] = {}
        for name in self.categorical:
            column = decoded(batch.column(name))
            check_calendar(column, table, name, start)
            columns[name] = as_text(column).to_numpy(zero_copy_only=False)
        if not columns:
            return frame
        # One kind of text, whichever library's default it is.
        return pd.concat([frame, pd.DataFrame(columns, dtype=object)], axis=1)

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
        self._frames: list[pd.DataFrame] = []
        self.wanted = {name: Column("feature", kind) for name, kind in features.types.items()}

    def add(self, start: int, batch: pa.RecordBatch) -> None:
        """Take a batch that begins at row ``start``."""
        self._frames.append(self._features.frame(batch, self._table, start))

    def items(self, unused: list[str], progress: Progress) -> pd.DataFrame:
        """Return all rows."""
        import pandas as pd

        return pd.concat(self._frames, ignore_index=True)


def features_of(whole: pa.Table, table: Table) -> Features:
    """Return the kinds of all columns of a reference."""
    types = {}
    for name in whole.column_names:
        kind = whole.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_boolean(kind) or is_date(kind):
            types[name] = kind
        elif is_number(kind):
            types[name] = pa.float64()
        else:
            types[name] = pa.string()
    return Features(types, table.name)


def training_columns(features: Features | None) -> dict[str, Any]:
    """Return for the output which columns a classifier was trained on, and which were left out."""
    if features is None:
        return {"features": None, "left_out": None}
    return {"features": list(features.types), "left_out": features.left_out}


def is_date(kind: pa.DataType) -> bool:
    """Return whether a column holds dates, with or without the time of the day."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
