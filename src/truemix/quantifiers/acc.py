"""ACC and PACC: counts corrected by the classifier's confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._typing import FloatArray
from truemix.inference import LeastSquares
from truemix.inference.least_squares import class_means
from truemix.models import Confusion
from truemix.quantifiers.base import Parts, Quantifier


class ACC(Quantifier):
    """Adjusted classify and count, also known as black-box shift estimation (BBSE).

    A mix ``p`` of classes makes a classifier report ``C p``, where column k of the confusion
    matrix C says how items of class k are classified. ACC finds the mix whose report is nearest
    to the observed one (least squares on the simplex).

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors, and an item goes to its largest one; or decisions, one
        column of names or one for each of several judges, which need not be classes. A classifier
        needs ``predict`` only.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold decisions that make the confusion matrix.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.

    Notes
    -----
    If the confusion matrix is singular, many mixes fit equally well; the one nearest to the
    reference mix is returned, and the diagnostics say ``identifiable: False``.

    Verdicts of several judges are one decision, the combination of them, if the smallest class has
    ten references per combination; else the shares of each judge's verdicts are matched
    (``docs/judges.md``). A decision that no reference has is an error.

    Examples
    --------
    >>> from truemix import ACC
    >>> posteriors = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8], [0.1, 0.9]]
    >>> quantifier = ACC().fit(posteriors, ["ham", "ham", "ham", "ham", "spam", "spam"])
    >>> quantifier.confusion_
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    >>> quantifier.predict([[0.9, 0.1], [0.2, 0.8]]).round(3)
    array([0.667, 0.333])

    With decisions of a judge:

    >>> judged = ["good", "good", "good", "unsure", "bad", "bad", "good", "unsure"]
    >>> quantifier = ACC().fit(judged, ["good"] * 4 + ["bad"] * 4)
    >>> quantifier.predict(["good", "good", "unsure", "bad"]).round(3), quantifier.decisions_
    (array([0.5, 0.5]), ['bad', 'good', 'unsure'])
    """

    def __init__(self, *, classifier: Any = None, cv: Any = 5, crossfit: Any = False) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit

    def parts(self) -> Parts:
        """Return the confusion matrix of decisions, and least squares."""
        return Parts(Confusion(), LeastSquares())

    @property
    def confusion_(self) -> FloatArray:
        """``confusion_[i, k]`` is the share of class k's references that are classified as i."""
        return np.asarray(class_means(self.model_.counts_))


class PACC(Quantifier):
    """Probabilistic adjusted classify and count: ACC with posteriors instead of decisions.

    Column k of the soft confusion matrix is the mean posterior of class k's references, and the
    estimate is the mix that brings it nearest to the mean posterior of the batch (Bella et al.,
    2010).

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors. Otherwise a classifier with ``predict_proba``.
    cv, crossfit
        As for :class:`truemix.ACC`.

    Examples
    --------
    >>> from truemix import PACC
    >>> quantifier = PACC().fit([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]], ["ham", "ham", "spam"])
    >>> quantifier.predict([[0.8, 0.2], [0.5, 0.5]]).round(2)
    array([0.75, 0.25])
    """

    def __init__(self, *, classifier: Any = None, cv: Any = 5, crossfit: Any = False) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit

    def parts(self) -> Parts:
        """Return the confusion matrix of posteriors, and least squares."""
        return Parts(Confusion(soft=True), LeastSquares())

    @property
    def confusion_(self) -> FloatArray:
        """``confusion_[i, k]`` is the mean posterior of class i among class k's references."""
        return np.asarray(class_means(self.model_.counts_))
