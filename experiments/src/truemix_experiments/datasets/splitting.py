"""From a table to the parts of an experiment, as in the paper."""

from __future__ import annotations

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._typing import AnyArray, FloatArray, IntArray
from truemix_experiments.datasets.catalogue import DatasetInfo
from truemix_experiments.datasets.data import Data, Pool

TRAIN_SHARE = 0.7
MAX_TRAINING_ROWS = 25_000
VALIDATION_SHARE = 0.4
SMALLEST_CLASS = 0.01


def stratified(y: IntArray, n_first: int, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Return the rows of two parts with the same mix, the first with ``n_first`` rows.

    Seed 0 is the paper's.

    Examples
    --------
    >>> import numpy as np
    >>> first, rest = stratified(np.array([0] * 6 + [1] * 4), 5)
    >>> np.sort(first), np.sort(rest)
    (array([1, 2, 5, 6, 9]), array([0, 3, 4, 7, 8]))
    """
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(y))
    try:
        first, rest = train_test_split(rows, train_size=n_first, random_state=seed, stratify=y)
    except ValueError as error:
        raise InputError(
            f"{len(y)} items cannot be split into parts of {n_first} and {len(y) - n_first} with "
            f"the same mix ({error}). Check that the file is complete."
        ) from None
    return np.asarray(first, dtype=np.intp), np.asarray(rest, dtype=np.intp)


def held_out(y: IntArray, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Return the rows to fit on while settings are chosen, and the 40 % for validation.

    Examples
    --------
    >>> import numpy as np
    >>> [len(rows) for rows in held_out(np.arange(709) % 3)]
    [425, 284]
    """
    return stratified(y, int((1 - VALIDATION_SHARE) * len(y)), seed)


def drop_rare_classes(
    X: FloatArray, y: IntArray, classes: AnyArray
) -> tuple[FloatArray, IntArray, AnyArray]:
    """Leave out classes with fewer than 1 % of the rows (rounded down) and number the rest anew.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1, 2], [150, 1, 60])
    >>> X, y, classes = drop_rare_classes(np.zeros((211, 1)), y, np.array(["a", "b", "c"]))
    >>> classes, np.bincount(y)
    (array(['a', 'c'], dtype='<U1'), array([150,  60]))
    """
    counts = np.bincount(y, minlength=len(classes))
    # A name in the list of classes that no row has is dropped too.
    kept = np.flatnonzero(counts >= max(int(SMALLEST_CLASS * len(y)), 1))
    rows = np.isin(y, kept)
    return X[rows], np.searchsorted(kept, y[rows]), classes[kept]


def split_table(
    info: DatasetInfo, X: FloatArray, y: IntArray, classes: AnyArray, seed: int = 0
) -> Data:
    """Split a table into training and test rows and standardise by the former."""
    from sklearn.preprocessing import StandardScaler

    X, y, classes = drop_rare_classes(X, y, classes)
    n_train = min(int(TRAIN_SHARE * len(y)), MAX_TRAINING_ROWS)
    rows, rest = stratified(y, n_train, seed)
    scaler = StandardScaler().fit(X[rows])
    train = Pool(scaler.transform(X[rows]), y[rows])
    test = Pool(scaler.transform(X[rest]), y[rest])
    fit, validation = held_out(train.y, seed)
    return Data(
        info=info,
        classes=classes,
        train=train,
        fit=train.rows(fit),
        validation=train.rows(validation),
        test=test,
    )
