"""NumPy archives; only the arrays that are needed are unpacked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy

from truemix._typing import AnyArray
from truemix.cli.tables.source import Source
from truemix.cli.tables.table import BATCH_ROWS, Table, Types
from truemix.exceptions import InputError

# What is a column of a table: truth values, numbers, text and dates.
_KINDS = "biufUSM"
_COARSE_DATES = {f"M8[{unit}]" for unit in ("Y", "M", "W", "h", "m")}
# Version 3 is for names of fields, and an array with fields is not a column.
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class NpzTable(Table):
    """NumPy archives: an array per column, or ``X`` with the names ``classes`` or ``columns``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        with self._reading("NPZ"), ZipFile(source.path) as archive:
            entries = archive.namelist()
        names = [entry.removesuffix(".npy") for entry in entries if entry.endswith(".npy")]
        if not names:
            raise InputError(
                f"{self.name} is an archive without NumPy arrays; expected a table. Save a "
                "spreadsheet as CSV first."
            )
        self._budget = source.budget()
        self._arrays: dict[str, AnyArray] = {}
        self._places_in_x: dict[str, int] = {}
        self._take_columns(names)
        if "X" in names:
            in_x = self._names_in_x(names)
            around = [name for name in names if name not in {"X", "classes", "columns"}]
            self._take_columns([*in_x, *around])
            self._places_in_x = {name: place for place, name in enumerate(in_x)}
        self.default_label = "y" if "y" in self.columns else None

    def _read(self, types: Types) -> Iterator[pa.RecordBatch]:
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
            self.share_read = min(1.0, rows.stop / lengths[longest])
            yield pa.RecordBatch.from_pydict(columns)

    def _names_in_x(self, names: list[str]) -> list[str]:
        X = self._array("X")
        if X.ndim != 2:
            raise InputError(
                f"The array 'X' in {self.name} has {X.ndim} dimension{'s' * (X.ndim != 1)}; "
                "expected a table with one row per item."
            )
        self._check_width(X.shape[1])
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
        if name in self._places_in_x:
            return self._array("X")[:, self._places_in_x[name]]
        values = self._array(name)
        if values.ndim != 1:
            raise InputError(
                f"The array {name!r} in {self.name} has {values.ndim} dimensions; expected one "
                "entry per item."
            )
        return values

    def _array(self, name: str) -> AnyArray:
        """Return an array, read once."""
        if name not in self._arrays:
            with self._reading("NPZ"), ZipFile(self.source.path) as archive:
                info = archive.getinfo(f"{name}.npy")
                # The others that zip knows unpack without bounds, and NumPy writes none of them.
                if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
                    raise BadZipFile(f"compression of type {info.compress_type}")
                self._budget.check(info.file_size)
                with archive.open(info) as file:
                    self._check_header(file, name)
                with archive.open(info) as file:
                    values: AnyArray = npy.read_array(file, allow_pickle=False)
                    if file.read(1):
                        raise ValueError(f"{name!r} does not have the size that it says")
            # Arrow has only the order of bytes of this machine, and no long double.
            kind = values.dtype
            kind = np.dtype(np.float64) if kind.char == "g" else kind.newbyteorder("=")
            self._arrays[name] = values.astype(kind, copy=False)
        return self._arrays[name]

    def _check_header(self, file: IO[bytes], name: str) -> None:
        """Refuse an array that is too large, or no column, before its values are read."""
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"an array of format {version[0]}.{version[1]}")
        shape, _, dtype = _HEADERS[version](file)
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
        self._budget.take(math.prod(shape) * dtype.itemsize)

    def _arrow(self, name: str, values: AnyArray) -> pa.Array:
        with self._reading("NPZ"):
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
