"""One file of a target as summaries: read in batches, each summarised before the next is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from truemix._typing import FloatArray, IntArray
from truemix.cli._classifiers import few_threads
from truemix.cli._decisions import located
from truemix.cli._features import Features
from truemix.cli._grouping import Grouping
from truemix.cli._groups import GroupReader, check_n_groups
from truemix.cli._layout import Layout
from truemix.cli._posterior_columns import PosteriorFacts
from truemix.cli._reading import TargetReader
from truemix.cli._targets import TargetFile
from truemix.cli.tables import open_table
from truemix.cli.tables.source import unpacked
from truemix.cli.tables.table import GROUP, Table
from truemix.exceptions import InputError
from truemix.summaries import Summary, is_summary, merge_groups
from truemix.summaries.groups import GroupStores
from truemix.summaries.summary import Scorer
from truemix.validation import shown

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

# Numbers that are summarised at a time: so many that what each call costs by itself does not count.
_BATCH_NUMBERS = 1 << 20
# How Hive names the partition of rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

# Told how many rows were read, and which share of the file.
Tick = Callable[[int, float], None]


@dataclass(frozen=True)
class FileFacts:
    """What was seen in a file, and the sentence about what was wrong with it, if anything was."""

    n_rows: int = 0
    posteriors: PosteriorFacts = field(default_factory=PosteriorFacts)
    unused: list[str] = field(default_factory=list)
    shadowed: tuple[str, ...] = ()
    zones: frozenset[str] = frozenset()
    timed: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class FileSummary:
    """The summaries of a file by group; without groups there is one, under None."""

    groups: dict[Any, Summary]
    facts: FileFacts

    @property
    def n_numbers(self) -> int:
        """How many numbers are kept."""
        return sum(each.rows.size for each in self.groups.values())


@dataclass(frozen=True)
class Summarizer:
    """How files become summaries: by this quantifier, and by these groups."""

    quantifier: Quantifier
    layout: Layout
    features: Features | None
    by: Grouping | None
    capacity: int | None = None

    def attempt(
        self, file: TargetFile, tick: Tick | None = None, table: Table | None = None
    ) -> FileSummary:
        """Summarise a file; of one with a problem nothing is left but the sentence about it.

        ``table`` is that of the file if it is already open.
        """
        try:
            with ExitStack() as stack:
                return self.summarize(file, table or opened(file, stack), tick)
        except InputError as error:
            return FileSummary({}, FileFacts(problem=str(error)))
        except OSError as error:
            # A disk or a network that fails in the middle of a file.
            reason = error.strerror or error
            sentence = f"{file.source.name} cannot be read ({reason}); write or copy it again."
            return FileSummary({}, FileFacts(problem=sentence))

    def check_header(self, file: TargetFile, table: Table | None) -> None:
        """Refuse a file that does not have what is needed, before the work begins."""
        groups = self._groups(file, table)
        if table is None:
            _told(groups)
        else:
            self._reader(table, groups)
            if groups is not None and groups.columns:
                # What is no time is met in the first rows, before anything takes long.
                found = table.batches(dict.fromkeys(groups.columns, GROUP))
                for start, batch in islice(found, 1):
                    groups.encode(start, batch)

    def summarize(
        self, file: TargetFile, table: Table | None, tick: Tick | None = None
    ) -> FileSummary:
        """Return the summaries of a table, or of what has been summarised before if it is None."""
        groups = self._groups(file, table)
        if table is None:
            summary = load_summary(file, self.quantifier)
            if self.capacity is not None:
                summary = summary.limited(self.capacity)
            return FileSummary({_told(groups): summary}, _facts(groups, n_rows=summary.n_items))
        reader = self._reader(table, groups)
        stores, n_rows = GroupStores(self.capacity), 0
        for numbers, items in self._batches(reader, groups):
            scored = self._scored(items, partial(_place, table, n_rows))
            n_layers, _, n_columns = scored.shape
            known = self.quantifier.classes_, n_layers, self.quantifier.scored_by_
            scorer = Scorer(*known, n_columns)
            members: dict[Any, Any] = {None: slice(None)}
            if groups is not None and numbers is not None:
                members = _members(numbers, groups.values)
            stores.add(scorer, scored, members)
            n_rows += len(items)
            if tick is not None:
                tick(n_rows, table.share_read)
        facts = _facts(groups, n_rows=n_rows, posteriors=reader.facts, unused=reader.unused)
        told = () if self.by is None else self.by.columns
        shadowed = tuple(name for name in told if name in file.keys and name in table.columns)
        return FileSummary(stores.summaries(), replace(facts, shadowed=shadowed))

    def _scored(self, items: Any, place: Callable[[int], str]) -> FloatArray:
        with located(place), nullcontext() if self.features is None else few_threads(len(items)):
            return self.quantifier.posteriors(items)

    def _batches(
        self, reader: TargetReader, groups: GroupReader | None
    ) -> Iterator[tuple[IntArray | None, FloatArray]]:
        """Yield items, and the code of each one's group, in batches of about the same size."""
        numbers: list[IntArray] = []
        items: list[FloatArray] = []
        waiting = 0

        def taken() -> tuple[IntArray | None, FloatArray]:
            return np.concatenate(numbers) if numbers else None, np.concatenate(items)

        for start, batch, part in reader.batches():
            if groups is not None:
                numbers.append(groups.encode(start, batch))
            items.append(part)
            waiting += part.size
            if waiting >= _BATCH_NUMBERS:
                yield taken()
                numbers, items, waiting = [], [], 0
        # What Arrow keeps for the next batch: there is none.
        pa.default_memory_pool().release_unused()
        if waiting:
            yield taken()

    def _reader(self, table: Table, groups: GroupReader | None) -> TargetReader:
        along = {} if groups is None else dict.fromkeys(groups.columns, GROUP)
        return TargetReader(table, self.layout, self.features, along)

    def _groups(self, file: TargetFile, table: Table | None) -> GroupReader | None:
        """Return what tells the groups of a file: its columns, or the folders that it is in."""
        need_groups(file, table, self.by)
        if self.by is None:
            return None
        known = {name: file.keys[name] for name in self.by.columns if name in file.keys}
        for name in self.by.columns:
            if name not in known and table is None:
                raise InputError(
                    f"{file.source.name} is a summary, which has no columns, and is in no folder "
                    f"named {name}=…; --by {name} needs one. Make it again with truemix summarize "
                    "--by."
                )
            if known.get(name) in {"", _NO_VALUE}:
                raise InputError(
                    f"{file.source.name} is in a folder without a value for {shown(name)}; every "
                    f"item needs a group. Name the folder {name}=VALUE."
                )
        return GroupReader(self.by, table, known, file.source.name)


def _told(groups: GroupReader | None) -> Any:
    """Return the group of a summary, as the folders say that it is in."""
    return None if groups is None else groups.told_by_folders()


def _facts(groups: GroupReader | None, **seen: Any) -> FileFacts:
    if groups is None:
        return FileFacts(**seen)
    return FileFacts(zones=frozenset(groups.zones), timed=groups.timed, **seen)


def _place(table: Table, start: int, row: int) -> str:
    return table.place(start + row)


def _members(codes: IntArray, values: list[Any]) -> dict[Any, IntArray]:
    """Return the rows of each group that occurs, by its value."""
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    rows = np.split(order, starts[1:])
    return {values[code]: each for code, each in zip(found.tolist(), rows, strict=True)}


def merged(parts: list[FileSummary], *, by: Grouping | None, where: str) -> FileSummary:
    """Return the summaries of several files."""
    groups = merge_groups(*(part.groups for part in parts))
    if by is not None:
        check_n_groups(list(groups), by, where)
    return FileSummary(groups, FileFacts())


def opened(file: TargetFile, stack: ExitStack) -> Table | None:
    """Return the table in a file; None if it holds a summary."""
    source = unpacked(file.source, stack)
    return None if is_summary(source.path) else open_table(source)


def need_groups(file: TargetFile, table: Table | None, by: Grouping | None) -> None:
    """Refuse a table that lacks a column of groups, unless it is in a folder that tells them."""
    if table is not None and by is not None:
        keys = f"; its folders say {', '.join(file.keys)}" if file.keys else ""
        table.need([name for name in by.columns if name not in file.keys], f"as --by says{keys}")


def load_summary(file: TargetFile, quantifier: Quantifier) -> Summary:
    """Return a saved summary, or say which file does not belong to the quantifier."""
    try:
        summary = Summary.load(file.source.path)
    except InputError as error:
        path, name = repr(str(file.source.path)), repr(file.source.name)
        raise InputError(str(error).replace(path, name)) from None
    if summary.source != quantifier.scored_by_:
        raise InputError(
            f"{file.source.name} is a summary by another quantifier; expected one that was made "
            "with the same REFERENCE and classifier. Make it again with truemix summarize."
        )
    return summary
