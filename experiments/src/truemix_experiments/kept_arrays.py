"""Arrays that are kept between runs, each file with the checksum that it is verified by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._typing import AnyArray
from truemix_experiments.files import atomic_write, read_npz


def write(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Keep arrays in a file, and its SHA-256 in another beside it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot make the folder {str(path.parent)!r} ({error.strerror}); give another."
        ) from None
    contents: dict[str, Any] = dict(arrays)
    with atomic_write(path) as file:
        np.savez(file, **contents)
    with atomic_write(_checksum_file(path)) as file:
        # The format of the command sha256sum.
        file.write(f"{_sha256(path)}  {path.name}\n".encode())


def read(path: Path, required: Sequence[str]) -> dict[str, AnyArray]:
    """Return the arrays of a file whose checksum is right."""
    checksum = _checksum_file(path)
    remedy = "Delete it, and it will be made again."
    try:
        expected = checksum.read_text().split()[0]
        found = _sha256(path)
    except (OSError, IndexError, UnicodeDecodeError):
        raise InputError(
            f"The file {str(path)!r} has no readable checksum in {checksum.name!r} beside "
            f"it. {remedy}"
        ) from None
    if found != expected:
        raise InputError(
            f"The file {str(path)!r} is damaged: its SHA-256 is {found[:12]}…, but "
            f"{expected[:12]}… was recorded when it was written. {remedy}"
        )
    return read_npz(path, required)


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
