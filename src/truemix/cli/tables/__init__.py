"""Tables in files: ``open_table(open_source(...))`` gives Arrow batches, whatever the format."""

from __future__ import annotations

from truemix.cli.tables.arrow import ArrowFile, ArrowStream, ParquetTable
from truemix.cli.tables.json_lines import JsonLinesTable
from truemix.cli.tables.npz import NpzTable
from truemix.cli.tables.part import PartOfTable
from truemix.cli.tables.source import Source
from truemix.cli.tables.table import Table
from truemix.cli.tables.text import TextTable
from truemix.exceptions import InputError

_READERS: dict[str, type[Table]] = {
    "Parquet": ParquetTable,
    "Arrow": ArrowFile,
    "Arrow stream": ArrowStream,
    "NPZ": NpzTable,
    "JSON Lines": JsonLinesTable,
    "text": TextTable,
}
_REFUSED = {
    "JSON": "is a JSON array; write JSON Lines, one object per line, as jq -c '.[]' does.",
    "NPY": "holds a single NumPy array; save it as X in an NPZ file, with numpy.savez, together "
    "with the labels as y.",
    "Feather version 1": "is a Feather file of version 1, which is not read any more; write it "
    "again with a current library, or as Parquet.",
}


def open_table(source: Source) -> Table:
    """Return the table in a file, by what the file holds."""
    kind = source.kind()
    if kind in _REFUSED:
        raise InputError(f"{source.name} {_REFUSED[kind]}")
    table = _READERS[kind](source)
    return table if source.part is None else PartOfTable(table, source.part)
