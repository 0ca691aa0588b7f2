"""Validation of the arrays of a saved file, before anything is built from them.

A file with a valid checksum is still untrusted. An invalid array raises an
:class:`~truemix.exceptions.InputError` that names the array and the reason; the caller adds the
file name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.validation import SILENT_SUM_ERROR, check_classes, check_one_class_is_not_enough

# Beyond it sums of squares overflow; nothing that is learned comes near.
_LARGEST = 1e100
# Labels of text, whole numbers or truth values.
_LABELS = "USiub"

Shape = tuple[int | None, ...]


def read_floats(
    state: Mapping[str, Any],
    name: str,
    shape: Shape,
    *,
    minimum: float = -_LARGEST,
    maximum: float = _LARGEST,
) -> FloatArray:
    """Return an array of finite numbers of float64 within bounds; None in a shape is any length.

    Examples
    --------
    >>> read_floats({"bias": np.array([0.5, -0.5])}, "bias", (2,))
    array([ 0.5, -0.5])
    >>> read_floats({"bias": np.array([0.5, np.nan])}, "bias", (2,))
    Traceback (most recent call last):
    ...
    truemix.exceptions.InputError: bias holds nan; expected numbers from -1e+100 to 1e+100
    """
    array: FloatArray = _array(state, name, "f", shape)
    outside = ~((array >= minimum) & (array <= maximum))
    if outside.any():
        raise InputError(
            f"{name} holds {array[outside][0]}; expected numbers from {minimum:g} to {maximum:g}"
        )
    return array


def read_shares(
    state: Mapping[str, Any],
    name: str,
    shape: Shape,
    *,
    axis: int = -1,
    positive: bool = False,
) -> FloatArray:
    """Return an array of shares that add up to one along an axis.

    Examples
    --------
    >>> read_shares({"mix": np.array([0.2, 0.7])}, "mix", (2,))
    Traceback (most recent call last):
    ...
    truemix.exceptions.InputError: mix holds shares that add up to 0.9; expected 1
    """
    array = read_floats(state, name, shape, minimum=0.0, maximum=1.0 + SILENT_SUM_ERROR)
    sums = array.sum(axis=axis)
    off = np.abs(sums - 1.0) > SILENT_SUM_ERROR
    if off.any():
        raise InputError(f"{name} holds shares that add up to {sums[off][0]:.6g}; expected 1")
    if positive and not array.all():
        raise InputError(f"{name} holds a share of zero; expected every class to have items")
    return array


def read_number(
    state: Mapping[str, Any],
    name: str,
    *,
    minimum: float = -_LARGEST,
    maximum: float = _LARGEST,
) -> float:
    """Return a single finite number."""
    return float(read_floats(state, name, (), minimum=minimum, maximum=maximum))


def read_flag(state: Mapping[str, Any], name: str) -> bool:
    """Return a single truth value."""
    return bool(_array(state, name, "b", ()))


def read_integers(state: Mapping[str, Any], name: str, shape: Shape, *, below: int) -> IntArray:
    """Return an array of whole numbers from 0, each below a bound."""
    array: IntArray = _array(state, name, "i", shape)
    if ((array < 0) | (array >= below)).any():
        raise InputError(f"{name} holds numbers outside of 0 to {below - 1}")
    return array.astype(np.intp)


def read_text(state: Mapping[str, Any], name: str, pattern: str) -> str:
    """Return a text that matches a pattern."""
    text = str(_array(state, name, "U", ()))
    if not re.fullmatch(pattern, text):
        raise InputError(f"{name} holds {text[:40]!r}; expected another form")
    return text


def read_classes(state: Mapping[str, Any], name: str = "classes") -> AnyArray:
    """Return the labels of at least two classes, each once."""
    array: AnyArray = _array(state, name, _LABELS, (None,))
    check_one_class_is_not_enough(check_classes(array))
    return array


def read_names(state: Mapping[str, Any], name: str) -> AnyArray:
    """Return names, each once and none empty."""
    array: AnyArray = _array(state, name, "U", (None,))
    if not len(array) or (array == "").any() or len(np.unique(array)) != len(array):
        raise InputError(f"{name} does not hold different names")
    return array


def _array(state: Mapping[str, Any], name: str, kinds: str, shape: Shape) -> Any:
    if name not in state:
        raise InputError(f"{name} is missing")
    array = np.asarray(state[name])
    right_type = array.dtype.kind in kinds and (kinds != "f" or array.dtype == np.float64)
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if not right_type or not fits:
        raise InputError(
            f"{name} has type {array.dtype} and shape {array.shape}; expected "
            f"{tuple('any' if length is None else length for length in shape)}"
        )
    return array
