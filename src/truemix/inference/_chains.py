"""The driver of every sampler: where chains start, how long they run, and their diagnostics.

Half of the chains start at the mode, the others in corners of the simplex. If all have forgotten
where they came from, they agree; R-hat tells if they do not. A kernel moves the chains: one that
goes on where it stopped (:class:`Stepped`, Gibbs and Metropolis sampling) or one that starts anew
(:class:`Restarted`, NUTS).
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

# Chains of kernels whose steps are cheap; every second one starts far from the mode. Where there
# are many replicates, of which each has a chain, one of DISPERSED does.
N_CHAINS = 8
SECOND = 2
# Chains of NUTS, which take long to adapt; one of them starts far away.
NUTS_CHAINS = 4
DISPERSED = 4
# Fewer draws than this cannot tell whether chains agree: however few are asked for, so many are
# made, and every so-many-th is returned.
MIN_KEPT = 400
# So many doublings that bring less than this show that longer chains do not help.
_PATIENCE, _PROGRESS = 5, 1.2
# The share of a class in whose corner a chain starts.
_CORNER = 0.9


class Settled(NamedTuple):
    """Draws of all chains below each other, and their diagnostics."""

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


def far_start(seed: np.random.SeedSequence, n_classes: int, key: int = 11) -> FloatArray:
    """Return a mix drawn from the whole simplex; no share so small that its log is lost."""
    own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, key))
    mix = np.random.default_rng(own).standard_exponential(n_classes) + 1e-12
    return np.asarray(mix / mix.sum())


def near_corner(mix: FloatArray, number: int) -> FloatArray:
    """Move a mix towards the corner of one class, another class for each number.

    Where few classes explain all items about as well as many, chains stay where one class has most
    of them; starts in the middle would all end up in the same corner.

    Examples
    --------
    >>> near_corner(np.array([0.5, 0.3, 0.2]), 1).round(2)
    array([0.05, 0.93, 0.02])
    """
    corner = np.arange(len(mix)) == number % len(mix)
    return np.where(corner, _CORNER, 0.0) + (1.0 - _CORNER) * mix


def starts_far(number: int, one_of: int = DISPERSED) -> bool:
    """Tell whether a chain starts anywhere, and not at the mode."""
    return number % one_of == 1


class Kernel(Protocol):
    """A transition kernel with its chains."""

    n_chains: int

    def advance(self, number: int, kept: int, thinning: int) -> FloatArray:
        """Return the next draws of a chain, ``(kept, columns)``; mixes come first."""
        ...

    def report(self) -> dict[str, Any]:
        """Return ``divergences``, mean ``acceptance`` and ``steps`` of all chains."""
        ...


class Start(NamedTuple):
    """Where a chain is (arrays that its kernel changes), its random stream, steps to discard."""

    place: tuple[FloatArray, ...]
    state: State
    discard: int


class Stepped:
    """Chains of a compiled loop, each of which goes on where it stopped.

    Parameters
    ----------
    step : function of a start, steps to discard, draws to keep and steps per draw
        Moves the chain, and returns its draws and how many proposals were accepted.
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
        """Return the next draws of a chain; the first time some are discarded before."""
        start = self._starts[number]
        discard = 0 if number in self._begun else start.discard
        self._begun.add(number)
        values, accepted = self._step(start, discard, kept, thinning)
        self._accepted += accepted
        self._steps += discard + kept * thinning
        return values

    def report(self) -> dict[str, Any]:
        """Return what the chains have done."""
        acceptance = self._accepted / self._steps if self._proposes else 1.0
        return {"divergences": 0, "acceptance": acceptance, "steps": self._steps}


class Restarted:
    """Chains of NUTS, which cannot go on where it was.

    Instead of longer chains there are more of them, thinned to the same number of draws.

    Parameters
    ----------
    run : function of the number of a chain and of whether it is the first of all
        Returns a whole chain.
    """

    n_chains = NUTS_CHAINS

    def __init__(self, run: Callable[[int, bool], Chain]) -> None:
        self._run, self._done = run, list[Chain]()

    def advance(self, number: int, kept: int, thinning: int) -> FloatArray:
        """Return draws of as many new chains as there are to be steps per draw."""
        own = []
        for _ in range(thinning):
            own.append(self._run(number, not self._done))
            self._done.append(own[-1])
        return np.concatenate([chain.draws for chain in own])[thinning - 1 :: thinning]

    def report(self) -> dict[str, Any]:
        """Return what the chains say about themselves."""
        return report_of(self._done)


def report_of(chains: list[Chain]) -> dict[str, Any]:
    """Return the divergences, mean acceptance and steps of chains of NUTS."""
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
    most: int,
    certain: BoolArray | None = None,
) -> Settled:
    """Run chains until their effective sample size is what is promised, or ``most`` is reached.

    Parameters
    ----------
    kernel : Kernel
        What moves the chains.
    n_draws : int
        How many draws were asked for.
    n_classes : int
        How many of the columns are mixes.
    thinning, most : int
        Steps per draw, at first and at most.
    certain : array of shape (K,), optional
        Which shares are certain, so that draws may be all the same.
    """
    kept = draws_per_chain(n_draws, kernel.n_chains)

    def more() -> FloatArray:
        return np.stack([kernel.advance(n, kept, thinning) for n in range(kernel.n_chains)])

    chains = more()
    found = [chain_statistics(chains[:, :, :n_classes], certain)]
    while falls_short(found[-1], n_draws) and 2 * thinning <= most:
        if len(found) > _PATIENCE:
            before = found[-1 - _PATIENCE]["ess"]
            if found[-1]["ess"] < _PROGRESS * before:
                break
        # As many steps again, and every second draw of both: nothing is thrown away.
        chains = np.concatenate([chains, more()], axis=1)[:, 1::2]
        thinning *= 2
        found.append(chain_statistics(chains[:, :, :n_classes], certain))
    values = chains.reshape(-1, chains.shape[2])
    returned = (2 * np.arange(n_draws) + 1) * len(values) // (2 * n_draws)
    statistics = {**found[-1], "ess": min(found[-1]["ess"], float(n_draws))}
    return Settled(
        np.ascontiguousarray(values[returned]),
        {**statistics, **kernel.report(), "thinning": thinning},
    )
