"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from truemix.exceptions import InputError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place only when the block ends without an error.

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
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(
            f"Cannot write {str(target)!r} ({error.strerror}); expected a folder that exists and "
            "can be written to."
        ) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # mkstemp makes files private; a result should be as readable as any other new file.
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"Cannot write {str(target)!r} ({error.strerror}).") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
