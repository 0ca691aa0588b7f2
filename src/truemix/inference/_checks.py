"""Input validation for the solver and the samplers: log-likelihoods, weights, starting mixes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray
from truemix.exceptions import InputError
from truemix.validation import check_integer, check_number

# Rows of smaller relative weight would need shares below the range of double precision.
MIN_WEIGHT = 1e-280


def as_floats(values: npt.ArrayLike, name: str) -> FloatArray:
    """Return numbers as float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} does not hold numbers only; it must be an array of real numbers: "
            "convert or drop what is not a number."
        ) from None


def check_matrix(log_likelihood: npt.ArrayLike) -> FloatArray:
    """Return a float matrix with at least one row and one column."""
    values = as_floats(log_likelihood, "log_likelihood")
    if values.ndim != 2:
        raise InputError(
            f"log_likelihood has shape {values.shape}; it must have two dimensions, one row per "
            "item and one column per class: reshape it, a single item to (1, K)."
        )
    if 0 in values.shape:
        missing = "rows" if values.shape[0] == 0 else "columns"
        raise InputError(
            f"log_likelihood has no {missing} (shape {values.shape}); at least one item and one "
            "class are needed: check what was selected before this call."
        )
    return values


def check_rows(values: FloatArray, w: FloatArray) -> FloatArray:
    """Return each row's maximum; raise for NaN, +inf, and rows impossible under every class."""
    with np.errstate(invalid="ignore"):
        peaks: FloatArray = values.max(axis=1)
    wrong = np.isnan(peaks) | (peaks == np.inf)
    if wrong.any():
        row = int(np.argmax(wrong))
        column = int(np.argmax(np.isnan(values[row]) | (values[row] == np.inf)))
        raise InputError(
            f"log_likelihood is {values[row, column]:+} in row {row}, column {column}; every entry "
            "must be finite or -inf: repair the density that gave it, or drop the row."
        )
    impossible = (peaks == -np.inf) & (w > 0)
    if impossible.any():
        raise InputError(
            f"log_likelihood is -inf for every class in row {int(np.argmax(impossible))}; each "
            "item must be possible under some class: drop the row, or smooth the densities."
        )
    return peaks


def relative_weights(weights: npt.ArrayLike | None, n: int) -> FloatArray:
    """Return weights that sum to 1; those below ``MIN_WEIGHT`` are set to zero."""
    if weights is None:
        return np.full(n, 1.0 / n)
    w = _shares(weights, "weights", n, "rows", "weight per item")
    w[w < MIN_WEIGHT] = 0.0
    return w


def check_start(start: npt.ArrayLike | None, K: int) -> FloatArray:
    """Return a starting mix that sums to 1."""
    if start is None:
        return np.full(K, 1.0 / K)
    return _shares(start, "start", K, "columns", "prevalence per class")


def _shares(values: npt.ArrayLike, name: str, length: int, axis: str, one: str) -> FloatArray:
    """Return non-negative numbers, one per row or column of the matrix, normalised to sum 1."""
    array = as_floats(values, name)
    if array.shape != (length,):
        raise InputError(
            f"{name} has shape {array.shape}; it must have one entry for each of the {length} "
            f"{axis} of log_likelihood, shape ({length},): pass one {one}."
        )
    _check_nonnegative(array, name)
    # Divide by the maximum first: the sum of finite numbers may overflow.
    array = np.ascontiguousarray(array / array.max())
    array /= array.sum()
    return array


def _check_nonnegative(values: FloatArray, name: str) -> None:
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{name} is {values[at]} at position {at}; every entry must be finite and at least 0: "
            "correct it."
        )
    if not values.any():
        raise InputError(f"{name} is 0 everywhere; some entry must be positive: correct it.")


def check_controls(tol: float, max_iter: int) -> None:
    """Raise for an invalid tolerance or number of iterations."""
    check_number(tol, "tol")
    check_integer(max_iter, "max_iter")


def check_finite(what: str, *arrays: FloatArray) -> None:
    """Raise if compiled code returned NaN or infinity, as it does on overflow."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError(
            f"The {what} cannot be computed in double precision: its likelihoods, weights, prior "
            "and temperature differ by too many orders of magnitude. Bring them closer together."
        )


def scale_rows(values: FloatArray, peaks: FloatArray) -> FloatArray:
    """Return likelihoods with maximum 1 in each row."""
    # At the optimum a row's mixture likelihood is at least its weight times its largest likelihood
    # (else the gradient of that class would exceed 1). Entries that underflow here, a factor of
    # e^-745 below the largest, change no digit of any quantity at the optimum: scaling is exact.
    with np.errstate(over="ignore", under="ignore"):
        L = np.subtract(values, peaks[:, None], order="C")
        np.exp(L, out=L)
    return L
