"""Arrays from files, checked: one sentence for each thing that can be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix.exceptions import InputError
from truemix.validation import check_labels, check_same_length
from truemix_experiments._typing import FloatArray, IntArray


def check_numbers(values: Any, name: str) -> FloatArray:
    """Return a finite table of float64."""
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "fiub" or array.size == 0:
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}; expected a table of numbers "
            "with one row per item."
        )
    # Float16 overflows in sums, so it is widened first.
    table = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"Row {row}, column {column} of {name} is {table[row, column]}; expected finite "
            "numbers. Fill in or leave out missing values."
        )
    return table


def check_codes(values: Any, n_rows: int, n_classes: int, name: str) -> IntArray:
    """Return one class number for each row."""
    labels = check_labels(values, name)
    check_same_length(n_rows, labels, "The table", name)
    if labels.dtype.kind not in "iu":
        raise InputError(
            f"{name} holds values of type {labels.dtype}; expected class numbers from 0 to "
            f"{n_classes - 1}."
        )
    codes = labels.astype(np.intp)
    outside = np.flatnonzero((codes < 0) | (codes >= n_classes))
    if outside.size:
        row = int(outside[0])
        raise InputError(
            f"Row {row} of {name} is {codes[row]}; expected class numbers from 0 to "
            f"{n_classes - 1}."
        )
    return codes
