"""The rows of a table with a label, or those without: one file as reference and as target."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import decoded
from truemix._typing import IntArray
from truemix.cli.tables.source import RowPart
from truemix.cli.tables.table import Table, Types


class PartOfTable(Table):
    """Some rows of a table; those without a label do not have its column either."""

    def __init__(self, table: Table, part: RowPart) -> None:
        super().__init__(table.source)
        self._table, self._part = table, part
        hidden = set() if part.labelled else {part.label}
        self.columns = [name for name in table.columns if name not in hidden]
        self.types = {n: kind for n, kind in table.types.items() if n not in hidden}
        self.unnamed = [name for name in table.unnamed if name not in hidden]
        self.default_label = table.default_label if part.labelled else None
        # Of the rows that were read in the last pass.
        self.file_rows: IntArray = np.empty(0, dtype=np.intp)

    def place(self, row: int) -> str:
        """Return where a row is in the file."""
        return self._table.place(int(self.file_rows[row]))

    def _read(self, types: Types) -> Iterator[pa.RecordBatch]:
        label, start = self._part.label, 0
        self.file_rows = np.empty(0, dtype=np.intp)
        for batch in self._table._read({label: pa.string(), **types}):
            missing = missing_cells(batch.column(label))
            kept = pc.invert(missing) if self._part.labelled else missing
            self.share_read = self._table.share_read
            rows = start + np.flatnonzero(np.asarray(kept))
            self.file_rows = np.concatenate([self.file_rows, rows])
            start += batch.num_rows
            yield batch.filter(kept).select(list(types))


def missing_cells(column: pa.Array) -> pa.Array:
    """Return which cells of a column hold nothing."""
    column = decoded(column)
    missing = pc.is_null(column, nan_is_null=True)
    if pa.types.is_string(column.type):
        missing = pc.or_kleene(missing, pc.equal(column, ""))
    return pc.fill_null(missing, True)
