"""Counting, the baselines: correct only where the mix is that of the training data."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray
from truemix.quantifiers.base import Inference, Quantifier

COUNTS_BYTES = 32 << 20


class _Mean(Quantifier):
    """The mix is the mean of the items' evidence."""

    def _infer(self, evidence: FloatArray) -> Inference:
        return Inference(evidence.mean(axis=0))

    def _mixes(
        self,
        versions: FloatArray,
        bags: list[IntArray],
        seed: int | None = None,
        near: FloatArray | None = None,
    ) -> FloatArray:
        evidence = versions.mean(axis=0)
        # As a product with the counts of each row in each bag, a block of bags at a time.
        n_items = len(evidence)
        mixes = np.empty((len(bags), evidence.shape[1]))
        for block in row_blocks(len(bags), max(1, COUNTS_BYTES // (8 * n_items))):
            counts = np.array([np.bincount(rows, minlength=n_items) for rows in bags[block]])
            mixes[block] = counts @ evidence / counts.sum(axis=1, keepdims=True)
        return mixes


class CC(_Mean):
    """Classify and count: the share of items that are put into each class.

    Biased as soon as the mix differs from the training mix; the number that the other methods
    correct.

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors, and an item goes to its largest one (the first of
        several). A classifier needs ``predict`` only.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold decisions on the references.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.

    Examples
    --------
    >>> from truemix import CC
    >>> quantifier = CC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> quantifier.predict([[0.6, 0.4], [0.7, 0.3], [0.1, 0.9], [0.8, 0.2]])
    array([0.75, 0.25])
    """

    _hard = True

    def __init__(self, *, classifier: Any = None, cv: Any = 5, crossfit: Any = False) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        return decisions(posteriors)


class PCC(_Mean):
    """Probabilistic classify and count: the mean posterior.

    Biased towards the training mix, even more than :class:`CC`; unbiased for calibrated posteriors
    when the mix has not changed.

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors. Otherwise a classifier with ``predict_proba``.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold posteriors of the references.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.

    Examples
    --------
    >>> from truemix import PCC
    >>> quantifier = PCC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> quantifier.predict([[0.6, 0.4], [0.8, 0.2]])
    array([0.7, 0.3])
    """

    def __init__(self, *, classifier: Any = None, cv: Any = 5, crossfit: Any = False) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        return posteriors


def decisions(posteriors: FloatArray) -> FloatArray:
    """Return ones where a row has its (first) largest posterior, zeros elsewhere."""
    return np.asarray(np.eye(posteriors.shape[1])[posteriors.argmax(axis=1)])
