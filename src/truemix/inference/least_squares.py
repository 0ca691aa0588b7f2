"""Least squares: the mix whose expected observation is nearest to the observed one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.inference.bags import Bag, plain_bags
from truemix.inference.protocol import MixtureResult, Replicates
from truemix.validation import shown_list

# Ridge weight that breaks ties towards the reference mix. So small that it moves a well-determined
# solution by less than the precision of float64.
TIE_BREAK = 1e-14
# Below this ratio of smallest to largest singular value the matrix counts as singular.
SINGULAR = 1e-10


class LeastSquares(BaseEstimator):
    """Least squares on the simplex: match the mean observation (adjusted counts).

    A mix p of classes makes the mean observation ``C p``, where column k of C is the mean
    observation of class k's references. The estimate is ``argmin over the simplex of
    |C p - mean of the batch|``.

    Notes
    -----
    If C is singular, many mixes fit equally well; the one nearest to the reference mix is
    returned, and the diagnostics say ``identifiable: False``.

    Examples
    --------
    >>> decided = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> counts = np.array([[3.0, 1.0], [0.0, 2.0]])
    >>> replicates = Replicates(1, 2, 2, plain=lambda layer: decided, counts=counts)
    >>> inference = LeastSquares()
    >>> inference.prepare(np.array(["ham", "spam"]), np.array([2 / 3, 1 / 3]))
    >>> inference.infer(replicates, [np.arange(2)])[0].prevalence.round(3)
    array([0.667, 0.333])
    """

    consumes = "observations"
    _classes: AnyArray
    _train_prevalence: FloatArray

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Store the reference mix, which breaks ties."""
        self._classes, self._train_prevalence = classes, train_prevalence

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return the nearest mix of each bag."""
        C = class_means(replicates.known_counts)
        results = []
        for bag in plain_bags(bags):
            observations = replicates.layers[:, bag.rows].mean(axis=0)
            observed = bag.mean(observations)
            mix = nearest_mix(C, observed, self._train_prevalence)
            diagnostics = self._diagnostics(C, mix, observed, named=not replicates.widths)
            if bag.sample is not None:
                diagnostics |= bag.sampling_error(observations, np.linalg.pinv(C))
            results.append(MixtureResult(mix, diagnostics))
        return results

    def mixes(
        self,
        replicates: Replicates,
        bags: Sequence[Bag | IntArray],
        near: FloatArray | None = None,
    ) -> FloatArray:
        """Return only the mixes, ``(n_bags, K)``."""
        C, observed = class_means(replicates.known_counts), replicates.layers.mean(axis=0)
        means = [bag.mean(observed[bag.rows]) for bag in plain_bags(bags)]
        return np.array([nearest_mix(C, mean, self._train_prevalence) for mean in means])

    def _diagnostics(
        self, C: FloatArray, prevalence: FloatArray, observed: FloatArray, *, named: bool
    ) -> dict[str, Any]:
        singular_values = np.linalg.svd(C, compute_uv=False)
        # Decisions may be fewer than classes.
        identifiable = bool(
            len(singular_values) == C.shape[1]
            and singular_values[-1] > SINGULAR * singular_values[0]
        )
        # Rows can be named after classes only if observations are decisions for them or posteriors.
        named = named and C.shape[0] == C.shape[1]
        never = self._classes[~C.any(axis=1)] if named else np.array([])
        diagnostics: dict[str, Any] = {
            "residual": float(np.linalg.norm(C @ prevalence - observed)),
            "condition": float(singular_values[0] / singular_values[-1])
            if identifiable
            else np.inf,
            "identifiable": identifiable,
            "never_predicted": never.tolist(),
        }
        if not identifiable:
            diagnostics["notes"] = [
                "The confusion matrix is singular"
                + (f" (never predicted: {shown_list(never)})" if never.size else "")
                + ": several mixes fit equally well, and the one nearest to the reference is shown."
            ]
        return diagnostics


def class_means(counts: FloatArray) -> FloatArray:
    """Return the mean observation of each class as columns, ``(D, K)``, from sums ``(K, D)``."""
    return np.asarray((counts / counts.sum(axis=1, keepdims=True)).T)


def nearest_mix(confusion: FloatArray, reported: FloatArray, tie_break: FloatArray) -> FloatArray:
    """Minimise ``|confusion @ p - reported|`` over the simplex, exactly.

    On the simplex the residual is ``A p`` with ``A = confusion - reported 1'``. For ``x = s p``
    the objective ``|A x|² + (sum(x) - 1)²`` has, at its best scale s, the value ``v / (1 + v)``
    with ``v = |A p|²``: its minimum over ``x >= 0`` points to the minimum of v on the simplex.
    That is a non-negative least squares problem. Ties are broken towards ``tie_break``.

    Examples
    --------
    >>> nearest_mix(np.eye(2), np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    array([0.25, 0.75])
    """
    from scipy.optimize import nnls

    n_classes = len(tie_break)
    towards = np.sqrt(TIE_BREAK) * (np.eye(n_classes) - tie_break[:, None])
    A = np.vstack([confusion - reported[:, None], towards, np.ones(n_classes)])
    target = np.zeros(len(A))
    target[-1] = 1.0
    x, _ = nnls(A, target, maxiter=50 * n_classes)
    return np.asarray(x / x.sum())
