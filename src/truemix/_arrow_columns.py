"""Normalise Arrow columns: the many types that libraries write become the few we compute with.

Types are checked against the role of their column before any value is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix._escaping import visible
from truemix._typing import FloatArray
from truemix.exceptions import InputError

TEXT, NUMBERS, TRUTH, DATES, TIMES, NOTHING = (
    "text", "numbers", "truth values", "dates", "times of day", "nothing",
)  # fmt: skip
# What a column may hold, by its role; a column without any value is refused by row.
_EXPECTED = {
    "label": (
        {TEXT, NUMBERS, TRUTH, NOTHING},
        "labels must be text, whole numbers or truth values. Write them as text.",
    ),
    "decision": (
        {TEXT, NUMBERS, TRUTH, NOTHING},
        "decisions must be text, whole numbers or truth values. Write them as text.",
    ),
    "group": (
        {TEXT, NUMBERS, TRUTH, DATES, TIMES, NOTHING},
        "groups must be text, numbers, truth values, dates or times of day. Write them as text.",
    ),
    "kept": (
        {TEXT, NUMBERS, TRUTH, DATES, TIMES, NOTHING},
        "text formats hold single values. Write .parquet or .arrow, or leave it out of --keep.",
    ),
    "posterior": ({NUMBERS, TRUTH, NOTHING}, "expected numbers. Write it as numbers."),
    "feature": (
        {TEXT, NUMBERS, TRUTH, DATES, NOTHING},
        "features must be numbers, text, truth values or dates. Drop the column.",
    ),
}
# Extension types that are text, numbers or truth values in another form.
_UUID, _JSON, _BOOL8 = "arrow.uuid", "arrow.json", "arrow.bool8"
_EXTENSIONS = {_UUID: TEXT, _JSON: TEXT, _BOOL8: TRUTH}
_MEANINGS = (
    (pa.types.is_boolean, TRUTH),
    (pa.types.is_integer, NUMBERS),
    (pa.types.is_floating, NUMBERS),
    (pa.types.is_decimal, NUMBERS),
    (pa.types.is_date, DATES),
    (pa.types.is_timestamp, DATES),
    (pa.types.is_time, TIMES),
    (pa.types.is_null, NOTHING),
    (pa.types.is_string, TEXT),
    (pa.types.is_large_string, TEXT),
    (pa.types.is_string_view, TEXT),
)
_DAY = 86_400
# Python's dates are of the years 1 to 9999; a day less, for time zones.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800 + _DAY, 253_402_300_799 - _DAY
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def meaning(kind: pa.DataType) -> str | None:
    """Return what a column of this type holds, or None for what is no single value."""
    if isinstance(kind, pa.BaseExtensionType):
        return _EXTENSIONS.get(kind.extension_name)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return meaning(kind.value_type)
    return next((noun for fits, noun in _MEANINGS if fits(kind)), None)


def check_type(kind: pa.DataType, role: str, column: str) -> None:
    """Raise for a column whose type does not fit its role; ``column`` names it in the message."""
    allowed, expected = _EXPECTED[role]
    found = meaning(kind)
    if found not in allowed:
        held = f"is of type {shown_type(kind)}" if found is None else f"holds {found}"
        raise InputError(f"{column} {held}; {expected}")
    if found == DATES:
        _check_zone(kind, column)


def shown_type(kind: pa.DataType) -> str:
    """Return the name of a type for a message: those of structs are as long as a table."""
    text = visible(str(kind))
    return text if len(text) <= 80 else f"{text[:80]}…"


def _check_zone(kind: pa.DataType, column: str) -> None:
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    if zone is None:
        return
    try:
        pa.scalar(0, pa.timestamp("s", zone)).as_py()
    except Exception:
        # pyarrow asks whichever library of time zones is there, and each has its own errors.
        raise InputError(
            f"{column} has times of the unknown time zone {zone[:40]!r}; write them in UTC."
        ) from None


def usual(column: pa.Array) -> pa.Array:
    """Return a column in the most common of the types that mean the same.

    Text becomes ``string`` or a dictionary of it without nulls; there are no other dictionaries
    then, no runs and no extension types. What is no single value (a list, a struct, …) is returned
    as it is.

    Examples
    --------
    >>> usual(pa.array(["a", "b"], pa.string_view())).type
    DataType(string)
    """
    kind = column.type
    if meaning(kind) is None:
        return column
    if isinstance(kind, pa.BaseExtensionType):
        return _without_extension(column)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_decode(_plain_runs(column))
    if pa.types.is_dictionary(kind):
        values = usual(column.dictionary)
        if pa.types.is_string(values.type) and not values.null_count:
            return pa.DictionaryArray.from_arrays(column.indices, values)
        return values.take(column.indices)
    return column.cast(_usual_type(kind))


def decoded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column without the dictionary that it may be written with."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _plain_runs(column: pa.RunEndEncodedArray) -> pa.RunEndEncodedArray:
    """Return runs of a common type: pyarrow decodes no others."""
    values = decoded(usual(column.values))
    if values.type == column.type.value_type:
        return column
    runs = pa.RunEndEncodedArray.from_arrays(column.run_ends, values)
    return runs.slice(column.offset, len(column))


def _usual_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return pa.string() if meaning(kind) == TEXT else kind


def _without_extension(column: pa.ExtensionArray) -> pa.Array:
    stored = column.storage
    if column.type.extension_name == _UUID:
        values = (None if each is None else str(UUID(bytes=each)) for each in stored.to_pylist())
        return pa.array(values, pa.string())
    return usual(stored) if column.type.extension_name == _JSON else pc.not_equal(stored, 0)


def row_out_of_range(column: pa.Array) -> int | None:
    """Return the first row with a date of no year from 1 to 9999, or a time of no day, or None."""
    kind = column.type
    if pa.types.is_time(kind):
        first, last = 0, _DAY * _PER_SECOND[kind.unit] - 1
    elif pa.types.is_date32(kind):
        first, last = _FIRST_SECOND // _DAY, _LAST_SECOND // _DAY
    elif pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        units = _PER_SECOND[kind.unit if pa.types.is_timestamp(kind) else "ms"]
        first, last = _FIRST_SECOND * units, _LAST_SECOND * units
    else:
        return None
    whole = pa.int32() if kind.bit_width == 32 else pa.int64()
    # Nanoseconds reach from 1677 to 2262 only.
    first, last = max(first, -(2**63)), min(last, 2**63 - 1)
    values = column.cast(whole)
    outside = pc.or_(
        pc.less(values, pa.scalar(first, whole)), pc.greater(values, pa.scalar(last, whole))
    )
    place = pc.index(outside, pa.scalar(True)).as_py()
    return None if place < 0 else int(place)


def python_values(column: pa.Array | pa.ChunkedArray, role: str, name: str) -> list[Any]:
    """Return a column that was made in memory as Python's values, or refuse it.

    Examples
    --------
    >>> python_values(pa.array([1, 2]), "label", "y")
    [1, 2]
    """
    found: list[Any] = []
    for chunk in batches_in_role(column, role, name):
        found += with_python_type(chunk).to_pylist()
    return found


def batches_in_role(column: pa.Array | pa.ChunkedArray, role: str, name: str) -> Iterator[pa.Array]:
    """Yield a column that was made in memory in usual types, or refuse it."""
    start = 0
    for chunk in _usual_chunks(column, role, name):
        row = row_out_of_range(chunk)
        if row is not None:
            raise InputError(
                f"Row {start + row} of {name} has no date of a year from 1 to 9999 and no "
                "time of day; repair it, or check its unit."
            )
        yield chunk
        start += len(chunk)


def with_python_type(column: pa.Array) -> pa.Array:
    """Return times as text: those of Python have no nanoseconds."""
    return column.cast(pa.string()) if pa.types.is_time(column.type) else column


def float_columns(table: pa.Table | pa.RecordBatch, name: str) -> FloatArray:
    """Return a table that was made in memory as floats, or refuse a column of it."""
    values = np.empty((table.num_rows, table.num_columns))
    for place, (label, column) in enumerate(zip(table.schema.names, table.columns, strict=True)):
        start = 0
        for chunk in _usual_chunks(column, "posterior", f"Column {label!r} of {name}"):
            numbers = chunk.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            values[start : start + len(chunk), place] = numbers
            start += len(chunk)
    return values


def _usual_chunks(column: pa.Array | pa.ChunkedArray, role: str, name: str) -> Iterator[pa.Array]:
    check_type(column.type, role, name)
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        try:
            chunk.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InputError(
                f"{name} is not a valid Arrow column ({visible(str(error))[:120]}); make it again."
            ) from None
        yield usual(chunk)
