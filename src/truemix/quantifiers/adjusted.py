"""ACC: counts corrected by the classifier's confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._saved_arrays import read_shares
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.quantifiers.base import Inference, Quantifier
from truemix.quantifiers.counting import decisions
from truemix.validation import shown_list

# Weight of the pull towards the reference mix among equally good answers. Small enough to move a
# well-determined answer by less than float64 shows in a share.
TIE_BREAK = 1e-14
# Below this ratio of singular values, differences between mixes drown in rounding.
SINGULAR = 1e-10


class ACC(Quantifier):
    """Adjusted classify and count, also known as black-box shift estimation (BBSE).

    A mix ``p`` of classes makes a classifier report ``C p``, where column k of the confusion
    matrix C says how items of class k are classified. ACC finds the mix whose report is nearest
    to the observed one (least squares on the simplex).

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors, and an item goes to its largest one. A classifier
        needs ``predict`` only.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold decisions that make the confusion matrix.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.

    Attributes
    ----------
    confusion_ : ndarray of shape (K, K)
        ``confusion_[i, k]`` is the share of class k's references that are classified as i.

    Notes
    -----
    If the confusion matrix is singular, many mixes fit equally well; the one nearest to the
    reference mix is returned, and the diagnostics say ``identifiable: False``.

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
    """

    _hard = True
    confusion_: FloatArray

    def __init__(self, *, classifier: Any = None, cv: Any = 5, crossfit: Any = False) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        n_classes = posteriors.shape[1]
        truth = np.eye(n_classes)[codes]
        self.confusion_ = decisions(posteriors).T @ truth / truth.sum(axis=0)

    def _state(self) -> dict[str, AnyArray]:
        return {**super()._state(), "confusion": self.confusion_}

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        super()._restore(state)
        self.confusion_ = read_shares(state, "confusion", 2 * self.classes_.shape, axis=0)

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        return decisions(posteriors)

    def _infer(self, evidence: FloatArray) -> Inference:
        reported = evidence.mean(axis=0)
        prevalence = nearest_mix(self.confusion_, reported, self.train_prevalence_)
        return Inference(prevalence, self._diagnostics(prevalence, reported))

    def _diagnostics(self, prevalence: FloatArray, reported: FloatArray) -> dict[str, Any]:
        singular_values = np.linalg.svd(self.confusion_, compute_uv=False)
        identifiable = bool(singular_values[-1] > SINGULAR * singular_values[0])
        never = self.classes_[~self.confusion_.any(axis=1)]
        diagnostics: dict[str, Any] = {
            "residual": float(np.linalg.norm(self.confusion_ @ prevalence - reported)),
            "condition": float(singular_values[0] / singular_values[-1])
            if identifiable
            else np.inf,
            "identifiable": identifiable,
            "never_predicted": never.tolist(),
        }
        if not identifiable:
            diagnostics["notes"] = [
                "The confusion matrix is singular"
                + (f" (never predicted: {shown_list(never)})" if never.size else "")
                + ": several mixes fit equally well, and the one nearest to the reference is shown."
            ]
        return diagnostics


def nearest_mix(confusion: FloatArray, reported: FloatArray, tie_break: FloatArray) -> FloatArray:
    """Minimise ``|confusion @ p - reported|`` over the simplex, exactly.

    On the simplex the residual is ``A p`` with ``A = confusion - reported 1'``. For ``x = s p``
    the objective ``|A x|² + (sum(x) - 1)²`` has, at its best scale s, the value ``v / (1 + v)``
    with ``v = |A p|²``: its minimum over ``x >= 0`` points to the minimum of v on the simplex.
    That is a non-negative least squares problem. Ties are broken towards ``tie_break``.

    Examples
    --------
    >>> nearest_mix(np.eye(2), np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    array([0.25, 0.75])
    """
    from scipy.optimize import nnls

    n_classes = len(tie_break)
    towards = np.sqrt(TIE_BREAK) * (np.eye(n_classes) - tie_break[:, None])
    A = np.vstack([confusion - reported[:, None], towards, np.ones(n_classes)])
    target = np.zeros(len(A))
    target[-1] = 1.0
    x, _ = nnls(A, target, maxiter=50 * n_classes)
    return np.asarray(x / x.sum())
