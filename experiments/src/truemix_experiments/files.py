"""Files are written whole or not at all, and read as the work of a stranger."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._typing import AnyArray

# What comes before the checksum in a Parquet file, and what is in its place while it is computed.
MARK, ZEROS = b"truemix sha256 ", 64 * b"0"
PLACE = {b"truemix.checksum": MARK + ZEROS}
# Far above the size of any result.
MAX_BYTES = 256 << 20


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its place only when the block ends without an error.

    Until then its name begins with a dot.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note") as file:
    ...         _ = file.write(b"done")
    ...     (Path(folder) / "note").read_text()
    'done'
    """
    part = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    try:
        with part.open("xb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise InputError(
            f"Cannot write {str(path)!r} ({error.strerror or error}); expected a folder that "
            "exists and can be written to."
        ) from None
    finally:
        with suppress(OSError):
            part.unlink()


def sealed(content: bytes) -> bytes:
    """Return a Parquet file with the SHA-256 of all its bytes in the place that is kept for it.

    Parquet would parse a file, and may crash, before it found that one is damaged.
    """
    start, mark, rest = content.partition(MARK)
    if not mark or MARK in rest or len(rest) < len(ZEROS):
        raise ValueError("it has no checksum")
    rest = rest[len(ZEROS) :]
    digest = hashlib.sha256(start + mark + ZEROS + rest)
    return start + mark + digest.hexdigest().encode() + rest


def intact(path: Path) -> bytes:
    """Return the bytes of a Parquet file that :func:`sealed` made, or raise a ValueError."""
    if path.stat().st_size > MAX_BYTES:
        raise ValueError("it is too large")
    content = path.read_bytes()
    if sealed(content) != content:
        raise ValueError("its checksum is wrong")
    return content


def read_json(text: bytes) -> Any:
    """Return the value of a JSON text that can be written again as it is, or raise a ValueError.

    Examples
    --------
    >>> read_json(b'{"shares": [0.5, 0.5]}')
    {'shares': [0.5, 0.5]}
    >>> read_json(b'{"a": 1, "a": 1e999}')
    Traceback (most recent call last):
    ...
    ValueError: its JSON cannot be read
    """
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_object)
        # Halves of characters, and numbers that overflow.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (RecursionError, ValueError):
        raise ValueError("its JSON cannot be read") from None
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def read_npz(path: Path, required: Sequence[str]) -> dict[str, AnyArray]:
    """Return all arrays of a file that must hold at least those that are required."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    # Zip and NumPy raise whatever their parts raise on bytes that are not what they should be.
    except Exception as error:
        raise InputError(
            f"The file {str(path)!r} cannot be read as a NumPy archive ({error}); expected an "
            f".npz file with {' and '.join(required)}, without Python objects. Save it again."
        ) from None
    missing = [name for name in required if name not in arrays]
    if missing:
        raise InputError(
            f"The file {str(path)!r} has no array {missing[0]!r} (it has "
            f"{', '.join(arrays) or 'none'}); expected {', '.join(required)}."
        )
    return arrays
