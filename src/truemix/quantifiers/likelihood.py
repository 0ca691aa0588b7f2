"""Quantifiers whose evidence is the log-likelihood matrix, solved by maximum likelihood."""

from __future__ import annotations

from truemix._typing import FloatArray
from truemix.inference import maximize_mixture
from truemix.quantifiers.base import Inference, Quantifier


class LikelihoodQuantifier(Quantifier):
    """A model of the items given the class, and the mix that makes the batch most likely."""

    def _infer(self, evidence: FloatArray) -> Inference:
        fit = maximize_mixture(evidence)
        return Inference(
            fit.prevalence,
            {"converged": fit.converged, "gap": fit.gap, "iterations": fit.iterations},
        )
