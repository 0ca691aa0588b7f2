"""Tables in files: the names of the columns, and the wanted ones in batches.

Whatever the format, a table gives Arrow batches; :mod:`truemix.cli._text` reads delimited text, and
:mod:`truemix.cli._npz` NumPy archives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from truemix._archive import UNREADABLE
from truemix._arrow_columns import check_type, usual
from truemix.cli._arrow_sizes import batches_in
from truemix.cli._budget import Budget
from truemix.cli._source import Source
from truemix.exceptions import InputError
from truemix.validation import shown

BATCH_ROWS = 1 << 16
MAX_COLUMNS = 1_000_000
# What libraries raise on bytes that are not what they should be.
_DAMAGED = (pa.ArrowException, *UNREADABLE)
# Where Arrow says that a column is of a type that is not its own.
_EXTENSION = b"ARROW:extension:name"


class Table(ABC):
    """A table in a file.

    Attributes
    ----------
    name : str
        How messages call the file.
    columns : list of str
        Names of the columns.
    types : dict
        The Arrow type of each column, if the file says it.
    unnamed : list of str
        Those that have no name in the file, only a position.
    """

    columns: list[str]
    types: dict[str, pa.DataType]
    unnamed: list[str]

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source.name
        self.types = {}
        self.unnamed = []

    @abstractmethod
    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the columns in ``types``, some thousands at a time.

        The types are for text, which has none of its own; otherwise columns come as they are.
        """

    def whole(self, columns: list[str]) -> pa.Table:
        """Return columns with types that fit all their values."""
        # What the types are matters only where text is read, which overrides this.
        batches = list(self.batches(texts(columns)))
        return pa.Table.from_batches(batches) if batches else pa.table({n: [] for n in columns})

    def budget(self) -> Budget:
        """Return how much may be unpacked in one pass over the file."""
        return Budget(self.name, self.source.path.stat().st_size)

    def place(self, row: int) -> str:
        """Return where a row is, for a message that begins with it."""
        return f"Row {row + 1} of {self.name}"

    def check_columns(self) -> None:
        """Refuse a table in which a name stands for two columns, or for none."""
        if len(self.columns) > MAX_COLUMNS:
            raise too_many_columns(self.name)
        twice = next((name for name, times in Counter(self.columns).items() if times > 1), None)
        if twice is not None:
            raise InputError(
                f"{self.name} has more than one column named {shown(twice)}; expected each name "
                "once. Rename or drop columns."
            )

    def check_roles(self, role: str, names: Iterable[str]) -> None:
        """Refuse columns whose type does not fit what they are to be, before they are read."""
        for name in names:
            if name in self.types:
                self.check_role(role, name, self.types[name])

    def check_role(self, role: str, name: str, kind: pa.DataType) -> None:
        """Refuse a column of a type that does not fit what it is to be."""
        check_type(kind, role, f"Column {shown(name)} of {self.name}")

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Say in one sentence that the file is not what it should be."""
        try:
            yield
        except InputError:
            raise
        except _DAMAGED as error:
            self.damaged(what, error)

    def damaged(self, what: str, error: Exception) -> NoReturn:
        """Raise the sentence for a file that ends early or holds something else."""
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(
            f"{self.name} is not a complete {what} file ({reason}); write or copy it again."
        ) from None


class _TypedTable(Table):
    """A format whose columns have Arrow types."""

    def _take_schema(self, schema: pa.Schema) -> None:
        self.columns = list(schema.names)
        self.check_columns()
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
        from pyarrow.parquet import ParquetFile

        super().__init__(source)
        with self.reading("Parquet"):
            self._file = ParquetFile(source.path, page_checksum_verification=True)
            self._take_schema(self._file.schema_arrow)
            # Text is repeated only when it is known how long it will be then.
            text = [name for name, kind in self.types.items() if pa.types.is_string(kind)]
            if text:
                self._file = ParquetFile(
                    source.path,
                    metadata=self._file.metadata,
                    read_dictionary=text,
                    page_checksum_verification=True,
                )

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns."""
        with self.reading("Parquet"):
            self._check_sizes()
            budget = self.budget()
            for batch in self._file.iter_batches(BATCH_ROWS, columns=list(types)):
                # Asking for "a" also brings a column "a.b" along.
                yield from self._usual_parts(batch.select(list(types)), budget)

    def _check_sizes(self) -> None:
        """Refuse a file with more in its row groups than may be unpacked, as it says itself."""
        # Not the sizes of the wanted columns: on a damaged footer, asking for a column ends the
        # process instead of raising an error.
        budget, metadata = self.budget(), self._file.metadata
        for number in range(metadata.num_row_groups):
            budget.take(max(metadata.row_group(number).total_byte_size, 0))


class ArrowTable(_TypedTable):
    """Arrow files (also Feather) and streams."""

    def __init__(self, source: Source, *, stream: bool) -> None:
        super().__init__(source)
        self._open = pa.ipc.open_stream if stream else pa.ipc.open_file
        with self.reading("Arrow"), pa.memory_map(str(source.path)) as file:
            self._take_schema(self._open(file).schema)

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns."""
        places = {name: place for place, name in enumerate(self.columns)}
        options = pa.ipc.IpcReadOptions(included_fields=[places[name] for name in types])
        with self.reading("Arrow"), pa.memory_map(str(self.source.path)) as file:
            self._check_sizes(file)
            reader = self._open(file, options=options)
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                each = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                each = iter(reader)
            budget = self.budget()
            for batch in each:
                yield from self._usual_parts(batch.select(list(types)), budget)

    def _check_sizes(self, file: pa.MemoryMappedFile) -> None:
        """Refuse a file with a batch, or with dictionaries, of more than may be unpacked."""
        size = file.size()
        data = memoryview(file.read_at(size, 0))
        dictionaries = self.budget()
        for batch in batches_in(data):
            if batch.is_dictionary:
                dictionaries.take(batch.unpacked)
            else:
                self.budget().check(batch.unpacked)


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


def too_many_columns(name: str) -> InputError:
    """Build the sentence for a table that is wider than any that is meant."""
    return InputError(
        f"{name} has more than {MAX_COLUMNS:,} columns; expected one row per item, so it may be "
        "on its side. Exchange rows and columns."
    )


def open_table(source: Source) -> Table:
    """Return the table in a file, by what the file holds."""
    kind = source.kind()
    if kind == "Parquet":
        return ParquetTable(source)
    if kind in {"Arrow", "Arrow stream"}:
        return ArrowTable(source, stream=kind == "Arrow stream")
    if kind == "NPZ":
        from truemix.cli._npz import NpzTable

        return NpzTable(source)
    if kind == "NPY":
        raise InputError(
            f"{source.name} holds a single NumPy array; save it as X in an NPZ file, with "
            "numpy.savez, together with the labels as y."
        )
    if kind == "Feather version 1":
        raise InputError(
            f"{source.name} is a Feather file of version 1, which is not read any more; write it "
            "again with a current library, or as Parquet."
        )
    from truemix.cli._text import TextTable

    return TextTable(source, compressed=kind == "gzip")


def free_read_memory() -> None:
    """Give back what Arrow keeps for the next file: there is none, and the work needs it."""
    pa.default_memory_pool().release_unused()


def floats(columns: Iterable[str]) -> dict[str, pa.DataType]:
    """Return the type of numbers for each of the columns."""
    return dict.fromkeys(columns, pa.float64())


def texts(columns: Iterable[str]) -> dict[str, pa.DataType]:
    """Return the type of text for each of the columns."""
    return dict.fromkeys(columns, pa.string())
