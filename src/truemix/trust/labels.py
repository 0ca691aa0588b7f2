"""Labels of a batch, as a user gives them: which items, of which class, chosen how."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.tables import values_of
from truemix.validation import is_missing, is_number, shown, shown_list

ASSUMPTIONS = ("robust", "label-shift", "none")


@dataclass(frozen=True, eq=False)
class BatchLabels:
    """The labelled items of a batch.

    Attributes
    ----------
    items : ndarray of int of shape (n,)
        Their row numbers, ascending.
    codes : ndarray of int of shape (n,)
        Their class numbers.
    inclusion : ndarray of shape (n,)
        The probability with which each was chosen to be labelled.
    """

    items: IntArray
    codes: IntArray
    inclusion: FloatArray


def read_batch_labels(labels: Any, inclusion: Any, classes: AnyArray, n_items: int) -> BatchLabels:
    """Return the labels of a batch, or raise for labels that cannot be those of it.

    Parameters
    ----------
    labels : array-like of shape (n_items,) or mapping
        One per item, missing (None or NaN) where unlabelled; or row number to label.
    inclusion : number, array-like of shape (n_items,), mapping or None
        The probability of each labelled item to have been chosen, in the same form, or one number
        for all. None: a simple random sample.
    classes : ndarray of shape (K,)
        All classes.
    n_items : int
        Number of items in the batch.

    Examples
    --------
    >>> found = read_batch_labels({7: "ham", 2: "spam"}, None, np.array(["ham", "spam"]), 10)
    >>> found.items, found.codes, found.inclusion
    (array([2, 7]), array([1, 0]), array([0.2, 0.2]))
    """
    given = _by_row(labels, "labels", "label", n_items)
    if not given:
        raise InputError(
            f"labels holds no label for any of the {n_items:,} items; expected at least one. Leave "
            "labels out to estimate without."
        )
    items = np.array(sorted(given), dtype=np.intp)
    codes = _codes(given, items, classes)
    return BatchLabels(items, codes, _inclusion(inclusion, items, n_items))


def _by_row(values: Any, name: str, noun: str, n_items: int) -> dict[int, Any]:
    """Return what is given for each row, without rows for which nothing is."""
    if isinstance(values, Mapping):
        pairs = [(_row(row, name, n_items), value) for row, value in values.items()]
    else:
        listed = values_of(values, "label", name)
        if len(listed) != n_items:
            raise InputError(
                f"X has {n_items} rows, but {name} has {len(listed)} entries; expected one per "
                f"row, None where there is no {noun}, or a mapping from row number to {noun}."
            )
        pairs = list(enumerate(listed))
    return {row: value for row, value in pairs if not is_missing(value)}


def _row(row: Any, name: str, n_items: int) -> int:
    whole = isinstance(row, numbers.Integral) and not isinstance(row, bool | np.bool_)
    if not whole or not 0 <= row < n_items:
        raise InputError(
            f"{name} names the row {shown(row)}, which is not in X; expected row numbers from 0 to "
            f"{n_items - 1}, counted by position."
        )
    return int(row)


def _codes(given: dict[int, Any], items: IntArray, classes: AnyArray) -> IntArray:
    code_of = {_spelt(label): code for code, label in enumerate(classes.tolist())}
    codes = np.empty(len(items), dtype=np.intp)
    for place, row in enumerate(items.tolist()):
        try:
            codes[place] = code_of[_spelt(given[row])]
        except (KeyError, TypeError):
            raise InputError(
                f"The label {shown(given[row])} of row {row} in labels is not one of the classes "
                f"{shown_list(classes)}; correct it, or leave the item unlabelled."
            ) from None
    return codes


def _spelt(label: Any) -> tuple[bool, Any]:
    """Return a label in a form in which equal ones are equal; to Python, True equals 1."""
    value = label.item() if isinstance(label, np.generic) else label
    return isinstance(value, bool), value


def _inclusion(inclusion: Any, items: IntArray, n_items: int) -> FloatArray:
    n = len(items)
    if inclusion is None:
        return np.full(n, n / n_items)
    if is_number(inclusion):
        inclusion = dict.fromkeys(items.tolist(), inclusion)
    given = _by_row(inclusion, "inclusion", "probability", n_items)
    labelled = set(items.tolist())
    missing = next((row for row in items.tolist() if row not in given), None)
    if missing is not None:
        raise InputError(
            f"Row {missing} has a label but no inclusion probability; expected one for each "
            "labelled item. Leave inclusion out if they are a simple random sample."
        )
    extra = next((row for row in given if row not in labelled), None)
    if extra is not None:
        raise InputError(
            f"Row {extra} has an inclusion probability but no label; expected probabilities of "
            "labelled items only. Label it, or leave its probability out."
        )
    for row, value in given.items():
        if not is_number(value) or not 0.0 < value <= 1.0:
            raise InputError(
                f"The inclusion probability of row {row} is {shown(value)}; expected a number "
                "above 0 and at most 1: the probability with which the item was chosen."
            )
    found = np.array([float(given[row]) for row in items.tolist()])
    if n < n_items and (found == 1.0).all():
        raise InputError(
            f"All {n} labelled items have the inclusion probability 1, but {n_items - n} items "
            "have no label; expected smaller ones. Leave inclusion out if the labelled items are "
            "a simple random sample."
        )
    return found
