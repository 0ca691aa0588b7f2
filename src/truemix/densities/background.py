"""The background density: the likelihood of items that belong to none of the classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray
from truemix.exceptions import InputError
from truemix.validation import check_labels

# Exponent of the tilt towards the tails: at tail probability u among the references, the background
# is the density times u ** -POWER, scaled. With a smaller exponent the unknown class absorbs
# typical items, with a larger one only the most extreme; from 0.9 to 1.2 estimates hardly differ.
POWER = 1.2


def background_log_likelihood(
    log_likelihood: npt.ArrayLike, reference: npt.ArrayLike, labels: npt.ArrayLike
) -> FloatArray:
    """Log density of each item under "none of the classes": one more column for the matrix.

    The background is the even mix of all classes, tilted towards the tails. An item is ranked by
    that mix's density among the held-out references with the same most likely class. Its tail
    probability u is the share of them with a density as small, and the density is multiplied by
    ``u ** -1.2`` (scaled to mean 1 over these references). A typical item is less likely under the
    background than under its class, one beyond all references more likely, by a factor that grows
    with their number. A single broad density would work in few dimensions only: with many classes,
    kernel estimates are far too low at every new item, and the broad density would win everywhere.
    Ranks among held-out references correct for that, and ranking within the most likely class keeps
    a dispersed class from being taken for the unknown one.

    Parameters
    ----------
    log_likelihood : array-like of shape (n, K)
        Log density of each item under each class, as of
        :func:`truemix.densities.kde_log_likelihood`.
    reference : array-like of shape (m, K)
        The same for labelled items that were not used to fit the densities (out-of-fold).
    labels : array-like of shape (m,)
        Their classes; column k is the k-th of the sorted distinct labels.

    Returns
    -------
    ndarray of shape (n,)
        To be appended as column K + 1. It depends on no other item of the batch.

    Examples
    --------
    Two typical items and one in the tail of both classes; ratios above 1 favour the background:

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
    """Log ratio of the background to the even mix of all classes.

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
        # Without references of this most likely class there is nothing to rank among.
        if items.any() and references.any():
            tilt[items] = _log_tilt(known_density[references], weights[references], density[items])
    return tilt


def _log_tilt(known: FloatArray, weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return the log tilt of items by their tail probability among the references."""
    order = np.argsort(known, kind="stable")
    shares = weights[order] / weights.sum()
    below = np.concatenate([[0.0], np.cumsum(shares)])
    # The item itself counts as one more reference, so that no tail probability is zero.
    item_share = shares @ shares
    rank = below[np.searchsorted(known[order], values, side="right")]
    tail = (rank + item_share) / (1.0 + item_share)
    return np.asarray(-POWER * np.log(tail) - np.log(shares @ below[1:] ** -POWER))
