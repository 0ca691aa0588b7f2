"""Delimited text: CSV and TSV, with the line of whatever is wrong in it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pyarrow as pa
from pyarrow import csv as arrow_csv

from truemix.cli.tables.source import Source, damaged
from truemix.cli.tables.table import Table, Types
from truemix.exceptions import InputError

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_BLOCK_BYTES = 4 << 20
# A block holds at least this many rows as long as the header.
_ROWS_IN_BLOCK = 16
# The longest line, and the longest value in quotes, of a table that is meant as one.
_MAX_LINE = 64 << 20
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
# How Python keeps bytes that are not UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UNREADABLE = (csv.Error, OSError)
# What stands for a missing number.
_MISSING = {"", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"}


class TextTable(Table):
    """CSV or TSV in UTF-8; the delimiter is the one that the header uses."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        with source.path.open("rb") as file:
            beginning = file.read(1 << 20)
        if beginning.startswith(_UTF16) or b"\0" in beginning:
            self._not_utf8("a byte order mark of UTF-16 or zero bytes")
        # What is inside of quotes separates nothing.
        text = _QUOTED.sub("", beginning.decode("utf-8", "replace"))
        header = re.split(r"[\r\n]", text.lstrip("\ufeff\r\n"), maxsplit=1)[0]
        tabs = ".tsv" in self.name.lower() and "\t" in header
        self._delimiter = "\t" if tabs else max(_DELIMITERS, key=header.count)
        self._take_columns(self._header())

    def _header(self) -> list[str]:
        try:
            _, names = next(self._records(), (0, []))
        except _UNREADABLE as error:
            raise damaged(self.name, "CSV", error) from None
        if not names:
            raise InputError(f"{self.name} has only empty lines; expected a header and rows.")
        for place, name in enumerate(names):
            if _UNDECODED.search(name):
                self._not_utf8(f"the name of column {place + 1}")
        return names

    def _read(self, types: Types) -> Iterator[pa.RecordBatch]:
        header = sum(len(name.encode("utf-8", "surrogateescape")) + 3 for name in self.columns)
        known = {name: kind for name, kind in types.items() if kind is not None}
        options = {
            "read_options": arrow_csv.ReadOptions(
                block_size=max(_BLOCK_BYTES, _ROWS_IN_BLOCK * header)
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            "convert_options": arrow_csv.ConvertOptions(
                include_columns=list(types), column_types=known, null_values=sorted(_MISSING)
            ),
        }
        with self._locating_errors(known), pa.OSFile(str(self.source.path)) as file:
            if len(known) < len(types):
                # Which type fits all values is known when all have been read.
                yield from arrow_csv.read_csv(file, **options).to_batches()
                return
            budget = self.source.budget()
            for batch in arrow_csv.open_csv(file, **options):
                budget.take(batch.nbytes)
                self.share_read = file.tell() / max(file.size(), 1)
                yield batch

    # --- what was wrong -----------------------------------------------------------------------

    def place(self, row: int) -> str:
        """Return the line on which a row begins; values may go over several lines."""
        try:
            for number, (line, _) in enumerate(self._records()):
                if number == row + 1:
                    return f"Line {line} of {self.name}"
        except (InputError, *_UNREADABLE):
            pass
        return super().place(row)

    def _about_missing(self, name: str, what: str, hint: str) -> str:
        if len(self.columns) > 1:
            return super()._about_missing(name, what, hint)
        return (
            f"{self.name} has a single column, {self.columns[0][:60]!r}; expected columns "
            f"separated by one of {', '.join(_DELIMITERS.values())}, among them {name!r} ({what})."
        )

    def _not_utf8(self, found: str) -> NoReturn:
        raise InputError(
            f"{self.name} is not text in UTF-8 (found {found}); save it as CSV in UTF-8."
        )

    @contextmanager
    def _locating_errors(self, types: Types) -> Iterator[None]:
        """Find what pyarrow could not parse, to report it with line and column."""
        try:
            yield
        except (pa.ArrowException, *_UNREADABLE) as error:
            try:
                self._locate_error(types)
            except _UNREADABLE as other:
                raise damaged(self.name, "CSV", other) from None
            if "Empty CSV" in str(error):
                # Whether a header without rows is an error is decided by the caller.
                return
            if "conversion error" in str(error):
                raise InputError(
                    f"{self.name} has a value that does not fit its column ({error}); expected the "
                    "same kind of values as in the reference."
                ) from None
            raise damaged(self.name, "CSV", error) from None

    def _locate_error(self, types: Types) -> None:
        wanted = [(self.columns.index(name), name, types[name]) for name in types]
        records = self._records()
        next(records, None)
        for line, values in records:
            if len(values) != len(self.columns):
                raise InputError(
                    f"Line {line} of {self.name} has {len(values)} value{'s' * (len(values) != 1)}"
                    f", but the header names {len(self.columns)} columns (separated by "
                    f"{_DELIMITERS[self._delimiter]}s); expected one value for each. Repair the "
                    "line, or put values that hold the separator in double quotes."
                )
            for place, name, kind in wanted:
                if pa.types.is_floating(kind):
                    self._check_number(values[place], line, name)
                elif _UNDECODED.search(values[place]):
                    self._not_utf8(f"column {name!r} in line {line}")

    def _check_number(self, value: str, line: int, name: str) -> None:
        try:
            if value.strip() not in _MISSING:
                float(value)
        except ValueError:
            comma = "; write decimals with a point" if re.fullmatch(r"-?\d*,\d+", value) else ""
            raise InputError(
                f"Line {line} of {self.name} has {value[:60]!r} in column {name!r}; expected a "
                f"number{comma}."
            ) from None

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line where each record begins, and its values; the header comes first."""
        before = csv.field_size_limit(_MAX_LINE)
        try:
            # Undecodable bytes are kept: they matter only in columns that are used.
            with self.source.path.open("rb") as file:
                text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
                reader = csv.reader(self._lines(text), delimiter=self._delimiter)
                line = 1
                for values in reader:
                    if values:
                        yield line, values
                    line = reader.line_num + 1
        finally:
            csv.field_size_limit(before)

    def _lines(self, text: io.TextIOWrapper) -> Iterator[str]:
        for number, line in enumerate(iter(lambda: text.readline(_MAX_LINE), ""), 1):
            if len(line) == _MAX_LINE:
                raise InputError(
                    f"Line {number} of {self.name} is longer than {_MAX_LINE >> 20} MiB; expected "
                    "a table with one line per item."
                )
            yield line
