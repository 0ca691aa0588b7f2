"""Where an input comes from: a file, or stdin kept in a temporary file while it is needed."""

from __future__ import annotations

import stat
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from truemix._limits import max_bytes
from truemix.cli._budget import LARGEST_COPY, too_large
from truemix.exceptions import InputError

STDIN = "-"
# How files begin, and what is in them then. Other files are text.
_BEGINNINGS = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow stream",
    b"FEA1": "Feather version 1",
    b"PK\x03\x04": "NPZ",
    b"PK\x05\x06": "NPZ",
    b"\x93NUMPY": "NPY",
    b"\x1f\x8b": "gzip",
}
_EXTENSIONS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".npz": "NPZ",
}


@dataclass(frozen=True)
class Source:
    """An input that can be read more than once.

    Attributes
    ----------
    name : str
        How messages call it: the file's name, or "stdin".
    path : Path
        The file to read.
    """

    name: str
    path: Path

    def kind(self) -> str:
        """Return what is in the file, by how it begins; "text" if it is no known format.

        Contents count, not the name: stdin has none, and files are renamed.
        """
        with self.path.open("rb") as file:
            beginning = file.read(8)
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
        return "text"


def open_source(argument: str, stack: ExitStack) -> Source:
    """Return the input that a command line argument names; ``stack`` cleans up behind it."""
    if argument == STDIN:
        if sys.stdin is None:
            raise InputError("Stdin is closed; send a table to it, or name a file instead of -.")
        try:
            return Source("stdin", _kept(sys.stdin.buffer, "stdin", stack))
        except OSError as error:
            raise InputError(
                f"Stdin cannot be read ({error.strerror or error}); expected a table."
            ) from None
    path = Path(argument)
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            # Opened here, so that a file that may not be read is known at once.
            path.open("rb").close()
            return Source(path.name, path)
        if not stat.S_ISDIR(mode):
            # A pipe can be read only once, like stdin.
            with path.open("rb") as pipe:
                return Source(path.name, _kept(pipe, path.name, stack))
    except FileNotFoundError:
        raise InputError(
            f"There is no file {argument}; expected a table (CSV, TSV, Parquet, Arrow or NPZ), or "
            "- for stdin. Check the name."
        ) from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"The file {argument!r} cannot be read ({reason}); check its name and permissions."
        ) from None
    raise InputError(f"{argument} is a folder; expected a file.")


def _kept(stream: BinaryIO, name: str, stack: ExitStack) -> Path:
    """Copy a stream to a file that goes away with ``stack``: formats are read in any order."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="truemix-"))
    path = Path(folder) / "stdin"
    limit = max_bytes(LARGEST_COPY)
    with path.open("wb") as file:
        while data := stream.read(1 << 20):
            if file.tell() + len(data) > limit:
                raise too_large(f"{name} sends more than", limit)
            file.write(data)
    return path
