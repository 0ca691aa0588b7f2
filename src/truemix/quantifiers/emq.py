"""EMQ: posteriors re-weighted to the mix under which the batch is most likely."""

from __future__ import annotations

from typing import Any

from truemix.inference import MaximumLikelihood
from truemix.models import PosteriorRatio
from truemix.quantifiers.base import Parts, Quantifier


class EMQ(Quantifier):
    """Maximum likelihood for label shift (MLLS), also known as EMQ or SLD.

    By Bayes' rule a posterior divided by the training share of the class is, up to a factor per
    item, the likelihood of the item under each class; the mix is the one under which the batch is
    most likely. Consistent if posteriors are calibrated and the training shares are those of the
    references. A classifier trained on another mix, or with class weights, implies other shares;
    the default calibration corrects both from the references.

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
    training_prevalence : {"references", "posteriors", "implied", "auto"} or sequence of float
        For ``calibration=None``: the mix that posteriors are for. The paper takes the class shares
        of the references. A classifier with class weights is trained for another mix:
        ``"implied"`` finds the one under which the references' posteriors are right on average
        (maximum likelihood), ``"auto"`` takes that if a test at level 0.01 says that it is not the
        references' own, ``"posteriors"`` is the mean of the references' posteriors. Or shares that
        are known, one per class in sorted order.

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

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = False,
        calibration: Any = "auto",
        training_prevalence: Any = "references",
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.calibration = calibration
        self.training_prevalence = training_prevalence

    def parts(self) -> Parts:
        """Return posterior ratios, and maximum likelihood."""
        model = PosteriorRatio(
            calibration=self.calibration, training_prevalence=self.training_prevalence
        )
        return Parts(model, MaximumLikelihood())

    @property
    def calibrator_(self) -> Any:
        """The fitted calibration map, or None."""
        return self.model_.calibrator_
