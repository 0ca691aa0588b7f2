"""Labels of the target: in a file of their own, or in a partly filled column of TARGET."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from truemix._arrow_columns import decoded
from truemix._typing import AnyArray
from truemix.cli._columns import as_text
from truemix.cli._progress import Progress
from truemix.cli._reading import Target
from truemix.cli.tables import open_table
from truemix.cli.tables.source import open_source
from truemix.cli.tables.table import KEPT, LABEL, Table
from truemix.exceptions import InputError
from truemix.validation import shown, shown_list

INCLUSION, ROW = "inclusion", "row"
DEFAULT_LABEL = "label"


class TargetLabels(NamedTuple):
    """Labels of items by their row in the target, and their inclusion probabilities if known."""

    labels: dict[int, Any]
    inclusion: dict[int, float] | None


class _Record(NamedTuple):
    """A labelled row of a file."""

    row: int
    label: Any
    key: str
    inclusion: float | None


def labels_of_file(
    name: str,
    label: str | None,
    key: str | None,
    classes: AnyArray,
    target: Target,
    progress: Progress,
) -> TargetLabels:
    """Return the labels in a file, by the rows of the target that they belong to.

    Parameters
    ----------
    name : str
        The file, as the option --labelled has it.
    label : str or None
        Its column of labels; "label" by default.
    key : str or None
        Its column of keys, which ``target.kept`` has too; by default rows of the target are named
        by their numbers, in the column "row", as truemix sample writes them.
    classes : ndarray
        All classes.
    target : Target
        The items.
    """
    label = DEFAULT_LABEL if label is None else label
    by = ROW if key is None else key
    with ExitStack() as stack:
        table = open_table(open_source(name, stack))
        table.need([label], "the labels, as --label says")
        table.need([by], "the keys, as --key says" if key else "rows of TARGET; or name a --key")
        records = list(_records(table, label, by, classes))
    if not records:
        raise InputError(f"{table.name} has no label in column {shown(label)}; fill some in.")
    _check_once(records, table, by)
    n_items = len(target.X)
    rows = _rows_by_number(records, table, target) if key is None else None
    if rows is None:
        kept = target.kept
        rows = _rows_by_key(records, table, by, _keys(kept, by), target.name)
    progress.note(f"{len(records):,} labels of {n_items:,} items from {table.name}.")
    return _by_row(rows, records)


def labels_of_target(
    target: Target, label: str, classes: AnyArray, progress: Progress
) -> TargetLabels:
    """Return the labels in a column of the target itself, which ``target.kept`` has."""
    names = _class_names(classes)
    kept = target.kept
    columns = {} if kept is None else dict(zip(kept.column_names, kept.columns, strict=True))
    values = decoded(columns[label]).to_pylist()
    labels: dict[int, Any] = {}
    for row, value in enumerate(values):
        if _no_value(value):
            continue
        found = _class_of(value, names)
        if found is None:
            raise InputError(
                f"Row {row + 1} of {target.name} has the label {shown(value)} in column "
                f"{shown(label)}; expected one of the classes {shown_list(classes)}, or nothing."
            )
        labels[row] = classes[found]
    progress.note(
        f"{len(labels):,} of {len(values):,} items of {target.name} have a label in column "
        f"{shown(label)}, taken for a simple random sample; if they were chosen with other "
        "probabilities, use --labelled."
    )
    return TargetLabels(labels, None)


def _records(table: Table, label: str, by: str, classes: AnyArray) -> Iterator[_Record]:
    """Yield the rows that have a label."""
    names = _class_names(classes)
    has_inclusion = INCLUSION in table.columns
    wanted = {label: LABEL, by: KEPT, **({INCLUSION: KEPT} if has_inclusion else {})}
    for start, batch in table.batches(wanted):
        values = decoded(batch.column(label)).to_pylist()
        keys = as_text(batch.column(by)).to_pylist()
        chances = decoded(batch.column(INCLUSION)).to_pylist() if has_inclusion else None
        for place, value in enumerate(values):
            if _no_value(value):
                continue
            row = start + place
            found = _class_of(value, names)
            if found is None:
                expected = f"expected one of the classes {shown_list(classes)}, or nothing."
                raise table.bad_cell(row, label, f"the label {shown(value)}", expected)
            if not keys[place]:
                raise table.bad_cell(row, by, "no key", "every labelled item needs one.")
            chance = None if chances is None else _chance(chances[place], row, table)
            yield _Record(row, classes[found], keys[place], chance)


def _chance(value: Any, row: int, table: Table) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 < number <= 1.0:
        found = "no probability" if _no_value(value) else f"{shown(value)}"
        expected = "expected the probability with which the item was chosen, above 0 and up to 1."
        raise table.bad_cell(row, INCLUSION, found, expected)
    return number


def _check_once(records: list[_Record], table: Table, by: str) -> None:
    first: dict[str, int] = {}
    for each in records:
        before = first.setdefault(each.key, each.row)
        if before != each.row:
            found = f"{shown(each.key)} again"
            raise table.bad_cell(each.row, by, found, "expected each item once.")


def _rows_by_number(records: list[_Record], table: Table, target: Target) -> list[int]:
    numbers = target.row_numbers
    places = {int(number): place for place, number in enumerate(numbers)}
    rows = []
    for each in records:
        number = int(each.key) if each.key.isascii() and each.key.isdigit() else 0
        if number not in places:
            expected = (
                f"expected a row of TARGET from {numbers[0]} to {numbers[-1]}. Or name a --key."
            )
            raise table.bad_cell(each.row, ROW, shown(each.key), expected)
        rows.append(places[number])
    return rows


def _rows_by_key(
    records: list[_Record], table: Table, by: str, keys: list[str], target: str
) -> list[int]:
    places: dict[str, list[int]] = {each.key: [] for each in records}
    for place, key in enumerate(keys):
        if key in places:
            places[key].append(place)
    if not any(places.values()):
        raise InputError(
            f"No key in column {shown(by)} of {table.name} is in that column of {target}: the "
            f"first is {shown(records[0].key)} here and {shown(keys[0])} there. Check --key and "
            "the files."
        )
    for each in records:
        found = places[each.key]
        if not found:
            raise table.bad_cell(
                each.row,
                by,
                f"{shown(each.key)}",
                f"no item of {target} has that key. Label items of TARGET only.",
            )
        if len(found) > 1:
            raise InputError(
                f"Rows {found[0] + 1} and {found[1] + 1} of {target} both have {shown(each.key)} "
                f"in column {shown(by)}; expected a key that names one item."
            )
    return [places[each.key][0] for each in records]


def _by_row(rows: list[int], records: list[_Record]) -> TargetLabels:
    pairs = list(zip(rows, records, strict=True))
    chances = {row: each.inclusion for row, each in pairs if each.inclusion is not None}
    return TargetLabels({row: each.label for row, each in pairs}, chances or None)


def _keys(kept: pa.Table | None, by: str) -> list[str]:
    keys: list[str] = [] if kept is None else as_text(kept.column(by)).to_pylist()
    return keys


def _class_names(classes: AnyArray) -> dict[str, int]:
    return {str(label): place for place, label in enumerate(classes.tolist())}


def _class_of(value: Any, names: dict[str, int]) -> int | None:
    """Return the number of the class that a cell names, None if it names none."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    # pandas writes whole numbers with a point if some are missing.
    spellings = [str(value), str(value).removesuffix(".0")]
    if isinstance(value, bool):
        # Columns of truth values are called True or true, as their writer does.
        spellings += [spellings[0].lower(), spellings[0].upper()]
    return next((names[text] for text in spellings if text in names), None)


def _no_value(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and np.isnan(value))
