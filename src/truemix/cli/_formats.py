"""Tables in files: the names of the columns, and the wanted ones in batches.

Whatever the format, a table gives Arrow batches; :mod:`truemix.cli._text` reads delimited text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn
from zipfile import ZipFile

import numpy as np
import pyarrow as pa

from truemix._archive import UNREADABLE
from truemix._typing import AnyArray
from truemix.cli._source import Source
from truemix.exceptions import InputError

BATCH_ROWS = 1 << 16
# What libraries raise on bytes that are not what they should be.
_DAMAGED = (pa.ArrowException, *UNREADABLE)


class Table(ABC):
    """A table in a file.

    Attributes
    ----------
    name : str
        How messages call the file.
    columns : list of str
        Names of the columns.
    unnamed : list of str
        Those that have no name in the file, only a position.
    """

    columns: list[str]
    unnamed: list[str]

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source.name
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

    def place(self, row: int) -> str:
        """Return where a row is, for a message that begins with it."""
        return f"Row {row + 1} of {self.name}"

    def check_columns(self) -> None:
        """Refuse a table in which a name stands for two columns, or for none."""
        twice = next((name for name in self.columns if self.columns.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"{self.name} has more than one column named {twice!r}; expected each name once. "
                "Rename or drop columns."
            )

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


class ParquetTable(Table):
    """Parquet, read row group by row group."""

    def __init__(self, source: Source) -> None:
        from pyarrow.parquet import ParquetFile

        super().__init__(source)
        with self.reading("Parquet"):
            self._file = ParquetFile(source.path)
            self.columns = list(self._file.schema_arrow.names)
        self.check_columns()

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns."""
        with self.reading("Parquet"):
            for batch in self._file.iter_batches(BATCH_ROWS, columns=list(types)):
                # Asking for "a" also brings a column "a.b" along.
                yield usual(batch.select(list(types)))


class ArrowTable(Table):
    """Arrow files (also Feather) and streams."""

    def __init__(self, source: Source, *, stream: bool) -> None:
        super().__init__(source)
        self._open = pa.ipc.open_stream if stream else pa.ipc.open_file
        with self.reading("Arrow"), pa.memory_map(str(source.path)) as file:
            self.columns = list(self._open(file).schema.names)
        self.check_columns()

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns."""
        wanted = [self.columns.index(name) for name in types]
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        with self.reading("Arrow"), pa.memory_map(str(self.source.path)) as file:
            reader = self._open(file, options=options)
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                each = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                each = iter(reader)
            for batch in each:
                yield usual(batch.select(list(types)))


class NpzTable(Table):
    """NumPy archives: an array per column, or ``X`` with the names ``classes`` or ``columns``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        with self.reading("NPZ"), ZipFile(source.path) as archive:
            entries = archive.namelist()
        names = [entry.removesuffix(".npy") for entry in entries if entry.endswith(".npy")]
        if not names:
            raise InputError(
                f"{self.name} is an archive without NumPy arrays; expected a table. Save a "
                "spreadsheet as CSV first."
            )
        self._read: dict[str, AnyArray] = {}
        self._in_x: dict[str, int] = {}
        if "X" in names:
            self._in_x = {name: j for j, name in enumerate(self._names_in_x(names))}
        around = {"X", "classes", "columns"} if self._in_x else set()
        self.columns = [*self._in_x, *(name for name in names if name not in around)]
        self.check_columns()

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns."""
        arrays = {name: self._column(name) for name in types}
        lengths = {name: len(values) for name, values in arrays.items()}
        longest = max(lengths, key=lambda name: lengths[name])
        for name, length in lengths.items():
            if length != lengths[longest]:
                raise InputError(
                    f"In {self.name} the array {name!r} has {length} entries and {longest!r} has "
                    f"{lengths[longest]}; expected one entry per item in both."
                )
        for start in range(0, lengths[longest], BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            yield pa.RecordBatch.from_pydict({n: _arrow(v[rows]) for n, v in arrays.items()})

    def _names_in_x(self, names: list[str]) -> list[str]:
        X = self._array("X")
        if X.ndim != 2:
            raise InputError(
                f"The array 'X' in {self.name} has {X.ndim} dimension{'s' * (X.ndim != 1)}; "
                "expected a table with one row per item."
            )
        given = next((name for name in ("classes", "columns") if name in names), None)
        if given is None:
            self.unnamed = [f"X[{j}]" for j in range(X.shape[1])]
            return self.unnamed
        found = self._array(given).ravel()
        if len(found) != X.shape[1]:
            raise InputError(
                f"In {self.name} 'X' has {X.shape[1]} columns and {given!r} names {len(found)}; "
                "expected one name per column."
            )
        return [str(name) for name in found.tolist()]

    def _column(self, name: str) -> AnyArray:
        if name in self._in_x:
            return self._array("X")[:, self._in_x[name]]
        values = self._array(name)
        if values.ndim != 1:
            raise InputError(
                f"The array {name!r} in {self.name} has {values.ndim} dimensions; expected one "
                "entry per item."
            )
        return values

    def _array(self, name: str) -> AnyArray:
        """Return an array, read once; arrays of Python objects could run code and are refused."""
        if name in self._read:
            return self._read[name]
        with self.reading("NPZ"), self.source.path.open("rb") as file:
            try:
                with np.load(file, allow_pickle=False) as archive:
                    values: AnyArray = archive[name]
            except ValueError as error:
                if "pickle" not in str(error):
                    raise
                raise InputError(
                    f"The array {name!r} in {self.name} holds Python objects, which are not read "
                    "because they can run code; save it as numbers or text, for example with "
                    "astype(str)."
                ) from None
        self._read[name] = values
        return values


def _arrow(values: AnyArray) -> pa.Array:
    if values.dtype.kind == "S":
        values = np.char.decode(values.astype(np.bytes_), "utf-8", "replace")
    return pa.array(np.ascontiguousarray(values))


def open_table(source: Source) -> Table:
    """Return the table in a file, by what the file holds."""
    kind = source.kind()
    if kind == "Parquet":
        return ParquetTable(source)
    if kind in {"Arrow", "Arrow stream"}:
        return ArrowTable(source, stream=kind == "Arrow stream")
    if kind == "NPZ":
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


def usual(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with all text as plain strings, whichever way a library writes it.

    Few functions of pyarrow know the newer ways (string views, dictionaries of them).
    """
    columns = [_usual_text(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _usual_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        values = _usual_text(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, values)
    kind = str(column.type)
    return column.cast(pa.string()) if kind in {"large_string", "string_view"} else column


def floats(columns: Iterable[str]) -> dict[str, pa.DataType]:
    """Return the type of numbers for each of the columns."""
    return dict.fromkeys(columns, pa.float64())


def texts(columns: Iterable[str]) -> dict[str, pa.DataType]:
    """Return the type of text for each of the columns."""
    return dict.fromkeys(columns, pa.string())
