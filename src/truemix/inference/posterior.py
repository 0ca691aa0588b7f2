"""The inference part ``Posterior``: draws of the mix under one matrix, or many replicates of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from truemix._replicate_budget import MAX_REPLICATES, number_of_replicates
from truemix._seeds import resolved_seed
from truemix._threads import n_threads, row_blocks
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.inference._samplers import check_gibbs
from truemix.inference.bags import Bag, plain_bags
from truemix.inference.mapls import adaptive_prior, most_probable_mix
from truemix.inference.priors import prior_vector
from truemix.inference.protocol import MixtureResult, Replicates, stacked
from truemix.inference.replicates import sample_blocks
from truemix.inference.sampling import MixtureSample, check_sampler, check_settings
from truemix.validation import check_choice, check_integer, check_number, parameter_error

ESTIMANDS = ("batch", "population")
MAPLS = "mapls"
# Memory for the draws of the bags in one block.
DRAWS_BYTES = 32 << 20


class Posterior(BaseEstimator):
    """Draws from the posterior of the mix.

    The density on the simplex is ``Dirichlet(p; prior) prod_i (sum_k p_k L[i, k])^(w_i / T)``. With
    replicates of the matrix the draws are spread evenly over the posteriors of all of them (a
    mixture of the posteriors, never their product).

    Parameters
    ----------
    prior : float, sequence, mapping or "mapls"
        Dirichlet parameters: one positive number for all classes (1 is uniform), one for each, or
        a mapping from class to number; ``"mapls"`` is the adaptive prior of Ye et al. (2024).
    temperature : float
        T. Above 1 the batch counts less and intervals widen.
    draws, warmup : int
        Number of draws to return, and of warm-up draws to discard.
    sampler : {"auto", "nuts", "gibbs"}
        As for :func:`truemix.inference.sample_mixture`.
    estimand : {"batch", "population"}
        The mix of these very items, or of the source that they come from.
    replicated : bool
        Whether to spread the draws over replicates of the references, if the model has any.
    with_mode : bool
        Whether to add the mode of the posterior to the diagnostics, as ``map``.
    random_state : int, Generator or None
        The same seed gives the same draws. None takes a new one in each ``fit``.

    Examples
    --------
    Thirty items certainly of one class and ten of another:

    >>> likelihood = np.repeat([[1.0, 0.0], [0.0, 1.0]], [30, 10], axis=0)
    >>> with np.errstate(divide="ignore"):
    ...     matrix = np.log(likelihood)
    >>> inference = Posterior(estimand="population", random_state=0)
    >>> inference.prepare(np.array(["ham", "spam"]), np.array([0.5, 0.5]))
    >>> replicates = Replicates(1, 40, 2, plain=lambda layer: matrix)
    >>> inference.infer(replicates, [np.arange(40)])[0].prevalence.round(2)
    array([0.74, 0.26])
    """

    _classes: AnyArray
    _train_prevalence: FloatArray
    _fixed_prior: FloatArray | None
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
        replicated: Any = True,
        with_mode: Any = False,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.temperature = temperature
        self.draws = draws
        self.warmup = warmup
        self.sampler = sampler
        self.estimand = estimand
        self.replicated = replicated
        self.with_mode = with_mode
        self.random_state = random_state

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        check_sampling(self)
        for name in ("replicated", "with_mode"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise parameter_error(name, "True or False", getattr(self, name))
        if self.sampler == "gibbs":
            check_gibbs(float(self.temperature), np.ones(1), replicated=bool(self.replicated))

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Resolve the prior and the seed."""
        self._classes, self._train_prevalence = classes, train_prevalence
        adaptive = isinstance(self.prior, str) and self.prior == MAPLS
        self._fixed_prior = None if adaptive else prior_vector(self.prior, classes)
        self.seed_ = resolved_seed(self.random_state)

    def resolved(self) -> dict[str, Any]:
        """Return the seed."""
        return {"random_state": self.seed_}

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return draws of the mix of each bag."""
        given = plain_bags(bags)
        if replicates.random is None and any(bag.sample is not None for bag in given):
            # Draws of sampled bags are spread over replicates of their counts.
            return [self._infer(replicates, [bag])[0] for bag in given]
        return self._infer(replicates, given)

    def _infer(self, replicates: Replicates, bags: list[Bag]) -> list[MixtureResult]:
        count = replicates.n_layers
        if replicates.random is not None:
            count = number_of_replicates(replicates.n_items, replicates.n_columns)
        elif any(bag.sample is not None for bag in bags):
            count = MAX_REPLICATES
        count = min(count, int(self.draws))
        if self._fixed_prior is not None:
            samples = self._sample(replicates, count, bags, self._fixed_prior)
        else:
            samples = [
                self._sample(replicates, count, [bag], self._prior_of(replicates, bag))[0]
                for bag in bags
            ]
        results = [result_of(sample, self.estimand) for sample in samples]
        if self.with_mode:
            for bag, result in zip(bags, results, strict=True):
                prior = self._prior_of(replicates, bag)
                matrix, weights = stacked(replicates.layers, bag)
                mode = most_probable_mix(matrix, prior, replicates.n_layers, weights)
                result.diagnostics["prior"] = prior
                result.diagnostics["map"] = mode
        return results

    def infer_in_turn(
        self, replicates: Replicates, bags: Sequence[Bag | IntArray]
    ) -> Iterator[MixtureResult]:
        """Yield the mix of each bag; only a few bags' draws are in memory at a time."""
        for block in blocks_of_bags(len(bags), int(self.draws), replicates.n_columns):
            yield from self.infer(replicates, bags[block])

    def mixes(
        self,
        replicates: Replicates,
        bags: Sequence[Bag | IntArray],
        near: FloatArray | None = None,
    ) -> FloatArray:
        """Return only the posterior means, ``(n_bags, K)``."""
        return np.array([result.prevalence for result in self.infer_in_turn(replicates, bags)])

    def _sample(
        self,
        replicates: Replicates,
        count: int,
        bags: list[Bag],
        prior: FloatArray,
    ) -> list[MixtureSample]:
        # A further column is the unknown class, with Dirichlet parameter 1.
        all_priors = np.append(prior, np.ones(replicates.n_columns - len(prior)))
        settings = check_settings(
            replicates.n_columns,
            all_priors,
            self.temperature,
            self.draws,
            self.warmup,
            self.sampler,
        )
        seeds = [np.random.SeedSequence(self.seed_) for _ in bags]
        return sample_blocks(replicates.blocks(count), count, bags, settings, seeds)

    def _prior_of(self, replicates: Replicates, bag: Bag) -> FloatArray:
        """Return the prior of one bag; the adaptive prior depends on its items."""
        if self._fixed_prior is not None:
            return self._fixed_prior
        matrix, weights = stacked(replicates.layers, bag)
        return adaptive_prior(matrix, self._train_prevalence, replicates.n_layers, weights)


def blocks_of_bags(n_bags: int, draws: int, n_columns: int) -> Iterator[slice]:
    """Yield blocks of bags whose draws, of both estimands, fit into ``DRAWS_BYTES``.

    Examples
    --------
    >>> len(list(blocks_of_bags(500, draws=1000, n_columns=10)))
    3
    """
    return row_blocks(n_bags, max(n_threads(), DRAWS_BYTES // (16 * draws * n_columns)))


def check_sampling(inference: Any) -> None:
    """Raise for an invalid parameter of any inference that samples."""
    check_number(inference.temperature, "temperature")
    check_integer(inference.draws, "draws")
    check_integer(inference.warmup, "warmup")
    check_sampler(inference.sampler)
    check_choice(inference.estimand, "estimand", ESTIMANDS)
    resolved_seed(inference.random_state)


def result_of(sample: MixtureSample, estimand: str) -> MixtureResult:
    """Return a sample as the result for one estimand."""
    views = {"population": sample.draws, "batch": sample.batch}
    draws = views.pop(estimand)
    return MixtureResult(
        draws.mean(axis=0),
        sample.diagnostics,
        draws=draws,
        other_draws=views.popitem()[1],
        replicate=sample.replicate,
    )
