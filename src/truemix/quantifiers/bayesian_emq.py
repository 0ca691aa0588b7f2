"""Bayesian EMQ: the likelihood of EMQ, and posterior draws instead of a maximum."""

from __future__ import annotations

from typing import Any

from truemix.exceptions import InputError
from truemix.inference import Posterior
from truemix.models import PosteriorRatio
from truemix.quantifiers.base import Parts, Quantifier
from truemix.quantifiers.sampling import sampling_parameters
from truemix.validation import check_choice

AUTOMATIC = "auto"


class BayesianEMQ(Quantifier):
    """Bayesian maximum likelihood for label shift: draws from the posterior of the mix.

    The likelihood of :class:`truemix.EMQ` (calibrated posterior ÷ reference share) with a true
    Dirichlet prior. ``prior="mapls"`` uses the adaptive prior of MAPLS (Ye et al., 2024), whose
    strength depends on how far the batch seems to be from uniform and from the training mix.

    Parameters
    ----------
    classifier, cv, crossfit, calibration, training_prevalence
        As for :class:`truemix.EMQ`.
    prior : float, sequence, mapping or "mapls"
        As for :class:`truemix.BayesianKDEy`, or the adaptive prior.
    temperature, draws, warmup, sampler, random_state, estimand
        As for :class:`truemix.BayesianKDEy`.
    reference_uncertainty : {"auto", None, "bootstrap"}
        None takes the calibration as known. ``"bootstrap"`` propagates its uncertainty: the draws
        are spread over 100 replicates of the calibration map and of the reference shares, each
        from randomly reweighted references (a Bayesian bootstrap over all of them). Needs a
        calibration. ``"auto"`` is ``"bootstrap"`` with a calibration, and None without.

    Notes
    -----
    The diagnostics hold ``prior`` as it was used and ``map``, the most probable mix, which is the
    point estimate of MAPLS; with reference uncertainty both refer to the fitted map.

    References are reweighted all together, not within each class, because a bias of the map and
    the training share belong together: if a class gets more weight both rise, and their
    difference, which is the log-likelihood, stays. A map without biases (``"ts"``, ``"nbvs"``)
    takes the posteriors to be right at the share of the population, which the references only
    estimate, and the draws are wider by that. Without a calibration nothing is estimated but this
    share, and a classifier's training share is a fact: there is nothing sound to reweight.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import BayesianEMQ
    >>> P = np.repeat([[0.8, 0.2], [0.2, 0.8]], 50, axis=0)
    >>> labels = ["ham"] * 40 + ["spam"] * 50 + ["ham"] * 10
    >>> quantifier = BayesianEMQ(random_state=0).fit(P, labels)
    >>> batch = np.repeat([[0.8, 0.2], [0.2, 0.8]], [800, 400], axis=0)
    >>> quantifier.quantify(batch).prevalence.round(1)
    array([0.8, 0.2])

    A hundred references cause more uncertainty than the 1,200 items of the batch:

    >>> widths = []
    >>> for uncertainty in (None, "bootstrap"):
    ...     quantifier = BayesianEMQ(reference_uncertainty=uncertainty, random_state=0)
    ...     interval = quantifier.fit(P, labels).quantify(batch).interval()
    ...     widths.append(np.diff(interval[0])[0])
    >>> np.round(widths, 1)
    array([0.1, 0.3])
    """

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = False,
        calibration: Any = "auto",
        training_prevalence: Any = "references",
        prior: Any = 1.0,
        temperature: Any = 1.0,
        draws: Any = 1000,
        warmup: Any = 500,
        sampler: str = "auto",
        random_state: Any = None,
        estimand: str = "batch",
        reference_uncertainty: Any = "auto",
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.calibration = calibration
        self.training_prevalence = training_prevalence
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand
        self.reference_uncertainty = reference_uncertainty

    def parts(self) -> Parts:
        """Return posterior ratios, maybe with replicates, and the posterior of the mix."""
        uncertain = self._is_uncertain()
        inference = Posterior(**sampling_parameters(self), replicated=uncertain, with_mode=True)
        model = PosteriorRatio(
            calibration=self.calibration,
            training_prevalence=self.training_prevalence,
            uncertain=uncertain,
        )
        return Parts(model, inference)

    def _is_uncertain(self) -> bool:
        given = self.reference_uncertainty
        if isinstance(given, str) and given == AUTOMATIC:
            return self.calibration is not None
        if given is None:
            return False
        check_choice(given, "reference_uncertainty", ("bootstrap",))
        if self.calibration is None:
            raise InputError(
                "The 'reference_uncertainty' parameter is 'bootstrap', but without a calibration "
                "nothing is learned from the references that could be uncertain; choose one, such "
                "as calibration='bcts'."
            )
        return True

    def settings(self) -> dict[str, Any]:
        """Return all parameters as they were used."""
        resolved = "bootstrap" if self.model_.uncertain else None
        return {**super().settings(), "reference_uncertainty": resolved}

    @property
    def calibrator_(self) -> Any:
        """The fitted calibration map, or None."""
        return self.model_.calibrator_
