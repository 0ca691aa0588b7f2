"""Atomic writing of files; pipes and devices are written to, never replaced."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from truemix.exceptions import InputError

# What goes to a pipe or a device is kept in memory up to this size, and in a file beyond it.
_IN_MEMORY = 64 << 20
# As many as Linux follows.
_MAX_LINKS = 40


@dataclass(frozen=True)
class Destination:
    """Where the name of an output leads.

    Attributes
    ----------
    path : Path
        The file behind all symbolic links.
    before : stat_result or None
        What is there already.
    descriptor : int or None
        The number of an open file of this process, for names such as ``/dev/stdout``.
    """

    path: Path
    before: os.stat_result | None
    descriptor: int | None = None

    @property
    def is_regular(self) -> bool:
        """Whether it is a regular file, or becomes one; pipes, terminals and devices are not."""
        return self.descriptor is None and (
            self.before is None or stat.S_ISREG(self.before.st_mode)
        )

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.before is not None and stat.S_ISDIR(self.before.st_mode)


def find_destination(path: str | os.PathLike[str]) -> Destination:
    """Follow all symbolic links of the name of an output."""
    try:
        descriptor = _own_descriptor(Path(path))
        if descriptor is not None:
            return Destination(Path(path), None, descriptor)
        try:
            before = Path(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            before = None
        return Destination(Path(os.path.realpath(path)), before)
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from None


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place only when the block ends without an error.

    A symbolic link stays, and the file that it leads to is replaced. A file that is replaced hands
    down its mode, and its owner and group as far as the system allows. Its other names (hard links)
    keep the old contents: no system replaces a file under all its names at once. What is not a
    regular file (a pipe, a terminal, a device, an open file such as ``/dev/stdout``) gets
    everything when the block has ended without an error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note") as file:
    ...         _ = file.write(b"done")
    ...     (Path(folder) / "note").read_text()
    'done'
    """
    found = find_destination(path)
    if found.is_folder:
        raise InputError(f"Cannot write {os.fspath(path)!r}: it is a folder; expected a file.")
    with _replaced(found, path) if found.is_regular else _passed_on(found, path) as file:
        yield file


@contextmanager
def _replaced(found: Destination, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    try:
        if found.before is not None and not os.access(found.path, os.W_OK):
            raise PermissionError(0, "it is write-protected")
        handle, part = create_part(found.path, private=found.before is not None)
    except OSError as error:
        remedy = "; expected a folder that exists and can be written to"
        raise _cannot_write(path, error, remedy if found.before is None else "") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        if found.before is not None:
            _hand_down(found.before, part)
        part.replace(found.path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from None
        raise


@contextmanager
def _passed_on(found: Destination, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    # Buffered, because some formats need a seekable file, and unfinished output is not passed on.
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
        yield cast(BinaryIO, kept)
        kept.seek(0)
        try:
            # A duplicate descriptor keeps the position of the open file; opening it anew does not.
            where = found.path if found.descriptor is None else os.dup(found.descriptor)
            with open(where, "wb") as file:  # noqa: PTH123
                shutil.copyfileobj(kept, file, 1 << 20)
        except BrokenPipeError:
            # The reader has closed the pipe, which is no failure.
            raise
        except OSError as error:
            raise _cannot_write(path, error) from None


def create_part(path: Path, *, private: bool) -> tuple[int, Path]:
    """Make a new file beside ``path``, and return it open, with its name."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # A name of its own length would be too long where that of the file is nearly so.
    part = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    return os.open(part, flags, 0o600 if private else 0o666), part


def _hand_down(before: os.stat_result, part: Path) -> None:
    """Give a file the owner and the mode of the one that it replaces."""
    now = part.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        # Only root may give files away; a group of one's own is allowed to all.
        for owner, group in ((before.st_uid, before.st_gid), (-1, before.st_gid)):
            with suppress(OSError):
                os.chown(part, owner, group)
                break
    mode = stat.S_IMODE(before.st_mode)
    if part.stat().st_gid != before.st_gid:
        # What one group may do is not for another one.
        mode &= ~stat.S_IRWXG
    part.chmod(mode)


def _own_descriptor(path: Path) -> int | None:
    """Return the number of an open file if a path is another name of it, as ``/dev/stdout`` is."""
    own = f"/proc/{os.getpid()}/fd"
    for _ in range(_MAX_LINKS):
        if path.name.isdecimal() and os.path.realpath(path.parent) == own:
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def _cannot_write(
    path: str | os.PathLike[str], error: OSError | ValueError, remedy: str = ""
) -> InputError:
    reason = getattr(error, "strerror", None) or error
    return InputError(f"Cannot write {os.fspath(path)!r} ({reason}){remedy}.")
