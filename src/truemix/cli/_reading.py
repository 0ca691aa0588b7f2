"""The two files: labelled items, and items whose mix is wanted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from truemix._typing import FloatArray
from truemix.cli._columns import Codes, Groups, Labels, Rows, groups_of, numbers, read_labels
from truemix.cli._features import FeatureReader, Features, features_of
from truemix.cli._keys import about_keys, keys_among
from truemix.cli._options import InputOptions
from truemix.cli._progress import Progress
from truemix.cli.tables.table import GROUP, KEPT, POSTERIOR, Table
from truemix.exceptions import InputError
from truemix.validation import LARGEST_SUM_ERROR, ROUNDING, SILENT_SUM_ERROR, shown, shown_list


class PosteriorReader:
    """Gathers posteriors from the columns that are named like the classes.

    Attributes
    ----------
    wanted : dict
        The columns to read; those without names are taken in class order.
    left_out : collection of str
        Columns that are known and not read.
    """

    left_out: Collection[str] = ()

    def __init__(self, table: Table, names: list[str], hint: str = "") -> None:
        unnamed = len(table.unnamed) == len(names) and not set(table.columns).issuperset(names)
        self._columns = table.unnamed if unnamed else names
        table.need_all(self._columns, "the posterior of that class", hint)
        self._table = table
        self._rows = Rows(len(names))
        self.wanted = dict.fromkeys(self._columns, POSTERIOR)

    def add(self, start: int, batch: pa.RecordBatch) -> None:
        """Take a batch that begins at row ``start``."""
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = {name: found[name] for name in self._columns}
        self._rows.add(numbers(columns, self._table, start))

    def items(self, unused: list[str], progress: Progress) -> FloatArray:
        """Return all rows, renormalised where they have to be, after applying the input rules.

        The library has the same rules; here rows have lines, and columns have names.
        """
        posteriors = self._rows.array()
        with np.errstate(over="ignore"):
            sums = posteriors.sum(axis=1)
        off = np.abs(sums - 1.0)
        bad = np.flatnonzero((off > LARGEST_SUM_ERROR) | (posteriors.min(axis=1) < 0))
        if bad.size:
            raise self._bad_row(posteriors[bad[0]], int(bad[0]), unused)
        worst = float(off.max())
        if worst > SILENT_SUM_ERROR:
            progress.note(
                f"rows of {self._table.name} were renormalised; they sum to 1 only within "
                f"{worst:.1g}."
            )
        if worst > ROUNDING * posteriors.shape[1]:
            posteriors /= sums[:, None]
        return posteriors

    def _bad_row(self, row: FloatArray, number: int, unused: list[str]) -> InputError:
        total = f"{self._table.place(number)} sums to {row.sum():.6g}"
        rule = "Posteriors must be at least 0 and sum to 1 in each row"
        outside = np.flatnonzero((row < 0) | (row > 1))
        if outside.size:
            place = int(outside[0])
            return InputError(
                f"{total} and has {row[place]:.6g} in column {shown(self._columns[place])}: these "
                f"look like logits or scores. {rule}; apply softmax or use predict_proba."
            )
        advice = ""
        if unused and row.sum() < 1:
            advice = (
                f" If one of {shown_list(unused)} is a class too, it has no labelled items in the "
                "reference: add some."
            )
        return InputError(
            f"{total} over the columns {shown_list(self._columns)}. {rule} (within "
            f"{LARGEST_SUM_ERROR:g}).{advice}"
        )


ItemReader = PosteriorReader | FeatureReader


@dataclass(frozen=True)
class Reference:
    """Labelled items.

    Attributes
    ----------
    X : ndarray
        Their posteriors, or their features.
    features : Features or None
        Which columns are features, if they are.
    """

    name: str
    labels: Labels
    X: FloatArray
    features: Features | None = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.labels.codes)


@dataclass(frozen=True)
class Target:
    """Items without labels: posteriors or features, groups, and columns to pass through."""

    name: str
    X: FloatArray
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
    return Reference(table.name, labels, features.array(whole, table, 0), features)


def read_target(
    table: Table,
    names: list[str],
    features: Features | None,
    inputs: InputOptions,
    progress: Progress,
) -> Target:
    """Return the items of a target, their groups, and columns to pass through.

    Items are the posteriors of the classes ``names``, unless the reference has ``features``.
    """
    by, keep = inputs.by, inputs.keep
    for name in keep:
        if name in names:
            raise InputError(
                f"The option --keep names {name!r}, which is a class; its corrected posterior "
                "will have that name. Leave the option out."
            )
    reader: ItemReader
    reader = PosteriorReader(table, names) if features is None else FeatureReader(table, features)
    groups = None if by is None else Codes(table, by, "group")
    along = dict.fromkeys(keep, KEPT) | ({} if by is None else {by: GROUP})
    kept: list[pa.RecordBatch] = []
    n_rows = 0
    with progress.step("read target") as update:
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
        return Target(
            table.name,
            _finished(reader, table, set(along), progress),
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
