"""Memory budget of replicates: how many to make for a batch, and how many at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truemix._typing import IntArray

# From this many replicates on, they are diagnosed jointly; fewer are diagnosed separately.
DIAGNOSED_JOINTLY = 8
# Number of replicates that a posterior is spread over, and the minimum for huge batches: enough for
# one beyond each end of a 95 % interval.
MAX_REPLICATES = 100
MIN_REPLICATES = 40
# Memory for replicates, in single precision: likelihood ratios are accurate to 1e-5 even where a
# class is a million times less likely. Those of larger batches are held in half precision; if they
# do not fit either, they are made in several passes.
HELD_BYTES = 270_000_000
DOUBLE_BYTES, SINGLE_BYTES, HALF_BYTES = 8, 4, 2
HALF_HELD_BYTES = 420_000_000
# Memory for the part of the replicates that is converted at a time.
FILL_BYTES = 32 << 20


def fits_in_single(n_replicates: int, n_items: int, n_columns: int) -> bool:
    """Return whether so many replicates are held in single precision."""
    return n_replicates * SINGLE_BYTES * n_items * n_columns <= HELD_BYTES


def number_of_replicates(n_items: int, n_columns: int) -> int:
    """Return how many replicates a batch of this size can afford, in one pass if possible.

    Examples
    --------
    >>> number_of_replicates(200_000, 10), number_of_replicates(1_000_000, 10)
    (100, 40)
    """
    affordable = HALF_HELD_BYTES // (HALF_BYTES * n_items * n_columns)
    return int(min(MAX_REPLICATES, max(MIN_REPLICATES, affordable)))


def replicates_at_once(n_items: int, n_columns: int) -> int:
    """Return how many replicates of a batch of this size fit into memory at once."""
    return int(max(1, HALF_HELD_BYTES // (HALF_BYTES * n_items * n_columns)))


def doubles_at_once(n_items: int, n_columns: int) -> int:
    """Return how many matrices in double precision fit into memory at once."""
    return int(max(1, HELD_BYTES // (DOUBLE_BYTES * n_items * n_columns)))


def bags_at_once(bags: list[IntArray], n_items: int, n_columns: int) -> Iterator[list[IntArray]]:
    """Yield blocks of bags whose replicates fit into memory together, at least one bag each.

    Items that several bags of a block share are stored once.

    Examples
    --------
    >>> bags = [np.arange(n) for n in (400_000, 3, 4)]
    >>> [len(block) for block in bags_at_once(bags, n_items=400_000, n_columns=2)]
    [1, 2]
    """
    max_items = HELD_BYTES // (SINGLE_BYTES * MAX_REPLICATES * n_columns)
    block: list[IntArray] = []
    seen, held = np.zeros(n_items, dtype=bool), 0
    for rows in bags:
        # A bag that is too large by itself gets its own block: it may have fewer replicates.
        new = len(np.unique(rows[~seen[rows]])) if len(rows) <= max_items else max_items + 1
        if block and held + new > max_items:
            yield block
            block, held = [], 0
            seen[:] = False
            new = max(new, len(np.unique(rows)))
        block.append(rows)
        held += new
        seen[rows] = True
    if block:
        yield block
