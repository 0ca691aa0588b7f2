"""Columns of decisions as users have them, as lists of text.

A decision is a name: text, a whole number or a truth value. As with columns that are named after
classes, a name may be spelt as itself or as text: the decision ``"1"`` is that for the class ``1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truemix._typing import AnyArray
from truemix.exceptions import InputError
from truemix.tables import column_names, native_columns, values_of
from truemix.validation import is_missing, is_number, shown, shown_list

_TRUTH = bool | np.bool_


def are_decisions(X: Any, classes: AnyArray) -> bool:
    """Return whether X holds decisions rather than posteriors.

    One column of names, or several columns of which at least one is text. A table with a column
    for each class holds posteriors, whatever else it has.

    Examples
    --------
    >>> classes = np.array(["good", "bad"])
    >>> are_decisions(["good", "unsure"], classes), are_decisions([[0.9, 0.1]], classes)
    (True, False)
    >>> are_decisions([["good", "unsure"], ["bad", "bad"]], classes), are_decisions([0.9], classes)
    (True, False)
    """
    columns = native_columns(X)
    if columns is not None:
        names = {str(name) for name in column_names(X) or []}
        if names.issuperset(str(label) for label in classes.tolist()):
            return False
        several = any(_is_text(values_of(each, "label", "X")) for each in columns)
        return _are_names(columns[0]) if len(columns) == 1 else several
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], list | tuple | np.ndarray):
        return any(isinstance(row, list | tuple) and _is_text(row) for row in X)
    if len(getattr(X, "shape", (0,))) != 1:
        table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "UO"
        return table and _is_text(X.ravel().tolist())
    return _are_names(X)


def _are_names(X: Any) -> bool:
    """Return whether a column holds text, truth values or whole numbers, some maybe missing."""
    try:
        values = values_of(X, "label", "X")
    except InputError:
        return False
    present = [each for each in values if not is_missing(each)]
    if not present or not all(
        isinstance(each, str | _TRUTH) or is_number(each) for each in present
    ):
        return False
    return all(isinstance(each, str | _TRUTH) or each == np.floor(each) for each in present)


def _is_text(values: Sequence[Any]) -> bool:
    """Return whether values hold text that is not written posteriors."""
    text = [each for each in values if isinstance(each, str)]
    return any(not _is_fraction(each) for each in text)


def _is_fraction(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return not text.strip().lstrip("+-").isdigit()


def decision_columns(X: Any, wanted: Sequence[str] = ()) -> list[list[str]]:
    """Return the decisions of each judge as text.

    Parameters
    ----------
    X : array-like or data frame
        One column, or several ``(n, J)``.
    wanted : sequence of str
        The columns of a data frame to take; all of them by default.

    Examples
    --------
    >>> decision_columns([1, 0, True]), decision_columns([["a", 1], ["b", 2]])
    ([['1', '0', 'True']], [['a', 'b'], ['1', '2']])
    """
    columns = native_columns(X)
    names: Sequence[Any] = column_names(X) or []
    if columns is None:
        columns = _array_columns(X)
    elif wanted and len(names) == len(columns):
        places = {str(name): place for place, name in enumerate(names)}
        absent = [name for name in wanted if name not in places]
        if absent:
            raise InputError(
                f"X has no column {shown(absent[0])}, which holds decisions in the references; "
                f"its columns are {shown_list(list(places))}."
            )
        columns, names = [columns[places[name]] for name in wanted], wanted
    if not columns:
        raise InputError("X has no columns; expected one of decisions for each judge.")
    several = len(columns) > 1
    found = [
        _as_text(values_of(each, "label", "X"), f" of {_shown_judge(names, j)}" if several else "")
        for j, each in enumerate(columns)
    ]
    if not found[0]:
        raise InputError("X has no rows; at least one item is needed.")
    return found


def names_of(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of decisions, if they have any."""
    names = column_names(X)
    if names is None:
        name = getattr(X, "name", None)
        names = [name] if isinstance(name, str) and name else []
    return tuple(str(name) for name in names) if all(map(str, names)) else ()


def _shown_judge(names: Sequence[Any], place: int) -> str:
    return shown(str(names[place])) if names else f"judge {1 + place}"


def _array_columns(X: Any) -> list[Any]:
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], list | tuple | np.ndarray):
        widths = {len(row) if hasattr(row, "__len__") else 1 for row in X}
        if len(widths) > 1:
            raise InputError(
                "The rows of X differ in length; expected one decision of each judge in each row."
            )
        return [[row[j] for row in X] for j in range(widths.pop())]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return list(X.T)
    if len(getattr(X, "shape", (0,))) != 1:
        raise InputError(
            f"X has shape {X.shape}, but the references hold decisions; expected one column of "
            "names for each judge."
        )
    return [X]


def _as_text(values: list[Any], where: str) -> list[str]:
    """Return decisions as text; each of them has to be one."""
    known: dict[Any, str] = {}
    found = []
    for row, value in enumerate(values):
        # True equals 1 as a key.
        key = value if isinstance(value, str) else (type(value), value)
        try:
            text = known.get(key)
        except TypeError:
            text = None
        if text is None:
            text = known[key] = _spelt(value, row, where)
        found.append(text)
    return found


def _spelt(value: Any, row: int, where: str) -> str:
    if is_missing(value) or value == "":
        raise InputError(
            f"Row {row} of X has no decision{where}; every item needs one. Fill it in, with a "
            "value such as 'none' if the judge gave no answer, or remove such rows."
        )
    if isinstance(value, str) and not value.endswith("\0"):
        return value
    if isinstance(value, _TRUTH):
        return str(bool(value))
    if is_number(value) and np.isfinite(value) and value == np.floor(value):
        return str(int(value))
    raise InputError(
        f"Row {row} of X has {shown(value)} as a decision{where}; expected text, a whole number or "
        "a truth value. Write decisions as text."
    )
