"""Bayesian ACC: the mix and the confusion matrix, both uncertain, from counts alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._saved_arrays import read_floats
from truemix._threads import for_each_block
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.inference import MixtureSample
from truemix.inference.confusion import sample_confusion
from truemix.inference.versions import mix_samples
from truemix.quantifiers.base import Inference
from truemix.quantifiers.counting import decisions
from truemix.quantifiers.sampling import BayesianMixin
from truemix.validation import SILENT_SUM_ERROR

# Above it float64 does not hold every whole number.
MAX_COUNT = 2.0**53


class BayesianACC(BayesianMixin):
    """Bayesian adjusted classify and count: draws of the mix given counts of decisions.

    The confusion matrix is not taken as known, as in :class:`truemix.ACC`, but inferred together
    with the mix, so few references make wide intervals (Ziegler and Czyż, 2024).

    Parameters
    ----------
    classifier, cv, crossfit
        As for :class:`truemix.ACC`.
    prior, temperature, draws, warmup, random_state, estimand
        As for :class:`truemix.BayesianKDEy`; the temperature applies to the counts of the batch
        and of the references.
    sampler : {"auto", "gibbs", "nuts"}
        Gibbs sampling works at every temperature here and is what ``"auto"`` takes.

    Attributes
    ----------
    confusion_counts_ : ndarray of shape (K, K)
        References of each class (row) by decision (column).

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import BayesianACC
    >>> P = np.repeat([[0.9, 0.1], [0.2, 0.8]], 50, axis=0)
    >>> labels = ["ham"] * 45 + ["spam"] * 50 + ["ham"] * 5
    >>> quantifier = BayesianACC(random_state=0).fit(P, labels)
    >>> batch = np.repeat([[0.9, 0.1], [0.2, 0.8]], [70, 30], axis=0)
    >>> quantifier.quantify(batch).prevalence.round(1)
    array([0.8, 0.2])
    """

    _hard = True
    _gibbs_is_tempered = True
    confusion_counts_: FloatArray

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = False,
        prior: Any = 1.0,
        temperature: Any = 1.0,
        draws: Any = 1000,
        warmup: Any = 500,
        sampler: str = "auto",
        random_state: Any = None,
        estimand: str = "batch",
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.random_state = random_state
        self.estimand = estimand

    def _check_parameters(self) -> None:
        self._check_sampling()

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        super()._learn(posteriors, codes)
        truth = np.eye(posteriors.shape[1])[codes]
        self.confusion_counts_ = truth.T @ decisions(posteriors)

    def _state(self) -> dict[str, AnyArray]:
        return {**super()._state(), "confusion_counts": self.confusion_counts_}

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        super()._restore(state)
        counts = read_floats(
            state, "confusion_counts", 2 * self.classes_.shape, minimum=0.0, maximum=MAX_COUNT
        )
        shares = counts.sum(axis=1) / max(counts.sum(), 1.0)
        if (counts != np.floor(counts)).any() or not np.allclose(
            shares, self.train_prevalence_, rtol=0.0, atol=SILENT_SUM_ERROR
        ):
            raise InputError("confusion_counts are not those of references of these shares")
        self.confusion_counts_ = counts

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        return decisions(posteriors)

    def _infer_bags(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> list[Inference]:
        seed = self._seed() if seed is None else seed
        samples: dict[int, MixtureSample] = {}

        def work(block: slice) -> None:
            for bag in range(block.start, block.stop):
                samples[bag] = self._sample(versions[:, bags[bag]], seed)

        for_each_block(work, len(bags), 1)
        return [self._inference(samples[bag], seed) for bag in range(len(bags))]

    def _sample(self, versions: FloatArray, seed: int) -> MixtureSample:
        """Return draws given the decisions of one bag, from each model in turn."""
        n_versions = min(len(versions), int(self.draws))
        shares = np.diff(np.linspace(0, int(self.draws), n_versions + 1).astype(np.intp))
        seeds = [seed, *np.random.SeedSequence(seed).generate_state(n_versions - 1).tolist()]
        samples = [
            sample_confusion(
                self.confusion_counts_,
                decided.sum(axis=0),
                prior=self._prior(versions),
                random_state=own,
                **{**self._options(), "draws": int(share)},
            )
            for decided, share, own in zip(versions, shares, seeds, strict=False)
        ]
        return mix_samples(samples)
