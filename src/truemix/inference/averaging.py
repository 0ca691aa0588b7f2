"""The inference part ``Averaging``: the mean answer of a point inference over tied settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.inference.bags import Bag
from truemix.inference.protocol import MixtureResult, Replicates


class Averaging(BaseEstimator):
    """The mean of a point inference's mixes over the settings of the model that tie.

    Parameters
    ----------
    inference : Inference
        A point inference, such as ``MaximumLikelihood()``.

    Examples
    --------
    >>> from truemix.inference import MaximumLikelihood
    >>> one, other = np.log([[[8.0, 1.0], [1.0, 8.0]], [[8.0, 1.0], [8.0, 1.0]]])
    >>> replicates = Replicates(1, 2, 2, plain=lambda layer: one, tied=(lambda layer: other,))
    >>> result = Averaging(inference=MaximumLikelihood()).infer(replicates, [np.arange(2)])[0]
    >>> result.prevalence.round(3), result.diagnostics["settings"]
    (array([0.75, 0.25]), 2)
    """

    # Tells the wiring that the matrices of all tied settings are wanted.
    averaged = True

    def __init__(self, *, inference: Any) -> None:
        self.inference = inference

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Prepare the point inference."""
        self.inference.prepare(classes, train_prevalence)

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return the mean mix of each bag; it has converged if that of every setting has."""
        found = [self.inference.infer(each, bags) for each in _settings(replicates)]
        return [_mean(results) for results in zip(*found, strict=True)]

    def mixes(
        self,
        replicates: Replicates,
        bags: Sequence[Bag | IntArray],
        near: FloatArray | None = None,
    ) -> FloatArray:
        """Return only the mixes, ``(n_bags, K)``."""
        found = [self.inference.mixes(each, bags, near) for each in _settings(replicates)]
        return np.asarray(np.mean(found, axis=0))


def _settings(replicates: Replicates) -> list[Replicates]:
    """Return the matrix of each setting, the chosen one first."""
    return [
        replace(replicates, plain=plain, tied=()) for plain in (replicates.plain, *replicates.tied)
    ]


def _mean(results: tuple[MixtureResult, ...]) -> MixtureResult:
    every = [result.diagnostics for result in results]
    diagnostics: dict[str, Any] = {
        "converged": all(each["converged"] for each in every),
        "gap": max(each["gap"] for each in every),
        "iterations": sum(each["iterations"] for each in every),
        "settings": len(every),
    }
    if "sampling_error" in every[0]:
        # The same rows are sampled for all settings, so errors do not average out.
        diagnostics["sampling_error"] = np.mean([each["sampling_error"] for each in every], axis=0)
    mixes = [result.prevalence for result in results]
    return MixtureResult(np.asarray(np.mean(mixes, axis=0)), diagnostics)
