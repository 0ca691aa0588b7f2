"""Formats with Arrow types: Parquet, Arrow files (also Feather) and Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import usual
from truemix.cli.tables.ipc_sizes import batches_in
from truemix.cli.tables.source import Budget, Source
from truemix.cli.tables.table import BATCH_ROWS, Table

# Where Arrow says that a column is of a type that is not its own.
_EXTENSION = b"ARROW:extension:name"


class _TypedTable(Table):
    """A format whose columns have Arrow types."""

    def _take_schema(self, schema: pa.Schema) -> None:
        self._take_columns(list(schema.names))
        self.types = {field.name: _type_of(field) for field in schema}

    def _usual_parts(self, batch: pa.RecordBatch, budget: Budget) -> Iterator[pa.RecordBatch]:
        """Yield a batch in parts of common types, none of which unpacks to too much."""
        for column in batch.columns:
            # What is computed with bytes that were not checked could read anywhere in memory.
            column.validate(full=True)
        # Rows without any bytes (nulls, runs) take memory when they are computed with.
        budget.take(8 * batch.num_rows * batch.num_columns)
        for start in range(0, batch.num_rows, BATCH_ROWS):
            part = batch.slice(start, BATCH_ROWS)
            columns = {}
            for name, column in zip(batch.schema.names, part.columns, strict=True):
                found = usual(column)
                budget.take(_text_size(found))
                if pa.types.is_dictionary(found.type) and not _in_dictionary(self.types[name]):
                    found = found.dictionary_decode()
                columns[name] = found
            yield pa.RecordBatch.from_pydict(columns)


class ParquetTable(_TypedTable):
    """Parquet, read row group by row group."""

    def __init__(self, source: Source) -> None:
        from pyarrow import parquet

        super().__init__(source)
        with self._reading("Parquet"):
            self._take_schema(parquet.read_schema(source.path))
            # Text is repeated only when it is known how long it will be then.
            text = [name for name, kind in self.types.items() if pa.types.is_string(kind)]
            self._file = parquet.ParquetFile(
                source.path, read_dictionary=text, page_checksum_verification=True
            )

    def _read(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        with self._reading("Parquet"):
            self._check_sizes()
            budget = self.source.budget()
            for batch in self._file.iter_batches(BATCH_ROWS, columns=list(types)):
                # Asking for "a" also brings a column "a.b" along.
                yield from self._usual_parts(batch.select(list(types)), budget)

    def _check_sizes(self) -> None:
        """Refuse a file with more in its row groups than may be unpacked, as it says itself."""
        # Not the sizes of the wanted columns: on a damaged footer, asking for a column ends the
        # process instead of raising an error.
        budget, metadata = self.source.budget(), self._file.metadata
        for number in range(metadata.num_row_groups):
            budget.take(max(metadata.row_group(number).total_byte_size, 0))


class ArrowTable(_TypedTable):
    """Arrow files (also Feather) and streams."""

    def __init__(self, source: Source, *, stream: bool) -> None:
        super().__init__(source)
        self._open = pa.ipc.open_stream if stream else pa.ipc.open_file
        with self._reading("Arrow"), pa.memory_map(str(source.path)) as file:
            self._take_schema(self._open(file).schema)

    def _read(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        places = {name: place for place, name in enumerate(self.columns)}
        options = pa.ipc.IpcReadOptions(included_fields=[places[name] for name in types])
        with self._reading("Arrow"), pa.memory_map(str(self.source.path)) as file:
            self._check_sizes(file)
            reader = self._open(file, options=options)
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                each = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                each = iter(reader)
            budget = self.source.budget()
            for batch in each:
                yield from self._usual_parts(batch.select(list(types)), budget)

    def _check_sizes(self, file: pa.MemoryMappedFile) -> None:
        """Refuse a file with a batch, or with dictionaries, of more than may be unpacked."""
        data = memoryview(file.read_at(file.size(), 0))
        dictionaries = self.source.budget()
        for batch in batches_in(data):
            if batch.is_dictionary:
                dictionaries.take(batch.unpacked)
            else:
                self.source.budget().check(batch.unpacked)


def _type_of(field: pa.Field) -> pa.DataType:
    """Return the type of a column, also if it is an extension type that pyarrow does not know."""
    extension = (field.metadata or {}).get(_EXTENSION)
    if extension is None or isinstance(field.type, pa.BaseExtensionType):
        return field.type
    return pa.opaque(field.type, extension.decode("utf-8", "replace"), "unknown")


def _in_dictionary(kind: pa.DataType) -> bool:
    if pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return bool(pa.types.is_dictionary(kind))


def _text_size(column: pa.Array) -> int:
    """Return the bytes of text in a column, which in a dictionary may count many times."""
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.dictionary)
        return pc.sum(lengths.take(column.indices)).as_py() or 0
    return pc.sum(pc.binary_length(column)).as_py() or 0 if pa.types.is_string(column.type) else 0
