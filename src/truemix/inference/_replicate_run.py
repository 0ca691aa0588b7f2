"""Sampling of one bag under many replicates of the matrix, which may arrive in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix import _core
from truemix._typing import FloatArray, IntArray
from truemix.inference._chains import dispersed_replicates, dispersed_start
from truemix.inference._plan import Settings, make_plan
from truemix.inference._posterior import make_posterior
from truemix.inference._random import State, seed_state
from truemix.inference._samplers import check_gibbs, draw_replicate
from truemix.inference.bags import Bag

# A plan is made from a subsample of about this many items.
MAX_PLANNED = 100_000
NOT_TEMPERED = "Gibbs sampling of replicates is for temperature 1"


class Streams:
    """The random numbers of each replicate, for bags with one seed.

    Parameters
    ----------
    seed : SeedSequence
    n_replicates : int
    """

    def __init__(self, seed: np.random.SeedSequence, n_replicates: int) -> None:
        # The last one is for the plan.
        self._seeds = seed.spawn(n_replicates + 1)
        self.counts = int(seed.spawn(1)[0].generate_state(1)[0])
        self._states: dict[int, State] = {}
        self._starts: dict[int, FloatArray] = {}

    def seed(self, number: int) -> np.random.SeedSequence:
        """Return the seed of a replicate, from which nothing has been spawned yet."""
        own = self._seeds[number]
        return np.random.SeedSequence(own.entropy, spawn_key=own.spawn_key, pool_size=own.pool_size)

    def states(self, numbers: list[int]) -> State:
        """Return the state of the generator of some replicates, ``(v, 4)``."""
        for number in numbers:
            if number not in self._states:
                self._states[number] = seed_state(self._seeds[number])
        return np.stack([self._states[number] for number in numbers])

    def dispersed_start(self, number: int, n_classes: int) -> FloatArray:
        """Return the first mix of a chain that starts far from its mode."""
        if number not in self._starts:
            self._starts[number] = dispersed_start(self._seeds[number], n_classes)
        return self._starts[number]


def streams_of(seeds: list[np.random.SeedSequence], n_replicates: int) -> list[Streams]:
    """Return the streams of bags; those of equal seeds are made once."""
    made: dict[str, Streams] = {}
    keys = [str(seed.state) for seed in seeds]
    for key, seed in zip(keys, seeds, strict=True):
        if key not in made:
            made[key] = Streams(seed, n_replicates)
    return [made[key] for key in keys]


class ReplicateRun:
    """Draws of one bag under all replicates; the first replicate determines the sampling plan.

    Parameters
    ----------
    first : array of shape (n, K)
        The first replicate, log-likelihoods of the pool.
    bag : Bag
        The items; counts are whole numbers.
    streams : Streams
        Those of the seed of the bag.
    ends : array of shape (V + 1,)
        Draws ``ends[v]`` to ``ends[v + 1]`` belong to replicate v.
    settings : Settings
        Parameters of the sample in each replicate.
    """

    def __init__(
        self,
        first: FloatArray,
        bag: Bag,
        streams: Streams,
        ends: IntArray,
        settings: Settings,
    ) -> None:
        if bag.counts is not None and bag.sample is None and not bag.counts.all():
            bag = Bag(bag.rows[bag.counts > 0], bag.counts[bag.counts > 0])
        self.bag, self.ends, self.settings = bag, ends, settings
        self.streams = streams
        self.draws = np.empty((ends[-1], first.shape[1]))
        self.batch = np.empty_like(self.draws)
        self.parts: dict[int, dict[str, Any]] = {}
        self.dispersed = dispersed_replicates(len(ends) - 1)
        if settings.sampler == "gibbs":
            check_gibbs(settings.temperature, np.ones(1), replicated=True)
        # A huge bag is planned from every step-th item, with correspondingly larger weights.
        rows, weights = bag.rows[bag.weights > 0], bag.weights[bag.weights > 0]
        step = max(1, len(rows) // MAX_PLANNED)
        L = self._likelihoods(first, rows[::step])
        planned = step * weights[::step]
        posterior = make_posterior(L, planned, settings.prior, settings.temperature)
        layout = _core.Layout(posterior.L, posterior.w, posterior.mode)
        no_gibbs = "" if settings.temperature == 1.0 else NOT_TEMPERED
        plan = make_plan(posterior, layout, settings, streams.seed(-1), no_gibbs=no_gibbs)
        # Each replicate makes its own proposals; those of the plan would keep its items in memory.
        self.tries = 0 if plan.proposal is None else 1
        self.plan = plan._replace(proposal=None)
        self.near = posterior.mode
        self.sampling_error: dict[str, Any] = {}
        if bag.sample is not None:
            L = self._likelihoods(first, bag.rows)
            self.sampling_error = bag.likelihood_error(L, posterior.mode)

    def extend(self, matrices: FloatArray, numbers: IntArray) -> None:
        """Draw under more replicates: their matrices ``(v, n, K)`` and numbers."""
        if self.plan.sampler in {"gibbs", "metropolis"}:
            self._by_sweeps(matrices, numbers)
        else:
            self._by_nuts(matrices, numbers)

    def statistics(self) -> dict[str, Any]:
        """Return sampler statistics, aggregated over the replicates."""
        # In the order of replicates, not of finished threads: rounding depends on the order.
        parts = [self.parts[number] for number in sorted(self.parts)]
        steps = sum(part["steps"] for part in parts)
        accepted = sum(part["acceptance"] * part["steps"] for part in parts)
        return {
            "sampler": self.plan.sampler,
            "reason": self.plan.reason,
            "divergences": sum(part["divergences"] for part in parts),
            "acceptance": float(accepted / steps),
            "thinning": max(part["thinning"] for part in parts),
            "steps": steps,
        }

    def _likelihoods(self, matrix: FloatArray, rows: IntArray) -> FloatArray:
        logs = matrix[rows].astype(np.float64, copy=False)
        likelihoods: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
        return likelihoods

    def _by_sweeps(self, matrices: FloatArray, numbers: IntArray) -> None:
        states = self.streams.states(numbers.tolist())
        dispersed = self.dispersed[numbers]
        starts = np.zeros((len(numbers), len(self.near)))
        for row in np.flatnonzero(dispersed).tolist():
            starts[row] = self.streams.dispersed_start(int(numbers[row]), len(self.near))
        discard = np.where(dispersed, max(self.plan.discard, self.plan.forget), self.plan.discard)
        if matrices.dtype == np.float16:
            # The core has no type for these, but reads their bits.
            matrices = matrices.view(np.uint16)
        counts = self.bag.replicate_counts(numbers, self.streams.counts)
        accepted = _core.sample_replicates(
            matrices, self.bag.rows, counts, self.settings.prior, self.settings.temperature,
            self.near, starts, states, self.ends[numbers], self.ends[numbers + 1], discard,
            self.plan.thinning, self.tries, self.plan.local, self.draws, self.batch,
        )  # fmt: skip
        kept = int((self.ends[numbers + 1] - self.ends[numbers]).sum())
        steps = int(discard.sum()) + self.plan.thinning * kept
        self.parts[int(numbers[0])] = {
            "divergences": 0,
            "acceptance": accepted / steps if self.tries else 1.0,
            "thinning": self.plan.thinning,
            "steps": steps,
        }

    def _by_nuts(self, matrices: FloatArray, numbers: IntArray) -> None:
        for v, matrix in zip(numbers.tolist(), matrices, strict=True):
            rows = slice(self.ends[v], self.ends[v + 1])
            settings = self.settings._replace(draws=rows.stop - rows.start)
            (weights,) = self.bag.replicate_counts(np.array([v]), self.streams.counts)
            L, weights = self._likelihoods(matrix, self.bag.rows)[weights > 0], weights[weights > 0]
            dispersed = bool(self.dispersed[v])
            seed = self.streams.seed(v)
            results = draw_replicate(L, weights, settings, seed, dispersed=dispersed)
            self.draws[rows], self.batch[rows], self.parts[v] = results
