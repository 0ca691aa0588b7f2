"""All files of a target as summaries: one pass, here or on a cluster, with the same result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from truemix._optional import require
from truemix.cli._file_summaries import (
    FileFacts,
    FileSummary,
    Summarizer,
    merged,
    need_groups,
    opened,
)
from truemix.cli._grouping import Grouping
from truemix.cli._groups import alike, name_groups, note_zones
from truemix.cli._one_table import about_sides
from truemix.cli._options import MethodOptions, TargetOptions
from truemix.cli._posterior_columns import merged_facts
from truemix.cli._progress import Progress
from truemix.cli._reading import note_reading
from truemix.cli._row_sample import capacity_of
from truemix.cli._targets import TargetFile, Targets
from truemix.cli._work import Fitted, read_learner, unfitted
from truemix.cli.tables.source import Source
from truemix.exceptions import InputError
from truemix.summaries import Summary, merge_groups

if TYPE_CHECKING:
    from truemix._progress import ShowFiles
    from truemix.cli.tables.table import Table

_MAX_NAMED = 3
# Numbers in the summaries of files that wait to be merged.
_WAITING_NUMBERS = 4_000_000
# Bytes of the small files that a task reads.
_TASK_BYTES = 1 << 20


@dataclass(frozen=True)
class Summarized:
    """Summaries by the names of groups, in order; without groups there is one, under None.

    ``skipped`` are the files that were left out.
    """

    groups: dict[Any, Summary]
    skipped: list[str]


def check_where(given: TargetOptions, targets: Targets) -> None:
    """Refuse what cannot be said of where to read, before the work begins."""
    if given.workers is None and given.scheduler is None:
        return
    if given.workers is not None and given.scheduler is not None:
        raise InputError(
            "--workers starts processes here and --scheduler names a cluster; give one of them."
        )
    if given.workers is not None and given.workers < 1:
        raise InputError(f"The option --workers is {given.workers}; expected at least 1 process.")
    option = "--workers" if given.scheduler is None else "--scheduler"
    require("distributed", f"The option {option}")
    if any(file.is_copy for file in targets.files):
        raise InputError(
            "Stdin and pipes cannot be read by other processes; write TARGET to a file, or leave "
            "--workers and --scheduler out."
        )


def learn_and_summarize(
    source: Source,
    targets: Targets,
    inputs: TargetOptions,
    options: MethodOptions,
    progress: Progress,
) -> tuple[Fitted, Summarized]:
    """Fit on REFERENCE and summarise a target; files are looked at before anything takes long."""
    check_where(inputs, targets)
    capacity, grouping = capacity_of(inputs.sample), inputs.grouping
    file, first = targets.files[0], None
    # A bad file that is to be skipped is met again when it is read.
    bad: Any = partial(suppress, InputError) if inputs.skip_bad_files else nullcontext
    with ExitStack() as stack:
        quantifier = unfitted(source, options, inputs)
        with bad():
            first = opened(file, stack)
            need_groups(file, first, grouping)
        learner = read_learner(source, quantifier, inputs, options, progress, inputs.by)
        if source.part is not None:
            progress.note(about_sides(source))
        summarizer = Summarizer(
            learner.quantifier, learner.layout, learner.features, grouping, capacity
        )
        with progress.step("read target"), bad():
            summarizer.check_header(file, first)
        fitted = learner.fitted(options, progress)
        return fitted, summarize_targets(summarizer, targets, inputs, progress, first)


def summarize_targets(
    summarizer: Summarizer,
    targets: Targets,
    given: TargetOptions,
    progress: Progress,
    first: Table | None = None,
) -> Summarized:
    """Read all files once and return their summaries; ``first`` is a table that is already open."""
    merge = partial(merged, by=summarizer.by, where=targets.name)
    with progress.reading("read target", len(targets.files)) as show:
        ledger = Ledger(targets.files, show, skip=given.skip_bad_files)
        if given.workers is None and given.scheduler is None:
            parts: list[FileSummary] = []
            waiting = 0
            for number, file in enumerate(targets.files):
                table, first = first, None
                parts.append(summarizer.attempt(file, partial(ledger.reading, number), table))
                ledger.finished(number, parts[-1].facts)
                waiting += parts[-1].n_numbers
                # Merging takes time for what is already there, so small files wait for each other.
                if waiting > _WAITING_NUMBERS:
                    parts, waiting = [merge(parts)], 0
            found = merge(parts)
        else:
            from truemix._dask import connected, map_reduce

            show(0, 0, 0.0)
            tasks = _tasks(targets.files)
            starts = [0, *accumulate(map(len, tasks))]

            def tell(number: int, facts: list[FileFacts]) -> None:
                for place, each in enumerate(facts, start=starts[number]):
                    ledger.finished(place, each)

            with connected(workers=given.workers, scheduler=given.scheduler) as client:
                found, _ = map_reduce(
                    client,
                    partial(_attempt_all, merge=merge),
                    summarizer,
                    tasks,
                    merge=partial(_merge_all, merge=merge),
                    describe=itemgetter(1),
                    tell=tell,
                )
    ledger.conclude(targets.name, progress)
    groups = found.groups
    if summarizer.by is not None:
        groups = _named(groups, summarizer.by, ledger.timed)
    return Summarized(groups, [file.source.name for file in ledger.skipped])


# What a task comes to: summaries, and what was seen in each file.
_Done = tuple[FileSummary, list[FileFacts]]
_Merge = Callable[[list[FileSummary]], FileSummary]


def _tasks(files: Sequence[TargetFile]) -> list[list[TargetFile]]:
    """Return files task by task: small ones together, because a task costs time by itself."""
    tasks: list[list[TargetFile]] = []
    room = 0
    for file in files:
        room -= max(file.n_bytes, 1)
        if room < 0:
            tasks.append([])
            room = _TASK_BYTES
        # By a name that does not depend on where a process runs.
        path = file.source.path.absolute()
        tasks[-1].append(replace(file, source=replace(file.source, path=path)))
    return tasks


def _attempt_all(summarizer: Summarizer, files: list[TargetFile], *, merge: _Merge) -> _Done:
    parts = [summarizer.attempt(file) for file in files]
    return merge(parts), [part.facts for part in parts]


def _merge_all(done: list[_Done], *, merge: _Merge) -> _Done:
    return merge([part for part, _ in done]), []


class Ledger:
    """What was seen in files so far; the first bad one ends it all, unless they are skipped."""

    def __init__(self, files: Sequence[TargetFile], show: ShowFiles, *, skip: bool) -> None:
        self._files, self._show, self._skip = files, show, skip
        self._sizes = [max(file.n_bytes, 1) for file in files]
        self._total = sum(self._sizes)
        self._facts: dict[int, FileFacts] = {}
        self._n_rows = self._n_bytes = 0
        # The first file with a problem so far.
        self._bad: int | None = None

    def reading(self, number: int, n_rows: int, share: float) -> None:
        """Show that a part of a file was read."""
        part = self._n_bytes + share * self._sizes[number]
        self._show(len(self._facts), self._n_rows + n_rows, part / self._total)

    def finished(self, number: int, facts: FileFacts) -> None:
        """Enter a file that was read; raise its problem if no file before it can have one."""
        self._facts[number] = facts
        self._n_rows += facts.n_rows
        self._n_bytes += self._sizes[number]
        self._show(len(self._facts), self._n_rows, self._n_bytes / self._total)
        if facts.problem and not self._skip:
            self._bad = number if self._bad is None else min(number, self._bad)
        if self._bad is not None and all(n in self._facts for n in range(self._bad)):
            hint = " Or go on without such files: --skip-bad-files." if len(self._files) > 1 else ""
            raise InputError(f"{self._facts[self._bad].problem}{hint}")

    @property
    def skipped(self) -> list[TargetFile]:
        """Files with a problem."""
        return [self._files[n] for n, each in sorted(self._facts.items()) if each.problem]

    @property
    def timed(self) -> str | None:
        """The column whose times became periods, if there is one."""
        return next((each.timed for each in self._facts.values() if each.timed), None)

    def conclude(self, name: str, progress: Progress) -> None:
        """Refuse a target that nothing is left of, and note what else was seen."""
        facts = [self._facts[number] for number in range(len(self._files))]
        problems = [each.problem for each in facts if each.problem]
        n_files = len(self._files)
        if len(problems) == n_files:
            many = f"None of the {n_files:,} files can be used. " if n_files > 1 else ""
            raise InputError(f"{many}{problems[0]}")
        if not self._n_rows:
            have = "has" if n_files == 1 else "have"
            raise InputError(f"{name} {have} no rows; at least one item is needed.")
        unused = dict.fromkeys(column for each in facts for column in each.unused)
        posteriors = merged_facts([each.posteriors for each in facts])
        note_reading(name, posteriors, list(unused), progress)
        for column in dict.fromkeys(column for each in facts for column in each.shadowed):
            progress.note(
                f"the names of folders tell {column!r}; the column of that name was not used."
            )
        note_zones(self.timed, set().union(*(each.zones for each in facts)), progress)
        if problems:
            few = "; ".join(problem.rstrip(".") for problem in problems[:_MAX_NAMED])
            more = f"; and {len(problems) - _MAX_NAMED:,} more" * (len(problems) > _MAX_NAMED)
            progress.note(f"left out {len(problems):,} of {n_files:,} files: {few}{more}.")


def _named(groups: dict[Any, Summary], by: Grouping, timed: str | None) -> dict[Any, Summary]:
    """Return groups under the names that results have, sorted as people would."""
    pairs = zip(alike(list(groups), len(by.columns)), groups.values(), strict=True)
    same = merge_groups(*({value: summary} for value, summary in pairs))
    summaries = list(same.values())
    order, names = name_groups(list(same), by, timed)
    return {name: summaries[place] for name, place in zip(names, order, strict=True)}
