"""Which columns of the two files are needed, and what they hold: posteriors, labels, groups."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from truemix._typing import FloatArray
from truemix.cli._columns import Codes, Groups, Labels, Rows, groups_of, labels_of, numbers
from truemix.cli._features import Features, features_of
from truemix.cli._formats import Table, floats, texts
from truemix.cli._keys import about_keys, keys_among
from truemix.cli._npz import NpzTable
from truemix.cli._progress import Progress, Update
from truemix.cli._text import DELIMITERS, TextTable
from truemix.exceptions import InputError
from truemix.validation import (
    LARGEST_SUM_ERROR,
    MAX_SHOWN,
    ROUNDING,
    SILENT_SUM_ERROR,
    shown,
    shown_list,
)

# Each group keeps its draws; more groups than this are a sign of a wrong column.
MOST_GROUPS = 10_000
# Names that are compared with one that is not there: each comparison takes a while.
MAX_COMPARED = 1000


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


@dataclass(frozen=True)
class Beside:
    """Columns of the target beside posteriors or features: groups, and what is passed through."""

    by: str | None = None
    keep: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [name for name in dict.fromkeys([self.by, *self.keep]) if name is not None]

    def check_apart(self, names: list[str]) -> None:
        """Refuse to pass columns through that would be confused with those of the classes."""
        for name in self.keep:
            if name in names:
                raise InputError(
                    f"The option --keep names {name!r}, which is a class; its corrected posterior "
                    "will have that name. Leave the option out."
                )

    def check(self, table: Table) -> None:
        """Refuse a table without them."""
        for name in self.names:
            need_column(table, name, "as --by says" if name == self.by else "as --keep says")


# --- the reference ----------------------------------------------------------------------------


def read_reference(
    table: Table, label: str | None, by: str | None, progress: Progress
) -> Reference:
    """Return labels, and posteriors from the columns that are named like them."""
    label, labels = _read_labels(table, label)
    columns = class_columns(table, labels.names, _hint(table, label, labels))
    rows = Rows(len(columns))
    for batch in table.batches(floats(columns)):
        rows.add(numbers(batch, columns, table, rows.length))
    posteriors = rows.array()
    used = {*columns, label, by}
    unused = [name for name in table.columns if name not in used]
    check_rows(posteriors, table, columns, unused, progress)
    note_unused(table, unused, progress)
    return Reference(table.name, labels, posteriors)


def _hint(table: Table, label: str, labels: Labels) -> str:
    """Return what is probably wrong if a class has no column."""
    if len(labels.names) > len(table.columns):
        return (
            f"Column {label!r} has {len(labels.names):,} different values; is it the column of "
            "labels?"
        )
    return "If these are features, add --classifier."


def read_features(table: Table, label: str | None, by: str | None, progress: Progress) -> Reference:
    """Return labels, and as features all other columns that hold anything and are no keys."""
    label, labels = _read_labels(table, label)
    columns = [name for name in table.columns if name not in {label, by}]
    table.check_roles("feature", columns)
    whole = table.whole(columns)
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


def _read_labels(table: Table, label: str | None) -> tuple[str, Labels]:
    if label is None and isinstance(table, NpzTable) and "y" in table.columns:
        label = "y"
    if label is None:
        raise InputError(
            f"The option --label is missing: it names the column of {table.name} that holds the "
            f"labels. Its columns are {shown_list(table.columns)}."
        )
    need_column(table, label, "the labels, as --label says")
    table.check_roles("label", [label])
    found = Codes(table, label, "label")
    for batch in table.batches(texts([label])):
        found.add(batch.column(label))
    if not found.length:
        raise InputError(f"{table.name} has no rows below its header; at least one is needed.")
    labels = labels_of(found, table, label)
    if len(labels.names) < 2:
        raise InputError(
            f"Column {shown(label)} of {table.name} holds only the label {shown(labels.names[0])}; "
            "a mix needs at least two classes. Check that it is the column of labels."
        )
    return label, labels


# --- the target -------------------------------------------------------------------------------


def read_posteriors(
    table: Table, names: list[str], beside: Beside, progress: Progress, update: Update
) -> Target:
    """Return a target that holds posteriors, in columns named like the classes."""
    columns = class_columns(table, names)
    rows = Rows(len(columns))
    target = _Target(table, beside, update)
    for batch in target.batches(floats(columns)):
        rows.add(numbers(batch, columns, table, rows.length))
    posteriors = rows.array()
    used = {*columns, *beside.names}
    unused = [name for name in table.columns if name not in used]
    check_rows(posteriors, table, columns, unused, progress)
    note_unused(table, unused, progress)
    return target.with_items(posteriors)


def read_target_features(
    table: Table, features: Features, beside: Beside, progress: Progress, update: Update
) -> Target:
    """Return a target that holds features."""
    import pandas as pd

    need_features(table, features)
    target = _Target(table, beside, update)
    frames: list[pd.DataFrame] = []
    for batch in target.batches(features.types):
        frames.append(features.frame(batch, table, sum(map(len, frames))))
    used = {*features.types, *features.left_out, *beside.names}
    note_unused(table, [name for name in table.columns if name not in used], progress)
    return target.with_items(pd.concat(frames, ignore_index=True))


class _Target:
    """Goes through a target and takes along what stands beside posteriors or features."""

    def __init__(self, table: Table, beside: Beside, update: Update) -> None:
        beside.check(table)
        if beside.by is not None:
            table.check_roles("group", [beside.by])
        self._table, self._beside, self._update = table, beside, update
        self._groups = None if beside.by is None else Codes(table, beside.by, "group", MOST_GROUPS)
        self._kept: list[pa.RecordBatch] = []

    def batches(self, types: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield batches with at least one row; there must be one."""
        n_rows = 0
        for batch in self._table.batches({**texts(self._beside.names), **types}):
            if not batch.num_rows:
                continue
            if self._groups is not None:
                self._groups.add(batch.column(self._beside.by))
            if self._beside.keep:
                self._kept.append(batch.select(list(self._beside.keep)))
            yield batch
            n_rows += batch.num_rows
            self._update(f"{n_rows:,} rows")
        if not n_rows:
            raise InputError(f"{self._table.name} has no rows; at least one item is needed.")

    def with_items(self, X: Any) -> Target:
        """Return the target with its posteriors or features."""
        groups = None if self._groups is None else groups_of(self._groups)
        kept = pa.Table.from_batches(self._kept) if self._kept else None
        return Target(self._table.name, X, groups, kept)


# --- columns and rows -------------------------------------------------------------------------


def class_columns(table: Table, names: list[str], hint: str = "") -> list[str]:
    """Return the columns of the classes; columns without names are taken in class order."""
    found = set(table.columns)
    columns = names
    if len(table.unnamed) == len(names) and not found.issuperset(names):
        columns = table.unnamed
    for name in columns:
        if name not in found:
            need_column(table, name, "the posterior of that class", hint)
    table.check_roles("posterior", columns)
    return columns


def need_features(table: Table, features: Features) -> None:
    """Refuse a table without the features of the reference."""
    found = set(table.columns)
    for name in features.types:
        if name not in found:
            need_column(
                table,
                name,
                f"a feature in {features.reference}",
                "Add it, or drop it from the reference.",
            )
    table.check_roles("feature", features.types)


def need_column(table: Table, name: str, what: str, hint: str = "") -> None:
    """Refuse a table without the column, with the name that was probably meant."""
    if name in table.columns:
        return
    if len(table.columns) == 1 and isinstance(table, TextTable):
        separators = ", ".join(DELIMITERS.values())
        raise InputError(
            f"{table.name} has a single column, {table.columns[0][:60]!r}; expected columns "
            f"separated by one of {separators}, among them {name!r} ({what})."
        )
    close = _similar(name, table.columns)
    advice = hint if close is None else f"Did you mean {shown(close)}?"
    raise InputError(
        f"{table.name} has no column {shown(name)} ({what}); its columns are "
        f"{shown_list(table.columns)}. {advice}".rstrip()
    )


def _similar(name: str, columns: list[str]) -> str | None:
    """Return the name that was probably meant, if there is one among the first columns."""
    lower = {each[:MAX_SHOWN].lower(): each for each in reversed(columns[:MAX_COMPARED])}
    meant = difflib.get_close_matches(name[:MAX_SHOWN].lower(), lower, 1)
    return lower[meant[0]] if meant else None


def check_rows(
    posteriors: FloatArray,
    table: Table,
    columns: list[str],
    unused: list[str],
    progress: Progress,
) -> None:
    """Apply the input rules to rows of posteriors, in place, with words for a file.

    The library has the same rules; here rows have lines, and columns have names.
    """
    with np.errstate(over="ignore"):
        sums = posteriors.sum(axis=1)
    off = np.abs(sums - 1.0)
    bad = np.flatnonzero((off > LARGEST_SUM_ERROR) | (posteriors.min(axis=1) < 0))
    if bad.size:
        raise _bad_row(posteriors[bad[0]], table, int(bad[0]), columns, unused)
    worst = int(off.argmax())
    if off[worst] > SILENT_SUM_ERROR:
        progress.note(
            f"rows of {table.name} were renormalised; they sum to 1 only within {off[worst]:.1g}."
        )
    if off[worst] > ROUNDING * posteriors.shape[1]:
        posteriors /= sums[:, None]


def _bad_row(
    row: FloatArray, table: Table, number: int, columns: list[str], unused: list[str]
) -> InputError:
    total = f"{table.place(number)} sums to {row.sum():.6g}"
    rule = "Posteriors must be at least 0 and sum to 1 in each row"
    outside = np.flatnonzero((row < 0) | (row > 1))
    if outside.size:
        place = int(outside[0])
        return InputError(
            f"{total} and has {row[place]:.6g} in column {shown(columns[place])}: these look like "
            f"logits or scores. {rule}; apply softmax or use predict_proba."
        )
    advice = ""
    if unused and row.sum() < 1:
        advice = (
            f" If one of {shown_list(unused)} is a class too, it has no labelled items in the "
            "reference: add some."
        )
    return InputError(
        f"{total} over the columns {shown_list(columns)}. {rule} (within "
        f"{LARGEST_SUM_ERROR:g}).{advice}"
    )


def note_unused(table: Table, unused: list[str], progress: Progress) -> None:
    if unused:
        progress.note(f"not used in {table.name}: {shown_list(unused, most=4)}.")
