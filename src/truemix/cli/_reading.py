"""The two files: labelled items, and items whose mix is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from truemix._arrow_columns import decoded
from truemix._typing import FloatArray, IntArray
from truemix.cli._columns import Labels, Rows, numbers, read_labels
from truemix.cli._decisions import DecisionRows, decisions_in, read_decisions
from truemix.cli._features import Features, about_keys, features_of, keys_among
from truemix.cli._groups import GroupReader, Groups, name_groups, note_zones
from truemix.cli._options import InputOptions
from truemix.cli._progress import Progress
from truemix.cli.tables.table import DECISION, GROUP, KEPT, POSTERIOR, Column, Table
from truemix.exceptions import InputError
from truemix.validation import ROUNDING, SILENT_SUM_ERROR, check_row_sums, shown_list


@dataclass(frozen=True)
class Reference:
    """Labelled items: their posteriors, their features, or decisions in the columns so named."""

    name: str
    labels: Labels
    X: Any
    features: Features | None = None
    decisions: list[str] | None = None
    file_rows: IntArray | None = None

    def place(self, row: int) -> str:
        """Return where an item is in the file."""
        return f"Row {1 + (row if self.file_rows is None else self.file_rows[row])} of {self.name}"

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
    file_rows: IntArray | None = None

    @property
    def row_numbers(self) -> IntArray:
        """The number of each item's row in the file, counted from 1."""
        return 1 + (np.arange(len(self.X)) if self.file_rows is None else self.file_rows)


def read_reference(
    table: Table,
    label: str | None,
    by: Sequence[str] | None,
    progress: Progress,
    *,
    features: bool,
    decisions: list[str] | None = None,
) -> Reference:
    """Return labelled items, with posteriors in columns named like them, features or decisions."""
    label, labels = read_labels(table, label)
    if decisions:
        X = read_decisions(table, decisions, label)
        note_reading(table.name, 0.0, _unused(table, [label, *(by or []), *decisions]), progress)
        return Reference(table.name, labels, X, decisions=decisions, file_rows=table.file_rows)
    if features:
        columns = [name for name in table.columns if name not in {label, *(by or [])}]
        return _with_features(table, labels, columns, progress)
    hint = "If these are features, add --classifier."
    if len(labels.classes) > len(table.columns):
        hint = (
            f"Column {label!r} has {len(labels.classes):,} different values; is it the column of "
            "labels?"
        )
    columns = _posterior_columns(table, labels.names, hint)
    rows = Rows(len(columns))
    for start, batch in table.batches(dict.fromkeys(columns, POSTERIOR)):
        rows.add(numbers(batch.select(columns), table, start))
    unused = _unused(table, [label, *(by or []), *columns])
    posteriors, off = _checked(rows.array(), table, columns, unused)
    note_reading(table.name, off, unused, progress)
    return Reference(table.name, labels, posteriors)


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
    return Reference(table.name, labels, features.array(whole, table), features)


class TargetReader:
    """The items of a target in batches: posteriors or features, checked as they are read.

    Attributes
    ----------
    off : float
        How far the sum of posteriors in a row was from one, at most.
    unused : list of str
        Columns of the table that nothing is read from.
    """

    def __init__(
        self,
        table: Table,
        names: list[str],
        features: Features | None,
        along: Mapping[str, Column],
        decisions: list[str] | None = None,
    ) -> None:
        self.table, self._features, self._along = table, features, along
        self._decided = decisions is not None
        if decisions is not None:
            table.need(decisions, "decisions, as --decision says")
            self._columns = decisions
            self._wanted = dict.fromkeys(decisions, DECISION)
        elif features is None:
            self._columns = _posterior_columns(table, names)
            self._wanted = dict.fromkeys(self._columns, POSTERIOR)
        else:
            what = f"a feature in {features.reference}"
            table.need(features.types, what, "Add it, or drop it from the reference.")
            self._columns = list(features.types)
            self._wanted = {name: Column("feature", kind) for name, kind in features.types.items()}
        left_out = [] if features is None else features.left_out
        self.unused = _unused(table, [*along, *self._columns, *left_out])
        self.off = 0.0

    def rows(self) -> Rows | DecisionRows:
        """Return what collects the items."""
        return DecisionRows() if self._decided else Rows(len(self._columns))

    def batches(self) -> Iterator[tuple[int, pa.RecordBatch, Any]]:
        """Yield the first row of each batch, its columns as they are, and its items."""
        for start, batch in self.table.batches({**self._along, **self._wanted}):
            yield start, batch, self._items(batch, start)

    def _items(self, batch: pa.RecordBatch, start: int) -> Any:
        if self._decided:
            return decisions_in(batch, self._columns, self.table, start)
        if self._features is not None:
            used = pa.table({name: decoded(batch.column(name)) for name in self._columns})
            return self._features.array(used, self.table, start)
        posteriors = numbers(batch.select(self._columns), self.table, start)
        if not len(posteriors):
            return posteriors
        sums, worst = check_row_sums(
            posteriors, lambda row: self.table.place(start + row), self._columns, self.unused
        )
        self.off = max(self.off, abs(float(sums[worst]) - 1.0))
        # Row by row: what becomes of one must not depend on the others in its batch.
        wrong = np.abs(sums - 1.0) > ROUNDING * len(self._columns)
        posteriors[wrong] /= sums[wrong, None]
        return posteriors


def read_target(
    table: Table,
    names: list[str],
    features: Features | None,
    inputs: InputOptions,
    progress: Progress,
    decisions: list[str] | None = None,
) -> Target:
    """Return the items of a target, their groups, and columns to pass through.

    Items are the posteriors of the classes ``names``, unless the reference has ``features`` or
    ``decisions``.
    """
    by, keep = inputs.grouping, inputs.keep or []
    clash = next((name for name in keep if name in names), None)
    if clash is not None:
        raise InputError(
            f"The option --keep names {clash!r}, which is a class; its corrected posterior will "
            "have that name. Leave the option out."
        )
    groups = None if by is None else GroupReader(by, table, {}, table.name)
    along = dict.fromkeys(keep, KEPT) | dict.fromkeys(groups.columns if groups else [], GROUP)
    reader = TargetReader(table, names, features, along, decisions)
    rows, kept, codes = reader.rows(), [], [np.empty(0, dtype=np.intp)]
    n_rows = 0
    with progress.step("read target") as update:
        for start, batch, items in reader.batches():
            if groups is not None:
                codes.append(groups.encode(start, batch))
            if keep:
                kept.append(batch.select(keep))
            rows.add(items)
            n_rows = start + batch.num_rows
            update(f"{n_rows:,} rows")
        # What Arrow keeps for the next file: there is none, and the work needs it.
        pa.default_memory_pool().release_unused()
        if not n_rows:
            raise InputError(f"{table.name} has no rows; at least one item is needed.")
        note_reading(table.name, reader.off, reader.unused, progress)
    found = None
    if groups is not None and by is not None:
        note_zones(groups.timed, groups.zones, progress)
        order, names = name_groups(groups.values, by, groups.timed)
        places = np.empty(len(order), dtype=np.intp)
        places[order] = np.arange(len(order))
        found = Groups(names, places[np.concatenate(codes)])
    beside = pa.Table.from_batches(kept) if kept else None
    return Target(table.name, rows.array(), found, beside, table.file_rows)


def note_reading(name: str, off: float, unused: Sequence[str], progress: Progress) -> None:
    """Say what was done to posteriors, and which columns of ``name`` were not used."""
    if off > SILENT_SUM_ERROR:
        progress.note(f"rows of {name} were renormalised; they sum to 1 only within {off:.1g}.")
    if unused:
        progress.note(f"not used in {name}: {shown_list(unused, most=4)}.")


def _posterior_columns(table: Table, names: list[str], hint: str = "") -> list[str]:
    """Return the columns named like the classes; those without names are taken in class order."""
    unnamed = len(table.unnamed) == len(names) and not set(table.columns).issuperset(names)
    columns = table.unnamed if unnamed else names
    table.need(columns, "the posterior of that class", hint)
    return columns


def _checked(
    posteriors: FloatArray, table: Table, columns: list[str], unused: list[str]
) -> tuple[FloatArray, float]:
    """Return posteriors, renormalised in place where they have to be, and how far they were off."""
    sums, worst = check_row_sums(posteriors, table.place, columns, unused)
    off = abs(float(sums[worst]) - 1.0)
    if off > ROUNDING * len(columns):
        posteriors /= sums[:, None]
    return posteriors, off


def _unused(table: Table, used: Iterable[str | None]) -> list[str]:
    known = set(used)
    return [name for name in table.columns if name not in known]
