"""One file for both sides: rows with a label are the reference, those without are the target."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.compute as pc

from truemix._archive import is_archive
from truemix.cli.tables import open_table
from truemix.cli.tables.part import missing_cells
from truemix.cli.tables.source import RowPart, Source
from truemix.cli.tables.table import LABEL, Table
from truemix.exceptions import InputError
from truemix.validation import shown, shown_list


def split_by_label(source: Source, label: str | None) -> tuple[Source, Source]:
    """Return a file as REFERENCE and as TARGET, by the column of labels.

    Raises
    ------
    InputError
        If all rows are on one side.
    """
    if source.kind() == "NPZ" and is_archive(source.path):
        raise InputError(
            f"{source.name} is a saved quantifier, which holds no items to estimate the mix of; "
            "name TARGET too."
        )
    table = open_table(source)
    label = table.default_label if label is None else label
    if label is None:
        raise InputError(
            f"TARGET is missing. Name it, or name with --label the column of {source.name} that "
            "holds labels: rows without one are the target then. Its columns are "
            f"{shown_list(table.columns)}."
        )
    table.need([label], "the labels, as --label says")
    filled, empty = _sides(table, label)
    where = f"a label in column {shown(label)}"
    if not empty:
        raise InputError(
            f"Every row of {source.name} has {where}, so that none is left for the target; name "
            "TARGET, or leave the label of its rows empty."
        )
    if not filled:
        raise InputError(
            f"No row of {source.name} has {where}; those with one are the reference. Fill some in."
        )
    parts = RowPart(label, labelled=True), RowPart(label, labelled=False)
    return replace(source, part=parts[0]), replace(source, part=parts[1])


def labelled_only(source: Source, label: str | None) -> tuple[Source, str | None]:
    """Return the rows of a file that have a label, and a note if others are left out."""
    if source.kind() == "NPZ" and is_archive(source.path):
        return source, None
    table = open_table(source)
    label = table.default_label if label is None else label
    if label is None or not is_partly_labelled(table, label):
        return source, None
    note = f"rows of {source.name} without a label in column {shown(label)} are left out."
    return replace(source, part=RowPart(label, labelled=True)), note


def is_partly_labelled(table: Table, label: str | None) -> bool:
    """Return whether some rows of a table have a label and others have none."""
    if label is None or label not in table.columns:
        return False
    return all(_sides(table, label))


def about_sides(source: Source) -> str:
    """Return a note about a file that is both reference and target."""
    label = "" if source.part is None else shown(source.part.label)
    return (
        f"rows of {source.name} with a label in column {label} are the reference, the others the "
        "target."
    )


def _sides(table: Table, label: str) -> tuple[bool, bool]:
    """Return whether any row has a label, and whether any has none."""
    filled = empty = False
    for _, batch in table.batches({label: LABEL}):
        missing = missing_cells(batch.column(label))
        empty = empty or bool(pc.any(missing).as_py())
        filled = filled or not pc.all(missing).as_py()
        if filled and empty:
            break
    return filled, empty
