"""Bayesian ACC: the joint posterior of mix and confusion matrix, from counts of decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._typing import FloatArray
from truemix.inference import ConfusionPosterior
from truemix.models import Confusion
from truemix.quantifiers.base import Parts, Quantifier
from truemix.quantifiers.sampling import sampling_parameters


class BayesianACC(Quantifier):
    """Bayesian adjusted classify and count: draws of the mix given counts of decisions.

    The confusion matrix is not taken as known, as in :class:`truemix.ACC`, but inferred together
    with the mix, so few references make wide intervals (Ziegler and Czyż, 2024).

    Parameters
    ----------
    classifier, cv, crossfit
        As for :class:`truemix.ACC`, with decisions of judges as well.
    prior, temperature, draws, warmup, random_state, estimand
        As for :class:`truemix.BayesianKDEy`; the temperature applies to the counts of the batch
        and of the references.
    sampler : {"auto", "gibbs", "nuts"}
        Gibbs sampling works at every temperature here and is what ``"auto"`` takes.

    Notes
    -----
    Verdicts of several judges are one decision, the combination of them, if the smallest class has
    ten references per combination; with fewer, judges err independently given the class, and each
    has a confusion matrix of its own. A decision that no reference has is a column of zero counts
    with the same prior as all others (``docs/judges.md``).

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import BayesianACC
    >>> P = np.repeat([[0.9, 0.1], [0.2, 0.8]], 50, axis=0)
    >>> labels = ["ham"] * 45 + ["spam"] * 50 + ["ham"] * 5
    >>> quantifier = BayesianACC(random_state=0).fit(P, labels)
    >>> batch = np.repeat([[0.9, 0.1], [0.2, 0.8]], [70, 30], axis=0)
    >>> quantifier.quantify(batch).prevalence.round(1)
    array([0.8, 0.2])
    """

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = False,
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
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand

    def parts(self) -> Parts:
        """Return counts of decisions, and the joint posterior of mix and confusion matrix."""
        return Parts(Confusion(), ConfusionPosterior(**sampling_parameters(self)))

    @property
    def confusion_counts_(self) -> FloatArray:
        """References of each class (row) by decision (column)."""
        given, counts = self.given_decisions, np.asarray(self.model_.counts_)
        return counts if given is None else given.without_spare(counts)
