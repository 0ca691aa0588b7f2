"""Where results go: stdout or a file that appears whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from truemix._escaping import escaped_json, visible
from truemix._files import atomic_write, find_destination
from truemix.cli._options import Format
from truemix.cli._streams import flush_stdout, tell, write_stdout
from truemix.exceptions import InputError

A_DIAGNOSTIC_FAILED = 3
_MOST_FAILURES = 5
# What begins a formula, also behind characters that spreadsheets skip.
FORMULA = r"^[=+\-@\t\r\n]"
_FORMULA = re.compile(FORMULA)


def check_outputs(outputs: dict[str, str | None], inputs: Iterable[str] = ()) -> None:
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
            _check_folder(name, found.path.parent if Path(name).is_symlink() else Path(name).parent)
        if found.before is not None and not os.access(found.path, os.W_OK):
            raise InputError(f"Cannot write {name}: it is write-protected.")


def _check_folder(name: str, folder: Path) -> None:
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist; make it first"
        raise InputError(f"Cannot write {name}: {folder} {problem}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"Cannot write {name}: the folder {folder} may not be written.")


def chosen_format(given: Format | None, out: str | None) -> Format:
    """Return the format that was asked for, or that the file's extension says."""
    if given is not None or out is None:
        return given or Format.table
    extension = Path(out).suffix.lower().removeprefix(".")
    return Format(extension) if extension in {"json", "csv"} else Format.table


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


def as_json(content: Any) -> str:
    """Return content as JSON for people and programs."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    return escaped_json(text) + "\n"


def as_csv(header: Sequence[str], rows: Iterable[Sequence[Any]], *, safe: bool = False) -> str:
    """Return rows as CSV, with all digits of numbers and nothing for None.

    With ``safe``, no text is a formula to a spreadsheet.

    Examples
    --------
    >>> print(as_csv(["class", "share"], [["a, b", 0.25], ["c", None]]), end="")
    class,share
    "a, b",0.25
    c,
    """
    lines = _Lines()
    # Up to Python 3.12 only what is in the end of a line is quoted, and both ends must be.
    writer = csv.writer(lines, lineterminator="\r\n")
    for row in chain([header], rows):
        writer.writerow([no_formula(cell) for cell in row] if safe else row)
    return "".join(lines.parts)


class _Lines:
    """What is written, line by line, with the end of a line that all systems understand."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, line: str) -> None:
        """Take a line."""
        self.parts.append(line.removesuffix("\r\n") + "\n")


def no_formula(cell: Any) -> Any:
    """Return a cell that a spreadsheet shows as it is; only text can be a formula.

    Examples
    --------
    >>> no_formula("=1+1"), no_formula("1+1"), no_formula(-1)
    ("'=1+1", '1+1', -1)
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def end_with(failures: Iterable[str]) -> None:
    """Say which diagnostics failed, and let the exit code tell it too."""
    sentences = list(failures)
    for sentence in sentences[:_MOST_FAILURES]:
        tell(f"Warning: {sentence}")
    if len(sentences) > _MOST_FAILURES:
        tell(f"Warning: {len(sentences) - _MOST_FAILURES} more like these.")
    if sentences:
        raise typer.Exit(A_DIAGNOSTIC_FAILED)
