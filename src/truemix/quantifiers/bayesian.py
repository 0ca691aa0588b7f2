"""Bayesian KDEy and EMQ: the point method's matrix, and draws instead of a maximum."""

from __future__ import annotations

from typing import Any

from truemix._typing import FloatArray, IntArray
from truemix.quantifiers.base import Inference
from truemix.quantifiers.emq import EMQ
from truemix.quantifiers.kdey import KDEy
from truemix.quantifiers.mapls import adaptive_prior, most_probable_mix
from truemix.quantifiers.sampling import BayesianMixin
from truemix.validation import parameter_error


class BayesianKDEy(BayesianMixin, KDEy):
    """Bayesian quantification with kernel densities in the simplex.

    The densities of :class:`truemix.KDEy`, and instead of the most likely mix draws from the
    posterior over all mixes. ``estimand="population"`` with ``temperature=1`` is the method
    Bayes-KDEy of Moreo, González and del Coz.

    Parameters
    ----------
    classifier, cv, kernel, bandwidth, shrinkage
        As for :class:`truemix.KDEy`.
    prior : float, sequence or mapping
        Dirichlet prior of the mix: one positive number for all classes (1 is uniform), one for
        each, or a mapping from class to number.
    temperature : float
        Above 1 the batch counts less and intervals widen.
    draws, warmup : int
        Draws to return, and to discard before.
    sampler : {"auto", "nuts", "gibbs"}
        Gibbs needs temperature 1; ``"auto"`` takes what is predicted to be faster.
    random_state : int, Generator or None
        The same seed gives the same draws. None takes a new seed, which ``settings`` shows.
    estimand : {"batch", "population"}
        The mix of these very items, or of the source that they come from.
        ``Estimate.of`` gives the other one from the same run.
    reference_uncertainty : None
        Reserved; the densities are taken as known.

    Attributes
    ----------
    classes_, train_prevalence_, bandwidth_, shrinkage_, selection_
        As for :class:`truemix.KDEy`.

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
        reference_uncertainty: Any = None,
    ) -> None:
        super().__init__(
            classifier=classifier, cv=cv, kernel=kernel, bandwidth=bandwidth, shrinkage=shrinkage
        )
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand
        self.reference_uncertainty = reference_uncertainty

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_sampling()
        if self.reference_uncertainty is not None:
            raise parameter_error("reference_uncertainty", "None", self.reference_uncertainty)


class BayesianEMQ(BayesianMixin, EMQ):
    """Bayesian maximum likelihood for label shift: draws from the posterior of the mix.

    The likelihood of :class:`truemix.EMQ` (posterior ÷ training share) with a true Dirichlet
    prior. ``prior="mapls"`` uses the adaptive prior of MAPLS (Ye et al., 2024), whose strength
    depends on how far the batch seems to be from uniform and from the training mix.

    Parameters
    ----------
    classifier, cv, calibration
        As for :class:`truemix.EMQ`.
    prior : float, sequence, mapping or "mapls"
        As for :class:`truemix.BayesianKDEy`, or the adaptive prior.
    temperature, draws, warmup, sampler, random_state, estimand
        As for :class:`truemix.BayesianKDEy`.

    Notes
    -----
    The diagnostics hold ``prior`` as it was used and ``map``, the most probable mix, which is the
    point estimate of MAPLS.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import BayesianEMQ
    >>> P = np.repeat([[0.8, 0.2], [0.2, 0.8]], 50, axis=0)
    >>> labels = ["ham"] * 40 + ["spam"] * 50 + ["ham"] * 10
    >>> quantifier = BayesianEMQ(random_state=0).fit(P, labels)
    >>> estimate = quantifier.quantify(np.repeat([[0.8, 0.2], [0.2, 0.8]], [80, 40], axis=0))
    >>> estimate.prevalence.round(1)
    array([0.8, 0.2])
    """

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        calibration: Any = None,
        prior: Any = 1.0,
        temperature: Any = 1.0,
        draws: Any = 1000,
        warmup: Any = 500,
        sampler: str = "auto",
        random_state: Any = None,
        estimand: str = "batch",
    ) -> None:
        super().__init__(classifier=classifier, cv=cv, calibration=calibration)
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_sampling()

    def _resolve_prior(self) -> FloatArray | None:
        return None if self._adaptive else super()._resolve_prior()

    def _prior(self, evidence: FloatArray) -> FloatArray:
        if self._adaptive:
            return adaptive_prior(evidence, self.train_prevalence_)
        return super()._prior(evidence)

    def _infer_bags(self, evidence: FloatArray, bags: list[IntArray]) -> list[Inference]:
        inferences = super()._infer_bags(evidence, bags)
        for rows, inference in zip(bags, inferences, strict=True):
            part = evidence[rows]
            prior = self._prior(part)
            inference.diagnostics["prior"] = prior
            inference.diagnostics["map"] = most_probable_mix(part, prior)
        return inferences

    @property
    def _adaptive(self) -> bool:
        return isinstance(self.prior, str) and self.prior == "mapls"
