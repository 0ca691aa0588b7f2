"""PQ: the posterior of the mix from bins of a binary classifier's posteriors."""

from __future__ import annotations

from typing import Any

from truemix.inference import ConfusionPosterior
from truemix.models import Histogram
from truemix.quantifiers.base import Parts, Quantifier
from truemix.quantifiers.sampling import sampling_parameters


class PQ(Quantifier):
    """Precise Quantifier: binary, histogram bins of the posterior, Bayesian.

    Posteriors of the second class are put into bins with about equally many references; the mix and
    the bin probabilities of both classes are inferred jointly, as in :class:`truemix.BayesianACC`,
    but from binned confidences instead of decisions.

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors. Otherwise a classifier with ``predict_proba``.
    cv, crossfit
        As for :class:`truemix.ACC`.
    bins : int
        How many bins there are.
    prior, temperature, draws, warmup, sampler, random_state, estimand
        As for :class:`truemix.BayesianACC`.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import PQ
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 1000), rng.beta(4, 2, 1000)])
    >>> quantifier = PQ(random_state=0).fit(np.column_stack([1 - p, p]), np.repeat([0, 1], 1000))
    >>> p = np.concatenate([rng.beta(2, 4, 900), rng.beta(4, 2, 100)])
    >>> quantifier.predict(np.column_stack([1 - p, p])).round(1)
    array([0.9, 0.1])
    """

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = False,
        bins: Any = 4,
        prior: Any = 1.0,
        temperature: Any = 1.0,
        draws: Any = 1000,
        warmup: Any = 500,
        sampler: str = "auto",
        random_state: Any = None,
        estimand: str = "batch",
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.bins = bins
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand

    def parts(self) -> Parts:
        """Return bins of the posterior, and the joint posterior of mix and bin probabilities."""
        return Parts(Histogram(bins=self.bins), ConfusionPosterior(**sampling_parameters(self)))
