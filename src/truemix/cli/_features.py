"""Feature columns for classifiers: numbers, and everything else as codes of categories.

Key columns are left out. They identify rows rather than classes: row numbers, names, times of
recording. A classifier that is trained on them memorises which rows of the reference belong to
which class. Where the reference is sorted it even scores well, out-of-fold too; but rows of a
target have other keys, and nothing that was learned applies to them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix._arrow_columns import DATES, TEXT, TRUTH, decoded, meaning, shown_type
from truemix._typing import FloatArray
from truemix.cli._columns import as_text, check_calendar, is_number, numbers
from truemix.cli.tables.table import Table
from truemix.exceptions import InputError
from truemix.validation import shown

# The code of categories that the reference does not have.
UNKNOWN = -1

# Categories of a column; the rarest beyond are merged into one, so that a column of names does not
# exhaust the memory.
MAX_CATEGORIES = 100


@dataclass(frozen=True)
class Features:
    """Which columns are features, and of which type, as the file ``reference`` decides.

    Missing numbers are NaN; a missing category is empty text, which is a category of its own.
    ``categories`` are the texts of each column that is not numeric, sorted; their places stand for
    them, so that all features fit into one array of numbers. ``left_out`` are columns that look
    like keys, each with the reason.
    """

    types: dict[str, pa.DataType]
    reference: str
    categories: dict[str, pa.Array]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def numeric(self) -> list[str]:
        """Columns that are numbers, dates (as seconds) or truth values."""
        return [name for name, kind in self.types.items() if not pa.types.is_string(kind)]

    @property
    def categorical(self) -> list[str]:
        """All other columns."""
        return list(self.categories)

    def array(self, whole: pa.Table, table: Table, start: int = 0) -> FloatArray:
        """Return all rows of a table, or those from ``start`` on: numbers, then codes."""
        found = {n: self._as_number(decoded(whole.column(n)), n, table) for n in self.numeric}
        values = np.empty((whole.num_rows, len(self.types)))
        if found:
            values[:, : len(found)] = numbers(pa.table(found), table, start, may_miss=True)
        for place, (name, known) in enumerate(self.categories.items(), start=len(found)):
            text = _category(whole.column(name), name, table, start)
            codes = pc.index_in(text, value_set=known)
            values[:, place] = pc.fill_null(codes, UNKNOWN).to_numpy()
        return values

    def _as_number(self, column: pa.ChunkedArray, name: str, table: Table) -> pa.ChunkedArray:
        if meaning(column.type) == DATES:
            return column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        if not is_number(column.type):
            raise InputError(
                f"Column {shown(name)} of {table.name} is of type {shown_type(column.type)}, but "
                f"{self.reference} has numbers there; expected the same kind of column in both."
            )
        return column


def features_of(whole: pa.Table, table: Table) -> Features:
    """Return the kinds of all columns of a reference."""
    types, categories = {}, {}
    for name, column in zip(whole.column_names, whole.columns, strict=True):
        kind = decoded(column).type
        if meaning(kind) not in {TRUTH, DATES}:
            kind = pa.float64() if is_number(kind) else pa.string()
        types[name] = kind
        if pa.types.is_string(kind):
            text = pc.unique(_category(column, name, table))
            categories[name] = text.take(pc.array_sort_indices(text))
    return Features(types, table.name, categories)


def _category(column: pa.ChunkedArray, name: str, table: Table, start: int = 0) -> pa.ChunkedArray:
    """Return a column as text."""
    check_calendar(decoded(column), table, name, start)
    return as_text(column)


def training_columns(features: Features | None) -> dict[str, Any]:
    """Return for the output which columns a classifier was trained on, and which were left out."""
    if features is None:
        return {"features": None, "left_out": None}
    return {"features": list(features.types), "left_out": features.left_out}


# --- keys -------------------------------------------------------------------------------------

# With fewer values than this, whole numbers such as ages often differ in every row by chance.
MIN_ROWS = 30
# Names and times of recording may coincide now and then.
NEARLY_ALL = 0.95
# A column that is named like a key is a feature if its distinct values are fewer than this share of
# the rows and no more than the categories that a classifier keeps.
MANY = 0.5
_MAX_SHOWN = 4
_WHOLE = "whole numbers"
_KEY_WORDS = {"id", "uuid", "guid", "key", "pk"}
_KEY_NAMES = {"index", "idx", "row", "rowid", "rownum", "row number"}
# How data frame libraries write an index without a name.
_UNNAMED_INDEX = re.compile(r"|unnamed: \d+|__index_level_\d+__")
_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+")


def keys_among(whole: pa.Table) -> dict[str, str]:
    """Return the columns of a reference that look like keys, each with the reason.

    Among the keys are, if there are at least 30 values,

    - whole numbers that differ in every row: an index, a counter, a customer number;
    - text with at least 95 % distinct values: as categories they identify single rows;
    - dates with at least 95 % distinct values: mostly the time of recording, and the rows of a
      target are recorded later. Some are features, such as dates of birth; but an estimate
      without a feature is less precise, and one that relies on the order of rows is wrong.

    With any number of rows, whole numbers and text that are named like a key (``id``,
    ``customerId``) are among them too, unless they have so few distinct values that they may be
    categories; so are columns without a name, as an index is written (``Unnamed: 0``). Numbers with
    decimals and truth values are always features. Missing values do not count.
    """
    reasons = {name: _reason(name, decoded(whole.column(name))) for name in whole.column_names}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def about_keys(keys: dict[str, str], reference: str) -> str:
    """Return a note that says which columns are left out, why, and how to keep them."""
    few = [f"{name!r} ({reason})" for name, reason in list(keys.items())[:_MAX_SHOWN]]
    more = f" and {len(keys) - len(few):,} more" if len(keys) > len(few) else ""
    return (
        f"left out of training: {', '.join(few)}{more}. Such columns tell rows of {reference} "
        "apart, not classes; to train on one all the same, name all features with --features."
    )


def _reason(name: str, column: pa.ChunkedArray) -> str | None:
    """Return why a column looks like a key, or None if it does not."""
    noun = meaning(column.type)
    if noun not in {TEXT, DATES}:
        if noun == TRUTH or not is_number(column.type):
            return None
        values = np.asarray(column.cast(pa.float64(), safe=False))
        if not (np.isnan(values) | (values == np.floor(values))).all():
            return None
        noun = _WHOLE
    column = column.drop_null()
    if noun == TEXT:
        column = column.filter(pc.not_equal(column, ""))
    elif pa.types.is_floating(column.type):
        column = column.filter(pc.invert(pc.is_nan(column)))
    n_values, n_different = len(column), pc.count_distinct(column).as_py()
    enough = 1.0 if noun == _WHOLE else NEARLY_ALL
    if n_values >= MIN_ROWS and n_different >= enough * n_values:
        every = "every row" if n_different == n_values else f"{n_different / n_values:.0%} of rows"
        return f"{noun} that differ in {every}"
    if noun == DATES or not n_values:
        return None
    if _UNNAMED_INDEX.fullmatch(name.strip().lower()):
        return f"{noun} without a name, like the index of a data frame"
    many = n_different > min(MANY * n_values, MAX_CATEGORIES)
    return f"{noun} named like a key" if many and _is_named_like_key(name) else None


def _is_named_like_key(name: str) -> bool:
    """Return whether a name is that of a key, such as ``id``, ``customer_id`` or ``orderKey``."""
    normalized = " ".join(filter(None, _BETWEEN_WORDS.split(name))).lower()
    return normalized in _KEY_NAMES or normalized.rpartition(" ")[2] in _KEY_WORDS
