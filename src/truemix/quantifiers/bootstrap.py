"""Bootstrap: any point quantifier, repeated on resampled items."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from truemix.inference import Resampling
from truemix.models import ResampledReferences
from truemix.quantifiers.base import Parts, Quantifier
from truemix.validation import parameter_error


class Bootstrap(Quantifier):
    """Repeat a point quantifier on batches resampled with replacement.

    The spread of the estimates shows how much another batch of the same population would differ
    (estimand ``"population"``). It does not include the bias of the quantifier: around CC or PCC
    the intervals are narrow and in the wrong place. For the mix of the batch itself (``"batch"``)
    no items are resampled: all draws are the point estimate, unless references are resampled.

    Parameters
    ----------
    quantifier : Quantifier
        A point quantifier, such as ``CC()`` or ``KDEy()``; it is cloned and fitted.
    draws : int
        Number of resampled batches.
    references : bool
        Resample the references, too (within each class), so that the spread includes their
        uncertainty. There are 100 resamples of them, made in ``fit``; the draws are spread evenly
        over these. Bandwidth and shrinkage of KDEy are not selected again, and a classifier is not
        trained again. No effect for methods that learn nothing from the references' posteriors:
        CC, PCC and EMQ without calibration.
    random_state : int, Generator or None
        The same seed gives the same draws.
    estimand : {"population", "batch"}
        Which of the two the estimate shows; ``Estimate.of`` gives the other.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import CC, Bootstrap
    >>> quantifier = Bootstrap(CC(), random_state=0)
    >>> quantifier = quantifier.fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> batch = np.repeat([[0.7, 0.3], [0.1, 0.9]], [75, 25], axis=0)
    >>> quantifier.quantify(batch).interval().round(2)
    array([[0.66, 0.83],
           [0.17, 0.34]])
    """

    def __init__(
        self,
        quantifier: Any,
        *,
        draws: Any = 1000,
        references: Any = False,
        random_state: Any = None,
        estimand: str = "population",
    ) -> None:
        self.quantifier = quantifier
        self.draws = draws
        self.references = references
        self.random_state = random_state
        self.estimand = estimand

    @property
    def classifier(self) -> Any:
        """The classifier of the quantifier."""
        return getattr(self.quantifier, "classifier", None)

    @property
    def cv(self) -> Any:
        """The folds of the quantifier."""
        return self.quantifier.cv

    @property
    def crossfit(self) -> Any:
        """Whether the quantifier scores targets with the models of the folds."""
        return self.quantifier.crossfit

    def parts(self) -> Parts:
        """Return the quantifier's model, maybe on resampled references, and resampling."""
        if not isinstance(self.quantifier, Quantifier):
            raise parameter_error("quantifier", "a truemix quantifier", self.quantifier)
        model, inference = clone(self.quantifier).parts()
        if not hasattr(inference, "mixes") or hasattr(inference, "draws"):
            raise parameter_error(
                "quantifier",
                "a point quantifier (CC, PCC, ACC, EMQ or KDEy)",
                self.quantifier,
                "Bayesian quantifiers have draws of their own.",
            )
        if getattr(model, "has_unknown", False):
            raise parameter_error(
                "quantifier",
                "a quantifier without unknown=True",
                self.quantifier,
                "BayesianKDEy(unknown=True) has draws of the unknown share.",
            )
        if getattr(inference, "averaged", False):
            raise parameter_error(
                "quantifier",
                "a quantifier without averaging=True",
                self.quantifier,
                "BayesianKDEy spreads its draws over the settings that tie.",
            )
        if not isinstance(self.references, bool | np.bool_):
            raise parameter_error("references", "True or False", self.references)
        resampling = Resampling(
            inference=inference,
            draws=self.draws,
            replicated=bool(self.references),
            estimand=self.estimand,
            random_state=self.random_state,
        )
        return Parts(ResampledReferences(model=model) if self.references else model, resampling)

    def settings(self) -> dict[str, Any]:
        """Return all parameters as they were used, those of the quantifier within."""
        inner = clone(self.quantifier)
        inner.model_ = getattr(self.model_, "model_", self.model_)
        inner.inference_ = self.inference_.inference
        nested = {"method": type(inner).__name__, **inner.settings()}
        return {**super().settings(), "quantifier": nested}
