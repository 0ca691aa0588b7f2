"""CC and PCC, the baselines that only count: unbiased only if the mix has not changed."""

from __future__ import annotations

from typing import Any

from truemix.inference import Counting
from truemix.models import Confusion
from truemix.quantifiers.base import Parts, Quantifier


class CC(Quantifier):
    """Classify and count: the share of items that are classified as each class.

    Biased as soon as the mix differs from the training mix; the other methods correct this bias.

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors, and an item goes to its largest one (the first of
        several); or decisions for classes, a column of names. A classifier needs ``predict`` only.
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

    def __init__(self, *, classifier: Any = None, cv: Any = 5, crossfit: Any = False) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit

    def parts(self) -> Parts:
        """Return decisions, and their mean."""
        return Parts(Confusion(), Counting())


class PCC(Quantifier):
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

    def parts(self) -> Parts:
        """Return posteriors, and their mean."""
        return Parts(Confusion(soft=True), Counting())
