"""Numbers and text in one file: a NumPy archive that is read without running any code.

An archive (``.npz``, readable without truemix) holds arrays and a JSON header that starts with
what is in the file, the format's number and the version that wrote it.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truemix._files import atomic_write
from truemix._typing import AnyArray
from truemix._version import __version__
from truemix.exceptions import InputError

# What zip, zlib, NumPy and JSON raise on bytes that are not what they should be.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class ArchiveKind:
    """What a file holds.

    Attributes
    ----------
    noun : str
        What is in it, as in "a saved quantifier".
    writer : str
        The public name of what writes it, for messages.
    format : int
        Number of the format; raised when older versions cannot read it any more.
    """

    noun: str
    writer: str
    format: int = 1

    @property
    def name(self) -> str:
        """The kind as it stands in the file."""
        return f"truemix {self.noun}"


def write_archive(
    path: str | os.PathLike[str],
    kind: ArchiveKind,
    header: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
) -> None:
    """Write arrays of numbers or text and a header that JSON can hold; whole or not at all.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> kind = ArchiveKind("note", "write_archive")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "note")
    ...     write_archive(path, kind, {"of": "today"}, {"numbers": np.arange(3)})
    ...     header, arrays = read_archive(path, kind)
    >>> header["of"], arrays["numbers"]
    ('today', array([0, 1, 2]))
    """
    full = {"kind": kind.name, "format": kind.format, "version": __version__, **header}
    text = np.frombuffer(json.dumps(full, allow_nan=False).encode(), dtype=np.uint8)
    contents: dict[str, Any] = {"header": text, **arrays}
    with atomic_write(path) as file:
        np.savez_compressed(file, **contents)


def read_archive(
    path: str | os.PathLike[str], kind: ArchiveKind
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the header and the arrays of a file, or say why it cannot be read."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        found, number = header["kind"], header["format"]
    except FileNotFoundError:
        raise InputError(f"There is no file {os.fspath(path)!r}.") from None
    except IsADirectoryError:
        raise InputError(f"{os.fspath(path)!r} is a folder; expected a file.") from None
    except PermissionError:
        raise InputError(f"The file {os.fspath(path)!r} may not be read.") from None
    except UNREADABLE as error:
        raise damaged(path, kind, error) from None
    if found != kind.name:
        raise InputError(f"The file {os.fspath(path)!r} holds a {found!r}; expected a {kind.name}.")
    if number != kind.format:
        raise InputError(
            f"The file {os.fspath(path)!r} has format {number}, this version of truemix "
            f"({__version__}) reads format {kind.format}; update truemix."
        )
    return header, arrays


def damaged(path: str | os.PathLike[str], kind: ArchiveKind, error: Exception) -> InputError:
    """Build the sentence for a file whose contents do not fit together."""
    return InputError(
        f"The file {os.fspath(path)!r} is damaged or not a saved {kind.noun} "
        f"({type(error).__name__}); expected a file that {kind.writer} has written."
    )
