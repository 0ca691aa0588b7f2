"""Input validation: parameters, tables, labels and classes, and the messages for invalid ones.

Rows and columns are counted from 0, as everywhere in Python. Nothing here guesses: ambiguous input
is an :class:`~truemix.exceptions.InputError`.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from truemix._rounding import Rounding
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError, InputNote

SILENT_SUM_ERROR = 1e-6
LARGEST_SUM_ERROR = 1e-3
# Up to here float64 represents every whole number.
LARGEST_EXACT = 2**53
# Maximum length of a value in a message.
MAX_SHOWN = 80
# Rounding error of the sum of a normalised row, per column.
ROUNDING = float(np.finfo(np.float64).eps)


# --- parameters -------------------------------------------------------------------------------


# How close to 0 and 1 a number that must lie between them may be.
CLOSE = 1e-9


class Range(NamedTuple):
    """The valid range of a parameter, both ends included."""

    low: float
    high: float
    remedy: str = ""

    def __contains__(self, value: object) -> bool:
        return is_number(value) and self.low <= cast(float, value) <= self.high

    def __str__(self) -> str:
        if self == (CLOSE, 1 - CLOSE, self.remedy):
            return f"between 0 and 1, both excluded (by {_bound(CLOSE)})"
        return f"between {_bound(self.low)} and {_bound(self.high)}"


def _bound(value: float) -> str:
    if value == 2**128:
        return "2**128"
    if 0.999 < value < 1:
        return f"1 - {_bound(1 - value)}"
    text = f"{value:,.0f}" if 1e3 <= value < 1e8 else f"{value:.3g}"
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


# Valid ranges of all public numeric parameters, for quantifiers, selection, protocols, checks and
# the command line. Outside them a result would be meaningless, take forever or overflow.
RANGES = {
    "temperature": Range(1e-3, 1e9),
    # A Dirichlet with smaller parameters has its mass at shares that underflow.
    "prior": Range(1e-6, 1e12, "1 is uniform over all mixes, smaller ones favour few classes."),
    "alpha": Range(1e-6, 1e12),
    "bandwidth": Range(1e-6, 1e6),
    "shrinkage": Range(0, 1 - CLOSE, "At 1 every item would be moved onto the same point."),
    "level": Range(CLOSE, 1 - CLOSE, "0.95 is usual."),
    # A smaller significance level would need too many simulated bags.
    "significance": Range(1e-4, 0.9),
    "share": Range(CLOSE, 1 - CLOSE),
    "eps": Range(0, 1),
    "tol": Range(1e-15, 1),
    "max_iter": Range(1, 1e6),
    "draws": Range(1, 1e6),
    "warmup": Range(0, 1e6),
    "random_state": Range(0, 2**128),
    "cv": Range(2, 1e5),
    "bag_size": Range(1, 1e7),
    "n_bags": Range(1, 1e6),
    "bins": Range(2, 1000),
    "capacity": Range(100, 1e9, "So many rows are needed for an estimate of their error."),
    "n_points": Range(2, 1001),
    "repeats": Range(1, 1e6),
    "most": Range(1, 1e6),
    "n_jobs": Range(-1000, 1000, "-1 is all cores."),
    "n_parts": Range(2, 1e4),
    "n_items": Range(1, 1e15),
    "n_samples": Range(0, 1e8),
    "n_classes": Range(1, 1e4),
}
# Weights are counts of items: above this, doubles do not represent every whole number.
MAX_WEIGHT = 2.0**53
MIN_WEIGHT = 1e-9


def parameter_error(name: str, expected: str, found: object, remedy: str = "") -> InputError:
    """Return the error for an invalid parameter."""
    sentence = f"The {name!r} parameter must be {expected}. Got {shown_value(found)} instead."
    return InputError(f"{sentence} {remedy}".rstrip())


def shown_value(value: object, most: int = 200) -> str:
    """Return a value as text for a message: on one line and of readable length."""
    if isinstance(value, numbers.Integral) and abs(value) >= 10**most:
        # Python does not even write down numbers of more than 4,300 digits.
        return f"a number of more than {most} digits"
    text = " ".join(repr(value).split())
    text = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return text if len(text) <= most else f"{text[:most]}…"


def is_number(value: object) -> bool:
    """Return whether this is a real number; booleans and text are not."""
    # To NumPy, a timedelta is an integer.
    no_number = bool | np.bool_ | np.timedelta64
    return isinstance(value, numbers.Real) and not isinstance(value, no_number)


def check_number(value: object, name: str, *, kind: str | None = None) -> float:
    """Return ``value`` as a float in the range of its kind, which is its name if not given."""
    limits = RANGES[kind or name]
    if value not in limits:
        positive = "positive " if 0 < limits.low != CLOSE else ""
        raise parameter_error(name, f"a {positive}number {limits}", value, limits.remedy)
    return float(cast(float, value))


def check_integer(value: object, name: str, *, kind: str | None = None) -> int:
    """Return ``value`` as an int in the range of its kind, which is its name if not given."""
    limits = RANGES[kind or name]
    if not isinstance(value, numbers.Integral) or value not in limits:
        raise parameter_error(name, f"a whole number {limits}", value, limits.remedy)
    return int(value)


def check_seed_number(value: object) -> int:
    """Return a seed that is given as a number."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise parameter_error("random_state", "None, an integer or a Generator", value)
    return check_integer(value, "random_state")


def check_prior(prior: Any, n_classes: int) -> FloatArray:
    """Return one parameter of a Dirichlet prior for each class, from one for all or one each."""
    limits = RANGES["prior"]
    one_each = f"a positive number, or one for each of the {n_classes} classes"
    if is_number(prior):
        return np.full(n_classes, check_number(prior, "prior"))
    try:
        values = as_floats(prior, "prior")
    except InputError:
        raise parameter_error("prior", one_each, prior) from None
    if values.shape == () and not isinstance(prior, bool):
        return np.full(n_classes, check_number(values.item(), "prior"))
    if values.shape != (n_classes,):
        raise parameter_error("prior", one_each, prior)
    wrong = [value for value in values.tolist() if value not in limits]
    if wrong:
        raise parameter_error("prior", f"{one_each} ({limits})", wrong[0], limits.remedy)
    return values


def check_choice(value: object, name: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise parameter_error(name, f"one of {listed}", value)
    return value


def check_cv(value: object) -> None:
    """Raise for what is neither a number of folds nor a splitter."""
    if callable(getattr(value, "get_n_splits", None)):
        return
    if not isinstance(value, numbers.Integral) or value not in RANGES["cv"]:
        expected = f"a whole number of folds {RANGES['cv']}, or a scikit-learn splitter"
        raise parameter_error("cv", expected, value)


def check_counts(weights: npt.ArrayLike, length: int, name: str = "weights") -> FloatArray:
    """Return one weight per row, as the number of items that the row stands for."""
    array = check_weights(weights, length, name)
    bad = np.flatnonzero((array > 0) & ~((array >= MIN_WEIGHT) & (array <= MAX_WEIGHT)))
    if bad.size:
        raise InputError(
            f"{name}[{bad[0]}] is {array[bad[0]]:g}; it is how many items the row stands for, and "
            f"must be 0 or between {MIN_WEIGHT:g} and 2**53."
        )
    if array.sum() > MAX_WEIGHT:
        raise InputError(
            f"The sum of {name} is {array.sum():g}; rows may stand for up to 2**53 items together."
        )
    return array


def check_weights(weights: npt.ArrayLike, length: int, name: str = "weights") -> FloatArray:
    """Return one finite, non-negative weight per row, not all of them zero; any scale."""
    array = as_floats(weights, name)
    if array.shape != (length,):
        raise InputError(
            f"{name} has shape {array.shape}; expected one weight for each of the {length} rows."
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InputError(
            f"{name}[{bad[0]}] is {array[bad[0]]}; weights must be finite and not negative."
        )
    if not array.any():
        raise InputError(f"All {name} are zero; at least one row must count.")
    return array


# --- tables of numbers ------------------------------------------------------------------------


def as_floats(values: Any, name: str) -> FloatArray:
    """Return an array of numbers as float64, of any shape; text is not converted."""
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise InputError(
            f"{name} is a sparse matrix, but posteriors are dense; pass {name}.toarray(), or give "
            "the quantifier a classifier if these are features."
        )
    try:
        array = np.asarray(values)
        # Text that looks like numbers is not converted: it is a sign of a wrong column.
        if array.dtype.kind in "USMmV" or (
            array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)
        ):
            raise TypeError(f"text or dates ({array.dtype})")
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} cannot be read as a table of numbers ({str(error)[:200]}); expected one row "
            "per item and one number per class. Check that each row has the same length and holds "
            "no text."
        ) from None


def check_matrix(values: Any, name: str) -> FloatArray:
    """Return a finite, non-empty 2-D float64 array."""
    array = as_floats(values, name)
    if array.ndim != 2:
        hint = f" For a single item pass [{name}]." if array.ndim == 1 else ""
        raise InputError(
            f"{name} has {array.ndim} dimension{'s' * (array.ndim != 1)}; expected a table with "
            f"one row per item and one column per class.{hint}"
        )
    if array.shape[0] == 0:
        raise InputError(f"{name} has no rows; at least one item is needed.")
    # Check row sums, which are finite if all entries are: no mask of the size of the table.
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = np.flatnonzero(~np.isfinite(array.sum(axis=1)))
    for row in suspect:
        for column in np.flatnonzero(~np.isfinite(array[row])):
            raise InputError(
                f"Row {row}, column {column} of {name} is {array[row, column]}; posteriors must be "
                "finite numbers. Remove or repair such rows."
            )
    return array


def check_posteriors(values: Any, name: str = "X", *, n_classes: int | None = None) -> FloatArray:
    """Return posteriors as float64 with rows that sum to one.

    Rows whose sum is off by rounding (1e-6) are renormalised silently. Up to 1e-3, and up to what
    explains them in a table of values that were all rounded to a few decimals, they are with a note
    (:class:`~truemix.exceptions.InputNote`). Anything else is an error that names the row.
    A table that needs no repair is returned as it is, without a copy.
    """
    # In the order of rows, in which their sums are the same whatever they were stored in.
    array = np.ascontiguousarray(check_matrix(values, name))
    if n_classes is not None and array.shape[1] != n_classes:
        raise InputError(
            f"{name} has {array.shape[1]} columns, but there are {n_classes} classes; expected one "
            "column per class, in the order of the classes."
        )
    if array.shape[1] < 2:
        raise InputError(
            f"{name} has {array.shape[1]} column; posteriors need at least two classes, one column "
            "each. For a binary problem pass both columns, 1 - p and p."
        )
    checked = RowSums(lambda row: f"Row {row} of {name}")
    sums = checked.check(array)
    if checked.off > SILENT_SUM_ERROR:
        row = int(np.abs(sums - 1.0).argmax())
        rounded = f"{checked.about_decimals} and " if checked.about_decimals else ""
        warnings.warn(
            f"Rows of {name} were renormalised: they {rounded}sum to 1 only within "
            f"{checked.off:.1g} (row {row} sums to {sums[row]:.6g}).",
            InputNote,
            stacklevel=2,
        )
    if checked.off <= ROUNDING * array.shape[1]:
        return array
    return normalized(array, sums)


def normalized(array: FloatArray, sums: FloatArray) -> FloatArray:
    """Return rows divided by their sums, where these are not one.

    Row by row: what a row becomes must not depend on the others in its batch.
    """
    wrong = np.abs(sums - 1.0) > ROUNDING * array.shape[1]
    return np.asarray(array / np.where(wrong, sums, 1.0)[:, None])


class RowSums:
    """The check that rows of posteriors sum to one, over all batches of a table.

    Parameters
    ----------
    place : callable
        Says where a row is.
    columns : sequence of str, optional
        Names of the columns, if they have any.
    unused : sequence of str
        Other columns, which may have been forgotten.
    whole : float
        What rows sum to as they were written: 100 for percentages, which come divided by that.
    remedy : str
        What to do about logits and scores.

    Attributes
    ----------
    off : float
        How far a sum was from one, at most.
    """

    def __init__(
        self,
        place: Callable[[int], str],
        columns: Sequence[str] | None = None,
        unused: Sequence[str] = (),
        *,
        whole: float = 1.0,
        remedy: str = "apply softmax or use predict_proba",
    ) -> None:
        self.off = 0.0
        self._place, self._columns, self._unused = place, columns, unused
        self._whole, self._remedy = whole, remedy
        self._rounding = Rounding()

    @property
    def about_decimals(self) -> str:
        """How coarsely posteriors were rounded, if that is why sums are off, as part of a note."""
        decimals = self._rounding.decimals
        if self.off <= LARGEST_SUM_ERROR or decimals is None:
            return ""
        decimals = max(0, decimals - round(math.log10(self._whole)))
        places = f"{decimals} decimal{'s' * (decimals != 1)}" if decimals else "whole numbers"
        return f"are rounded to {places}"

    def check(self, array: FloatArray, start: int = 0) -> FloatArray:
        """Return the sum of each row of a batch, the first of which has the number ``start``.

        A row that cannot be posteriors is refused.
        """
        with np.errstate(over="ignore"):
            sums: FloatArray = array.sum(axis=1)
        if not len(array):
            return sums
        off = np.abs(sums - 1.0)
        # Rows that no rounding explains; what was before them may be worse than rounded, too.
        hopeless = np.flatnonzero((array.min(axis=1) < 0) | ~(off < 1.0))
        end = int(hopeless[0]) if hopeless.size else len(array)
        suspect = np.flatnonzero(off[:end] > LARGEST_SUM_ERROR)
        wrong = self._rounding.first_unexplained(array[:end], suspect, start)
        if wrong is None and hopeless.size:
            wrong = start + end, float(sums[end])
        if wrong is not None:
            row, total = wrong
            raise self._error(row, total, array[row - start] if row >= start else None)
        self.off = max(self.off, float(off.max()))
        return sums

    def _error(self, row: int, total: float, values: FloatArray | None) -> InputError:
        columns, whole = self._columns, self._whole
        sentence = f"{self._place(row)} sums to {total * whole:.6g}"
        noun = "Posteriors" if whole == 1.0 else "Percentages"
        rule = f"{noun} must be at least 0 and sum to {whole:g} in each row"
        if values is not None and ((values < 0) | (values > 1)).any():
            column = int(np.argmax((values < 0) | (values > 1)))
            has = "holds" if columns is None else "has"
            name = column if columns is None else shown(columns[column])
            return InputError(
                f"{sentence} and {has} {values[column] * whole:.6g} in column {name}: these look "
                f"like logits or scores. {rule}; {self._remedy}."
            )
        over = "" if columns is None else f" over the columns {shown_list(columns)}"
        advice = ""
        if self._unused and total < 1:
            advice = (
                f" If one of {shown_list(self._unused)} is a class too, it has no labelled items "
                "in the reference: add some."
            )
        return InputError(
            f"{sentence}{over}. {rule} (within {LARGEST_SUM_ERROR * whole:g}).{advice}"
        )


# --- labels and classes -----------------------------------------------------------------------


def is_missing(value: object) -> bool:
    """Return whether a value means "missing" in any data frame library."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | complex | np.inexact) and bool(np.isnan(value))


def check_labels(values: Any, name: str = "y") -> AnyArray:
    """Return labels as a 1-D array of one kind: strings, integers or booleans.

    Labels that differ stay different: what NumPy would merge is refused.
    """
    # NumPy coerces mixed lists to one type: ["1", 1] would become two equal strings.
    array = values if isinstance(values, np.ndarray) else _objects(values, name)
    if array.ndim != 1:
        raise InputError(
            f"{name} has {array.ndim} dimensions; expected one label per item. For a table with "
            f"one column pass that column."
        )
    if array.size == 0:
        raise InputError(f"{name} is empty; at least one labelled item per class is needed.")
    if array.dtype.kind in "Of":
        missing = [i for i, value in enumerate(array.tolist()) if is_missing(value)]
        if missing:
            raise InputError(
                f"The label in row {missing[0]} of {name} is missing ({len(missing)} in all); "
                "every reference item needs a label. Remove such rows."
            )
    if array.dtype.kind == "O":
        array = _one_kind(array, name)
    if array.dtype.kind == "f":
        array = _whole(array.tolist(), name)
    if array.dtype.kind not in "USiub":
        kind = "Complex data not supported: " if array.dtype.kind == "c" else ""
        raise InputError(
            f"{kind}{name} holds values of type {array.dtype}; labels must be strings, whole "
            "numbers or booleans."
        )
    return array


def _objects(values: Any, name: str) -> AnyArray:
    try:
        return np.asarray(values, dtype=object)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read as labels ({str(error)[:120]}); expected one per item."
        ) from None


def _one_kind(array: AnyArray, name: str) -> AnyArray:
    """Convert an object array to strings, booleans or numbers, or raise for mixed types."""
    items = array.tolist()
    if all(isinstance(item, str) for item in items):
        return _text(items, np.str_, "\0", name)
    if all(isinstance(item, bytes) for item in items):
        return _text(items, np.bytes_, b"\0", name)
    if all(isinstance(item, bool | np.bool_) for item in items):
        return np.asarray(items, dtype=np.bool_)
    if all(is_number(item) for item in items):
        return _whole(items, name)
    kinds = sorted({type(item).__name__ for item in items})
    raise InputError(
        f"{name} holds values of type {' and '.join(kinds)}; labels must be all strings, all whole "
        "numbers or all booleans. Convert them, for example with astype(str)."
    )


def _text(items: list[Any], kind: type, zero: Any, name: str) -> AnyArray:
    """Return text as NumPy keeps it, which is without zero bytes at the end."""
    for row, item in enumerate(items):
        if item.endswith(zero):
            raise InputError(
                f"The label {shown(item)} in row {row} of {name} ends with a zero byte, which is "
                "not told from the label without it; remove such bytes."
            )
    return np.asarray(items, dtype=kind)


def _whole(items: list[Any], name: str) -> AnyArray:
    """Return whole numbers of any type as 64-bit integers, without rounding."""
    numbers = []
    for row, item in enumerate(items):
        is_float = isinstance(item, float | np.floating)
        if (is_float and not np.isfinite(item)) or int(item) != item:
            raise _measurement(item, row, name)
        number = int(item)
        if is_float and abs(number) > LARGEST_EXACT:
            raise InputError(
                f"The label in row {row} of {name} is {item}; floating-point numbers beyond 2**53 "
                "are rounded, so different labels may be the same. Pass integers or strings."
            )
        numbers.append(number)
    lowest, highest = min(numbers), max(numbers)
    if lowest >= -(2**63) and highest < 2**63:
        return np.asarray(numbers, dtype=np.int64)
    if lowest >= 0 and highest < 2**64:
        return np.asarray(numbers, dtype=np.uint64)
    raise InputError(
        f"The labels in {name} reach from {shown(lowest)} to {shown(highest)}, which integers of "
        "64 bits do not hold; pass them as strings."
    )


def _measurement(item: object, row: int, name: str) -> InputError:
    return InputError(
        f"The label in row {row} of {name} is {shown(item)}; labels must be strings, whole numbers "
        "or booleans, not measurements."
    )


def check_classes(classes: Any) -> AnyArray:
    """Return the class order that a user gave, without duplicates."""
    order = check_labels(list(classes) if isinstance(classes, Iterable) else classes, "classes")
    values, counts = np.unique(order, return_counts=True)
    if (counts > 1).any():
        raise InputError(
            f"classes names {shown(values[counts > 1][0])} more than once; expected each once."
        )
    return order


def encode_labels(labels: AnyArray, classes: AnyArray, name: str = "y") -> IntArray:
    """Return the position of each label in ``classes``; each class must occur."""
    order = np.argsort(classes)
    if labels.dtype.kind != classes.dtype.kind and {labels.dtype.kind, classes.dtype.kind} & {
        *"US"
    }:
        raise InputError(
            f"{name} and classes are of different types ({labels.dtype} and {classes.dtype}); "
            "expected the same labels in both."
        )
    ranks = np.searchsorted(classes, labels, sorter=order)
    codes = order[np.minimum(ranks, len(classes) - 1)]
    unknown = np.flatnonzero(classes[codes] != labels)
    if unknown.size:
        row = int(unknown[0])
        raise InputError(
            f"The label {shown(labels[row])} in row {row} of {name} is not one of the classes "
            f"{shown_list(classes)}."
        )
    absent = np.flatnonzero(np.bincount(codes, minlength=len(classes)) == 0)
    if absent.size:
        raise InputError(
            f"Class {shown(classes[absent[0]])} has no reference items in {name}; each class "
            "needs at least one. Add labelled items or leave the class out."
        )
    return np.asarray(codes, dtype=np.intp)


def check_same_length(n_rows: int, labels: AnyArray, name_x: str = "X", name_y: str = "y") -> None:
    """Raise for labels of another length than the table."""
    if len(labels) != n_rows:
        raise InputError(
            f"{name_x} has {n_rows} rows, but {name_y} has {len(labels)} labels; expected one "
            "label per row."
        )


def shown(value: object) -> str:
    """Return a value as messages show it: without its NumPy type, and cut if it is long."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:
        # Python does not write out whole numbers of thousands of digits.
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def shown_list(values: Sequence[Any] | AnyArray, most: int = 8) -> str:
    """List ``values`` for a message, cut after a few.

    Examples
    --------
    >>> shown_list(["a", "b", "c"], most=2)
    "'a', 'b', … (3 in all)"
    """
    listed = ", ".join(shown(value) for value in values[:most])
    return listed if len(values) <= most else f"{listed}, … ({len(values)} in all)"


def check_one_class_is_not_enough(classes: AnyArray) -> None:
    """Raise for a single class."""
    if len(classes) < 2:
        raise InputError(
            f"There is only one class, {shown(classes[0])}; a mix needs at least two. Check that "
            "y holds the labels of all classes."
        )
