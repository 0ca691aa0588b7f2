"""Saved files taken apart and put together again by other means than truemix's."""

import hashlib
import io
import json
import zipfile

import numpy as np

MARK = b"truemix sha256 "


def contents(path):
    """Return the header and the arrays of a saved file."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    return json.loads(arrays.pop("truemix").tobytes()), arrays


def npy(array):
    """Return an array as a file of NumPy."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def zipped(members, compression=zipfile.ZIP_STORED):
    """Return a zip file with a right checksum, from names and bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.comment = bytes(len(MARK) + 64)
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return seal(file.getvalue())


def seal(whole):
    """Return the bytes of a file with the checksum that belongs to them."""
    begin = whole[: -len(MARK) - 64]
    return begin + MARK + hashlib.sha256(begin).hexdigest().encode()


def sealed(header, arrays):
    """Return a saved file with this header, as a mapping or as JSON, and these arrays."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    first = np.frombuffer(text, dtype=np.uint8)
    members = {"truemix": first, **arrays}
    return zipped((f"{name}.npy", npy(array)) for name, array in members.items())
