"""Bayesian KDEy: the point method's matrix, and draws instead of a maximum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray
from truemix.inference.sampling import check_settings
from truemix.inference.versions import sample_blocks
from truemix.quantifiers.base import Inference
from truemix.quantifiers.kdey import KDEy
from truemix.quantifiers.reference_uncertainty import (
    bags_at_once,
    number_of_versions,
    reference_weights,
    versions_at_once,
)
from truemix.quantifiers.sampling import BayesianMixin
from truemix.validation import check_choice, parameter_error

if TYPE_CHECKING:
    from truemix.densities.class_densities import ClassDensities


class BayesianKDEy(BayesianMixin, KDEy):
    """Bayesian quantification with kernel densities in the simplex.

    The densities of :class:`truemix.KDEy`, and instead of the most likely mix draws from the
    posterior over all mixes. ``estimand="population"`` with ``temperature=1`` is the method
    Bayes-KDEy of Moreo, González and del Coz.

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
        The same seed gives the same draws. None takes a new seed, which ``settings`` shows.
    estimand : {"batch", "population"}
        The mix of these very items, or of the source that they come from.
        ``Estimate.of`` gives the other one from the same run.
    reference_uncertainty : {"bootstrap", None}
        ``"bootstrap"``: the densities are known only as well as the references tell. The draws
        are spread over 100 versions of them, each with randomly reweighted references (a Bayesian
        bootstrap within each class). None takes the densities as known, as the paper does.
    averaging : bool
        With reference uncertainty: spread the versions also over the settings of bandwidth and
        shrinkage that the automatic choice could not tell apart.

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
    ) -> None:
        super().__init__(
            classifier=classifier,
            cv=cv,
            crossfit=crossfit,
            kernel=kernel,
            bandwidth=bandwidth,
            shrinkage=shrinkage,
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
        if self.reference_uncertainty is not None:
            check_choice(self.reference_uncertainty, "reference_uncertainty", ("bootstrap",))
        if not isinstance(self.averaging, bool | np.bool_):
            raise parameter_error("averaging", "True or False", self.averaging)

    def _versions(self, scored: FloatArray, seed: int | None) -> FloatArray:
        if self.reference_uncertainty is None:
            return super()._versions(scored, seed)
        n_versions = number_of_versions(*scored.shape[1:])
        return self._reweighted(scored, seed, np.arange(n_versions))

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
        """
        matrices = np.empty((len(versions), *scored.shape[1:]))
        model = versions % len(scored)
        setting = versions // len(scored) % len(self._alike)
        for m, posteriors in enumerate(scored):
            for s, densities in enumerate(self._alike):
                own = np.flatnonzero((model == m) & (setting == s))
                if own.size:
                    weights = reference_weights(len(densities.codes), versions[own], seed)
                    matrices[own] = densities.log_likelihoods(posteriors, weights)[0]
        return matrices

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

    def _infer_scored(
        self, scored: FloatArray, bags: list[IntArray], seed: int | None
    ) -> list[Inference]:
        if self.reference_uncertainty is None:
            return super()._infer_scored(scored, bags, seed)
        inferences: list[Inference] = []
        for block in bags_at_once(bags, scored.shape[2]):
            part = scored[:, np.concatenate(block)]
            if versions_at_once(*part.shape[1:]) < number_of_versions(*part.shape[1:]):
                inferences.append(self._infer_large(part, seed))
            else:
                ends = np.cumsum([len(rows) for rows in block])
                own = np.split(np.arange(ends[-1]), ends[:-1])
                inferences += super()._infer_scored(part, own, seed)
        return inferences

    def _infer_large(self, scored: FloatArray, seed: int | None) -> Inference:
        """Return the mix of a batch that is too large to hold all its versions at once."""
        seed = self._seed() if seed is None else seed
        n_items, n_classes = scored.shape[1:]
        n_versions = number_of_versions(n_items, n_classes)
        blocks = (
            self._reweighted(scored, seed, np.arange(rows.start, rows.stop))
            for rows in row_blocks(n_versions, versions_at_once(n_items, n_classes))
        )
        settings = check_settings(n_classes, prior=self._prior(scored), **self._options())
        samples = sample_blocks(
            blocks, n_versions, [np.arange(n_items)], settings, [np.random.SeedSequence(seed)]
        )
        return self._inference(samples[0], seed)
