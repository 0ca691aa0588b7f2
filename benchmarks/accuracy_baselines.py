"""Baselines that predict a classifier's accuracy on a batch without labels of it.

Plain functions of posteriors, for ``benchmarks/trust.py``. ``P`` are the posteriors of labelled
references ``(m, K)`` with class numbers ``y``, ``Q`` those of the batch ``(n, K)``.
"""

import numpy as np


def confidence(P):
    """Return the largest posterior of each item."""
    return P.max(axis=1)


def negative_entropy(P):
    """Return the negative entropy of each item's posteriors."""
    return np.sum(P * np.log(np.maximum(P, 1e-300)), axis=1)


def reference_accuracy(P, y):
    """Return the share of references that are decided correctly."""
    return float((P.argmax(axis=1) == y).mean())


def atc(P, y, Q, score=confidence):
    """Average thresholded confidence (Garg et al., 2022).

    The threshold is the score below which as many references are as are decided wrongly; the
    prediction is the share of the batch above it. ``score`` is ``confidence`` or
    ``negative_entropy``.
    """
    ordered = np.sort(score(P))
    n_wrong = int((P.argmax(axis=1) != y).sum())
    threshold = -np.inf if n_wrong == 0 else ordered[n_wrong - 1]
    return float((score(Q) > threshold).mean())


def doc(P, y, Q):
    """Difference of confidences (Guillory et al., 2021).

    The accuracy on the references, minus by how much the mean confidence has fallen.
    """
    fallen = confidence(P).mean() - confidence(Q).mean()
    return float(np.clip(reference_accuracy(P, y) - fallen, 0.0, 1.0))


def leap(P, y, Q, mix):
    """Solve for the confusion matrix of the batch, the idea of LEAP (Volpi et al., 2024).

    Unknown are the shares ``C[k, j]`` of items by class and decision. Rows add up to ``mix``, which
    a quantifier estimates; columns to the decisions of the batch; and within a class decisions have
    the rates of the references, which over-determines the matrix: least squares.
    """
    n_classes = P.shape[1]
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (y, P.argmax(axis=1)), 1.0)
    rates = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    decided = np.bincount(Q.argmax(axis=1), minlength=n_classes) / len(Q)
    cells = np.arange(n_classes**2).reshape(n_classes, n_classes)
    rows, values = [], []
    for k in range(n_classes):
        rows += [np.isin(cells.ravel(), cells[k]), np.isin(cells.ravel(), cells[:, k])]
        values += [mix[k], decided[k]]
    equations = [np.array(rows, dtype=float), np.eye(n_classes**2)]
    wanted = [np.array(values), (np.asarray(mix)[:, None] * rates).ravel()]
    found, *_ = np.linalg.lstsq(np.concatenate(equations), np.concatenate(wanted), rcond=None)
    return float(np.clip(np.trace(found.reshape(n_classes, n_classes)), 0.0, 1.0))
