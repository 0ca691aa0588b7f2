"""The two files: labelled items, and items whose mix is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from truemix.cli._codes import Codes, Groups, Labels, groups_of, read_labels
from truemix.cli._features import FeatureReader, Features, features_of
from truemix.cli._keys import about_keys, keys_among
from truemix.cli._posteriors import PosteriorReader
from truemix.cli._progress import Progress, Update
from truemix.cli.tables.table import GROUP, KEPT, Table
from truemix.exceptions import InputError
from truemix.validation import shown_list

ItemReader = PosteriorReader | FeatureReader


@dataclass(frozen=True)
class Reference:
    """Labelled items.

    Attributes
    ----------
    X : ndarray or DataFrame
        Their posteriors, or their features.
    features : Features or None
        Which columns are features, if they are.
    """

    name: str
    labels: Labels
    X: Any
    features: Features | None = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.labels.codes)


@dataclass(frozen=True)
class Target:
    """Items without labels: posteriors or features, groups, and columns to pass through."""

    name: str
    X: Any
    groups: Groups | None
    kept: pa.Table | None


def read_reference(
    table: Table, label: str | None, by: str | None, progress: Progress, *, features: bool
) -> Reference:
    """Return labelled items, with the posteriors in columns named like them or with features."""
    label, labels = read_labels(table, label)
    if features:
        columns = [name for name in table.columns if name not in {label, by}]
        return _with_features(table, labels, columns, progress)
    hint = "If these are features, add --classifier."
    if len(labels.classes) > len(table.columns):
        hint = (
            f"Column {label!r} has {len(labels.classes):,} different values; is it the column of "
            "labels?"
        )
    reader = PosteriorReader(table, labels.names, hint)
    for start, batch in table.batches(reader.wanted):
        reader.add(start, batch)
    items = _finished(reader, table, {label, by}, progress)
    return Reference(table.name, labels, items)


def _with_features(
    table: Table, labels: Labels, columns: list[str], progress: Progress
) -> Reference:
    """Take as features all columns that hold anything and are no keys."""
    whole = table.features(columns)
    filled = [name for name in columns if whole.column(name).null_count < len(whole)]
    keys = keys_among(whole.select(filled))
    used = [name for name in filled if name not in keys]
    if not used:
        found = f" and columns that look like keys ({shown_list(list(keys))})" if keys else ""
        raise InputError(
            f"{table.name} has no feature columns beside the label{found}; expected at least one "
            "to train a classifier on."
        )
    if keys:
        progress.note(about_keys(keys, table.name))
    features = replace(features_of(whole.select(used), table), left_out=keys)
    return Reference(table.name, labels, features.frame(whole, table, 0), features)


def read_target(
    table: Table,
    reader: ItemReader,
    by: str | None,
    keep: Sequence[str],
    progress: Progress,
    update: Update,
) -> Target:
    """Return the items of a target, their groups, and columns to pass through."""
    groups = None if by is None else Codes(table, by, "group")
    along = dict.fromkeys(keep, KEPT) | ({} if by is None else {by: GROUP})
    kept: list[pa.RecordBatch] = []
    n_rows = 0
    for start, batch in table.batches({**along, **reader.wanted}):
        if not batch.num_rows:
            continue
        if groups is not None:
            groups.add(start, batch.column(by))
        if keep:
            kept.append(batch.select(list(keep)))
        reader.add(start, batch)
        n_rows = start + batch.num_rows
        update(f"{n_rows:,} rows")
    # What Arrow keeps for the next file: there is none, and the work needs it.
    pa.default_memory_pool().release_unused()
    if not n_rows:
        raise InputError(f"{table.name} has no rows; at least one item is needed.")
    items = _finished(reader, table, set(along), progress)
    return Target(
        table.name,
        items,
        None if groups is None else groups_of(groups),
        pa.Table.from_batches(kept) if kept else None,
    )


def _finished(reader: ItemReader, table: Table, used: set[Any], progress: Progress) -> Any:
    """Return the items of a reader, and note the columns that nothing was read from."""
    used = {*used, *reader.wanted, *reader.left_out}
    unused = [name for name in table.columns if name not in used]
    items = reader.items(unused, progress)
    if unused:
        progress.note(f"not used in {table.name}: {shown_list(unused, most=4)}.")
    return items
