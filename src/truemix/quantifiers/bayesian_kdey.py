"""Bayesian KDEy: the densities of KDEy, and posterior draws instead of a maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix.inference import Posterior
from truemix.models import KernelDensity
from truemix.quantifiers.base import Parts, Quantifier
from truemix.quantifiers.kdey import maybe_unknown, of_densities
from truemix.quantifiers.sampling import sampling_parameters
from truemix.validation import check_choice, parameter_error


class BayesianKDEy(Quantifier):
    """Bayesian quantification with kernel densities in the simplex.

    The densities of :class:`truemix.KDEy`, and instead of the most likely mix draws from the
    posterior over all mixes. ``crossfit=False, reference_uncertainty=None, averaging=False,
    estimand="population"``, with bandwidth and shrinkage chosen by
    :class:`truemix.selection.GridSearch` on validation bags, is the method Bayes-KDEy of Moreo,
    González and del Coz.

    Parameters
    ----------
    classifier, cv, crossfit, kernel, bandwidth, shrinkage
        As for :class:`truemix.KDEy`.
    prior : float, sequence or mapping
        Dirichlet prior of the mix: one positive number for all classes (1 is uniform), one for
        each, or a mapping from class to number.
    temperature : float
        Above 1 the batch counts less and intervals widen.
    draws, warmup : int
        Number of draws to return, and of warm-up draws to discard.
    sampler : {"auto", "nuts", "gibbs"}
        Gibbs needs temperature 1 (or, if no replicates are made, 1/2, 1/3, ...), the No-U-Turn
        sampler ``truemix[nuts]``; ``"auto"`` is Gibbs sampling at these temperatures and
        independence Metropolis at others.
    random_state : int, Generator or None
        The same seed gives the same draws. None takes a new seed in each ``fit``, which
        ``settings`` shows.
    estimand : {"batch", "population"}
        The mix of these very items, or of the source that they come from.
        ``Estimate.of`` gives the other one from the same run.
    reference_uncertainty : {"bootstrap", None}
        ``"bootstrap"`` propagates the uncertainty of the densities: the draws are spread over 100
        replicates of them, each with randomly reweighted references (a Bayesian bootstrap within
        each class) and a share of items unlike them. None takes the densities as known, as the
        paper does.
    averaging : bool
        With reference uncertainty: spread the replicates also over the settings of bandwidth and
        shrinkage that tie in the automatic selection.
    self_calibration : bool
        With reference uncertainty: whether to find out, on bags of the references that the others
        estimate, if intervals are too narrow, and to widen them by the factor that these bags
        needed (``diagnostics["widening"]``). Not with ``unknown`` or another temperature.
    unknown : bool
        As for :class:`truemix.KDEy`; the unknown share has draws and an interval, too. Its
        Dirichlet parameter is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import BayesianKDEy
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 1000), rng.beta(4, 2, 1000)])
    >>> labels = np.repeat(["ham", "spam"], 1000)
    >>> quantifier = BayesianKDEy(bandwidth=0.3, shrinkage=0.1, random_state=0)
    >>> quantifier = quantifier.fit(np.column_stack([1 - p, p]), labels)
    >>> batch = np.concatenate([rng.beta(2, 4, 900), rng.beta(4, 2, 100)])
    >>> estimate = quantifier.quantify(np.column_stack([1 - batch, batch]))
    >>> estimate.draws.shape
    (1000, 2)
    >>> estimate.prevalence.round(1)
    array([0.9, 0.1])
    >>> lower, upper = estimate.interval(level=0.95)[1]
    >>> bool(lower < 0.1 < upper)
    True
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
        prior: Any = 1.0,
        temperature: Any = 1.0,
        draws: Any = 1000,
        warmup: Any = 500,
        sampler: str = "auto",
        random_state: Any = None,
        estimand: str = "batch",
        reference_uncertainty: Any = "bootstrap",
        averaging: Any = True,
        self_calibration: Any = True,
        unknown: Any = False,
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand
        self.reference_uncertainty = reference_uncertainty
        self.averaging = averaging
        self.self_calibration = self_calibration
        self.unknown = unknown

    def parts(self) -> Parts:
        """Return kernel densities with replicates, and the posterior of the mix."""
        if self.reference_uncertainty is not None:
            check_choice(self.reference_uncertainty, "reference_uncertainty", ("bootstrap",))
        if isinstance(self.prior, str):
            raise parameter_error("prior", "a positive number, one for each class", self.prior)
        if not isinstance(self.self_calibration, bool | np.bool_):
            raise parameter_error("self_calibration", "True or False", self.self_calibration)
        model = KernelDensity(
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            shrinkage=self.shrinkage,
            averaging=self.averaging,
        )
        replicated = self.reference_uncertainty is not None
        inference = Posterior(**sampling_parameters(self), replicated=replicated)
        return Parts(maybe_unknown(model, self.unknown), inference)

    bandwidth_ = of_densities("bandwidth_", "The bandwidth in use.")
    shrinkage_ = of_densities("shrinkage_", "The shrinkage in use.")
    selection_ = of_densities("selection_", "What was chosen, as for :class:`truemix.KDEy`.")
