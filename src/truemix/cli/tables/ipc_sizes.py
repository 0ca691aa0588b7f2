"""How much the batches of an Arrow file unpack to, as they say themselves, before any is unpacked.

pyarrow unpacks a batch as a whole, and trusts what it says. The sizes stand in front of the packed
buffers; where those are is in the metadata, a flat buffer of which this module reads the few fields
that it needs (``Message.fbs`` and ``File.fbs`` of the Arrow format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"ARROW1"
_CONTINUES = 0xFFFFFFFF
_DICTIONARY, _RECORDS = 2, 3


@dataclass(frozen=True)
class Batch:
    """A batch in a file: its place among batches of its kind is the order of these."""

    is_dictionary: bool
    unpacked: int


def batches_in(data: memoryview) -> Iterator[Batch]:
    """Yield the batches of a file or of a stream; ``struct.error`` if its metadata are damaged."""
    places = _in_file(data) if bytes(data[: len(MAGIC)]) == MAGIC else _in_stream(data)
    for start in places:
        batch = _batch(data, start)
        if batch is not None:
            yield batch


def _in_file(data: memoryview) -> Iterator[int]:
    end = len(data) - len(MAGIC) - 4
    footer = _Flat.root(data, end - _read(data, end, "<i"))
    for field in (2, 3):
        for place in footer.structs(field, 24):
            yield _read(data, place, "<q")


def _in_stream(data: memoryview) -> Iterator[int]:
    start = 0
    while start + 8 <= len(data):
        metadata, size = _metadata(data, start)
        if not size:
            return
        yield start
        length = _Flat.root(data, metadata).number(3, "<q")
        if length < 0:
            raise struct.error("a negative length")
        start = metadata + size + length


def _metadata(data: memoryview, start: int) -> tuple[int, int]:
    """Return where the metadata of a message begin, and their size."""
    if start < 0:
        raise struct.error("a negative place")
    mark, size = struct.unpack_from("<II", data, start)
    # Before version 0.15 there was no mark.
    return (start + 8, size) if mark == _CONTINUES else (start + 4, mark)


def _batch(data: memoryview, start: int) -> Batch | None:
    metadata, size = _metadata(data, start)
    message = _Flat.root(data, metadata)
    kind = message.number(1, "<B")
    if kind not in {_DICTIONARY, _RECORDS}:
        return None
    records = message.table(2)
    if kind == _DICTIONARY and records is not None:
        records = records.table(1)
    if records is None:
        raise struct.error("a batch without contents")
    packed = records.table(3) is not None
    unpacked = 0
    for place in records.structs(2, 16):
        offset, length = struct.unpack_from("<qq", data, place)
        if packed and length >= 8:
            own = _read(data, metadata + size + offset, "<q")
            # What does not become smaller is not packed, and says -1.
            length = max(own, length - 8)
        unpacked += max(length, 0)
    return Batch(kind == _DICTIONARY, unpacked)


@dataclass(frozen=True)
class _Flat:
    """A table in a flat buffer, and where its fields are."""

    data: memoryview
    start: int

    @classmethod
    def root(cls, data: memoryview, start: int) -> _Flat:
        return cls(data, start + _read(data, start, "<I"))

    def table(self, field: int) -> _Flat | None:
        place = self._place(field)
        return None if place is None else _Flat(self.data, place + _read(self.data, place, "<I"))

    def number(self, field: int, form: str) -> int:
        place = self._place(field)
        return 0 if place is None else _read(self.data, place, form)

    def structs(self, field: int, size: int) -> range:
        """Return where the entries of a list are."""
        place = self._place(field)
        if place is None:
            return range(0)
        start = place + _read(self.data, place, "<I")
        length = _read(self.data, start, "<I")
        if start + 4 + length * size > len(self.data):
            raise struct.error("a list beyond the end")
        return range(start + 4, start + 4 + length * size, size)

    def _place(self, field: int) -> int | None:
        fields = self.start - _read(self.data, self.start, "<i")
        if 4 + 2 * field >= _read(self.data, fields, "<H"):
            return None
        offset = _read(self.data, fields + 4 + 2 * field, "<H")
        return self.start + offset if offset else None


def _read(data: memoryview, place: int, form: str) -> int:
    if place < 0:
        raise struct.error("a negative place")
    return int(struct.unpack_from(form, data, place)[0])
