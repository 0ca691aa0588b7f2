"""Quantifiers whose evidence is the log-likelihood matrix, solved by maximum likelihood."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.estimates.unknown import Unknown
from truemix.inference import MixtureFit, maximize_mixture, maximize_mixtures
from truemix.quantifiers.base import Inference, Quantifier, pooled


class LikelihoodQuantifier(Quantifier):
    """A model of the items given the class, and the mix that makes the batch most likely."""

    def _infer(self, evidence: FloatArray) -> Inference:
        return self._of_fit(maximize_mixture(evidence))

    def _infer_bags(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> list[Inference]:
        return [self._of_fit(fit) for fit in maximize_mixtures(*pooled(versions, bags))]

    def _mixes(
        self,
        versions: FloatArray,
        bags: list[IntArray],
        seed: int | None = None,
        near: FloatArray | None = None,
    ) -> FloatArray:
        # What is near may not know of the unknown.
        useful = near is not None and near.shape[1] == versions.shape[2]
        fits = maximize_mixtures(*pooled(versions, bags), starts=near if useful else None)
        return self._split(np.array([fit.prevalence for fit in fits]))[0]

    def _of_fit(self, fit: MixtureFit) -> Inference:
        mix, unknown = self._split(fit.prevalence)
        return Inference(
            mix,
            {"converged": fit.converged, "gap": fit.gap, "iterations": fit.iterations},
            unknown=None if unknown is None else Unknown(float(unknown)),
        )
