"""What an item of none of the classes looks like: a density for the unknown."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray
from truemix.exceptions import InputError
from truemix.validation import check_labels

# How strongly the unknown prefers tails: where a share u of the references has so small a density,
# the unknown has that density times u ** -POWER, scaled. With less the unknown takes typical items,
# with more it overlooks all but the strangest; from 0.9 to 1.2 estimates hardly differ.
POWER = 1.2


def background_log_likelihood(
    log_likelihood: npt.ArrayLike, reference: npt.ArrayLike, labels: npt.ArrayLike
) -> FloatArray:
    """Log density of each item under "none of the classes": one more column for the matrix.

    The background is the even mix of all classes, tilted towards the tails. An item is ranked by
    that mix's density among the held-out references that look most like the same class: where only
    a share u of them has so small a density, the density counts ``u ** -1.2`` times (scaled, so
    that on average over these references nothing changes). An item as typical as most references
    speaks against the unknown, one beyond all of them for it, by a factor that grows with how many
    there are. A plainly broad density, in contrast, is useful in few dimensions only: with many
    classes kernel estimates are far too low at every new item, and the broad one would explain
    everything. The ranks of held-out references take care of that, and ranking among the like
    keeps a class that is spread out from being taken for the unknown.

    Parameters
    ----------
    log_likelihood : array-like of shape (n, K)
        Log density of each item under each class, as of
        :func:`truemix.densities.kde_log_likelihood`.
    reference : array-like of shape (m, K)
        The same for labelled items that had no part in the densities, such as those of other
        folds.
    labels : array-like of shape (m,)
        Their classes; column k is the k-th of the sorted distinct labels.

    Returns
    -------
    ndarray of shape (n,)
        To be appended as column K + 1. It depends on no other item of the batch.

    Examples
    --------
    Two typical items and one in the tail of both classes; a ratio above one speaks for the unknown:

    >>> reference = np.log([[4, 1], [5, 1], [6, 1], [1, 4], [1, 5], [1, 6]])
    >>> labels = ["ham", "ham", "ham", "spam", "spam", "spam"]
    >>> items = np.log([[6, 1], [1, 6], [0.1, 0.1]])
    >>> unknown = background_log_likelihood(items, reference, labels)
    >>> np.exp(unknown - items.max(axis=1)).round(2)
    array([0.27, 0.27, 2.49])
    """
    from scipy.special import logsumexp

    tilt = background_tilt(log_likelihood, reference, labels)
    return np.asarray(
        logsumexp(log_likelihood, axis=1) - np.log(np.shape(log_likelihood)[1]) + tilt
    )


def background_tilt(
    log_likelihood: npt.ArrayLike, reference: npt.ArrayLike, labels: npt.ArrayLike
) -> FloatArray:
    """By how much the background exceeds the even mix of all classes, as a logarithm.

    Parameters
    ----------
    log_likelihood, reference, labels
        As for :func:`background_log_likelihood`.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> reference = np.log([[4, 1], [5, 1], [6, 1], [1, 4], [1, 5], [1, 6]])
    >>> labels = ["ham", "ham", "ham", "spam", "spam", "spam"]
    >>> background_tilt(np.log([[6, 1], [0.1, 0.1]]), reference, labels).round(2)
    array([-0.75,  0.91])
    """
    from scipy.special import logsumexp

    matrix = np.asarray(log_likelihood, dtype=np.float64)
    known = np.asarray(reference, dtype=np.float64)
    codes = np.unique(check_labels(labels, "labels"), return_inverse=True)[1]
    n_classes = matrix.shape[-1]
    if matrix.ndim != 2 or known.shape != (len(codes), n_classes) or codes.max() + 1 != n_classes:
        raise InputError(
            f"log_likelihood, reference and labels have the shapes {matrix.shape}, {known.shape} "
            f"and ({len(codes)},) with {codes.max() + 1} distinct labels; expected (n, K), (m, K) "
            "and (m,) with K of them."
        )
    weights = 1.0 / np.bincount(codes)[codes]
    density, known_density = logsumexp(matrix, axis=1), logsumexp(known, axis=1)
    tilt = np.zeros(len(matrix))
    like, known_like = matrix.argmax(axis=1), known.argmax(axis=1)
    for k in range(n_classes):
        items, references = like == k, known_like == k
        # Where no reference looks like the class, there is nothing to rank among.
        if items.any() and references.any():
            tilt[items] = _log_tilt(known_density[references], weights[references], density[items])
    return tilt


def _log_tilt(known: FloatArray, weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return the logarithm of what the density counts, given how many references are below."""
    order = np.argsort(known, kind="stable")
    shares = weights[order] / weights.sum()
    below = np.concatenate([[0.0], np.cumsum(shares)])
    # The item counts as one more reference, so that no tail probability is zero.
    own = shares @ shares
    tail = (below[np.searchsorted(known[order], values, side="right")] + own) / (1.0 + own)
    return np.asarray(-POWER * np.log(tail) - np.log(shares @ below[1:] ** -POWER))
