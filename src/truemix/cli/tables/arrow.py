"""Formats with Arrow types: Parquet, Arrow files (also Feather) and Arrow streams."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import decoded, usual
from truemix.cli.tables.source import Budget, Source
from truemix.cli.tables.table import BATCH_ROWS, Table, Types

_MAGIC = b"ARROW1"
# Where Arrow says that a column is of a type that is not its own.
_EXTENSION = b"ARROW:extension:name"


class _TypedTable(Table):
    """A format whose columns have Arrow types."""

    def _take_schema(self, schema: pa.Schema) -> None:
        self._take_columns(list(schema.names))
        self.types = {field.name: _type_of(field) for field in schema}

    def _usual_parts(self, batch: pa.RecordBatch, budget: Budget) -> Iterator[pa.RecordBatch]:
        """Yield a batch in parts of common types, each within the limit on unpacked bytes."""
        for column in batch.columns:
            # Computing with unchecked buffers could read anywhere in memory.
            column.validate(full=True)
        # Rows without any bytes (nulls, runs) take memory when they are computed with.
        budget.take(8 * batch.num_rows * batch.num_columns)
        for start in range(0, batch.num_rows, BATCH_ROWS):
            part = batch.slice(start, BATCH_ROWS)
            columns = {}
            for name, column in zip(batch.schema.names, part.columns, strict=True):
                found = usual(column)
                budget.take(_text_size(found))
                # Of text in a Parquet file, pyarrow itself has made a dictionary.
                in_file = not pa.types.is_string(self.types[name])
                columns[name] = found if in_file else decoded(found)
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

    def _read(self, types: Types) -> Iterator[pa.RecordBatch]:
        with self._reading("Parquet"):
            # Not the sizes of the wanted columns: on a damaged footer, asking for a column ends
            # the process instead of raising an error.
            budget, metadata = self.source.budget(), self._file.metadata
            for number in range(metadata.num_row_groups):
                budget.take(max(metadata.row_group(number).total_byte_size, 0))
            budget, n_rows = self.source.budget(), 0
            for batch in self._file.iter_batches(BATCH_ROWS, columns=list(types)):
                n_rows += batch.num_rows
                self.share_read = min(1.0, n_rows / max(metadata.num_rows, 1))
                # Asking for "a" also brings a column "a.b" along.
                yield from self._usual_parts(batch.select(list(types)), budget)


class ArrowFile(_TypedTable):
    """Arrow files (also Feather)."""

    _open: Any = staticmethod(pa.ipc.open_file)

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        with self._reading("Arrow"), pa.memory_map(str(source.path)) as file:
            self._take_schema(self._open(file).schema)

    def _read(self, types: Types) -> Iterator[pa.RecordBatch]:
        places = {name: place for place, name in enumerate(self.columns)}
        options = pa.ipc.IpcReadOptions(included_fields=[places[name] for name in types])
        with self._reading("Arrow"), pa.memory_map(str(self.source.path)) as file:
            # No copy: a buffer of a file that is mapped to memory.
            self._check_sizes(file.read_buffer())
            file.seek(0)
            reader = self._open(file, options=options)
            batches, n_batches = reader, 0
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                n_batches = reader.num_record_batches
                batches = map(reader.get_batch, range(n_batches))
            budget = self.source.budget()
            for number, batch in enumerate(batches, start=1):
                # A stream does not say how many there will be.
                self.share_read = number / n_batches if n_batches else 0.0
                yield from self._usual_parts(batch.select(list(types)), budget)

    def _check_sizes(self, data: pa.Buffer) -> None:
        """Refuse a file with a batch, or with dictionaries, of more than may be unpacked."""
        dictionaries = self.source.budget()
        for message in messages_in(data):
            if message.type == "dictionary":
                dictionaries.take(unpacked_size(message))
            elif message.type == "record batch":
                self.source.budget().check(unpacked_size(message))


class ArrowStream(ArrowFile):
    """Arrow streams."""

    _open = staticmethod(pa.ipc.open_stream)


def _type_of(field: pa.Field) -> pa.DataType:
    """Return the type of a column, also if it is an extension type that pyarrow does not know."""
    extension = (field.metadata or {}).get(_EXTENSION)
    if extension is None or isinstance(field.type, pa.BaseExtensionType):
        return field.type
    return pa.opaque(field.type, extension.decode("utf-8", "replace"), "unknown")


def _text_size(column: pa.Array) -> int:
    """Return the bytes of text in a column, which in a dictionary may count many times."""
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.dictionary)
        return pc.sum(lengths.take(column.indices)).as_py() or 0
    return pc.sum(pc.binary_length(column)).as_py() or 0 if pa.types.is_string(column.type) else 0


# --- sizes of Arrow batches, before any is unpacked -------------------------------------------
#
# pyarrow unpacks a batch as a whole, and trusts the sizes in it. They stand in front of the packed
# buffers; where those are is in the metadata, a flat buffer of which a few fields are read here
# (``Message.fbs`` and ``File.fbs`` of the Arrow format).


def messages_in(data: pa.Buffer) -> Iterator[pa.Message]:
    """Yield the messages of an Arrow file or stream, without unpacking them."""
    if data.slice(0, len(_MAGIC)).to_pybytes() != _MAGIC:
        yield from pa.ipc.MessageReader.open_stream(data)
        return
    view = memoryview(data)
    end = len(view) - len(_MAGIC) - 4
    footer = _Flat(view, end - _read(view, end, "<i")).pointed()
    # The blocks of dictionaries, and of records.
    for field in (2, 3):
        for place in footer.structs(field, 24):
            offset = _read(view, place, "<q")
            if not 0 <= offset < len(view):
                raise struct.error("a block beyond the end")
            yield pa.ipc.read_message(data.slice(offset))


def unpacked_size(message: pa.Message) -> int:
    """Return the unpacked size of a batch in bytes, as its metadata declare."""
    metadata, body = memoryview(message.metadata), memoryview(message.body)
    records = _Flat(metadata, 0).pointed().table(2)
    if message.type == "dictionary" and records is not None:
        records = records.table(1)
    if records is None:
        raise struct.error("a batch without contents")
    packed = records.table(3) is not None
    unpacked = 0
    for place in records.structs(2, 16):
        offset, length = struct.unpack_from("<qq", metadata, place)
        if packed and length >= 8:
            # Buffers that compression would not shrink are stored as they are, with length -1.
            length = max(_read(body, offset, "<q"), length - 8)
        unpacked += max(length, 0)
    return unpacked


class _Flat(NamedTuple):
    """A place in a flat buffer: that of a table, or of something that points to one."""

    data: memoryview
    start: int

    def pointed(self) -> _Flat:
        return _Flat(self.data, self.start + _read(self.data, self.start, "<I"))

    def table(self, number: int) -> _Flat | None:
        """Return the table in a field of a table; None if it has its default."""
        fields = self.start - _read(self.data, self.start, "<i")
        if 4 + 2 * number >= _read(self.data, fields, "<H"):
            return None
        offset = _read(self.data, fields + 4 + 2 * number, "<H")
        return _Flat(self.data, self.start + offset).pointed() if offset else None

    def structs(self, number: int, size: int) -> range:
        """Return where the entries of a list are."""
        entries = self.table(number)
        if entries is None:
            return range(0)
        start = entries.start + 4
        end = start + _read(self.data, entries.start, "<I") * size
        if end > len(self.data):
            raise struct.error("a list beyond the end")
        return range(start, end, size)


def _read(data: memoryview, place: int, form: str) -> int:
    if place < 0:
        raise struct.error("a negative place")
    return int(struct.unpack_from(form, data, place)[0])
