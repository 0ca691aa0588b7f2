"""EMQ: posteriors re-weighted to the mix under which the batch is most likely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.calibration import CALIBRATORS, Calibrator
from truemix.exceptions import InputError
from truemix.quantifiers.likelihood import LikelihoodQuantifier
from truemix.validation import check_choice

AUTOMATIC = "auto"
# Temperature and biases: whether posteriors are too sure, and which mix they were made for. As good
# as none or better in every setting of benchmarks/training_mix.py, from 50 references on.
CHOSEN = "bcts"


class EMQ(LikelihoodQuantifier):
    """Maximum likelihood for label shift (MLLS), also known as EMQ or SLD.

    By Bayes' rule a posterior divided by the share of the class that it was made for is, up to a
    factor per item, the likelihood of the item under each class; the mix is the one under which the
    batch is most likely. Right if posteriors are calibrated and the shares are those of the
    references. A classifier trained on another mix, or with class weights, implies other shares;
    the default calibration learns both from the references.

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors. Otherwise a classifier with ``predict_proba``.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold posteriors of the references.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.
    calibration : {"auto", None, "ts", "bcts", "vs", "nbvs"}
        Map fitted on the references' (out-of-fold) posteriors and applied to targets:
        temperature scaling, the same with class biases, vector scaling with and without them.
        A map with biases also learns which mix the classifier was trained for. ``"auto"`` is
        ``"bcts"``. None is the paper's method: posteriors are taken to be calibrated, for the mix
        of the references.

    Attributes
    ----------
    calibrator_ : calibrator or None
        The fitted map.

    Notes
    -----
    Solved to the optimum (with a certificate in the diagnostics), not to a number of EM steps.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import EMQ
    >>> rng = np.random.default_rng(0)
    >>> x = np.concatenate([rng.normal(-1, 1, 500), rng.normal(1, 1, 500)])
    >>> p = 1 / (1 + np.exp(-2 * x))
    >>> quantifier = EMQ().fit(np.column_stack([1 - p, p]), [0] * 500 + [1] * 500)
    >>> x = np.concatenate([rng.normal(-1, 1, 900), rng.normal(1, 1, 100)])
    >>> batch = 1 / (1 + np.exp(-2 * x))
    >>> quantifier.quantify(np.column_stack([1 - batch, batch]))
    EMQ: the mix of 1,000 items
    class  estimate  counted  reference
    0        89.7 %   77.6 %     50.0 %
    1        10.3 %   22.4 %     50.0 %
    Label shift: not checked; quantify(X, check=True) does.
    """

    calibrator_: Any

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = False,
        calibration: Any = "auto",
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.calibration = calibration

    def _check_parameters(self) -> None:
        if self.calibration is not None:
            check_choice(self.calibration, "calibration", (AUTOMATIC, *CALIBRATORS))

    @property
    def _calibration(self) -> str | None:
        """The name of the map that is fitted."""
        name: str | None = CHOSEN if self.calibration == AUTOMATIC else self.calibration
        return name

    def _resolved(self) -> dict[str, Any]:
        return {**super()._resolved(), "calibration": self._calibration}

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        self.calibrator_ = None
        if self._calibration is not None:
            self.calibrator_ = CALIBRATORS[self._calibration]().fit(posteriors, codes)

    def _state(self) -> dict[str, AnyArray]:
        learned = {} if self.calibrator_ is None else self.calibrator_.state()
        calibrator = {f"calibrator_{name}": np.asarray(value) for name, value in learned.items()}
        return {**super()._state(), **calibrator}

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        super()._restore(state)
        self.calibrator_ = None
        if self._calibration is not None:
            prefix = "calibrator_"
            learned = {
                name.removeprefix(prefix): value
                for name, value in state.items()
                if name.startswith(prefix)
            }
            self.calibrator_ = CALIBRATORS[self._calibration].from_state(learned)
            check_map(self.calibrator_, len(self.classes_))

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        if self.calibrator_ is not None:
            posteriors = self.calibrator_.transform(posteriors)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(posteriors) - np.log(self.train_prevalence_))


def check_map(calibrator: Calibrator, n_classes: int) -> None:
    """Refuse a map that was not fitted on the numbers of this many classes."""
    if not np.array_equal(calibrator.classes_, np.arange(n_classes)):
        raise InputError("the calibration map is one of other classes")
