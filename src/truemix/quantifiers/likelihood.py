"""Quantifiers whose evidence is the log-likelihood matrix, solved by maximum likelihood."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.inference import MixtureFit, maximize_mixture, maximize_mixtures
from truemix.quantifiers.base import Inference, Quantifier, pooled


class LikelihoodQuantifier(Quantifier):
    """A model of the items given the class, and the mix that makes the batch most likely."""

    def _infer(self, evidence: FloatArray) -> Inference:
        return _inference(maximize_mixture(evidence))

    def _infer_bags(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> list[Inference]:
        return [_inference(fit) for fit in maximize_mixtures(*pooled(versions, bags))]

    def _mixes(
        self,
        versions: FloatArray,
        bags: list[IntArray],
        seed: int | None = None,
        near: FloatArray | None = None,
    ) -> FloatArray:
        fits = maximize_mixtures(*pooled(versions, bags), starts=near)
        return np.array([fit.prevalence for fit in fits])


def _inference(fit: MixtureFit) -> Inference:
    return Inference(
        fit.prevalence,
        {"converged": fit.converged, "gap": fit.gap, "iterations": fit.iterations},
    )
