"""JSON Lines: an object per line, of which the values inside of others are columns too."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from truemix.cli.tables.source import Source, damaged
from truemix.cli.tables.table import Table, Types
from truemix.exceptions import InputError
from truemix.validation import shown

# What comes first decides which columns there are and what they hold.
_FIRST_BYTES = 1 << 20
_BLOCK_BYTES = 4 << 20
_MAX_LINE = 64 << 20
_TYPES = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    type(None): pa.null(),
    list: pa.list_(pa.null()),
}
_EXPECTED = {
    pa.bool_(): "true or false",
    pa.int64(): "a whole number, as in the lines before",
    pa.float64(): "a number",
    pa.string(): "text, as in the lines before",
}
_UNREADABLE = (OSError, RecursionError)
# Where a value is: the keys of the objects around it, and its own.
Path = tuple[str, ...]


class JsonLinesTable(Table):
    """JSON Lines in UTF-8; the value of ``b`` inside of ``a`` is the column ``a.b``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._paths: dict[str, Path] = {}
        kinds: dict[Path, pa.DataType] = {}
        with self._reading("JSON Lines"), closing(self._blocks(_FIRST_BYTES)) as blocks:
            first, block = next(blocks, (1, b""))
            for _, record in self._records(first, block):
                for path, value in _values(record):
                    kinds[path] = _common(kinds.get(path), value)
        # An object without keys anywhere has no values, and is no column.
        names = [".".join(path) for path in kinds]
        if not names:
            raise InputError(f"{self.name} has no keys in its objects; expected one per column.")
        self._take_columns(names)
        self._paths = dict(zip(names, kinds, strict=True))
        self.types = dict(zip(names, kinds.values(), strict=True))

    def _read(self, types: Types) -> Iterator[pa.RecordBatch]:
        known = {name: self._type(name, kind) for name, kind in types.items()}
        options = arrow_json.ParseOptions(
            explicit_schema=_schema({self._paths[name]: kind for name, kind in known.items()}),
            unexpected_field_behavior="ignore",
        )
        budget = self.source.budget()
        size = max(self.source.path.stat().st_size, 1)
        n_bytes = 0
        with self._reading("JSON Lines"):
            for line, block in self._blocks(_BLOCK_BYTES):
                n_bytes += len(block)
                self.share_read = min(1.0, n_bytes / size)
                if not block.strip():
                    continue
                try:
                    batch = self._batch(block, options, known)
                except (pa.ArrowException, UnicodeDecodeError) as error:
                    self._locate_error(line, block, known)
                    raise damaged(self.name, "JSON Lines", error) from None
                budget.take(batch.nbytes)
                yield batch

    def _batch(
        self, block: bytes, options: arrow_json.ParseOptions, known: Mapping[str, pa.DataType]
    ) -> pa.RecordBatch:
        # The whole block at once: otherwise it would be cut, and lines be counted anew.
        whole = arrow_json.ReadOptions(block_size=len(block) + 1, use_threads=False)
        table = arrow_json.read_json(io.BytesIO(block), whole, options).combine_chunks()
        columns = {}
        for name in known:
            first, *inside = self._paths[name]
            column = table.column(first).combine_chunks()
            for key in inside:
                column = pc.struct_field(column, key)
            # Text may be no UTF-8, which would be found only where it is shown.
            column.validate(full=True)
            columns[name] = column
        return pa.RecordBatch.from_pydict(columns)

    def _type(self, name: str, wanted: pa.DataType | None) -> pa.DataType:
        """Return how a column is read: as what it holds, unless numbers or dates are wanted."""
        own = self.types[name]
        if pa.types.is_null(own):
            return wanted or pa.string()
        if pa.types.is_integer(own) and (wanted is None or pa.types.is_floating(wanted)):
            return pa.float64()
        if wanted is not None and pa.types.is_temporal(wanted) and pa.types.is_string(own):
            return wanted
        return own

    # --- lines --------------------------------------------------------------------------------

    def _blocks(self, n_bytes: int) -> Generator[tuple[int, bytes]]:
        """Yield whole lines of about so many bytes together, and the number of the first one."""
        line = 1
        with self.source.path.open("rb") as file:
            while block := file.read(n_bytes):
                rest = b"" if block.endswith(b"\n") else file.readline(_MAX_LINE)
                if len(rest) == _MAX_LINE:
                    last = line + block.count(b"\n")
                    raise InputError(
                        f"Line {last} of {self.name} is longer than {_MAX_LINE >> 20} MiB; "
                        "expected an object per line."
                    )
                whole = block + rest
                yield line, whole.removeprefix(codecs.BOM_UTF8) if line == 1 else whole
                line += whole.count(b"\n")

    def _records(self, line: int, block: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the objects in a block, and the line that each is on."""
        for number, text in enumerate(block.split(b"\n"), start=line):
            if not text.strip():
                continue
            where = f"Line {number} of {self.name}"
            try:
                record = json.loads(text)
            except UnicodeDecodeError:
                raise InputError(f"{where} is not text in UTF-8; save the file in UTF-8.") from None
            except (ValueError, *_UNREADABLE) as error:
                reason = getattr(error, "msg", None) or "it is nested too deeply"
                raise InputError(
                    f"{where} is no JSON ({reason}); expected one whole object per line."
                ) from None
            if not isinstance(record, dict):
                raise InputError(
                    f"{where} holds {shown(record)}; expected an object with a value for each "
                    "column."
                )
            yield number, record

    def place(self, row: int) -> str:
        """Return the line that a row is on."""
        seen = 0
        for line, block in self._blocks(_BLOCK_BYTES):
            for number, text in enumerate(block.split(b"\n"), start=line):
                if text.strip():
                    if seen == row:
                        return f"Line {number} of {self.name}"
                    seen += 1
        return super().place(row)

    def _locate_error(self, line: int, block: bytes, known: Mapping[str, pa.DataType]) -> None:
        """Raise the error for the first value in a block that is not what its column holds."""
        for number, record in self._records(line, block):
            values = dict(_values(record))
            for name, kind in known.items():
                value = values.get(self._paths[name])
                if value is not None and not _fits(value, kind):
                    raise InputError(
                        f"Line {number} of {self.name} has {shown(value)} in column {shown(name)}; "
                        f"expected {_EXPECTED.get(kind, f'a value of type {kind}')}."
                    )


def _values(record: Mapping[str, Any], around: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values in an object and in the objects inside of it, each with its path."""
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _values(value, (*around, key))
        else:
            yield (*around, key), value


def _common(before: pa.DataType | None, value: Any) -> pa.DataType:
    """Return the type of a column that has held this type, and now a value."""
    found = _TYPES[type(value)]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        found = pa.float64()
    if before is None or pa.types.is_null(before):
        return found
    # Other values of two types are met again, with their line, when the column is read.
    return pa.float64() if {before, found} == {pa.int64(), pa.float64()} else before


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Return whether a value can be read as this type."""
    if pa.types.is_boolean(kind) or isinstance(value, bool):
        return pa.types.is_boolean(kind) and isinstance(value, bool)
    if pa.types.is_floating(kind):
        return isinstance(value, int | float)
    if pa.types.is_integer(kind):
        return isinstance(value, int) and -(2**63) <= value < 2**63
    return isinstance(value, str) and pa.types.is_string(kind)


def _schema(paths: Mapping[Path, pa.DataType]) -> pa.Schema:
    """Return the schema of values at some paths, objects as structs."""
    inside: dict[str, dict[Path, pa.DataType]] = {}
    for (first, *rest), kind in paths.items():
        inside.setdefault(first, {})[tuple(rest)] = kind
    return pa.schema(
        [
            (name, kinds[()] if () in kinds else pa.struct(_schema(kinds)))
            for name, kinds in inside.items()
        ]
    )
