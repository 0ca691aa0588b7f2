"""Archives of arrays and a JSON header: NumPy files that are read without running any code.

An archive (``.npz``, readable without truemix) holds arrays and a JSON header (the byte array
``truemix``) that starts with the kind of file, the format number and the version that wrote it. The
last bytes of the file, a comment to zip, are the SHA-256 of all others: damage and edits are
detected before anything is parsed. As anybody can compute a checksum, the contents are still
treated as untrusted. Members are not compressed: a file cannot unpack to more than its size.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from truemix._escaping import visible
from truemix._files import atomic_write
from truemix._strict_json import read_json
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
HEADER = "truemix"
_SEAL = b"truemix sha256 "
_SEAL_BYTES = len(_SEAL) + 2 * hashlib.sha256().digest_size
_BLOCK = 1 << 20
# No quantifier has nearly as many arrays; each entry of zip's directory takes far more memory than
# bytes in the file.
_MAX_MEMBERS = 1_000
_DIRECTORY_ENTRY = b"PK\x01\x02"
_FILE_ENTRY = b"PK\x03\x04"
_NAME = re.compile(r"([a-z][a-z0-9_]*)\.npy")
_TYPE = re.compile(r"<f8|[<|][iu][1248]|\|b1|<U[1-9][0-9]{0,8}|\|S[1-9][0-9]{0,8}")
_ARRAY_START = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)\{'descr': '(?P<type>[<|][a-zA-Z][0-9]{1,9})', "
    rb"'fortran_order': False, 'shape': (?P<shape>\([0-9, ]{0,80}\)), \} *\n",
    re.DOTALL,
)
# The header is the first member, and its kind the first entry of it.
_KIND = re.compile(rb'\{"kind": "(truemix [a-z ]{1,40})"')
_LARGEST_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_LONGEST_REASON = 300


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
    format: int = 2

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
    try:
        text = json.dumps(full, allow_nan=False).encode()
        # What could not be read again is not written.
        read_json(text)
        members = {
            name: _written(array)
            for name, array in {HEADER: np.frombuffer(text, dtype=np.uint8), **arrays}.items()
        }
    except ValueError as error:
        raise InputError(f"This {kind.noun} cannot be saved: {error}.") from None
    with atomic_write(path) as file:
        sealing = _Sealing(file)
        # Given a stream that cannot go back, zip writes each byte once and in order.
        with zipfile.ZipFile(sealing, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload]
            archive.comment = _Sealing.PLACE
            for name, (start, values) in members.items():
                large = values.nbytes >= zipfile.ZIP64_LIMIT // 2
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=large) as member:
                    member.write(start)
                    member.write(values)
        file.write(sealing.seal())


def read_archive(
    path: str | os.PathLike[str], kind: ArchiveKind
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the header and the arrays of a file, or raise an error that names the reason."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode) and not Path(path).is_dir():
            raise InputError(f"{os.fspath(path)!r} is not a regular file; expected a file.")
        with Path(path).open("rb") as file:
            arrays = _read_members(file, _check_seal(file))
        header = read_json(arrays.pop(HEADER).tobytes())
        found, number = header.pop("kind"), header.pop("format")
        if not isinstance(found, str) or type(number) is not int:
            raise ValueError("its header says neither what it is nor in which format")
        if not isinstance(header["version"], str):
            raise ValueError("its header does not say which version wrote it")
    except FileNotFoundError:
        raise InputError(f"There is no file {os.fspath(path)!r}.") from None
    except IsADirectoryError:
        raise InputError(f"{os.fspath(path)!r} is a folder; expected a file.") from None
    except PermissionError:
        raise InputError(f"The file {os.fspath(path)!r} may not be read.") from None
    except InputError:
        raise
    except UNREADABLE as error:
        raise damaged(path, kind, error) from None
    if found != kind.name:
        raise InputError(
            f"The file {os.fspath(path)!r} holds a {found[:60]!r}; expected a {kind.name}."
        )
    if number != kind.format:
        raise InputError(
            f"The file {os.fspath(path)!r} has format {number}, this version of truemix "
            f"({__version__}) reads format {kind.format}; use the version {header['version']!r} "
            "that wrote it, or save it again."
        )
    return header, arrays


def is_archive(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like an archive of truemix, even if it is truncated."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(64)
    except OSError:
        return False
    # The name of a member follows 30 bytes about it.
    return start.startswith(_FILE_ENTRY) and start[30:].startswith(f"{HEADER}.npy".encode())


def archive_kind(path: str | os.PathLike[str]) -> str | None:
    """Return which kind of archive a file begins like, or None if it is none."""
    if not is_archive(path):
        return None
    with Path(path).open("rb") as file:
        found = _KIND.search(file.read(1024))
    return None if found is None else found[1].decode()


def damaged(path: str | os.PathLike[str], kind: ArchiveKind, error: Exception) -> InputError:
    """Return the error for a file with inconsistent contents."""
    # Our own checks have useful messages; of library errors only the type is shown.
    known = type(error) in (InputError, ValueError) and str(error)
    reason = visible(str(error)).rstrip(".") if known else type(error).__name__
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    return InputError(
        f"The file {os.fspath(path)!r} is damaged, was changed, or is not a saved {kind.noun} "
        f"({reason}); expected a file that {kind.writer} of this version has written."
    )


# --- the checksum -----------------------------------------------------------------------------


class _Sealing:
    """A stream that passes on all that is written but zip's comment, and knows its SHA-256."""

    PLACE = bytes(_SEAL_BYTES)

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest = file, hashlib.sha256()
        self._last = b""

    def write(self, data: Any) -> int:
        # The comment comes last: so many bytes are held back until others follow.
        view = memoryview(data)
        most = view[: max(len(view) - _SEAL_BYTES, 0)]
        rest = (b"" if most else self._last) + view[len(most) :]
        if most:
            self._pass_on(self._last)
            self._pass_on(most)
        else:
            self._pass_on(rest[:-_SEAL_BYTES])
        self._last = rest[-_SEAL_BYTES:]
        return len(view)

    def _pass_on(self, data: bytes | memoryview) -> None:
        self._digest.update(data)
        self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def seal(self) -> bytes:
        """Return what takes the place of the comment."""
        return _SEAL + self._digest.hexdigest().encode()


def _check_seal(file: BinaryIO) -> int:
    """Return the size of a file that ends with the SHA-256 of what is before, or raise."""
    size = file.seek(0, os.SEEK_END)
    if size < _SEAL_BYTES:
        raise ValueError("it is too short")
    file.seek(size - _SEAL_BYTES)
    seal = file.read(_SEAL_BYTES)
    if not seal.startswith(_SEAL):
        raise ValueError("it has no checksum")
    file.seek(0)
    digest, left, n_entries = hashlib.sha256(), size - _SEAL_BYTES, 0
    while left and (block := file.read(min(_BLOCK, left))):
        digest.update(block)
        n_entries += block.count(_DIRECTORY_ENTRY)
        left -= len(block)
    if left or seal != _SEAL + digest.hexdigest().encode():
        raise ValueError("its checksum is wrong")
    if n_entries > _MAX_MEMBERS:
        raise ValueError("it holds too many arrays")
    return size


# --- the arrays -------------------------------------------------------------------------------


def _read_members(file: BinaryIO, size: int) -> dict[str, AnyArray]:
    arrays: dict[str, AnyArray] = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        # Entries of the directory may name the same bytes, which would count for each.
        if sum(member.file_size for member in members) > size:
            raise ValueError("its arrays are larger than the file")
        for member in members:
            name = _NAME.fullmatch(member.filename)
            if name is None or name[1] in arrays:
                raise ValueError(f"it holds {member.filename[:40]!r}, or holds it twice")
            stored = member.compress_type == zipfile.ZIP_STORED
            if not stored or member.compress_size != member.file_size:
                raise ValueError("its arrays are compressed")
            arrays[name[1]] = _read_array(_read_member(archive, member), name[1])
    return arrays


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """Return the bytes of a member, in a buffer that arrays can be changed in."""
    buffer = bytearray(info.file_size)
    view, at = memoryview(buffer), 0
    with archive.open(info) as member:
        while block := member.read(_BLOCK):
            if at + len(block) > len(buffer):
                raise ValueError("its arrays are longer than it says")
            view[at : at + len(block)] = block
            at += len(block)
    if at != len(buffer):
        raise ValueError("its arrays are shorter than it says")
    return buffer


def _read_array(content: bytearray, name: str) -> AnyArray:
    """Return an array in NumPy's format, of the few types and the one order that are written."""
    found = _ARRAY_START.match(content)
    if found is None or int.from_bytes(found["length"], "little") != found.end() - 10:
        raise ValueError(f"{name} is no array of numbers or text")
    kind, text = found["type"].decode(), found["shape"].decode()
    shape = tuple(int(part) for part in text.strip("()").split(",") if part.strip())
    if not _TYPE.fullmatch(kind) or repr(shape) != text:
        raise ValueError(f"{name} is no array of numbers or text")
    dtype = np.dtype(kind)
    if math.prod(shape) * dtype.itemsize != len(content) - found.end():
        raise ValueError(f"{name} is shorter or longer than its shape")
    array = np.frombuffer(content, dtype=dtype, offset=found.end()).reshape(shape)
    _check_elements(array, name)
    return array


def _check_elements(array: AnyArray, name: str) -> None:
    """Raise for bytes that are no valid elements of this type."""
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError(f"{name} holds truth values that are neither true nor false")
    if array.dtype.kind == "U":
        points = array.reshape(-1).view(np.uint32)
        halves = (points >= _SURROGATES[0]) & (points <= _SURROGATES[1])
        if (halves | (points > _LARGEST_CODE_POINT)).any():
            raise ValueError(f"{name} holds text that is no Unicode")


def _written(array: AnyArray) -> tuple[bytes, AnyArray]:
    """Return how an array begins in NumPy's format, and its bytes."""
    array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    kind = array.dtype.str
    if not _TYPE.fullmatch(kind):
        raise ValueError(f"it holds values of type {array.dtype}")
    values = array.reshape(-1).view(np.uint8)
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {array.shape!r}, }}"
    # The numbers begin at a multiple of 64 bytes, as those that NumPy writes.
    padded = text + " " * (-(10 + len(text) + 1) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode()
    if array.dtype.kind == "U":
        _check_elements(array, "a name")
    return start, values
