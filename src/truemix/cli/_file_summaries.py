"""One file of a target as summaries: read in batches, each summarised before the next is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from truemix._typing import FloatArray, IntArray
from truemix.cli._classifiers import few_threads
from truemix.cli._columns import Codes, check_n_groups
from truemix.cli._features import Features
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
    shadowed: bool = False
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
    by: str | None
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
        if table is None:
            self._key(file)
        else:
            self._reader(file, table)

    def summarize(
        self, file: TargetFile, table: Table | None, tick: Tick | None = None
    ) -> FileSummary:
        """Return the summaries of a table, or of what has been summarised before if it is None."""
        if table is None:
            return self._saved(file)
        reader = self._reader(file, table)
        key = self._key(file) if self.by in file.keys else None
        codes = None if self.by is None or key is not None else Codes(table, self.by, "group")
        stores, n_rows = GroupStores(self.capacity), 0
        for numbers, items in self._batches(reader, codes):
            with nullcontext() if self.features is None else few_threads(len(items)):
                scored = self.quantifier.posteriors(items)
            scorer = Scorer(self.quantifier.classes_, len(scored), self.quantifier.scored_by_)
            members: dict[Any, Any] = {key: slice(None)}
            if codes is not None and numbers is not None:
                members = _members(numbers, codes.values)
            stores.add(scorer, scored, members)
            n_rows += len(items)
            if tick is not None:
                tick(n_rows, table.share_read)
        shadowed = key is not None and self.by in table.columns
        facts = FileFacts(n_rows, reader.facts, reader.unused, shadowed)
        return FileSummary(stores.summaries(), facts)

    def _batches(
        self, reader: TargetReader, codes: Codes | None
    ) -> Iterator[tuple[IntArray | None, FloatArray]]:
        """Yield items, and the code of each one's group, in batches of about the same size."""
        numbers: list[IntArray] = []
        items: list[FloatArray] = []
        waiting = 0

        def taken() -> tuple[IntArray | None, FloatArray]:
            return np.concatenate(numbers) if numbers else None, np.concatenate(items)

        for start, batch, part in reader.batches():
            if codes is not None:
                numbers.append(codes.encode(start, batch.column(self.by)))
            items.append(part)
            waiting += part.size
            if waiting >= _BATCH_NUMBERS:
                yield taken()
                numbers, items, waiting = [], [], 0
        # What Arrow keeps for the next batch: there is none.
        pa.default_memory_pool().release_unused()
        if waiting:
            yield taken()

    def _reader(self, file: TargetFile, table: Table) -> TargetReader:
        along = {} if self.by is None or self.by in file.keys else {self.by: GROUP}
        need_groups(file, table, self.by)
        return TargetReader(table, self.layout, self.features, along)

    def _key(self, file: TargetFile) -> str | None:
        """Return the group that all items of a file are in, as its folder says."""
        if self.by is None:
            return None
        value = file.keys.get(self.by)
        if value is None:
            raise InputError(
                f"{file.source.name} is a summary, which has no columns, and is in no folder named "
                f"{self.by}=…; --by {self.by} needs one. Make it again with truemix summarize --by."
            )
        if value in {"", _NO_VALUE}:
            raise InputError(
                f"{file.source.name} is in a folder without a value for {shown(self.by)}; every "
                f"item needs a group. Name the folder {self.by}=VALUE."
            )
        return value

    def _saved(self, file: TargetFile) -> FileSummary:
        """Return a summary that was written before, if it is one by this quantifier."""
        summary = load_summary(file, self.quantifier)
        if self.capacity is not None:
            summary = summary.limited(self.capacity)
        return FileSummary({self._key(file): summary}, FileFacts(summary.n_items))


def _members(codes: IntArray, values: list[Any]) -> dict[Any, IntArray]:
    """Return the rows of each group that occurs, by its value."""
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    rows = np.split(order, starts[1:])
    return {values[code]: each for code, each in zip(found.tolist(), rows, strict=True)}


def merged(parts: list[FileSummary], *, by: str | None, where: str) -> FileSummary:
    """Return the summaries of several files."""
    groups = merge_groups(*(part.groups for part in parts))
    if by is not None:
        check_n_groups(len(groups), by, where)
    return FileSummary(groups, FileFacts())


def opened(file: TargetFile, stack: ExitStack) -> Table | None:
    """Return the table in a file; None if it holds a summary."""
    source = unpacked(file.source, stack)
    return None if is_summary(source.path) else open_table(source)


def need_groups(file: TargetFile, table: Table | None, by: str | None) -> None:
    """Refuse a table that neither has a column of groups nor is in a folder that tells them."""
    if table is not None and by is not None and by not in file.keys:
        keys = f"; its folders say {', '.join(file.keys)}" if file.keys else ""
        table.need([by], f"as --by says{keys}")


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
