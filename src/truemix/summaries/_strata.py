"""Strata of items by decision, runner-up and confidence, and how densely each is sampled.

Everything here is a function of a row's contents alone, so that summaries of any parts of a batch
merge into the summary of all of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix import _core
from truemix._typing import FloatArray, IntArray

# Upper ends of the bins of 1 - confidence. Saturated rows (confidence 1) are a bin of their own:
# many items may share them, and with few distinct rows all of them are kept.
_DOUBTS = np.array([0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 1.0])
N_BINS = len(_DOUBTS)
# Rows are kept in proportion to the standard deviation of a decision of that confidence (Neyman
# allocation), but sure ones not much less often: confidences may be wrong.
_MIN_RATE = 0.05
_RATES = np.maximum(np.sqrt(np.minimum(_DOUBTS, 0.5) * (1.0 - np.minimum(_DOUBTS, 0.5))), _MIN_RATE)
# With more classes, strata do not tell the second most probable one: there would be too many.
_MAX_PAIRED = 16
# Moments are counted in these units: 64 bits are enough for 10 ** 11 items.
MOMENT_UNIT = 2.0**-24
_TO_UNIT = 2.0**-53
_COARSE = 2.0**20

Hashes = npt.NDArray[np.uint64]


def n_strata(n_classes: int) -> int:
    """Return the number of strata."""
    return n_classes * (n_classes if n_classes <= _MAX_PAIRED else 1) * N_BINS


def mean_posteriors(rows: FloatArray, n_classes: int) -> FloatArray:
    """Return the mean over the models of rows ``(n, M * K)``, as ``(n, K)``."""
    n_layers = rows.shape[1] // n_classes
    if n_layers == 1:
        return rows
    # Layer by layer: a sum in this order is the same for every batch.
    mean = np.zeros((len(rows), n_classes))
    for layer in range(n_layers):
        mean += rows[:, layer * n_classes : (layer + 1) * n_classes]
    return np.asarray(mean / n_layers)


def strata_of(rows: FloatArray, n_classes: int) -> IntArray:
    """Return the stratum of each row ``(n, M * K)``: its decision, runner-up, and how sure it is.

    Examples
    --------
    >>> strata_of(np.array([[1.0, 0.0], [0.4, 0.6], [0.02, 0.98]]), 2).tolist()
    [13, 35, 31]
    """
    mean = mean_posteriors(rows, n_classes)
    every = np.arange(len(mean))
    group = mean.argmax(axis=1)
    confidence = mean[every, group]
    if n_classes <= _MAX_PAIRED:
        others = mean.copy()
        others[every, group] = -1.0
        group = group * n_classes + others.argmax(axis=1)
    doubt = np.clip(1.0 - confidence, 0.0, 1.0)
    return np.asarray(group * N_BINS + np.searchsorted(_DOUBTS, doubt))


def decisions_of(strata: IntArray, n_classes: int) -> IntArray:
    """Return the decision that each stratum belongs to."""
    return strata // (n_strata(n_classes) // n_classes)


def moments_of(rows: FloatArray, n_classes: int) -> FloatArray:
    """Return mean posteriors and their squares ``(n, 2 K)``, whose sums over all items are kept.

    In whole multiples of ``MOMENT_UNIT``, so that sums are exact in any order.
    """
    mean = mean_posteriors(rows, n_classes)
    return np.rint(np.hstack([mean, mean**2]) / MOMENT_UNIT)


def hashes_of(rows: FloatArray) -> Hashes:
    """Return a random-like number of 64 bits for each row, the same for equal rows."""
    return _core.row_hashes(rows).view(np.uint64)


def order_keys(rows: FloatArray) -> Hashes:
    """Return random-like numbers to sort rows by, which rounding errors of rows rarely change.

    Random numbers are assigned to rows in their order. Scores of a classifier differ in the last
    digits from batch to batch or from machine to machine, and estimates should not change by more
    than that.
    """
    return hashes_of(np.rint(rows * _COARSE))


def priorities_of(hashes: Hashes, strata: IntArray) -> FloatArray:
    """Return the priority of each row: those with the smallest are kept."""
    # Half a step more, so that none is 0.
    uniform = ((hashes >> np.uint64(11)).astype(np.float64) + 0.5) * _TO_UNIT
    return np.asarray(uniform / _RATES[strata % N_BINS])
