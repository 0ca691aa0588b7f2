"""Where an input comes from: a file, or a temporary copy of what can be read only once."""

from __future__ import annotations

import codecs
import gzip
import re
import stat
import sys
import tempfile
import zlib
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from truemix._limits import VARIABLE, max_bytes
from truemix.exceptions import InputError

STDIN = "-"
# Files that are looked for in folders; each may also be compressed (.gz).
TABLES = (
    ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc",
    ".npz",
)  # fmt: skip
_GZIP = b"\x1f\x8b"
# How files begin, and what is in them then. Other files are text.
_BEGINNINGS = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow stream",
    b"FEA1": "Feather version 1",
    b"PK\x03\x04": "NPZ",
    b"PK\x05\x06": "NPZ",
    b"\x93NUMPY": "NPY",
}
# How text begins that is JSON Lines, and that is an array of objects; other text is CSV or TSV.
_JSON_LINES, _JSON_ARRAY = re.compile(rb'\s*\{\s*["}]'), re.compile(rb"\s*\[\s*[\[{]")
_EXTENSIONS = {
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "Arrow"),
    ".npz": "NPZ",
}
# Tables of numbers rarely compress to less than a twentieth; small files may.
_MAX_RATIO = 20
_ALWAYS_ALLOWED = 256 << 20
# What is copied because it can be read only once goes to a disk, not to memory.
_MAX_COPY = 1 << 30


class Budget:
    """Bytes that may still be unpacked in one pass over a file: it must not fill the memory."""

    def __init__(self, what: str, default: int) -> None:
        self._what = what
        self._limit = self._left = max_bytes(default)

    def take(self, n_bytes: int) -> None:
        """Take bytes away, or refuse the file."""
        self.check(n_bytes)
        self._left -= n_bytes

    def check(self, n_bytes: int) -> None:
        """Refuse the file if so much is not left."""
        if n_bytes > self._left:
            limit = self._limit
            shown = f"{limit >> 20:,} MiB" if limit >> 20 else f"{limit:,} bytes"
            raise InputError(
                f"{self._what} more than {shown}, which may be meant to fill the memory or the "
                "disk; if it is what you want to read, set the environment variable "
                f"{VARIABLE} to the number of bytes to allow."
            )


@dataclass(frozen=True)
class RowPart:
    """The rows of a table that have a label in a column, or those that have none."""

    label: str
    labelled: bool


@dataclass(frozen=True)
class Source:
    """An input that can be read more than once; messages call it ``name``.

    ``packed_bytes`` is the size of the file that it was unpacked from, if it was; ``part`` says
    which of its rows are meant, if not all are.
    """

    name: str
    path: Path
    packed_bytes: int | None = None
    part: RowPart | None = None

    def kind(self) -> str:
        """Return what is in the file by how it begins; stdin has no name, and names change."""
        with self.path.open("rb") as file:
            beginning = file.read(1024)
        if not beginning:
            raise InputError(
                f"{self.name} is empty; expected a table with a header and at least one row."
            )
        for start, kind in _BEGINNINGS.items():
            if beginning.startswith(start):
                return kind
        expected = _EXTENSIONS.get(self.path.suffix.lower())
        if expected is not None:
            raise InputError(
                f"{self.name} does not begin like {expected} data; it is damaged or has the wrong "
                "extension. Write it again, or rename it if it holds text."
            )
        text = beginning.removeprefix(codecs.BOM_UTF8)
        if _JSON_LINES.match(text):
            return "JSON Lines"
        return "JSON" if _JSON_ARRAY.match(text) else "text"

    def budget(self) -> Budget:
        """Return how much may be unpacked in one pass over the file."""
        packed = self.path.stat().st_size if self.packed_bytes is None else self.packed_bytes
        return Budget(f"{self.name} unpacks to", max(_ALWAYS_ALLOWED, _MAX_RATIO * packed))


def open_source(argument: str, stack: ExitStack) -> Source:
    """Return the input that a command line argument names; ``stack`` cleans up behind it."""
    return unpacked(find_source(argument, stack), stack)


def find_source(argument: str, stack: ExitStack) -> Source:
    """Return the input that an argument names, as it is: copied, but not unpacked."""
    return _stdin(stack) if argument == STDIN else _file(argument, stack)


def unpacked(source: Source, stack: ExitStack) -> Source:
    """Return what is in a file that may be compressed."""
    try:
        with source.path.open("rb") as file:
            packed = file.read(2) == _GZIP
    except OSError as error:
        raise _unreadable(source.name, error) from None
    if not packed:
        return source
    try:
        # Unpacked once, because a table is read more than once.
        with gzip.open(source.path, "rb") as file:
            copy = _copied(file, source.name, source.budget(), stack)
            return replace(copy, packed_bytes=source.path.stat().st_size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged(source.name, "gzip", error) from None


def damaged(name: str, what: str, error: Exception) -> InputError:
    """Build the sentence for a file that ends early or holds something else."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return InputError(f"{name} is not a complete {what} file ({reason}); write or copy it again.")


def _stdin(stack: ExitStack) -> Source:
    if sys.stdin is None:
        raise InputError("Stdin is closed; send a table to it, or name a file instead of -.")
    try:
        return _copied(sys.stdin.buffer, "stdin", Budget("stdin sends", _MAX_COPY), stack)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"Stdin cannot be read ({reason}); expected a table.") from None


def _file(argument: str, stack: ExitStack) -> Source:
    path = Path(argument)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{argument} is a folder; expected a file.")
        # Opened here, so that a file that may not be read is known at once.
        with path.open("rb") as file:
            if stat.S_ISREG(mode):
                return Source(path.name, path)
            # A pipe can be read only once, like stdin.
            return _copied(file, path.name, Budget(f"{path.name} sends", _MAX_COPY), stack)
    except FileNotFoundError:
        raise InputError(
            f"There is no file {argument}; expected a table (CSV, TSV, JSON Lines, Parquet, Arrow "
            "or NPZ), or - for stdin. Check the name."
        ) from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise _unreadable(argument, error) from None


def _unreadable(name: str, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or error
    return InputError(
        f"The file {name!r} cannot be read ({reason}); check its name and permissions."
    )


def _copied(
    stream: IO[bytes] | gzip.GzipFile, name: str, budget: Budget, stack: ExitStack
) -> Source:
    """Copy a stream to a file that goes away with ``stack``: formats are read in any order."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="truemix-"))
    path = Path(folder) / "copy"
    with path.open("wb") as file:
        while data := stream.read(1 << 20):
            budget.take(len(data))
            file.write(data)
    return Source(name, path)
