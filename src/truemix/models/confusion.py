"""Observation models: decisions, posteriors or bins of posteriors, counted per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from truemix._saved_arrays import read_floats
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.validation import check_integer, parameter_error

# Above it float64 does not represent every whole number.
MAX_COUNT = 2.0**53
# Pseudo-count added to every cell, so that no observation is impossible under a class.
SMOOTHING = 0.5


class Confusion(BaseEstimator):
    """The confusion matrix of a classifier.

    The observation of item i is its decision ``d_i`` as a one-hot row (hard), or its posterior
    ``p_i`` (soft). The references give the sums ``counts_[k] = sum over items i of class k`` of
    these rows; column k of the confusion matrix is their mean, ``C[:, k] = counts_[k] / n_k``.
    The log-likelihood is ``log sum_d x_id C'[d, k]`` for the observation x, with half a reference
    added to every cell of the counts.

    With ``widths``, rows are not posteriors but decisions that were made elsewhere, already one-hot
    and of any number of values D. Several blocks are several judges, whose decisions are
    independent given the class: a row has a one for each, divided by their number, and the
    log-likelihood is the sum of theirs.

    Parameters
    ----------
    soft : bool
        Observe posteriors instead of decisions.
    widths : tuple of int, optional
        The number of columns of each judge. Quantifiers that are fitted on decisions set it.
    spare : bool
        Whether the last column of each judge is for decisions that no reference has. Quantifiers
        set it, too.

    Attributes
    ----------
    counts_ : ndarray of shape (K, D)
        References of each class (row) by decision (column).

    Examples
    --------
    >>> posteriors = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.2, 0.8]])
    >>> Confusion().fit(posteriors, np.array([0, 0, 0, 1]), 2).counts_
    array([[2., 1.],
           [0., 1.]])
    """

    counts_: FloatArray

    def __init__(self, *, soft: Any = False, widths: Any = None, spare: Any = False) -> None:
        self.soft = soft
        self.widths = widths
        self.spare = spare

    @property
    def hard(self) -> bool:
        """Whether the classifier's ``predict`` is used instead of ``predict_proba``."""
        return not self.soft

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        if not isinstance(self.soft, bool | np.bool_):
            raise parameter_error("soft", "True or False", self.soft)

    def fit(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> Self:
        """Count the observations of each class's references."""
        self.counts_ = np.eye(n_classes)[codes].T @ self.observe(posteriors)
        return self

    def observe(self, posteriors: FloatArray) -> FloatArray:
        """Return one-hot decisions (the first of several largest posteriors), or posteriors."""
        return posteriors if self.soft or self.widths else decisions(posteriors)

    def log_likelihood(self, posteriors: FloatArray) -> FloatArray:
        """Return the log-likelihood of the observations under each class, ``(n, K)``."""
        observed, widths = self.observe(posteriors), self.widths or (self.counts_.shape[1],)
        ends, n_judges = np.cumsum(widths)[:-1], len(widths)
        of_judges = zip(
            np.split(n_judges * self.counts_, ends, axis=1),
            np.split(n_judges * observed, ends, axis=1),
            strict=True,
        )
        matrices = [smoothed_log_likelihood(counts, rows) for counts, rows in of_judges]
        return np.asarray(np.sum(matrices, axis=0))

    def state(self) -> dict[str, AnyArray]:
        """Return the counts."""
        return {"counts": self.counts_}

    def restore(self, state: Mapping[str, AnyArray], n_classes: int) -> None:
        """Become the model that was saved."""
        n_columns = sum(self.widths) if self.widths else n_classes
        # Judges share the items, so that a count may be a fraction.
        whole = not self.soft and len(self.widths or [n_columns]) == 1
        self.counts_ = read_counts(state, (n_classes, n_columns), whole=whole)


class Histogram(BaseEstimator):
    """Histogram of the posterior of the second of two classes.

    The observation of an item is the bin that its posterior falls into, as a one-hot row; bin edges
    are quantiles of all references. The log-likelihood is that of the bin, ``log C[bin, k]``,
    as for :class:`Confusion`.

    Parameters
    ----------
    bins : int
        Number of bins; there are fewer if posteriors take fewer distinct values.

    Attributes
    ----------
    edges_ : ndarray
        Inner bin edges.
    counts_ : ndarray of shape (2, D)
        References of each class by bin.

    Examples
    --------
    >>> p = np.linspace(0.05, 0.95, 10)
    >>> model = Histogram(bins=2).fit(np.column_stack([1 - p, p]), np.arange(10) // 6, 2)
    >>> model.counts_
    array([[5., 1.],
           [0., 4.]])
    """

    # There must be two classes.
    binary = True
    edges_: FloatArray
    counts_: FloatArray

    def __init__(self, *, bins: Any = 4) -> None:
        self.bins = bins

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        check_integer(self.bins, "bins")

    def fit(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> Self:
        """Choose the bins and count each class's references in them."""
        if n_classes != 2:
            raise InputError(
                f"Histogram bins the posterior of one of two classes, but there are {n_classes}; "
                "use KDEy or EMQ for more."
            )
        inner = np.arange(1, self.bins) / self.bins
        self.edges_ = np.unique(np.quantile(posteriors[:, 1], inner))
        self.counts_ = np.eye(2)[codes].T @ self.observe(posteriors)
        return self

    def observe(self, posteriors: FloatArray) -> FloatArray:
        """Return the bin of each item as a one-hot row, ``(n, D)``."""
        # An edge belongs to the bin below it.
        place = np.searchsorted(self.edges_, posteriors[:, 1], side="left")
        return np.asarray(np.eye(len(self.edges_) + 1)[place])

    def log_likelihood(self, posteriors: FloatArray) -> FloatArray:
        """Return the log-likelihood of the bins under each class, ``(n, 2)``."""
        return smoothed_log_likelihood(self.counts_, self.observe(posteriors))

    def state(self) -> dict[str, AnyArray]:
        """Return edges and counts."""
        return {"edges": self.edges_, "counts": self.counts_}

    def restore(self, state: Mapping[str, AnyArray], n_classes: int) -> None:
        """Become the model that was saved."""
        edges = read_floats(state, "edges", (None,), minimum=0.0, maximum=1.0)
        if n_classes != 2 or (np.diff(edges) <= 0).any() or len(edges) >= self.bins:
            raise InputError("edges are not those of so many bins")
        self.edges_ = edges
        self.counts_ = read_counts(state, (2, len(edges) + 1), whole=True)


def decisions(posteriors: FloatArray) -> FloatArray:
    """Return ones where a row has its (first) largest posterior, zeros elsewhere."""
    return np.asarray(np.eye(posteriors.shape[1])[posteriors.argmax(axis=1)])


def smoothed_log_likelihood(counts: FloatArray, observed: FloatArray) -> FloatArray:
    """Return ``log(observed @ C')`` with the means C of smoothed counts, ``(n, K)``."""
    smoothed = counts + SMOOTHING
    return np.asarray(np.log(observed @ (smoothed / smoothed.sum(axis=1, keepdims=True)).T))


def read_counts(
    state: Mapping[str, AnyArray], shape: tuple[int, int], *, whole: bool
) -> FloatArray:
    """Return the counts of a saved model, each class with at least one reference."""
    counts = read_floats(state, "counts", shape, minimum=0.0, maximum=MAX_COUNT)
    if (whole and (counts != np.floor(counts)).any()) or not counts.sum(axis=1).all():
        raise InputError("counts are not those of references")
    return counts
