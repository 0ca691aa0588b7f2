"""Tables in files, whatever their format: ``open_table(open_source(...))`` gives Arrow batches.

``source`` finds the file and its format, ``table`` is the seam, and ``text`` (CSV, TSV), ``arrow``
(Parquet, Arrow, Feather) and ``npz`` (NumPy archives) are behind it.
"""

from __future__ import annotations

from truemix.cli.tables.source import Source
from truemix.cli.tables.table import Table
from truemix.exceptions import InputError


def open_table(source: Source) -> Table:
    """Return the table in a file, by what the file holds."""
    kind = source.kind()
    if kind == "Parquet":
        from truemix.cli.tables.arrow import ParquetTable

        return ParquetTable(source)
    if kind in {"Arrow", "Arrow stream"}:
        from truemix.cli.tables.arrow import ArrowTable

        return ArrowTable(source, stream=kind == "Arrow stream")
    if kind == "NPZ":
        from truemix.cli.tables.npz import NpzTable

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
    from truemix.cli.tables.text import TextTable

    return TextTable(source)
