"""Several chains instead of one: where they start, how long they run, and what they are worth.

All kernels run here. Half of the chains start at the mode, the others in corners of the simplex. If
all have forgotten where they came from, they agree; R-hat tells if they do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from truemix._typing import BoolArray, FloatArray
from truemix.inference._diagnostics import chain_statistics
from truemix.inference._failures import falls_short

# Chains of kernels whose steps are cheap; every second one starts far from the mode. Where there
# are many replicates, of which each has a chain, one of DISPERSED does.
N_CHAINS = 8
SECOND = 2
DISPERSED = 4
# Fewer draws than this cannot tell whether chains agree: however few are asked for, so many are
# made, and every so-many-th is returned.
MIN_KEPT = 400
# So many doublings that bring less than this show that longer chains do not help.
_PATIENCE, _PROGRESS = 5, 1.2
# The share of a class in whose corner a chain starts.
_CORNER = 0.9


class Settled(NamedTuple):
    """Draws of all chains below each other, how far apart they are, and what they are worth."""

    values: FloatArray
    thinning: int
    worth: dict[str, Any]


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


def settle(
    more: Callable[[int], FloatArray],
    n_draws: int,
    n_classes: int,
    *,
    thinning: int,
    most: int,
    certain: BoolArray | None = None,
) -> Settled:
    """Run chains until their draws are worth what is promised, or ``most`` is reached.

    Parameters
    ----------
    more : function of the thinning
        Returns the next draws of each chain, ``(chains, draws, columns)``; mixes come first.
    n_draws : int
        How many draws were asked for.
    n_classes : int
        How many of the columns are mixes.
    thinning, most : int
        Steps per draw, at first and at most.
    certain : array of shape (K,), optional
        Which shares are certain, so that draws may be all the same.
    """
    chains = more(thinning)
    worth = [chain_statistics(chains[:, :, :n_classes], certain)]
    while falls_short(worth[-1], n_draws) and 2 * thinning <= most:
        if len(worth) > _PATIENCE:
            before = worth[-1 - _PATIENCE]["ess"]
            if worth[-1]["ess"] < _PROGRESS * before:
                break
        # As many steps again, and every second draw of both: nothing is thrown away.
        chains = np.concatenate([chains, more(thinning)], axis=1)[:, 1::2]
        thinning *= 2
        worth.append(chain_statistics(chains[:, :, :n_classes], certain))
    values = chains.reshape(-1, chains.shape[2])
    kept = (2 * np.arange(n_draws) + 1) * len(values) // (2 * n_draws)
    found = {**worth[-1], "ess": min(worth[-1]["ess"], float(n_draws))}
    return Settled(np.ascontiguousarray(values[kept]), thinning, found)
