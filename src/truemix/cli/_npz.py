"""NumPy archives, of which only the arrays that are needed are unpacked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy

from truemix._typing import AnyArray
from truemix.cli._formats import BATCH_ROWS, MAX_COLUMNS, Table, too_many_columns
from truemix.cli._source import Source
from truemix.exceptions import InputError

# What is a column of a table: truth values, numbers, text and dates.
_KINDS = "biufUSM"
_COARSE_DATES = {f"M8[{unit}]" for unit in ("Y", "M", "W", "h", "m")}


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
        self._budget = self.budget()
        self._read: dict[str, AnyArray] = {}
        self._in_x: dict[str, int] = {}
        self.columns = names
        self.check_columns()
        if "X" in names:
            self.columns = self._names_in_x(names)
            self.check_columns()
            self._in_x = {name: j for j, name in enumerate(self.columns)}
            around = {"X", "classes", "columns"}
            self.columns = [*self.columns, *(name for name in names if name not in around)]
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
            columns = {n: self._arrow(n, values[rows]) for n, values in arrays.items()}
            yield pa.RecordBatch.from_pydict(columns)

    def _names_in_x(self, names: list[str]) -> list[str]:
        X = self._array("X")
        if X.ndim != 2:
            raise InputError(
                f"The array 'X' in {self.name} has {X.ndim} dimension{'s' * (X.ndim != 1)}; "
                "expected a table with one row per item."
            )
        if X.shape[1] > MAX_COLUMNS:
            raise too_many_columns(self.name)
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
        return [str(name) for name in self._arrow(given, found).to_pylist()]

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
        """Return an array, read once."""
        if name not in self._read:
            with self.reading("NPZ"), ZipFile(self.source.path) as archive:
                info = archive.getinfo(f"{name}.npy")
                # The others that zip knows unpack without bounds, and NumPy writes none of them.
                if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
                    raise BadZipFile(f"compression of type {info.compress_type}")
                self._budget.check(info.file_size)
                with archive.open(info) as file:
                    self._read[name] = self._array_in(file, name)
        return self._read[name]

    def _array_in(self, file: IO[bytes], name: str) -> AnyArray:
        shape, by_columns, dtype = _header(file)
        if dtype.hasobject:
            raise InputError(
                f"The array {name!r} in {self.name} holds Python objects, which are not read "
                "because they can run code; save it as numbers or text, for example with "
                "astype(str)."
            )
        if dtype.kind not in _KINDS or not dtype.itemsize:
            raise InputError(
                f"The array {name!r} in {self.name} is of type {str(dtype)[:80]!r}; expected "
                "numbers, text, truth values or dates."
            )
        size = math.prod(shape) * dtype.itemsize
        self._budget.take(size)
        # One byte more than there should be: at the end of the entry its checksum is compared.
        data = file.read(size + 1)
        if len(data) != size:
            raise ValueError(f"{name!r} does not have the size that it says")
        values = np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")
        # Arrow has only the order of bytes of this machine, and no long double.
        dtype = np.dtype(np.float64) if dtype.char == "g" else dtype.newbyteorder("=")
        return values.astype(dtype, copy=False)

    def _arrow(self, name: str, values: AnyArray) -> pa.Array:
        with self.reading("NPZ"):
            if values.dtype.kind == "S":
                try:
                    values = np.char.decode(values.astype(np.bytes_), "utf-8")
                except UnicodeDecodeError:
                    raise InputError(
                        f"The array {name!r} in {self.name} is not text in UTF-8; save it as text, "
                        "for example with astype(str)."
                    ) from None
            if values.dtype.str[1:] in _COARSE_DATES:
                values = values.astype("datetime64[s]")
            return pa.array(np.ascontiguousarray(values))


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return the shape of an array, whether it is stored column by column, and its type."""
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    # Version 3 is for names of fields, and an array with fields is not a column.
    if version not in readers:
        raise ValueError(f"an array of format {version[0]}.{version[1]}")
    return readers[version](file)
