"""Resolve ``random_state`` to an integer seed that reproduces a run."""

from __future__ import annotations

import numpy as np

from truemix._typing import Seed
from truemix.validation import check_seed_number


def resolved_seed(random_state: Seed) -> int:
    """Return the integer that repeats this run.

    Examples
    --------
    >>> resolved_seed(7)
    7
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return check_seed_number(random_state)


def layer_seed(seed: int, layer: int) -> int:
    """Return the seed of a layer's replicates; the first one has that of the run.

    Examples
    --------
    >>> layer_seed(7, 0), layer_seed(7, 1) != layer_seed(7, 2)
    (7, True)
    """
    if layer == 0:
        return seed
    words = np.random.SeedSequence(seed, spawn_key=(13, layer)).generate_state(2, np.uint64)
    return int(words[0])
