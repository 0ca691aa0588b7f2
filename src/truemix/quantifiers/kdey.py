"""KDEy: class-conditional kernel densities and maximum likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix.exceptions import InputError
from truemix.inference import Averaging, MaximumLikelihood
from truemix.models import KernelDensity, WithUnknown
from truemix.quantifiers.base import Parts, Quantifier
from truemix.validation import parameter_error


def maybe_unknown(model: Any, unknown: Any) -> Any:
    """Return the model, wrapped in :class:`WithUnknown` if ``unknown``."""
    if not isinstance(unknown, bool | np.bool_):
        raise parameter_error("unknown", "True or False", unknown)
    return WithUnknown(model=model) if unknown else model


def of_densities(name: str, doc: str) -> Any:
    """Return a property of a quantifier that reads an attribute of its kernel densities."""

    def learned(self: Quantifier) -> Any:
        model = self.model_
        return getattr(model.model_ if isinstance(model, WithUnknown) else model, name)

    return property(learned, doc=doc)


class KDEy(Quantifier):
    """Quantification by kernel density estimation in the simplex (maximum likelihood).

    The posteriors of each class's reference items become a density (a Gaussian kernel in
    log-ratio or plain coordinates), and the mix is the one under which the batch is most likely.
    ``kernel="gaussian"`` is KDEy(Gau), ``kernel="aitchison"`` with ``shrinkage=0`` KDEy(Ait) and
    with shrinkage KDEy(Ait-λ) of Moreo, González and del Coz.

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors. A classifier with ``predict_proba`` is trained in
        ``fit``: reference posteriors are out-of-fold, then it is refitted on everything. A
        ``FrozenEstimator`` is used as it is, with held-out references.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold posteriors.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.
    kernel : {"aitchison", "ilr", "gaussian"}
        Coordinates in which the kernel is Gaussian.
    bandwidth : "auto" or float
        Standard deviation of the kernel.
    shrinkage : "auto" or float
        How far posteriors are moved towards the barycentre first, at least 0 and below 1.
        ``"auto"`` (for either) takes the value from the paper's grid with the smallest error on
        bags of reference items, with out-of-fold densities; see ``selection_``.
    averaging : bool
        Take the mean of the mixes under all settings of bandwidth and shrinkage that tie in the
        automatic selection (at most 12), instead of the mix under the selected one. More accurate,
        above all with few references, at the cost of as many densities. Not with ``unknown``.
    unknown : bool
        Whether items may belong to none of the classes. If so, the estimate has their share as
        ``unknown``, and the shares of the classes are those among the other items.

    Examples
    --------
    Posteriors of labelled items, then of a batch whose mix is not known:

    >>> import numpy as np
    >>> from truemix import KDEy
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 1000), rng.beta(4, 2, 1000)])
    >>> labels = np.repeat(["ham", "spam"], 1000)
    >>> quantifier = KDEy().fit(np.column_stack([1 - p, p]), labels)
    >>> batch = np.concatenate([rng.beta(2, 4, 900), rng.beta(4, 2, 100)])
    >>> quantifier.quantify(np.column_stack([1 - batch, batch]))
    KDEy: the mix of 1,000 items
    class  estimate  counted  reference
    ham      89.4 %   75.6 %     50.0 %
    spam     10.6 %   24.4 %     50.0 %
    Label shift: not checked; quantify(X, check=True) does.
    """

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = True,
        kernel: str = "aitchison",
        bandwidth: Any = "auto",
        shrinkage: Any = "auto",
        averaging: Any = False,
        unknown: Any = False,
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage
        self.averaging = averaging
        self.unknown = unknown

    def parts(self) -> Parts:
        """Return kernel densities, and maximum likelihood."""
        if not isinstance(self.averaging, bool | np.bool_):
            raise parameter_error("averaging", "True or False", self.averaging)
        model = KernelDensity(
            kernel=self.kernel, bandwidth=self.bandwidth, shrinkage=self.shrinkage
        )
        if self.averaging and self.unknown:
            raise InputError(
                "KDEy has averaging=True and unknown=True, but the share of unknown items is known "
                "for the selected setting only; leave one of them out."
            )
        inference: Any = MaximumLikelihood()
        if self.averaging:
            inference = Averaging(inference=inference)
        return Parts(maybe_unknown(model, self.unknown), inference)

    bandwidth_ = of_densities("bandwidth_", "The bandwidth in use.")
    shrinkage_ = of_densities("shrinkage_", "The shrinkage in use.")
    selection_ = of_densities(
        "selection_",
        """Result of the automatic selection: the selected setting and the runners-up.

        Each with its bandwidth, shrinkage, mean absolute error on the bags, and whether it ties
        with the best one (the difference is within the sampling error).
        """,
    )
