"""An order of references that depends on nothing but what they are.

Folds and random weights are dealt to references row after row. In the order of a file, the same
references would get others in another file, and a renamed class other columns; the answer would
move by as much as chance has a say in it. So references are put in an order of their contents.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from truemix._typing import AnyArray, FloatArray, IntArray


def reference_order(posteriors: FloatArray, codes: IntArray) -> IntArray:
    """Return the rows of references, class after class, in an order of their contents.

    Neither the order of rows nor the numbers of classes play a part: a class has its place by how
    many references it has and how sure of it these are, a row by its posteriors. Rows that change
    places for rounding's sake are the same but for rounding.

    Parameters
    ----------
    posteriors : ndarray of shape (m, K)
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
    own = posteriors[np.arange(len(codes)), codes]
    by_class = np.lexsort((own, codes))
    members = np.split(by_class, np.cumsum(np.bincount(codes))[:-1])
    classes = sorted(range(len(members)), key=lambda k: (len(members[k]), own[members[k]].tolist()))
    rows = np.concatenate([members[k] for k in classes])
    # Only rows that are as sure of their class as a neighbour need a look at their other columns.
    same = (np.diff(own[rows]) == 0) & (np.diff(codes[rows]) == 0)
    if same.any():
        run = np.concatenate([[0], np.cumsum(~same)])
        tied = np.flatnonzero(np.bincount(run)[run] > 1)
        columns = posteriors[rows[tied]][:, classes].T
        rows[tied] = rows[tied][np.lexsort((*columns[::-1], run[tied]))]
    return rows


def feature_order(features: Any, codes: IntArray) -> IntArray:
    """Return the rows of labelled features in an order of their contents.

    Rows of arrays are sorted by their bytes, those of data frames and sparse matrices by a hash,
    equal ones by their class. Cells that have no hash, such as lists, leave the order as it is.

    Examples
    --------
    >>> features, codes = np.array([[3.0, 1.0], [2.0, 2.0], [2.0, 1.0]]), np.array([0, 1, 0])
    >>> rows, others = feature_order(features, codes), feature_order(features[::-1], codes[::-1])
    >>> bool((features[rows] == features[::-1][others]).all())
    True
    """
    by_class = np.argsort(codes, kind="stable")
    keys = _keys(features)
    if keys is None:
        return np.arange(len(codes))
    return np.asarray(by_class[np.argsort(keys[by_class], kind="stable")])


def _keys(features: Any) -> AnyArray | None:
    """Return one value for each row that tells what it contains, if there is one."""
    if hasattr(features, "iloc"):
        return _frame_keys(features)
    if hasattr(features, "tocsr"):
        return _sparse_keys(features.tocsr().sorted_indices())
    if features.dtype.kind not in "biufUS" or features.shape[1] == 0:
        return None
    rows = np.ascontiguousarray(features)
    bytes_of_row = np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))
    return np.asarray(rows.view(bytes_of_row)[:, 0])


def _frame_keys(features: Any) -> AnyArray | None:
    from pandas.util import hash_pandas_object

    try:
        return np.asarray(hash_pandas_object(features, index=False))
    except TypeError:
        return None


def _sparse_keys(features: Any) -> AnyArray:
    places = zip(features.indptr[:-1], features.indptr[1:], strict=True)
    contents = (
        features.indices[start:end].tobytes() + features.data[start:end].tobytes()
        for start, end in places
    )
    return np.array([hashlib.blake2b(each, digest_size=8).digest() for each in contents])
