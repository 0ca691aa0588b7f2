"""Bayesian EMQ: the likelihood of EMQ, and draws instead of a maximum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._saved_arrays import read_shares
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.calibration import Calibrator
from truemix.exceptions import InputError
from truemix.quantifiers.base import Inference
from truemix.quantifiers.emq import AUTOMATIC, EMQ, check_map
from truemix.quantifiers.mapls import adaptive_prior, most_probable_mix
from truemix.quantifiers.reference_uncertainty import VERSIONS, reference_weights
from truemix.quantifiers.reweighting import ReweightingMixin

# The maps are made in fit, before a run has a seed: always the same weights.
WEIGHTS_SEED = 0


class BayesianEMQ(ReweightingMixin, EMQ):
    """Bayesian maximum likelihood for label shift: draws from the posterior of the mix.

    The likelihood of :class:`truemix.EMQ` (calibrated posterior ÷ reference share) with a true
    Dirichlet prior. ``prior="mapls"`` uses the adaptive prior of MAPLS (Ye et al., 2024), whose
    strength depends on how far the batch seems to be from uniform and from the training mix.

    Parameters
    ----------
    classifier, cv, crossfit, calibration
        As for :class:`truemix.EMQ`.
    prior : float, sequence, mapping or "mapls"
        As for :class:`truemix.BayesianKDEy`, or the adaptive prior.
    temperature, draws, warmup, sampler, random_state, estimand
        As for :class:`truemix.BayesianKDEy`.
    reference_uncertainty : {"auto", None, "bootstrap"}
        None takes the calibration as known. ``"bootstrap"``: it is known only as well as the
        references tell. The draws are spread over 100 replicates of the calibration map and of
        the reference shares, each from randomly reweighted references (a Bayesian bootstrap over
        all of them). Needs a calibration. ``"auto"`` is ``"bootstrap"`` with a calibration, and
        None without.

    Notes
    -----
    The diagnostics hold ``prior`` as it was used and ``map``, the most probable mix, which is the
    point estimate of MAPLS; with reference uncertainty both are those of the mean version.

    References are reweighted all together, not within each class, because a bias of the map and
    the training share belong together: if a class gets more weight both rise, and their
    difference, which is the evidence, stays. A map without biases (``"ts"``, ``"nbvs"``) takes
    the posteriors to be right at the share of the population, which the references only estimate,
    and the draws are wider by that. Without a calibration nothing is estimated but this share,
    and a classifier's training share is a fact: there is nothing sound to reweight.

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

    A hundred references leave more open than the 1,200 items of the batch:

    >>> widths = []
    >>> for uncertainty in (None, "bootstrap"):
    ...     quantifier = BayesianEMQ(reference_uncertainty=uncertainty, random_state=0)
    ...     interval = quantifier.fit(P, labels).quantify(batch).interval()
    ...     widths.append(np.diff(interval[0])[0])
    >>> np.round(widths, 1)
    array([0.1, 0.3])
    """

    _maps: list[Calibrator]
    _shares: FloatArray

    _explains = True

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = False,
        calibration: Any = "auto",
        prior: Any = 1.0,
        temperature: Any = 1.0,
        draws: Any = 1000,
        warmup: Any = 500,
        sampler: str = "auto",
        random_state: Any = None,
        estimand: str = "batch",
        reference_uncertainty: Any = "auto",
    ) -> None:
        super().__init__(classifier=classifier, cv=cv, crossfit=crossfit, calibration=calibration)
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
        if self.reference_uncertainty == AUTOMATIC:
            return
        self._check_reference_uncertainty()
        if self.reference_uncertainty is not None and self.calibration is None:
            raise InputError(
                "The 'reference_uncertainty' parameter is 'bootstrap', but without a calibration "
                "nothing is learned from the references that could be uncertain; choose one, such "
                "as calibration='bcts'."
            )

    @property
    def _reweights(self) -> bool:
        if self.reference_uncertainty == AUTOMATIC:
            return self._calibration is not None
        return super()._reweights

    def _resolved(self) -> dict[str, Any]:
        resolved = "bootstrap" if self._reweights else None
        return {**super()._resolved(), "reference_uncertainty": resolved}

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        super()._learn(posteriors, codes)
        if self._reweights:
            weights = reference_weights(len(codes), np.arange(VERSIONS), WEIGHTS_SEED)
            self._maps = self.calibrator_.refits(posteriors, codes, weights)
            totals = weights @ np.eye(posteriors.shape[1])[codes]
            self._shares = totals / totals.sum(axis=1, keepdims=True)

    def _state(self) -> dict[str, AnyArray]:
        state = super()._state()
        if not self._reweights:
            return state
        states = [calibrator.state() for calibrator in self._maps]
        maps = {f"map_{name}": np.array([each[name] for each in states]) for name in states[0]}
        return {**state, **maps, "map_shares": self._shares}

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        super()._restore(state)
        if self._reweights:
            n_classes = len(self.classes_)
            shares = read_shares(state, "map_shares", (VERSIONS, n_classes), positive=True)
            stacked = {name: state[f"map_{name}"] for name in self.calibrator_.state()}
            for name, values in stacked.items():
                if values.shape[:1] != (VERSIONS,):
                    raise InputError(f"map_{name} is not there for each replicate")
            self._shares = shares
            self._maps = [
                type(self.calibrator_).from_state({name: m[v] for name, m in stacked.items()})
                for v in range(VERSIONS)
            ]
            for each in self._maps:
                check_map(each, n_classes)

    def _reweighted(self, scored: FloatArray, seed: int | None, versions: IntArray) -> FloatArray:
        """Return some versions of the matrix: another map in each, models in turn.

        Rows are relative to their maximum, in single precision.
        """
        matrices = np.empty((len(versions), *scored.shape[1:]), dtype=np.float32)
        for matrix, v in zip(matrices, versions.tolist(), strict=True):
            scores = self._maps[v].scores(scored[v % len(scored)])
            scores -= np.log(self._shares[v])
            np.subtract(scores, scores.max(axis=1, keepdims=True), out=matrix, casting="same_kind")
        return matrices

    def _resolve_prior(self) -> FloatArray | None:
        return None if self._adaptive else super()._resolve_prior()

    def _prior(self, versions: FloatArray) -> FloatArray:
        if self._adaptive:
            stacked, n_versions = self._stacked(versions)
            return adaptive_prior(stacked, self.train_prevalence_, n_versions)
        return super()._prior(versions)

    def _explain(self, inference: Inference, versions: FloatArray) -> None:
        prior = self._prior(versions)
        stacked, n_versions = self._stacked(versions)
        inference.diagnostics["prior"] = prior
        inference.diagnostics["map"] = most_probable_mix(stacked, prior, n_versions)

    def _stacked(self, versions: FloatArray) -> tuple[FloatArray, int]:
        """Return the evidence for a point estimate, versions below each other, and their number."""
        if self._reweights:
            # As good as the fitted map, because evidence is linear in what maps differ in.
            versions = versions.mean(axis=0, keepdims=True, dtype=np.float64)
        return versions.reshape(-1, versions.shape[2]), len(versions)

    @property
    def _adaptive(self) -> bool:
        return isinstance(self.prior, str) and self.prior == "mapls"
