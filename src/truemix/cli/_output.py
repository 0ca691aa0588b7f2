"""Where results go: stdout or a file that appears whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from truemix._escaping import visible
from truemix._files import atomic_write, find_destination
from truemix._progress import show_progress
from truemix.cli._options import Format, OutputOptions
from truemix.cli._progress import Progress
from truemix.cli._streams import flush_stdout, tell, write_stdout
from truemix.cli.tables.source import TABLES
from truemix.estimates.text import Table
from truemix.exceptions import InputError
from truemix.report.csv_text import as_csv
from truemix.report.plain import as_json

A_DIAGNOSTIC_FAILED = 3
_MAX_FAILURES = 5
# What the ending of a file says about a result in it.
_FORMATS = {".json": Format.json, ".csv": Format.csv, ".txt": Format.table}
RESULTS = tuple(_FORMATS)
PAGES = (".html", ".htm")
# Endings that promise another format than that of our own archives.
_NO_ARCHIVE = {*RESULTS, *PAGES, *(each for each in TABLES if each != ".npz")}


@contextmanager
def reporting(
    output: OutputOptions, files: Mapping[str, str | None], inputs: Iterable[str]
) -> Iterator[Progress]:
    """Refuse files that cannot be written, then show progress, notes and what was written."""
    check_outputs(files, inputs)
    progress = Progress(quiet=output.quiet, timings=output.timings)
    with show_progress(not output.quiet), progress.warnings_as_notes():
        yield progress
    for name in filter(None, files.values()):
        progress.show(f"Wrote {name}")
    progress.finish()


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[str]) -> None:
    """Refuse files that cannot be written, before the work begins.

    ``outputs`` are options and the file each names, ``inputs`` files that must not be lost. Pipes
    and devices are good for any number of outputs.
    """
    taken = {os.path.realpath(name) for name in inputs if name != "-"}
    for option, name in outputs.items():
        if name is None:
            continue
        if not name:
            raise InputError(f"The option {option} is empty; expected the name of a file.")
        found = find_destination(name)
        if found.is_folder:
            raise InputError(f"Cannot write {name}: it is a folder; expected a file.")
        if found.is_regular:
            if str(found.path) in taken:
                raise InputError(
                    f"The option {option} names {name}, which this command already uses; choose "
                    "another file."
                )
            taken.add(str(found.path))
            folder = found.path.parent if Path(name).is_symlink() else Path(name).parent
            if not folder.is_dir():
                problem = "is not a folder" if folder.exists() else "does not exist; make it first"
                raise InputError(f"Cannot write {name}: {folder} {problem}.")
            if not os.access(folder, os.W_OK):
                raise InputError(f"Cannot write {name}: the folder {folder} may not be written.")
        if found.before is not None and not os.access(found.path, os.W_OK):
            raise InputError(f"Cannot write {name}: it is write-protected.")


def check_ending(option: str, name: str | None, endings: Sequence[str]) -> None:
    """Refuse a file whose ending is none of those that are written, before the work begins.

    Pipes and devices may have any name, and so may a file of results with --format.
    """
    if name is None or not find_destination(name).is_regular:
        return
    if Path(name).suffix.lower() not in endings:
        one = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
        other = " Or say with --format what to write." if endings == RESULTS else ""
        raise InputError(
            f"The option {option} names {name}, whose ending is no format that is written there; "
            f"expected {one}.{other}"
        )


def check_archive_ending(option: str, name: str | None) -> None:
    """Refuse a file of ours whose ending promises another format; other names are as good."""
    if name is not None and Path(name).suffix.lower() in _NO_ARCHIVE:
        check_ending(option, name, (".npz",))


def check_result_ending(option: str, name: str | None, output: OutputOptions) -> None:
    """Refuse a file of results whose ending says nothing, unless --format says it."""
    if output.output_format is None:
        check_ending(option, name, RESULTS)


def show_result(
    content: dict[str, Any],
    records: Callable[[dict[str, Any]], list[dict[str, Any]]],
    table: Callable[[dict[str, Any]], Table],
    output: OutputOptions,
    out: str | None,
) -> None:
    """Write a result in the requested format, or in that of the file's extension.

    ``content`` is for JSON; ``records`` takes the rows of CSV from it, and ``table`` those for
    people.
    """
    kind = output.output_format
    if kind is None:
        kind = _FORMATS.get(Path(out or "").suffix.lower(), Format.table)
    if kind is Format.json:
        write(as_json(content, indent=2) + "\n", out)
    elif kind is Format.csv:
        write(as_csv(records(content), safe=output.safe_csv), out)
    else:
        show_table(table(content), out)


def show_table(table: Table, out: str | None = None) -> None:
    """Write a table: with lines and colours to a terminal, as plain text everywhere else."""
    if out is not None or sys.stdout is None or not sys.stdout.isatty():
        write(table.text() + "\n", out)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(table.header):
        align: Any = "left" if place < table.left else "right"
        style = "bold" if name == "estimate" else None
        shown.add_column(Text(name), justify=align, style=style, no_wrap=place >= table.left)
    for row, following in pairwise([*table.rows, *table.rows[-1:]]):
        # Where the first of several text columns changes, a new section begins.
        shown.add_row(*map(Text, row), end_section=table.left > 1 and following[0] != row[0])
    console = Console(highlight=False)
    console.print(Text(visible(table.title), style="bold"))
    console.print(shown)
    for line in table.below:
        console.print(Text(visible(line), style="dim"))


def write(text: str, out: str | None) -> None:
    """Write text to a file, or to stdout; always in UTF-8, as whoever reads the data expects."""
    if out is None:
        if sys.stdout is not None and sys.stdout.isatty():
            text = visible(text, lines=True)
        write_stdout(text.encode("utf-8", "replace"))
        flush_stdout()
        return
    with atomic_write(out) as file:
        file.write(text.encode("utf-8", "replace"))


def end_with(failures: Iterable[str]) -> None:
    """Print which diagnostics failed, and end with the exit code for that."""
    sentences = list(failures)
    for sentence in sentences[:_MAX_FAILURES]:
        tell(f"Warning: {sentence}")
    if len(sentences) > _MAX_FAILURES:
        tell(f"Warning: {len(sentences) - _MAX_FAILURES} more like these.")
    if sentences:
        raise typer.Exit(A_DIAGNOSTIC_FAILED)
