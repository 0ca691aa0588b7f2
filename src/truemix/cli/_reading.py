"""The two files: labelled items, and items whose mix is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from truemix._arrow_columns import decoded
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.cli._columns import Labels, Rows, read_labels
from truemix.cli._decisions import DecisionRows, decisions_in, read_decisions
from truemix.cli._features import Features, about_keys, features_of, keys_among
from truemix.cli._groups import GroupReader, Groups, name_groups, note_zones
from truemix.cli._layout import CLASS, Layout, check_columns, layout_of
from truemix.cli._options import InputOptions, ReferenceOptions
from truemix.cli._posterior_columns import PosteriorFacts, PosteriorReader
from truemix.cli._progress import Progress
from truemix.cli.tables.table import DECISION, GROUP, KEPT, Column, Table
from truemix.exceptions import InputError
from truemix.validation import SILENT_SUM_ERROR, shown, shown_list


@dataclass(frozen=True)
class Reference:
    """Labelled items: their posteriors, their features, or decisions.

    ``layout`` is how posteriors or decisions are written, in the target too.
    """

    name: str
    labels: Labels
    X: Any
    features: Features | None = None
    layout: Layout | None = None
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
    table: Table, given: ReferenceOptions, by: Sequence[str] | None, progress: Progress
) -> Reference:
    """Return labelled items, with their posteriors, features for a classifier, or decisions.

    ``by`` are columns that they may have and that are no features.
    """
    check_columns(given)
    label, labels = read_labels(table, given.label)
    others = {label, *(by or [])}
    if given.decision:
        X = read_decisions(table, given.decision, label)
        unused = [name for name in table.columns if name not in {*others, *given.decision}]
        note_reading(table.name, PosteriorFacts(), unused, progress)
        layout = Layout(labels.names, decisions=given.decision)
        return Reference(table.name, labels, X, layout=layout, file_rows=table.file_rows)
    if given.classifier is not None:
        return _with_features(table, labels, given, others, progress)
    hint = (
        f"If these are features, add --classifier; if posteriors have other names, --columns "
        f"'PATTERN{CLASS}'{' or --score COLUMN' * (len(labels.classes) == 2)}."
    )
    if len(labels.classes) > len(table.columns):
        hint = (
            f"Column {label!r} has {len(labels.classes):,} different values; is it the column of "
            "labels?"
        )
    layout = layout_of(given, labels.names)
    reader = PosteriorReader(table, layout, others, hint)
    rows = Rows(reader.n_classes)
    for start, batch in table.batches(reader.wanted):
        rows.add(reader.posteriors(batch, start))
    note_reading(table.name, reader.facts, reader.unused, progress)
    return Reference(table.name, labels, rows.array(), layout=reader.layout)


def _with_features(
    table: Table,
    labels: Labels,
    given: ReferenceOptions,
    others: set[str],
    progress: Progress,
) -> Reference:
    """Take as features the chosen columns, or all that hold anything and are no keys."""
    table.need(given.features or [], "a feature, as --features says")
    table.need(given.drop or [], "as --drop says")
    chosen = list(dict.fromkeys(given.features or []))
    clash = next((name for name in chosen if name in others), None)
    if clash is not None:
        raise InputError(
            f"The option --features names {clash!r}, which is the column of labels or groups; "
            "expected columns that tell classes apart."
        )
    left_out = {*others, *(given.drop or [])}
    columns = chosen or [name for name in table.columns if name not in left_out]
    whole = table.features(columns)
    filled = [name for name in columns if whole.column(name).null_count < len(whole)]
    # Who names a column means it.
    keys = {} if chosen else keys_among(whole.select(filled))
    used = [name for name in filled if name not in keys]
    if not used:
        found = f" and columns that look like keys ({shown_list(list(keys))})" if keys else ""
        raise InputError(
            f"{table.name} has no feature columns beside the label{found}; expected at least one "
            "to train a classifier on."
        )
    progress.note(f"features in {table.name}: {shown_list(used)}.")
    if keys:
        progress.note(about_keys(keys, table.name))
    dropped = dict.fromkeys(given.drop or [], "--drop")
    features = features_of(whole.select(used), table)
    features = replace(features, left_out={**keys, **dropped})
    return Reference(table.name, labels, features.array(whole, table), features)


class TargetReader:
    """The items of a target in batches: posteriors or features, checked as they are read.

    Attributes
    ----------
    unused : list of str
        Columns of the table that nothing is read from.
    """

    def __init__(
        self,
        table: Table,
        layout: Layout,
        features: Features | None,
        along: Mapping[str, Column],
        decisions: list[str] | None = None,
    ) -> None:
        self.table, self._along = table, along
        self._posteriors: PosteriorReader | None = None
        self._items: Callable[[pa.RecordBatch, int], Any]
        self._wanted: dict[str, Column]
        left_out: Iterable[str] = []
        if layout.decisions is not None:
            table.need(layout.decisions, "decisions, as --decision says")
            self._items = partial(_decisions_in, layout.decisions, table)
            self._wanted = dict.fromkeys(layout.decisions, DECISION)
            self._rows: Rows | DecisionRows = DecisionRows()
        elif features is None:
            self._posteriors = reader = PosteriorReader(table, layout, along)
            self._items, self._wanted = reader.posteriors, reader.wanted
            self._rows = Rows(reader.n_classes)
        else:
            what = f"a feature in {features.reference}"
            table.need(features.types, what, "Add it, or leave it out of training: --drop.")
            self._items = partial(_features_in, features, table)
            self._wanted = {name: Column("feature", kind) for name, kind in features.types.items()}
            self._rows = Rows(len(features.types))
            left_out = features.left_out
        known = {*along, *self._wanted, *left_out}
        self.unused = [name for name in table.columns if name not in known]

    @property
    def facts(self) -> PosteriorFacts:
        """What was seen in posteriors so far."""
        return PosteriorFacts() if self._posteriors is None else self._posteriors.facts

    def rows(self) -> Rows | DecisionRows:
        """Return what collects the items."""
        return self._rows

    def batches(self) -> Iterator[tuple[int, pa.RecordBatch, Any]]:
        """Yield the first row of each batch, its columns as they are, and its items."""
        for start, batch in self.table.batches({**self._along, **self._wanted}):
            yield start, batch, self._items(batch, start)


def _features_in(features: Features, table: Table, batch: pa.RecordBatch, start: int) -> FloatArray:
    used = pa.table({name: decoded(batch.column(name)) for name in features.types})
    return features.array(used, table, start)


def _decisions_in(
    decisions: Sequence[str], table: Table, batch: pa.RecordBatch, start: int
) -> AnyArray:
    return decisions_in(batch, decisions, table, start)


def read_target(
    table: Table,
    layout: Layout,
    features: Features | None,
    inputs: InputOptions,
    progress: Progress,
) -> Target:
    """Return the items of a target, their groups, and columns to pass through.

    Items are the posteriors or decisions that ``layout`` describes, unless the reference has
    ``features``.
    """
    by, keep = inputs.grouping, inputs.keep or []
    clash = next((name for name in keep if name in layout.classes), None)
    if clash is not None:
        raise InputError(
            f"The option --keep names {clash!r}, which is a class; its corrected posterior will "
            "have that name. Leave the option out."
        )
    groups = None if by is None else GroupReader(by, table, {}, table.name)
    along = dict.fromkeys(keep, KEPT) | dict.fromkeys(groups.columns if groups else [], GROUP)
    reader = TargetReader(table, layout, features, along)
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
        note_reading(table.name, reader.facts, reader.unused, progress)
    found = None
    if groups is not None and by is not None:
        note_zones(groups.timed, groups.zones, progress)
        order, names = name_groups(groups.values, by, groups.timed)
        places = np.empty(len(order), dtype=np.intp)
        places[order] = np.arange(len(order))
        found = Groups(names, places[np.concatenate(codes)])
    beside = pa.Table.from_batches(kept) if kept else None
    return Target(table.name, rows.array(), found, beside, table.file_rows)


def note_reading(
    name: str, facts: PosteriorFacts, unused: Sequence[str], progress: Progress
) -> None:
    """Say how posteriors were written and repaired, and which columns were not used."""
    if facts.pattern is not None:
        progress.note(
            f"the posteriors in {name} are its columns {shown(facts.pattern)}, with {CLASS} for "
            "the class."
        )
    if facts.percent:
        progress.note(f"the posteriors in {name} are percentages, and were divided by 100.")
    if facts.decimals:
        progress.note(
            f"posteriors in {name} {facts.decimals}, so that they sum to 1 only within "
            f"{facts.off:.1g}; rows were renormalised."
        )
    elif facts.off > SILENT_SUM_ERROR:
        progress.note(
            f"rows of {name} were renormalised; they sum to 1 only within {facts.off:.1g}."
        )
    if unused:
        progress.note(f"not used in {name}: {shown_list(unused, most=4)}.")
