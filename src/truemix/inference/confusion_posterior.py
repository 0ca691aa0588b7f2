"""The inference part of Bayesian ACC and PQ: joint posterior of mix and confusion matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from truemix._seeds import resolved_seed
from truemix._threads import for_each_block
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.inference.bags import Bag, plain_bags
from truemix.inference.confusion import sample_confusion
from truemix.inference.judges import sample_judges
from truemix.inference.least_squares import class_means
from truemix.inference.posterior import blocks_of_bags, check_sampling, result_of
from truemix.inference.priors import prior_vector
from truemix.inference.protocol import MixtureResult, Replicates
from truemix.inference.replicates import mix_samples
from truemix.inference.sampling import MixtureSample

# Replicates of the counts of sampled rows, each with a chain long enough to be diagnosed by itself.
MAX_COUNTED = 20


class ConfusionPosterior(BaseEstimator):
    """Draws from the joint posterior of mix and confusion matrix.

    References of class k are observed as ``counts[k] ~ Multinomial(M[k])`` with a uniform prior on
    each row of M, the items of the batch as ``Multinomial(p M)``, and ``p ~ Dirichlet(prior)``;
    the temperature applies to both likelihoods. Unlike :class:`truemix.inference.Posterior`, the
    batch also updates the model, here the confusion matrix.

    Decisions of several judges (``Replicates.widths``) have a matrix each, and are independent
    given the class (:func:`truemix.inference.sample_judges`). Decisions that no reference has
    (``Replicates.spare``) are a column of counts of zero, with the prior alone; a batch without any
    is inferred without that column.

    Parameters
    ----------
    prior, temperature, draws, warmup, sampler, estimand, random_state
        As for :class:`truemix.inference.Posterior`; Gibbs sampling works at every temperature
        here and is what ``"auto"`` takes.

    Examples
    --------
    >>> decided = np.repeat([[1.0, 0.0], [0.0, 1.0]], [55, 45], axis=0)
    >>> counts = np.array([[90.0, 10.0], [20.0, 80.0]])
    >>> replicates = Replicates(1, 100, 2, plain=lambda layer: decided, counts=counts)
    >>> inference = ConfusionPosterior(random_state=0)
    >>> inference.prepare(np.array(["ham", "spam"]), np.array([0.5, 0.5]))
    >>> inference.infer(replicates, [np.arange(100)])[0].prevalence.round(1)
    array([0.5, 0.5])
    """

    consumes = "observations"
    takes_decisions = "any"
    _prior: FloatArray
    seed_: int

    def __init__(
        self,
        *,
        prior: Any = 1.0,
        temperature: Any = 1.0,
        draws: Any = 1000,
        warmup: Any = 500,
        sampler: str = "auto",
        estimand: str = "batch",
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.estimand = estimand
        self.random_state = random_state

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        check_sampling(self)

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Resolve the prior and the seed."""
        self._prior = prior_vector(self.prior, classes)
        self.seed_ = resolved_seed(self.random_state)

    def resolved(self) -> dict[str, Any]:
        """Return the seed."""
        return {"random_state": self.seed_}

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return draws of the mix of each bag, on all cores."""
        layers, given = replicates.layers, plain_bags(bags)
        samples: dict[int, MixtureSample] = {}

        def work(block: slice) -> None:
            for number in range(block.start, block.stop):
                bag = given[number]
                sample = self._sample(replicates, layers[:, bag.rows], bag)
                if bag.sample is not None:
                    observations = layers[:, bag.rows].mean(axis=0)
                    solve = np.linalg.pinv(class_means(replicates.known_counts))
                    sample.diagnostics.update(bag.sampling_error(observations, solve))
                samples[number] = sample

        for_each_block(work, len(given), 1, "batches")
        return [result_of(samples[number], self.estimand) for number in range(len(given))]

    def infer_in_turn(
        self, replicates: Replicates, bags: Sequence[Bag | IntArray]
    ) -> Iterator[MixtureResult]:
        """Yield the mix of each bag; only a few bags' draws are in memory at a time."""
        n_classes = len(replicates.known_counts)
        for block in blocks_of_bags(len(bags), int(self.draws), n_classes):
            yield from self.infer(replicates, bags[block])

    def _sample(self, replicates: Replicates, observations: FloatArray, bag: Bag) -> MixtureSample:
        """Return draws for the observations of a bag ``(M, n, D)``, spread over the layers.

        Sampled rows are uncertain, too: then there are more layers, each with the counts of another
        replicate of the sample. Strata hold items of one decision, so that sums of decisions are
        the same in all, and one is enough.
        """
        weights = [(layer, bag.weights) for layer in observations]
        if bag.sample is not None and bag.sampling_error(observations[0])["sampling_error"].any():
            weights = [
                (observations[number % len(observations)], bag.sample.replicate(number, self.seed_))
                for number in range(min(MAX_COUNTED, int(self.draws)))
            ]
        draws = int(self.draws)
        n_layers = min(len(weights), draws)
        shares = np.diff(np.linspace(0, draws, n_layers + 1).astype(np.intp))
        more = np.random.SeedSequence(self.seed_).generate_state(n_layers - 1).tolist()
        return mix_samples([
            self._draw(replicates, *layer, draws=int(share), random_state=seed)
            for layer, share, seed in zip(weights, shares, [self.seed_, *more], strict=False)
        ])  # fmt: skip

    def _draw(
        self, replicates: Replicates, observed: FloatArray, weights: FloatArray, **run: int
    ) -> MixtureSample:
        """Return draws given the observations ``(n, D)`` of so many items each."""
        counts, widths = replicates.known_counts, replicates.widths or (observed.shape[1],)
        sums = weights @ observed
        if replicates.spare:
            last = np.cumsum(widths) - 1
            unused = last[sums[last] == 0.0]
            counts, observed, sums = (np.delete(a, unused, -1) for a in (counts, observed, sums))
            widths = tuple(np.array(widths) - np.isin(last, unused))
        settings: dict[str, Any] = {
            "prior": self._prior, "temperature": self.temperature, "warmup": self.warmup,
            "sampler": self.sampler, **run,
        }  # fmt: skip
        if len(widths) == 1:
            return sample_confusion(counts, sums, **settings)
        # A row has a one for each judge, divided by how many there are.
        ends = np.cumsum(widths)[:-1]
        labelled = np.split(np.rint(counts * len(widths)), ends, axis=1)
        verdicts = [block.argmax(axis=1) for block in np.split(observed, ends, axis=1)]
        return sample_judges(labelled, np.column_stack(verdicts), weights, **settings)
