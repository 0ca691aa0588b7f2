"""``MixtureQuantifier``: any class-conditional model with any inference."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from truemix.models.protocol import LikelihoodModel, ObservationModel
from truemix.quantifiers.base import Parts, Quantifier
from truemix.validation import parameter_error


class MixtureQuantifier(Quantifier):
    """A quantifier composed of a class-conditional model and an inference.

    The named quantifiers are presets of this: ``KDEy()`` is
    ``MixtureQuantifier(model=KernelDensity(), inference=MaximumLikelihood(), crossfit=True)``.

    Parameters
    ----------
    model : LikelihoodModel
        What makes the matrix: one of :mod:`truemix.models`, or any object with ``fit(posteriors,
        codes, n_classes)`` and ``log_likelihood(posteriors)``.
    inference : Inference
        What consumes it: one of :mod:`truemix.inference`, such as ``MaximumLikelihood()`` or
        ``Posterior(random_state=0)``.
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold posteriors of the references.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.

    Examples
    --------
    A custom model, a normal distribution of the log-odds of each class:

    >>> import numpy as np
    >>> from truemix import MixtureQuantifier
    >>> from truemix.inference import Posterior
    >>> class NormalLogOdds:
    ...     def fit(self, posteriors, codes, n_classes):
    ...         z = np.log(posteriors[:, 1] / posteriors[:, 0])
    ...         self.mean = np.array([z[codes == k].mean() for k in range(n_classes)])
    ...         self.spread = np.array([z[codes == k].std() for k in range(n_classes)])
    ...     def log_likelihood(self, posteriors):
    ...         z = np.log(posteriors[:, 1:] / posteriors[:, :1])
    ...         return -np.log(self.spread) - 0.5 * ((z - self.mean) / self.spread) ** 2
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 1000), rng.beta(4, 2, 1000)])
    >>> quantifier = MixtureQuantifier(model=NormalLogOdds(), inference=Posterior(random_state=0))
    >>> quantifier = quantifier.fit(np.column_stack([1 - p, p]), np.repeat(["ham", "spam"], 1000))
    >>> p = np.concatenate([rng.beta(2, 4, 900), rng.beta(4, 2, 100)])
    >>> quantifier.predict(np.column_stack([1 - p, p])).round(1)
    array([0.9, 0.1])
    """

    def __init__(
        self,
        *,
        model: Any,
        inference: Any,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = True,
    ) -> None:
        self.model = model
        self.inference = inference
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit

    def parts(self) -> Parts:
        """Return copies of the model and the inference."""
        if not isinstance(self.model, LikelihoodModel | ObservationModel):
            methods = "fit(posteriors, codes, n_classes) and log_likelihood(posteriors)"
            raise parameter_error("model", f"an object with the methods {methods}", self.model)
        if not all(hasattr(self.inference, name) for name in ("prepare", "infer")):
            raise parameter_error(
                "inference", "an inference, such as MaximumLikelihood()", self.inference
            )
        return Parts(clone(self.model, safe=False), clone(self.inference, safe=False))
