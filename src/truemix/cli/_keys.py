"""Key columns, which identify rows rather than classes: row numbers, names, times of recording.

A classifier that is trained on them memorises which rows of the reference belong to which class.
Where the reference is sorted it even scores well, out-of-fold too; but rows of a target have other
keys, and nothing that was learned applies to them.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from truemix.cli._classifiers import MAX_CATEGORIES
from truemix.cli._columns import decoded, is_number
from truemix.cli._features import is_date

# With fewer values than this, whole numbers such as ages often differ in every row by chance.
MIN_ROWS = 30
# Names and times of recording may coincide now and then.
NEARLY_ALL = 0.95
# A column that is named like a key is a feature if its distinct values are fewer than this share of
# the rows and no more than the categories that a classifier keeps.
MANY = 0.5
_MAX_SHOWN = 4

_WHOLE, _TEXT, _DATES = "whole numbers", "text", "dates"
_KEY_WORDS = {"id", "uuid", "guid", "key", "pk"}
_KEY_NAMES = {"index", "idx", "row", "rowid", "rownum", "row number"}
# How data frame libraries write an index without a name.
_UNNAMED_INDEX = re.compile(r"|unnamed: \d+|__index_level_\d+__")
_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+")


def keys_among(whole: pa.Table) -> dict[str, str]:
    """Return the columns of a reference that look like keys, each with the reason.

    Parameters
    ----------
    whole : Table
        Columns that could be features; missing values do not count.

    Returns
    -------
    dict
        Name → reason. Among the keys are, if there are at least 30 values,

        - whole numbers that differ in every row: an index, a counter, a customer number;
        - text with at least 95 % distinct values: as categories they identify single rows;
        - dates with at least 95 % distinct values: mostly the time of recording, and the rows of a
          target are recorded later. Some are features, such as dates of birth; but an estimate
          without a feature is less precise, and one that relies on the order of rows is wrong.

        With any number of rows, whole numbers and text that are named like a key (``id``,
        ``customerId``) are among them too, unless they have so few distinct values that they
        may be categories; so are columns without a name, as an index is written (``Unnamed: 0``).
        Numbers with decimals and truth values are always features.
    """
    reasons = {name: _reason(name, decoded(whole.column(name))) for name in whole.column_names}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def about_keys(keys: dict[str, str], reference: str) -> str:
    """Return a note that says which columns are left out, why, and how to keep them.

    Examples
    --------
    >>> about_keys({"id": "whole numbers that differ in every row"}, "reference.csv")
    "left out of training: 'id' (whole numbers that differ in every row). Such columns tell rows of
    reference.csv apart, not classes; to train on one all the same, write it under another name as
    numbers with decimals or as categories that repeat."
    """
    few = [f"{name!r} ({reason})" for name, reason in list(keys.items())[:_MAX_SHOWN]]
    more = f" and {len(keys) - len(few):,} more" if len(keys) > len(few) else ""
    return (
        f"left out of training: {', '.join(few)}{more}. Such columns tell rows of {reference} "
        "apart, not classes; to train on one all the same, write it under another name as numbers "
        "with decimals or as categories that repeat."
    )


def _reason(name: str, column: pa.Array) -> str | None:
    """Return why a column looks like a key, or None if it does not."""
    noun = _noun(column)
    if noun is None:
        return None
    column = column.drop_null()
    if pa.types.is_string(column.type):
        column = column.filter(pc.not_equal(column, ""))
    elif pa.types.is_floating(column.type):
        column = column.filter(pc.invert(pc.is_nan(column)))
    n_values, n_different = len(column), pc.count_distinct(column).as_py()
    enough = 1.0 if noun == _WHOLE else NEARLY_ALL
    if n_values >= MIN_ROWS and n_different >= enough * n_values:
        every = "every row" if n_different == n_values else f"{n_different / n_values:.0%} of rows"
        return f"{noun} that differ in {every}"
    if noun == _DATES or not n_values:
        return None
    if _UNNAMED_INDEX.fullmatch(name.strip().lower()):
        return f"{noun} without a name, like the index of a data frame"
    many = n_different > min(MANY * n_values, MAX_CATEGORIES)
    return f"{noun} named like a key" if many and _is_named_like_key(name) else None


def _noun(column: pa.Array) -> str | None:
    """Return what a column holds, or None for what is always a feature."""
    kind = column.type
    if is_date(kind):
        return _DATES
    if pa.types.is_string(kind):
        return _TEXT
    if pa.types.is_boolean(kind) or not is_number(kind):
        return None
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    whole = np.isnan(values) | (values == np.floor(values))
    return _WHOLE if whole.all() else None


def _is_named_like_key(name: str) -> bool:
    """Return whether a name is that of a key, such as ``id``, ``customer_id`` or ``orderKey``."""
    normalized = " ".join(filter(None, _BETWEEN_WORDS.split(name))).lower()
    return normalized in _KEY_NAMES or normalized.rpartition(" ")[2] in _KEY_WORDS
