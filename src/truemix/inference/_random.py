"""Streams of random numbers for the compiled core: xoshiro256++, seeded by NumPy.

Each sample owns the state of its stream, so that draws depend on the seed alone, not on threads or
on anything global.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

State = npt.NDArray[np.uint64]


def seed_state(seed: np.random.SeedSequence) -> State:
    """Return the state of the generator for a seed."""
    return seed.generate_state(4, np.uint64).astype(np.uint64)
