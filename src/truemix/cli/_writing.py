"""Tables of posteriors as files, in the format that the extension names."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import check_type, decoded, row_out_of_range
from truemix._escaping import visible
from truemix._files import atomic_write
from truemix._typing import AnyArray, FloatArray
from truemix.cli._columns import as_text, is_number
from truemix.exceptions import InputError
from truemix.report.csv_text import FORMULA, no_formula
from truemix.validation import shown

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
EXTENSIONS = (*_SEPARATORS, ".parquet", ".arrow", ".feather", ".npz")
_TEXT_ONLY = {*_SEPARATORS, ".npz"}


def check_kind(out: str | None, keep: Sequence[str] | None) -> None:
    """Refuse a file whose extension names no format, before the work begins."""
    if out is None:
        if keep:
            raise InputError("The option --keep is about the file of --out; name that file too.")
    elif Path(out).suffix.lower() not in EXTENSIONS:
        raise InputError(
            f"The extension of {out} names no format; expected one of {', '.join(EXTENSIONS)}."
        )


def check_row_kind(out: str | None, keep: Sequence[str] | None) -> None:
    """Refuse a file that cannot hold rows of a table, before the work begins."""
    check_kind(out, keep)
    if out is not None and Path(out).suffix.lower() == ".npz":
        raise InputError(
            f"{out} would be an NPZ file, which cannot hold empty cells for labels; write .csv, "
            ".tsv, .parquet, .arrow or .feather."
        )


def check_kept(kept: pa.Table, out: str) -> None:
    """Refuse columns that the format of a file cannot hold, before the work begins."""
    kind = Path(out).suffix.lower()
    for name, column in zip(kept.column_names, kept.columns, strict=True):
        noun = f"The kept column {shown(name)}"
        if kind in _TEXT_ONLY:
            check_type(column.type, "kept", noun)
            if row_out_of_range(column) is not None:
                raise InputError(
                    f"{noun} has a date of no year from 1 to 9999, or a time of no day; repair it, "
                    "or leave it out of --keep."
                )
        try:
            if kind == ".parquet":
                _write_arrow(BytesIO(), pa.table({"kept": column}), kind)
        except (pa.ArrowException, OverflowError) as error:
            reason = visible(" ".join(str(error).split()))[:120]
            raise InputError(
                f"{noun} cannot be written as Parquet ({reason}); leave it out of --keep, or write "
                ".arrow."
            ) from None


def write_posteriors(
    posteriors: FloatArray,
    classes: AnyArray,
    kept: pa.Table | None,
    out: str,
    *,
    safe_csv: bool = False,
) -> None:
    """Write kept columns and one column of posteriors per class."""
    names = [str(label) for label in classes.tolist()]
    # An Arrow file has one dictionary for all chunks of a column.
    whole = pa.table({}) if kept is None else kept.combine_chunks()
    before = dict(zip(whole.column_names, whole.columns, strict=True))
    kind = Path(out).suffix.lower()
    with atomic_write(out) as file:
        if kind == ".npz":
            _write_npz(file, posteriors, names, before)
            return
        columns = {name: pa.array(posteriors[:, k]) for k, name in enumerate(names)}
        table = pa.table({**before, **columns})
        if safe_csv and kind in _SEPARATORS:
            table = _without_formulas(table)
        _write_arrow(file, table, kind)


def write_rows(table: pa.Table, out: str, *, safe_csv: bool = False) -> None:
    """Write a table, in any format but NPZ."""
    kind = Path(out).suffix.lower()
    with atomic_write(out) as file:
        if safe_csv and kind in _SEPARATORS:
            table = _without_formulas(table)
        _write_arrow(file, table.combine_chunks(), kind)


def _without_formulas(table: pa.Table) -> pa.Table:
    """Return a table in which no name and no text is a formula to a spreadsheet."""
    columns = []
    for column in table.columns:
        text = decoded(column)
        if pa.types.is_string(text.type):
            quoted = pc.binary_join_element_wise("'", text, "")
            text = pc.if_else(pc.match_substring_regex(text, FORMULA), quoted, text)
        columns.append(text)
    return pa.table(columns, names=[no_formula(name) for name in table.column_names])


def _write_arrow(file: BinaryIO, table: pa.Table, kind: str) -> None:
    if kind in _SEPARATORS:
        from pyarrow import csv

        options = csv.WriteOptions(delimiter=_SEPARATORS[kind], quoting_style="needed")
        csv.write_csv(table, file, options)
    elif kind == ".parquet":
        from pyarrow.parquet import write_table

        write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


def _write_npz(
    file: BinaryIO, posteriors: FloatArray, names: list[str], before: dict[str, pa.ChunkedArray]
) -> None:
    arrays: dict[str, AnyArray] = {"X": posteriors, "classes": np.array(names)}
    for name, column in before.items():
        if name in arrays:
            raise InputError(f"An NPZ file cannot hold a kept column named {name!r}; rename it.")
        if is_number(decoded(column).type) and not column.null_count:
            arrays[name] = decoded(column).to_numpy()
        else:
            arrays[name] = np.array(as_text(column).to_pylist())
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
