"""Delimited text: CSV and TSV, with the line of whatever is wrong in it."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, NoReturn, cast

import pyarrow as pa
from pyarrow import csv as arrow_csv

from truemix.cli._budget import Budget
from truemix.cli._formats import Table
from truemix.cli._source import Source
from truemix.exceptions import InputError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_BLOCK_BYTES = 4 << 20
# A block holds at least so many rows that are as long as the header.
_ROWS_IN_BLOCK = 16
# The longest line, and the longest value in quotes, of a table that is meant as one.
_MAX_LINE = 64 << 20
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UNREADABLE = (csv.Error, OSError, EOFError, zlib.error)
# What stands for a missing number.
MISSING = {"", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"}


class TextTable(Table):
    """CSV or TSV in UTF-8; the delimiter is the one that the header uses."""

    def __init__(self, source: Source, *, compressed: bool) -> None:
        super().__init__(source)
        self._compressed = compressed
        beginning = self._beginning()
        if beginning.startswith(_UTF16) or b"\0" in beginning:
            self._not_utf8("a byte order mark of UTF-16 or zero bytes")
        self.delimiter = self._delimiter(beginning)
        self.columns = self._header()
        self.check_columns()

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns, converted to the types."""
        convert = self._convert(list(types), column_types=types)
        budget = self.budget()
        with self._explaining(types), self._stream() as stream:
            for batch in arrow_csv.open_csv(stream, self._in_blocks(), self._parse(), convert):
                budget.take(batch.nbytes)
                yield batch

    def whole(self, columns: list[str]) -> pa.Table:
        """Return columns with types that fit all their values."""
        with self._explaining({}), self._stream() as stream:
            return arrow_csv.read_csv(
                stream, self._in_blocks(), self._parse(), self._convert(columns)
            )

    def place(self, row: int) -> str:
        """Return the line on which a row begins; values may go over several lines."""
        try:
            for number, (line, _) in enumerate(self._records()):
                if number == row + 1:
                    return f"Line {line} of {self.name}"
        except (InputError, *_UNREADABLE):
            pass
        return super().place(row)

    # --- header and delimiter -----------------------------------------------------------------

    def _beginning(self) -> bytes:
        with self.reading("gzip"), self._file() as file:
            return file.read(1 << 20)

    def _delimiter(self, beginning: bytes) -> str:
        """Return what separates names in the header; what is inside of quotes does not count."""
        text = _QUOTED.sub("", beginning.decode("utf-8", "replace"))
        header = re.split(r"[\r\n]", text.lstrip("\ufeff\r\n"), maxsplit=1)[0]
        if ".tsv" in self.name.lower() and "\t" in header:
            return "\t"
        return max(DELIMITERS, key=header.count)

    def _header(self) -> list[str]:
        try:
            _, names = next(self._records(), (0, []))
        except _UNREADABLE as error:
            self.damaged("CSV", error)
        if not names:
            raise InputError(f"{self.name} has only empty lines; expected a header and rows.")
        for name in names:
            if not name.isascii() and any("\udc80" <= letter <= "\udcff" for letter in name):
                self._not_utf8(f"the name of column {names.index(name) + 1}")
        return names

    def _not_utf8(self, found: str) -> NoReturn:
        raise InputError(
            f"{self.name} is not text in UTF-8 (found {found}); save it as CSV in UTF-8."
        )

    # --- pyarrow ------------------------------------------------------------------------------

    def _parse(self) -> arrow_csv.ParseOptions:
        return arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)

    def _convert(
        self, columns: list[str], column_types: Mapping[str, pa.DataType] | None = None
    ) -> arrow_csv.ConvertOptions:
        return arrow_csv.ConvertOptions(
            include_columns=columns, column_types=column_types, null_values=sorted(MISSING)
        )

    def _in_blocks(self) -> arrow_csv.ReadOptions:
        header = sum(len(name.encode("utf-8", "surrogateescape")) + 3 for name in self.columns)
        return arrow_csv.ReadOptions(block_size=max(_BLOCK_BYTES, _ROWS_IN_BLOCK * header))

    @contextmanager
    def _stream(self) -> Iterator[pa.NativeFile]:
        if self._compressed:
            with self._file() as file, pa.PythonFile(file, "r") as stream:
                yield stream
        else:
            with pa.input_stream(str(self.source.path)) as stream:
                yield stream

    # --- what was wrong -----------------------------------------------------------------------

    @contextmanager
    def _explaining(self, types: Mapping[str, pa.DataType]) -> Iterator[None]:
        """Find out what pyarrow did not like, to say it with its line and column."""
        try:
            yield
        except (pa.ArrowException, *_UNREADABLE) as error:
            try:
                self._look_for_trouble(types)
            except _UNREADABLE as other:
                self.damaged("CSV", other)
            if "Empty CSV" in str(error):
                # A header without rows is for the caller to judge.
                return
            if "conversion error" in str(error):
                raise InputError(
                    f"{self.name} has a value that does not fit its column ({error}); expected the "
                    "same kind of values as in the reference."
                ) from None
            self.damaged("CSV", error)

    def _look_for_trouble(self, types: Mapping[str, pa.DataType]) -> None:
        wanted = [(self.columns.index(name), name, types[name]) for name in types]
        records = self._records()
        next(records, None)
        for line, values in records:
            if len(values) != len(self.columns):
                raise InputError(
                    f"Line {line} of {self.name} has {len(values)} value{'s' * (len(values) != 1)}"
                    f", but the header names {len(self.columns)} columns (separated by "
                    f"{DELIMITERS[self.delimiter]}s); expected one value for each. Repair the "
                    "line, or put values that hold the separator in double quotes."
                )
            for place, name, kind in wanted:
                if pa.types.is_floating(kind):
                    self._check_number(values[place], line, name)
                elif not values[place].isascii() and any(
                    "\udc80" <= letter <= "\udcff" for letter in values[place]
                ):
                    self._not_utf8(f"column {name!r} in line {line}")

    def _check_number(self, value: str, line: int, name: str) -> None:
        try:
            if value.strip() not in MISSING:
                float(value)
        except ValueError:
            comma = "; write decimals with a point" if re.fullmatch(r"-?\d*,\d+", value) else ""
            raise InputError(
                f"Line {line} of {self.name} has {value[:60]!r} in column {name!r}; expected a "
                f"number{comma}."
            ) from None

    def _file(self) -> BinaryIO:
        path = self.source.path
        if not self._compressed:
            return path.open("rb")
        return cast(BinaryIO, _Counted(gzip.open(path, "rb"), self.budget()))

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line where each record begins, and its values; the header comes first."""
        before = csv.field_size_limit(_MAX_LINE)
        try:
            # Undecodable bytes are kept: they matter only in columns that are used.
            with self._file() as file:
                text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
                reader = csv.reader(self._lines(text), delimiter=self.delimiter)
                line = 1
                for values in reader:
                    if values:
                        yield line, values
                    line = reader.line_num + 1
        finally:
            csv.field_size_limit(before)

    def _lines(self, text: io.TextIOWrapper) -> Iterator[str]:
        number = 0
        while line := text.readline(_MAX_LINE):
            number += 1
            if len(line) == _MAX_LINE:
                raise InputError(
                    f"Line {number} of {self.name} is longer than {_MAX_LINE >> 20} MiB; expected "
                    "a table with one line per item."
                )
            yield line


class _Counted(io.RawIOBase):
    """A file that is unpacked while it is read, as far as the budget goes."""

    def __init__(self, file: gzip.GzipFile, budget: Budget) -> None:
        self._unpacked, self._budget = file, budget

    def readable(self) -> bool:
        """Tell that it is for reading."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read bytes, and refuse the file if there were too many."""
        data = self._unpacked.read(_BLOCK_BYTES if size < 0 else size)
        self._budget.take(len(data))
        return data

    def close(self) -> None:
        """Close the file."""
        self._unpacked.close()
        super().close()
