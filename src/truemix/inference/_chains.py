"""The driver of every sampler: initial states, chain length, thinning and diagnostics.

Half of the chains start at the mode, the others are dispersed: they start near corners of the
simplex. Chains that have converged have forgotten their initial state and agree; R-hat detects
those that do not. A transition kernel moves the chains. It either continues a chain
(:class:`Stepped`, Gibbs and Metropolis sampling) or has to start a new one (:class:`Restarted`,
NUTS).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from truemix._typing import BoolArray, FloatArray
from truemix.inference._diagnostics import chain_statistics
from truemix.inference._failures import falls_short
from truemix.inference._nutpie import Chain
from truemix.inference._random import State

# Number of chains of kernels with cheap steps; one in DISPERSED_STEPPED is dispersed.
N_CHAINS = 8
DISPERSED_STEPPED = 2
# Number of chains of NUTS, whose adaptation is slow. One in DISPERSED is dispersed, and so is one
# in DISPERSED of many replicates with one chain each.
NUTS_CHAINS = 4
DISPERSED = 4
# R-hat and ESS need at least this many draws: if fewer are asked for, this many are made, and
# evenly spaced ones are returned.
MIN_KEPT = 400
# Stop if the last _PATIENCE doublings of the chains raised the ESS by less than this factor.
_PATIENCE, _PROGRESS = 5, 1.2
# The share of the class near whose corner a chain starts.
_CORNER = 0.9


class Settled(NamedTuple):
    """Draws of all chains, concatenated, and their diagnostics."""

    values: FloatArray
    diagnostics: dict[str, Any]


def draws_per_chain(draws: int, n_chains: int = N_CHAINS) -> int:
    """Return how many draws each chain has to make.

    Examples
    --------
    >>> draws_per_chain(1000), draws_per_chain(10)
    (125, 50)
    """
    return -(-max(draws, MIN_KEPT) // n_chains)


def dispersed_start(seed: np.random.SeedSequence, n_classes: int, key: int = 11) -> FloatArray:
    """Return a mix drawn uniformly from the simplex, its shares bounded away from zero."""
    stream = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, key))
    mix = np.random.default_rng(stream).standard_exponential(n_classes) + 1e-12
    return np.asarray(mix / mix.sum())


def near_corner(mix: FloatArray, number: int) -> FloatArray:
    """Move a mix towards the corner of class ``number`` (modulo K).

    Where few classes fit all items about as well as many, the posterior has modes near corners;
    chains that started in the middle would all end up in the same one.

    Examples
    --------
    >>> near_corner(np.array([0.5, 0.3, 0.2]), 1).round(2)
    array([0.05, 0.93, 0.02])
    """
    corner = np.arange(len(mix)) == number % len(mix)
    return np.where(corner, _CORNER, 0.0) + (1.0 - _CORNER) * mix


def is_dispersed(number: int, one_in: int = DISPERSED) -> bool:
    """Return whether a chain is dispersed: it starts far from the mode."""
    return number % one_in == 1


def dispersed_replicates(n: int) -> BoolArray:
    """Mark the replicates whose chains are dispersed: one at random of each four in a row.

    Fold models and tied settings take turns over the replicates. Every fourth one could always be
    of the same setting, and R-hat would then compare settings instead of starts.

    Examples
    --------
    >>> marks = dispersed_replicates(100)
    >>> int(marks.sum()), [int(marks[setting::4].sum()) for setting in range(4)]
    (25, [6, 6, 7, 6])
    """
    n_groups = -(-n // DISPERSED)
    # Each place once in a row of the table, so that the settings get equal parts of the marks.
    places = np.tile(np.arange(DISPERSED), (-(-n_groups // DISPERSED), 1))
    places = np.random.default_rng(0).permuted(places, axis=1).ravel()[:n_groups]
    marks = np.arange(DISPERSED) == places[:, None]
    return np.asarray(marks.ravel()[:n])


class Kernel(Protocol):
    """A Markov transition kernel, with the states of its chains."""

    n_chains: int

    def advance(self, number: int, kept: int, thinning: int) -> FloatArray:
        """Return the next draws of a chain, ``(kept, columns)``; the first K columns are mixes."""
        ...

    def report(self) -> dict[str, Any]:
        """Return ``divergences``, mean ``acceptance`` and ``steps`` of all chains."""
        ...


class Start(NamedTuple):
    """A chain: its state (arrays updated in place), random stream, and steps to discard."""

    place: tuple[FloatArray, ...]
    state: State
    discard: int


class Stepped:
    """Chains of a compiled loop, which each call continues from their current state.

    Parameters
    ----------
    step : function of a start, steps to discard, draws to keep and steps per draw
        Advances the chain; returns its draws and the number of accepted proposals.
    starts : list of Start
    proposes : bool
        Whether there are proposals that may be rejected.
    """

    def __init__(
        self,
        step: Callable[[Start, int, int, int], tuple[FloatArray, int]],
        starts: list[Start],
        *,
        proposes: bool = True,
    ) -> None:
        self.n_chains, self._step, self._starts = len(starts), step, starts
        self._proposes, self._begun = proposes, set[int]()
        self._accepted, self._steps = 0, 0

    def advance(self, number: int, kept: int, thinning: int) -> FloatArray:
        """Return the next draws of a chain; the first call discards its warm-up."""
        start = self._starts[number]
        discard = 0 if number in self._begun else start.discard
        self._begun.add(number)
        values, accepted = self._step(start, discard, kept, thinning)
        self._accepted += accepted
        self._steps += discard + kept * thinning
        return values

    def report(self) -> dict[str, Any]:
        """Return acceptance and steps of all chains so far."""
        acceptance = self._accepted / self._steps if self._proposes else 1.0
        return {"divergences": 0, "acceptance": acceptance, "steps": self._steps}


class Restarted:
    """Chains of NUTS, which nutpie cannot continue.

    Instead of longer chains, more chains are run and thinned to the same number of draws.

    Parameters
    ----------
    run : function of the number of a chain and of whether it is the first of all
        Returns a whole chain.
    """

    n_chains = NUTS_CHAINS

    def __init__(self, run: Callable[[int, bool], Chain]) -> None:
        self._run, self._done = run, list[Chain]()

    def advance(self, number: int, kept: int, thinning: int) -> FloatArray:
        """Run ``thinning`` new chains; return every ``thinning``-th of their draws."""
        chains = []
        for _ in range(thinning):
            chains.append(self._run(number, not self._done))
            self._done.append(chains[-1])
        return np.concatenate([chain.draws for chain in chains])[thinning - 1 :: thinning]

    def report(self) -> dict[str, Any]:
        """Return the sampler statistics of all chains so far."""
        return report_of(self._done)


def report_of(chains: list[Chain]) -> dict[str, Any]:
    """Return divergences, mean acceptance and steps over chains of NUTS."""
    return {
        "divergences": sum(chain.divergences for chain in chains),
        "acceptance": float(np.mean([chain.acceptance for chain in chains])),
        "steps": sum(chain.steps for chain in chains),
    }


def settle(
    kernel: Kernel,
    n_draws: int,
    n_classes: int,
    *,
    thinning: int = 1,
    max_thinning: int,
    certain: BoolArray | None = None,
) -> Settled:
    """Double the thinning until the effective sample size is large enough, within ``max_thinning``.

    Parameters
    ----------
    kernel : Kernel
        The transition kernel with its chains.
    n_draws : int
        Number of draws to return.
    n_classes : int
        Number of leading columns that are the mix.
    thinning, max_thinning : int
        Initial and maximum number of steps per draw.
    certain : array of shape (K,), optional
        Shares that the data determine exactly, so that constant draws are correct.
    """
    kept = draws_per_chain(n_draws, kernel.n_chains)

    def more() -> FloatArray:
        return np.stack([kernel.advance(n, kept, thinning) for n in range(kernel.n_chains)])

    chains = more()
    history = [chain_statistics(chains[:, :, :n_classes], certain)]
    while falls_short(history[-1], n_draws) and 2 * thinning <= max_thinning:
        if len(history) > _PATIENCE:
            before = history[-1 - _PATIENCE]["ess"]
            if history[-1]["ess"] < _PROGRESS * before:
                break
        # Run as many steps again and keep every second draw of both halves, so that the draws
        # made so far still count.
        chains = np.concatenate([chains, more()], axis=1)[:, 1::2]
        thinning *= 2
        history.append(chain_statistics(chains[:, :, :n_classes], certain))
    values = chains.reshape(-1, chains.shape[2])
    returned = (2 * np.arange(n_draws) + 1) * len(values) // (2 * n_draws)
    statistics = {**history[-1], "ess": min(history[-1]["ess"], float(n_draws))}
    return Settled(
        np.ascontiguousarray(values[returned]),
        {**statistics, **kernel.report(), "thinning": thinning, "chains": kernel.n_chains},
    )
