"""A canonical order of references, which depends on their contents alone.

Folds and random weights are assigned to references row by row. In the order of a file, shuffled
rows or renamed classes would get others, and the estimate would change by its random error. So
references are sorted by their contents first.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from truemix._typing import AnyArray, FloatArray, IntArray

Hashes: TypeAlias = npt.NDArray[np.uint64]


def reference_order(posteriors: FloatArray, codes: IntArray) -> IntArray:
    """Return the rows of references, class by class, in content order.

    It does not depend on the order of rows or the numbers of classes: classes are sorted by their
    number of references and the posteriors of their own class, rows by their posteriors. Rounding
    can only swap rows that are equal up to rounding.

    Parameters
    ----------
    posteriors : ndarray of shape (m, K), or (m, D) of decisions
    codes : ndarray of shape (m,)
        Class numbers, each of 0 to K - 1 at least once.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> posteriors = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]])
    >>> reference_order(posteriors, np.array([0, 1, 0]))
    array([1, 2, 0])
    >>> reference_order(posteriors[::-1, ::-1], np.array([1, 0, 1]))
    array([1, 0, 2])
    """
    if posteriors.shape[1] != int(codes.max()) + 1:
        # Decisions: no column is that of a class.
        return np.lexsort((*posteriors.T[::-1], codes))
    true = posteriors[np.arange(len(codes)), codes]
    by_class = np.lexsort((true, codes))
    members = np.split(by_class, np.cumsum(np.bincount(codes))[:-1])
    classes = sorted(
        range(len(members)), key=lambda k: (len(members[k]), true[members[k]].tolist())
    )
    rows = np.concatenate([members[k] for k in classes])
    # Only rows that tie in the posterior of their class are compared by their other columns.
    same = (np.diff(true[rows]) == 0) & (np.diff(codes[rows]) == 0)
    if same.any():
        run = np.concatenate([[0], np.cumsum(~same)])
        tied = np.flatnonzero(np.bincount(run)[run] > 1)
        columns = posteriors[rows[tied]][:, classes].T
        rows[tied] = rows[tied][np.lexsort((*columns[::-1], run[tied]))]
    return rows


def feature_order(features: Any, codes: IntArray) -> IntArray:
    """Return the rows of labelled features in content order.

    Rows are sorted by a hash, equal ones by their class. It is the same hash in every container:
    arrays, data frames and sparse matrices with the same numbers have the same order.

    Parameters
    ----------
    features : ndarray, pandas data frame or sparse matrix of shape (m, d)
    codes : ndarray of shape (m,)
        Class numbers.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> features, codes = np.array([[3.0, 1.0], [2.0, 2.0], [2.0, 1.0]]), np.array([0, 1, 0])
    >>> rows, others = feature_order(features, codes), feature_order(features[::-1], codes[::-1])
    >>> bool((features[rows] == features[::-1][others]).all())
    True
    """
    return np.lexsort((codes, _row_hashes(features)))


def _row_hashes(features: Any) -> Hashes:
    """Return for each row the sum of hashes of (column, value) over its non-zero cells."""
    n_rows, n_columns = features.shape
    hashes = np.zeros(n_rows, dtype=np.uint64)
    if hasattr(features, "tocoo"):
        table = features.tocoo()
        np.add.at(hashes, table.row, _hashed(_bits(table.data), table.col))
        return hashes
    for j in range(n_columns):
        column = features.iloc[:, j].to_numpy() if hasattr(features, "iloc") else features[:, j]
        hashes += _hashed(_bits(column), j)
    return hashes


def _bits(values: AnyArray) -> Hashes:
    """Return 64 bits for each value: those of the float (0 for zero), or a hash of the text."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        digests = (hashlib.blake2b(repr(each).encode(), digest_size=8).digest() for each in values)
        return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    # Only one kind of zero (no -0.0) and of NaN.
    tidy = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return tidy.view(np.uint64)


def _hashed(bits: Hashes, column: Any) -> Hashes:
    """Mix bits and column number (the finaliser of SplitMix64); zero stays zero."""
    mixed = bits + np.asarray(column, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.where(bits == 0, np.uint64(0), mixed)
