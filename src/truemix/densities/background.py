"""What an item of none of the classes looks like: a density for the unknown."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray
from truemix.exceptions import InputError
from truemix.validation import check_labels

# How strongly the unknown prefers the tail: where a share u of the references has so small a
# density, the unknown has that density times u ** (TAIL - 1), scaled. Smaller is stronger. From
# 0.03 to 0.2 estimates of known classes hardly differ; with more, the unknown takes typical items.
TAIL = 0.1


def background_log_likelihood(
    log_likelihood: npt.ArrayLike, reference: npt.ArrayLike, labels: npt.ArrayLike
) -> FloatArray:
    """Log density of each item under "none of the classes": one more column for the matrix.

    The background is the even mix of all classes, tilted towards its own tail: where only a share
    u of held-out references has so small a density, the density counts ``u ** (0.1 - 1)`` times
    (scaled, so that it is as likely as the even mix on average over such references). An item as
    typical as most references speaks against the unknown, one beyond all of them for it, by a
    factor that grows with how many references there are. A plainly broad density, in contrast, is
    useful in few dimensions only: with many classes kernel estimates are far too low at every new
    item, and the broad one would explain everything. The ranks of held-out references take care of
    that.

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
    array([0.27, 0.27, 1.58])
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
    counts = np.bincount(codes)
    weights = 1.0 / (n_classes * counts[codes])
    # The item counts as one more reference, so that no tail probability is zero.
    own = (1.0 / counts).mean()
    density, known_density = (
        logsumexp(each, axis=1) - np.log(n_classes) for each in (matrix, known)
    )
    order = np.argsort(known_density, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    scale = np.log(weights[order] @ below[1:] ** (TAIL - 1.0))
    place = np.searchsorted(known_density[order], density, side="right")
    tail = np.log((below[place] + own) / (1.0 + own))
    return np.asarray(density + (TAIL - 1.0) * tail - scale)
