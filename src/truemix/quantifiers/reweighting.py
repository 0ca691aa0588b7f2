"""Draws spread over reweighted references, for batches of any size."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray
from truemix.inference.sampling import check_settings
from truemix.inference.versions import sample_blocks
from truemix.quantifiers.base import Inference, gathered
from truemix.quantifiers.reference_uncertainty import (
    bags_at_once,
    number_of_versions,
    versions_at_once,
)
from truemix.quantifiers.sampling import BayesianMixin
from truemix.validation import check_choice

T = TypeVar("T")


class ReweightingMixin(BayesianMixin):
    """A Bayesian quantifier that may reweight its references, with ``reference_uncertainty``."""

    reference_uncertainty: Any
    # Whether the evidence of a batch decides its prior or its diagnostics.
    _explains = False

    @abstractmethod
    def _reweighted(self, scored: FloatArray, seed: int | None, versions: IntArray) -> FloatArray:
        """Return the versions of the evidence with these numbers, ``(len(versions), n, K)``."""

    def _explain(self, inference: Inference, versions: FloatArray) -> None:
        """Add to the diagnostics of a bag what its evidence tells."""

    @property
    def _reweights(self) -> bool:
        """Whether draws are spread over reweighted references."""
        return self.reference_uncertainty is not None

    def _check_reference_uncertainty(self) -> None:
        if self.reference_uncertainty is not None:
            check_choice(self.reference_uncertainty, "reference_uncertainty", ("bootstrap",))

    def _kinds(self, versions: IntArray, n_models: int) -> IntArray:
        """Return which versions are cheaper when they are made together."""
        return np.zeros_like(versions)

    def _versions(self, scored: FloatArray, seed: int | None) -> FloatArray:
        if not self._reweights:
            return super()._versions(scored, seed)
        return self._reweighted(scored, seed, np.arange(self._n_versions(scored)))

    def _n_versions(self, scored: FloatArray) -> int:
        return min(int(self.draws), number_of_versions(*scored.shape[1:]))

    def _infer_bags(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> list[Inference]:
        inferences = super()._infer_bags(versions, bags, seed)
        if self._explains:
            for rows, inference in zip(bags, inferences, strict=True):
                self._explain(inference, versions[:, rows])
        return inferences

    def _infer_scored(
        self, scored: FloatArray, bags: list[IntArray], seed: int | None
    ) -> list[Inference]:
        if not self._reweights:
            return super()._infer_scored(scored, bags, seed)
        inferences: list[Inference] = []
        for block in bags_at_once(bags, scored.shape[2]):
            part, own = gathered(scored, block)
            if versions_at_once(*part.shape[1:]) < number_of_versions(*part.shape[1:]):
                inferences.append(self._infer_large(part, seed))
            else:
                inferences += super()._infer_scored(part, own, seed)
        return inferences

    def _infer_large(self, scored: FloatArray, seed: int | None) -> Inference:
        """Return the mix of a batch that is too large to hold all its versions at once."""
        seed = self._seed() if seed is None else seed
        n_items, n_classes = scored.shape[1:]
        every = np.arange(self._n_versions(scored))
        kind = self._kinds(every, len(scored))
        # Made together they share work, so it is done least often.
        together = [
            every[kind == each][rows]
            for each in np.unique(kind)
            for rows in row_blocks(int((kind == each).sum()), versions_at_once(n_items, n_classes))
        ]
        blocks = ((numbers, self._reweighted(scored, seed, numbers)) for numbers in together)
        first = [next(blocks)]
        # A whole version is a lot to keep where its first item tells how many columns there are.
        one = first[0][1][:1, : n_items if self._explains else 1].copy()
        everything = chain(_emptied(first), blocks)
        settings = check_settings(one.shape[2], prior=self._prior(one), **self._options())
        bags, seeds = [np.arange(n_items)], [np.random.SeedSequence(seed)]
        samples = sample_blocks(everything, len(every), bags, settings, seeds)
        inference = self._inference(samples[0], seed)
        if self._explains:
            self._explain(inference, one)
        return inference


def _emptied(held: list[T]) -> Iterator[T]:
    """Yield what is held and let go of it: of blocks as large as can be there may be one only."""
    while held:
        yield held.pop(0)
