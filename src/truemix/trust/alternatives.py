"""Mixes of batches under other assumptions, from the references of a fitted quantifier.

Everything is a matrix of draws ``(draws, K)`` in the population view, which is the wider one, so
that intervals of them hold for the batch as well. Work is bounded: of many references a random
part is used, of many rows a sample whose error is in the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.calibration import BiasCorrectedTemperatureScaling
from truemix.exceptions import InputError
from truemix.inference import Posterior
from truemix.inference.bags import Bag
from truemix.models import KernelDensity, WithUnknown
from truemix.models.out_of_fold import at_most
from truemix.quantifiers.base import Quantifier
from truemix.quantifiers.bayesian_acc import BayesianACC
from truemix.quantifiers.bayesian_emq import BayesianEMQ
from truemix.quantifiers.mixture import MixtureQuantifier
from truemix.quantifiers.pool import Pool, pool_of_summaries
from truemix.quantifiers.shares import Shares, split_result
from truemix.quantifiers.wiring import infer
from truemix.summaries import Summary

# References that the other methods learn from: a random part of more changes no answer by a tenth
# of the range that all of them span, and the work grows with the product of references and rows.
MAX_REFERENCES = 4_000
# Rows of a batch, and of all batches together; a sample of more adds less than a percentage point.
MAX_ROWS = 4_000
MAX_ROWS_OF_ALL = 100_000
MIN_ROWS = 400
# Draws that leave ten beyond each end of a 95 % interval.
DRAWS = 400
SAMPLING: dict[str, Any] = {"draws": DRAWS, "warmup": 200, "estimand": "population"}
# Calibration maps from reweighted references, over which draws under covariate shift are spread.
N_MAPS = 50
# Shrinkage of densities where the quantifier has none: as in the check of label shift, the answer
# depends little on it, and choosing it takes many times as long.
SHRINKAGE = 0.5
# Cells of confidence for each decision, in which the items of a batch are counted.
N_BINS = 5
# Key that makes random numbers independent of other streams, given one seed.
_STREAM = 21


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The other methods, each fitted when it is first needed.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted.
    seed : int
        The same seed gives the same draws.
    """

    quantifier: Quantifier
    seed: int

    def pool_of(self, summaries: Sequence[Summary]) -> Pool:
        """Return the rows of batches, of large ones a sample."""
        capacity = min(MAX_ROWS, max(MIN_ROWS, MAX_ROWS_OF_ALL // len(summaries)))
        return pool_of_summaries([
            each.limited(capacity) if each.n_rows > capacity else each for each in summaries
        ])  # fmt: skip

    # --- label shift --------------------------------------------------------------------------

    def own(self, pool: Pool) -> list[Shares]:
        """Return draws under the quantifier's own model, for one that only has point estimates."""
        inference, shares = self._inference(), self.quantifier.train_prevalence_
        inference.prepare(self.quantifier.classes_, shares)
        results = infer(self.quantifier.model_, inference, pool.scored, pool.bags)
        return [split_result(each, shares) for each in results]

    def kdey(self, pool: Pool) -> list[Shares]:
        """Return draws by kernel densities."""
        return self._fitted(
            MixtureQuantifier(model=self._densities(), inference=self._inference()), pool
        )

    def emq(self, pool: Pool) -> list[Shares]:
        """Return draws by recalibrated posteriors."""
        return self._fitted(BayesianEMQ(random_state=self.seed, **SAMPLING), pool)

    def acc(self, pool: Pool) -> list[Shares]:
        """Return draws by the counts of decisions."""
        return self._fitted(BayesianACC(random_state=self.seed, **SAMPLING), pool)

    # --- other assumptions --------------------------------------------------------------------

    def with_unknown(self, pool: Pool) -> list[Shares]:
        """Return draws by kernel densities beside a class that the references lack."""
        model = WithUnknown(model=self._densities())
        return self._fitted(MixtureQuantifier(model=model, inference=self._inference()), pool)

    def covariate_shift(self, pool: Pool) -> list[FloatArray]:
        """Return draws of the mean recalibrated posterior of each batch.

        Draws are spread over calibration maps from reweighted references. To the mean of each map
        the error of the items is added: the labels of N items, of which only probabilities are
        known, vary as N draws from the mix.
        """
        posteriors, codes, weights = self._references
        classes = np.arange(len(self.quantifier.classes_))
        calibrator = BiasCorrectedTemperatureScaling()
        calibrator.fit(posteriors, codes, classes=classes, sample_weight=weights)
        rng = self._stream(1)
        random = (weights * rng.standard_exponential(len(weights)) for _ in range(N_MAPS))
        maps = calibrator.refits(posteriors, codes, random)
        n_layers, each = len(pool.scored), DRAWS // N_MAPS
        found: list[list[FloatArray]] = [[] for _ in pool.bags]
        for number, each_map in enumerate(maps):
            calibrated = each_map.transform(pool.scored[number % n_layers])
            for parts, bag in zip(found, pool.bags, strict=True):
                parts.append(_varied(bag, calibrated[bag.rows], each, rng))
        return [np.concatenate(parts) for parts in found]

    def of_decisions(self, pool: Pool) -> list[FloatArray]:
        """Return draws of the same for decisions: how often references with each are of a class.

        In place of calibration maps there are resampled references.
        """
        posteriors, codes, weights = self._references
        rng, share = self._stream(1), np.log(self.quantifier.train_prevalence_)
        found: list[list[FloatArray]] = [[] for _ in pool.bags]
        for _ in range(N_MAPS):
            rows = rng.choice(len(codes), len(codes), p=weights / weights.sum())
            # One of each class remains, in any case.
            rows = np.concatenate([rows, np.unique(codes, return_index=True)[1]])
            model = deepcopy(self.quantifier.model_)
            model.fit(posteriors[rows], codes[rows], len(share))
            rates = np.exp(model.log_likelihood(pool.scored[0]) + share)
            rates = rates / rates.sum(axis=1, keepdims=True)
            for parts, bag in zip(found, pool.bags, strict=True):
                parts.append(_varied(bag, rates[bag.rows], DRAWS // N_MAPS, rng))
        return [np.concatenate(parts) for parts in found]

    def unchanged(self, n_items: int) -> FloatArray:
        """Return draws of a mix that is still that of the references, in a batch of some items."""
        rng = self._stream(2)
        shares = rng.dirichlet(self._class_counts + 1.0, DRAWS)
        return np.asarray(rng.multinomial(n_items, shares) / n_items)

    def unexplained(self, pool: Pool, mixes: Sequence[FloatArray]) -> list[float]:
        """Return the share of each batch that its mix does not explain.

        Items are counted in cells of decision and confidence. Half of the sum of differences
        between the shares of the cells in the batch and in a mix of the references (the total
        variation distance) is the least share of items that must have come from elsewhere. What
        chance alone would make of it is subtracted.
        """
        posteriors, codes, _ = self._references
        n_classes = len(self.quantifier.classes_)
        edges = _edges(posteriors)
        n_cells = posteriors.shape[1] * N_BINS
        both = codes * n_cells + _cells(posteriors, edges)
        counts = np.bincount(both, minlength=n_classes * n_cells).reshape(n_classes, n_cells)
        n_references = counts.sum(axis=1, keepdims=True)
        rates = counts / n_references
        cells = np.array([_cells(layer, edges) for layer in pool.scored])
        found = []
        for bag, mix in zip(pool.bags, mixes, strict=True):
            seen = np.mean([np.bincount(each[bag.rows], bag.weights, n_cells) for each in cells], 0)
            expected = mix @ rates
            variance = expected * (1.0 - expected) / bag.n_items
            variance += mix**2 @ (rates * (1.0 - rates) / n_references)
            # The mean of the absolute value of a normal number.
            chance = np.sqrt(variance * 2.0 / np.pi).sum()
            distance = np.abs(seen / seen.sum() - expected).sum()
            found.append(max(0.0, 0.5 * float(distance - chance)))
        return found

    def counted(self, counts: FloatArray) -> FloatArray:
        """Return draws of the shares in a source of which so many items were counted."""
        return self._stream(3).dirichlet(counts + 1.0, DRAWS)

    def _stream(self, number: int) -> np.random.Generator:
        source = np.random.SeedSequence(self.seed, spawn_key=(_STREAM, number))
        return np.random.default_rng(source)

    # --- fitting ------------------------------------------------------------------------------

    @cached_property
    def _references(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Posteriors and classes of at most some references, with weights that keep the mix."""
        kept = self.quantifier.references_
        if kept is None:
            raise InputError(
                f"This {type(self.quantifier).__name__} was loaded from a file, which holds no "
                "reference items; answers under other assumptions are learned from them. Fit it "
                "again, or save a KDEy, whose file does hold them."
            )
        rows = np.sort(at_most(MAX_REFERENCES, kept[1], np.random.default_rng(0)))
        posteriors, codes = kept[0][rows], kept[1][rows]
        share = np.bincount(codes, minlength=len(self.quantifier.classes_)) / len(codes)
        return posteriors, codes, (self.quantifier.train_prevalence_ / share)[codes]

    @property
    def _class_counts(self) -> FloatArray:
        kept = self.quantifier.references_
        n_references = len(self._references[1]) if kept is None else len(kept[1])
        return np.asarray(self.quantifier.train_prevalence_ * n_references)

    def _densities(self) -> KernelDensity:
        """Return unfitted kernel densities, with the smoothing of the quantifier if it has one."""
        model: Any = self.quantifier.model_
        while not isinstance(model, KernelDensity) and hasattr(model, "model_"):
            model = model.model_
        if isinstance(model, KernelDensity):
            return model.chosen()
        return KernelDensity(shrinkage=SHRINKAGE)

    def _inference(self) -> Posterior:
        return Posterior(random_state=self.seed, **SAMPLING)

    def _fitted(self, quantifier: Quantifier, pool: Pool) -> list[Shares]:
        """Fit another quantifier on the references, and return its draws."""
        posteriors, codes, _ = self._references
        classes = self.quantifier.classes_
        quantifier.fit_scored(posteriors, codes, classes, self.quantifier.given_scorer)
        results = infer(quantifier.model_, quantifier.inference_, pool.scored, pool.bags)
        return [split_result(each, self.quantifier.train_prevalence_) for each in results]


def _varied(bag: Bag, calibrated: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Return the mean posterior of a bag as it may vary with its items, ``(n_draws, K)``."""
    mean = bag.mean(calibrated)
    covariance = (np.diag(mean) - np.outer(mean, mean)) / bag.n_items
    if bag.sample is not None:
        covariance = covariance + bag.sample.covariance(calibrated)
    # The covariance is singular, since shares add up to one.
    drawn = rng.multivariate_normal(mean, covariance, n_draws, check_valid="ignore", method="eigh")
    drawn = np.maximum(drawn, 0.0)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def _edges(posteriors: FloatArray) -> FloatArray:
    """Return for each decision where its references' confidence is cut into equal parts."""
    decisions, confidence = posteriors.argmax(axis=1), posteriors.max(axis=1)
    inner = np.arange(1, N_BINS) / N_BINS
    n_classes = posteriors.shape[1]
    edges = np.ones((n_classes, N_BINS - 1))
    for decision in np.unique(decisions):
        edges[decision] = np.quantile(confidence[decisions == decision], inner)
    return edges


def _cells(posteriors: FloatArray, edges: FloatArray) -> IntArray:
    """Return the cell of each item, by its decision and confidence."""
    decisions, confidence = posteriors.argmax(axis=1), posteriors.max(axis=1)
    part = (confidence[:, None] > edges[decisions]).sum(axis=1)
    return np.asarray(decisions * N_BINS + part)
