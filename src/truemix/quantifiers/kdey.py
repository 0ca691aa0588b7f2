"""KDEy: class-conditional kernel densities and maximum likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.densities import KERNELS
from truemix.quantifiers.likelihood import LikelihoodQuantifier
from truemix.validation import check_bandwidth, check_choice, check_shrinkage

if TYPE_CHECKING:
    from truemix.densities.class_densities import ClassDensities

# What "auto" stands for, by kernel.
AUTO_BANDWIDTH = {"aitchison": 1.0, "ilr": 1.0, "gaussian": 0.1}
AUTO_SHRINKAGE = {"aitchison": 0.5, "ilr": 0.5, "gaussian": 0.0}


class KDEy(LikelihoodQuantifier):
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
    kernel : {"aitchison", "ilr", "gaussian"}
        Coordinates in which the kernel is Gaussian.
    bandwidth : "auto" or float
        Its standard deviation. ``"auto"`` is 1 for the log-ratio kernels, 0.1 for the Gaussian.
    shrinkage : "auto" or float
        How far posteriors are moved towards the barycentre first, at least 0 and below 1.
        ``"auto"`` is 0.5 for the log-ratio kernels, 0 for the Gaussian.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels in the order of all results.
    train_prevalence_ : ndarray of shape (K,)
        Shares in the reference.
    bandwidth_, shrinkage_ : float
        The values in use.

    Examples
    --------
    Posteriors of labelled items, then of a batch whose mix is not known:

    >>> import numpy as np
    >>> from truemix import KDEy
    >>> rng = np.random.default_rng(0)
    >>> spam = rng.beta(4, 2, 300)
    >>> ham = rng.beta(2, 4, 300)
    >>> p = np.concatenate([ham, spam])
    >>> quantifier = KDEy().fit(np.column_stack([1 - p, p]), ["ham"] * 300 + ["spam"] * 300)
    >>> batch = np.concatenate([rng.beta(2, 4, 900), rng.beta(4, 2, 100)])
    >>> quantifier.quantify(np.column_stack([1 - batch, batch]))
    KDEy: the mix of 1,000 items
    class  estimate  counted  reference
    ham      90.4 %   74.5 %     50.0 %
    spam      9.6 %   25.5 %     50.0 %
    """

    bandwidth_: float
    shrinkage_: float
    _densities: ClassDensities

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        kernel: str = "aitchison",
        bandwidth: Any = "auto",
        shrinkage: Any = "auto",
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage

    def _check_parameters(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        if self.bandwidth != "auto":
            check_bandwidth(self.bandwidth)
        if self.shrinkage != "auto":
            check_shrinkage(self.shrinkage)

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        from truemix.densities.class_densities import ClassDensities

        auto = self.bandwidth == "auto"
        self.bandwidth_ = AUTO_BANDWIDTH[self.kernel] if auto else float(self.bandwidth)
        auto = self.shrinkage == "auto"
        self.shrinkage_ = AUTO_SHRINKAGE[self.kernel] if auto else float(self.shrinkage)
        self._densities = ClassDensities(
            posteriors, codes, self.kernel, np.array([self.bandwidth_]), self.shrinkage_
        )

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        matrix: FloatArray = self._densities.log_likelihood(posteriors)[0]
        return matrix

    def _resolved(self) -> dict[str, Any]:
        return {"bandwidth": self.bandwidth_, "shrinkage": self.shrinkage_}
