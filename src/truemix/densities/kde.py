"""Class-conditional kernel densities of items: the log-likelihood matrix of KDEy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray, IntArray
from truemix.densities._tiles import KERNELS
from truemix.densities.class_densities import ClassDensities
from truemix.densities.distinct import distinct_rows, sums_of_equal
from truemix.exceptions import InputError
from truemix.validation import (
    as_floats,
    check_choice,
    check_labels,
    check_matrix,
    check_number,
    check_posteriors,
    check_same_length,
    check_weights,
    encode_labels,
)


def kde_log_likelihood(
    reference: npt.ArrayLike,
    labels: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    kernel: str = "aitchison",
    bandwidth: float | Sequence[float] | FloatArray,
    shrinkage: float = 0.0,
    weights: npt.ArrayLike | None = None,
) -> FloatArray:
    r"""Log density of each target item under each class, by kernel density estimation.

    The density of class k at the item p is the mean over the class's reference items q of a
    Gaussian kernel between ``phi(T(p))`` and ``phi(T(q))``, where T shrinks towards the
    barycentre (:func:`truemix.simplex.shrink`), phi are the kernel's coordinates and the kernel's
    standard deviation is ``(1 - shrinkage) * bandwidth``, so that shrinking does not change how
    much is smoothed. Exact sums in the log domain: nothing is truncated, floored or approximated,
    so far tails are as right as the centre.

    Parameters
    ----------
    reference : array-like of shape (m, K)
        Posteriors of labelled items.
    labels : array-like of shape (m,)
        Their classes; column k of the result is the k-th of the sorted distinct labels. There
        must be as many distinct labels as columns.
    target : array-like of shape (n, K)
        Posteriors of the items to evaluate.
    kernel : {"aitchison", "ilr", "gaussian"}
        Coordinates: centred log-ratios, isometric log-ratios (same distances, one coordinate
        less), or the posteriors themselves (for which shrinkage only adds a constant).
    bandwidth : float or sequence of floats
        Positive. With a sequence the result has a leading axis, and distances are computed once.
    shrinkage : float
        At least 0, below 1. At 0, exact zeros are read as :data:`truemix.simplex.FLOOR`.
    weights : array-like of shape (m,) or (B, m), optional
        Weights of the reference items within their class (any scale). With B weightings the
        result has an axis of length B before its last two, and kernels are computed once.

    Returns
    -------
    ndarray of shape (n, K), (len(bandwidth), n, K), (B, n, K) or (len(bandwidth), B, n, K)
        Natural logarithms of densities with respect to the kernel's coordinates.

    Notes
    -----
    Works in blocks: besides input and result, less than 300 MB of memory are used for any size.
    Runs on all cores; the result does not depend on how many there are.

    Examples
    --------
    >>> reference = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]]
    >>> labels = ["ham", "ham", "spam", "spam"]
    >>> kde_log_likelihood(reference, labels, [[0.9, 0.1]], bandwidth=0.5).round(2)
    array([[ -0.73, -10.39]])
    """
    check_choice(kernel, "kernel", KERNELS)
    P = check_posteriors(reference, "reference")
    Q = check_posteriors(target, "target", n_classes=P.shape[1])
    y = check_labels(labels, "labels")
    check_same_length(len(P), y, "reference", "labels")
    classes = np.unique(y)
    if len(classes) != P.shape[1]:
        raise InputError(
            f"labels holds {len(classes)} distinct classes, but reference has {P.shape[1]} "
            "columns; expected one column and at least one reference item per class."
        )
    codes = encode_labels(y, classes, "labels")
    rows, place = distinct_rows(P, codes)
    # Without a copy if all are distinct.
    some = rows if len(rows) < len(P) else slice(None)
    density = ClassDensities(
        P[some],
        codes[some],
        kernel=kernel,
        bandwidths=check_bandwidths(bandwidth),
        shrinkage=check_number(shrinkage, "shrinkage"),
        counts=np.bincount(place).astype(np.float64),
    )
    single_bandwidth = np.ndim(bandwidth) == 0
    weights = None if weights is None else as_floats(weights, "weights")
    if weights is None:
        result = density.log_likelihood(Q)
    elif weights.ndim == 1:
        row = _scaled(check_weights(weights, len(P)), codes)
        result = density.log_likelihood(Q, sums_of_equal(row, place, len(rows)))
    else:
        table = check_matrix(weights, "weights")
        scaled = [
            _scaled(check_weights(each, len(P), f"weights[{b}]"), codes)
            for b, each in enumerate(table)
        ]
        result = density.log_likelihoods(Q, sums_of_equal(np.array(scaled), place, len(rows)))
    return result[0] if single_bandwidth else result


def _scaled(weights: FloatArray, codes: IntArray) -> FloatArray:
    """Return weights with maximum 1 in each class, so that their sums do not overflow."""
    largest = np.zeros(codes.max() + 1)
    np.maximum.at(largest, codes, weights)
    return np.asarray(weights / np.where(largest > 0, largest, 1.0)[codes])


def check_bandwidths(bandwidth: Any) -> FloatArray:
    """Return one or several positive bandwidths as a 1-D array."""
    listed = isinstance(bandwidth, Sequence) and not isinstance(bandwidth, str | bytes)
    if not (listed or (isinstance(bandwidth, np.ndarray) and bandwidth.ndim > 0)):
        return np.array([check_number(bandwidth, "bandwidth")])
    values = [check_number(h, f"bandwidth[{i}]", kind="bandwidth") for i, h in enumerate(bandwidth)]
    if not values:
        raise InputError("The 'bandwidth' parameter is empty; expected at least one number.")
    return np.array(values)
