"""Inference parts that return point estimates: ``MaximumLikelihood`` and ``Counting``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from truemix._threads import row_blocks
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.inference.bags import Bag, plain_bags
from truemix.inference.batched import solve_bags
from truemix.inference.protocol import MixtureResult, Replicates, pooled

COUNTS_BYTES = 32 << 20


class MaximumLikelihood(BaseEstimator):
    """The maximum-likelihood mix.

    ``argmax over the simplex of sum_i w_i log(sum_k p_k L[i, k])``, solved to the optimum and
    certified by its duality gap (:func:`truemix.inference.maximize_mixture`). Layers are pooled:
    the weight of an item is split evenly over the models that scored it.

    Examples
    --------
    >>> likelihood = np.array([[8.0, 1.0], [8.0, 1.0], [1.0, 8.0]])
    >>> replicates = Replicates(1, 3, 2, plain=lambda layer: np.log(likelihood))
    >>> MaximumLikelihood().infer(replicates, [np.arange(3)])[0].prevalence.round(2)
    array([0.71, 0.29])
    """

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Nothing depends on the classes."""

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return the maximum-likelihood mix of each bag, with its duality gap."""
        given = plain_bags(bags)
        results = []
        for bag, fit in zip(given, solve_bags(*pooled(replicates.layers, given)), strict=True):
            diagnostics: dict[str, Any] = {
                "converged": fit.converged, "gap": fit.gap, "iterations": fit.iterations
            }  # fmt: skip
            if bag.sample is not None:
                # All layers see the same rows, so the error of one is that of all.
                logs = replicates.layers[0][bag.rows]
                L = np.exp(logs - logs.max(axis=1, keepdims=True))
                diagnostics |= bag.likelihood_error(L, fit.prevalence)
            results.append(MixtureResult(fit.prevalence, diagnostics))
        return results

    def mixes(
        self,
        replicates: Replicates,
        bags: Sequence[Bag | IntArray],
        near: FloatArray | None = None,
    ) -> FloatArray:
        """Return only the mixes, ``(n_bags, K)``; ``near`` are initial mixes of the solver."""
        # They may lack the column of the unknown class.
        fitting = near is not None and near.shape[1] == replicates.n_columns
        starts = near if fitting else None
        fits = solve_bags(*pooled(replicates.layers, plain_bags(bags)), starts=starts)
        return np.array([fit.prevalence for fit in fits])


class Counting(BaseEstimator):
    """The mean of the observations: classify and count, or the mean posterior.

    Examples
    --------
    >>> decided = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> replicates = Replicates(1, 4, 2, plain=lambda layer: decided, counts=np.eye(2))
    >>> Counting().infer(replicates, [np.arange(4)])[0].prevalence
    array([0.75, 0.25])
    """

    consumes = "observations"
    # Only decisions for classes can be counted.
    takes_decisions = "classes"

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Nothing depends on the classes."""

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return the mean observation of each bag."""
        results = []
        for bag in plain_bags(bags):
            observed = replicates.layers[:, bag.rows].mean(axis=0)
            results.append(MixtureResult(bag.mean(observed), bag.sampling_error(observed)))
        return results

    def mixes(
        self,
        replicates: Replicates,
        bags: Sequence[Bag | IntArray],
        near: FloatArray | None = None,
    ) -> FloatArray:
        """Return the same as one matrix, ``(n_bags, K)``."""
        observed, given = replicates.layers.mean(axis=0), plain_bags(bags)
        n_items = len(observed)
        mixes = np.empty((len(given), observed.shape[1]))
        # How often each row is in each bag, one block of bags at a time.
        for block in row_blocks(len(given), max(1, COUNTS_BYTES // (8 * n_items))):
            counts = np.array(
                [np.bincount(bag.rows, bag.counts, minlength=n_items) for bag in given[block]]
            )
            mixes[block] = _weighted_means(counts, observed)
        return mixes

    def mixes_of_counts(self, replicates: Replicates, counts: FloatArray) -> FloatArray:
        """Return the mixes of bags with so many of each item, ``(n_bags, n_items)``."""
        return _weighted_means(counts, replicates.layers.mean(axis=0))


def _weighted_means(counts: FloatArray, observed: FloatArray) -> FloatArray:
    return np.asarray(counts @ observed / counts.sum(axis=1, keepdims=True))
