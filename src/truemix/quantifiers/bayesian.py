"""Bayesian KDEy: the point method's matrix, and draws instead of a maximum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.quantifiers.kdey import KDEy
from truemix.quantifiers.reference_uncertainty import reference_weights, unseen_parts
from truemix.quantifiers.reweighting import ReweightingMixin
from truemix.validation import parameter_error

if TYPE_CHECKING:
    from truemix.densities.class_densities import ClassDensities


class BayesianKDEy(ReweightingMixin, KDEy):
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
        Draws to return, and to discard before.
    sampler : {"auto", "nuts", "gibbs"}
        Gibbs needs temperature 1; ``"auto"`` takes what is predicted to be faster, which for other
        temperatures may also be Metropolis sampling with independent proposals.
    random_state : int, Generator or None
        The same seed gives the same draws. None takes a new seed in each ``fit``, which
        ``settings`` shows.
    estimand : {"batch", "population"}
        The mix of these very items, or of the source that they come from.
        ``Estimate.of`` gives the other one from the same run.
    reference_uncertainty : {"bootstrap", None}
        ``"bootstrap"``: the densities are known only as well as the references tell. The draws
        are spread over 100 replicates of them, each with randomly reweighted references (a
        Bayesian bootstrap within each class) and a share of items unlike them. None takes the
        densities as known, as the paper does.
    averaging : bool
        With reference uncertainty: spread the replicates also over the settings of bandwidth and
        shrinkage that the automatic choice could not tell apart.
    unknown : bool
        As for :class:`truemix.KDEy`; the unknown share has draws and an interval, too. Its prior is
        that of one more class with parameter 1.

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

    _alike: list[ClassDensities]

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
        unknown: Any = False,
    ) -> None:
        super().__init__(
            classifier=classifier,
            cv=cv,
            crossfit=crossfit,
            kernel=kernel,
            bandwidth=bandwidth,
            shrinkage=shrinkage,
            unknown=unknown,
        )
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand
        self.reference_uncertainty = reference_uncertainty
        self.averaging = averaging

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_sampling()
        self._check_reference_uncertainty()
        if not isinstance(self.averaging, bool | np.bool_):
            raise parameter_error("averaging", "True or False", self.averaging)

    def _build(self, posteriors: FloatArray, codes: IntArray) -> None:
        super()._build(posteriors, codes)
        self._alike = [self._densities]
        if self.averaging:
            self._alike += [
                self._with_setting(row["bandwidth"], row["shrinkage"])
                for row in self.selection_[1:]
                if row["tie"]
            ]

    def _reweighted(self, scored: FloatArray, seed: int | None, versions: IntArray) -> FloatArray:
        """Return some versions of the matrix: other weights in each, models and settings in turn.

        All models are met before the next setting, all settings before the first is met again.
        Rows are relative to their maximum, in single precision.
        """
        n_items, n_classes = scored.shape[1:]
        n_columns = n_classes + (self._unknown is not None)
        matrices = np.empty((len(versions), n_items, n_columns), dtype=np.float32)
        kind = self._kinds(versions, len(scored))
        for each in np.unique(kind):
            own = np.flatnonzero(kind == each)
            posteriors = scored[each % len(scored)]
            densities = self._alike[each // len(scored)]
            weights = reference_weights(len(densities.codes), versions[own], seed)
            parts = unseen_parts(np.bincount(densities.codes), versions[own], seed)
            alone = len(own) == len(versions)
            out = matrices if alone else np.empty((len(own), n_items, n_columns), matrices.dtype)
            known = out[:, :, :n_classes]
            densities.relative_log_likelihoods(posteriors, weights, known, parts)
            if self._unknown is not None:
                # How typical an item is does not depend on the version.
                tilt = self._unknown.tilt(self._densities.log_likelihood(posteriors)[0])
                even = np.exp(known).mean(axis=2, dtype=np.float64)
                out[:, :, n_classes] = np.log(even) + tilt
            if not alone:
                matrices[own] = out
        return matrices

    def _prior(self, versions: FloatArray) -> FloatArray:
        return self._with_unknown(super()._prior(versions))

    def _resolve_prior(self) -> FloatArray | None:
        prior = super()._resolve_prior()
        return None if prior is None else self._with_unknown(prior)

    def _with_unknown(self, prior: FloatArray) -> FloatArray:
        """Return the prior with the unknown as one more class, which counts as much as one item."""
        return np.append(prior, 1.0) if self._unknown is not None else prior

    def _kinds(self, versions: IntArray, n_models: int) -> IntArray:
        """Return which versions have model and setting in common, and so their kernels."""
        kinds: IntArray = versions % (n_models * len(self._alike))
        return kinds

    @classmethod
    def _versions_of_many(
        cls, quantifiers: Sequence[Any], scored: FloatArray, seeds: Sequence[int | None]
    ) -> Iterator[tuple[list[int], list[FloatArray]]]:
        if all(quantifier.reference_uncertainty is None for quantifier in quantifiers):
            yield from super()._versions_of_many(quantifiers, scored, seeds)
            return
        # One by one: the versions of all bandwidths at once would be too much to hold.
        for number, quantifier in enumerate(quantifiers):
            yield [number], [quantifier._versions(scored, seeds[number])]
