"""How many replicates of a matrix a batch can afford, and how many may be held at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truemix._typing import IntArray

# Replicates that a posterior is spread over, and the fewest for huge batches: one beyond each end
# of a 95 % interval.
MAX_REPLICATES = 100
MIN_REPLICATES = 40
# Replicates held at once, in single precision: likelihood ratios are exact to 1e-5 even where a
# class is a million times less likely. Beyond that they are made a few at a time, in so many
# passes.
HELD_BYTES = 270_000_000
ITEM_BYTES = 4
MAX_PASSES = 6


def number_of_replicates(n_items: int, n_columns: int) -> int:
    """Return how many replicates a batch of this size can afford.

    Examples
    --------
    >>> number_of_replicates(1000, 10), number_of_replicates(1_000_000, 10)
    (100, 40)
    """
    affordable = MAX_PASSES * HELD_BYTES // (ITEM_BYTES * n_items * n_columns)
    return int(min(MAX_REPLICATES, max(MIN_REPLICATES, affordable)))


def replicates_at_once(n_items: int, n_columns: int) -> int:
    """Return how many replicates of a batch of this size may be held at once."""
    return int(max(1, HELD_BYTES // (ITEM_BYTES * n_items * n_columns)))


def bags_at_once(bags: list[IntArray], n_items: int, n_columns: int) -> Iterator[list[IntArray]]:
    """Yield bags in turn, as many as may be held at once in all replicates, but at least one.

    Items that several of them have in common are held once.

    Examples
    --------
    >>> bags = [np.arange(n) for n in (400_000, 3, 4)]
    >>> [len(block) for block in bags_at_once(bags, n_items=400_000, n_columns=2)]
    [1, 2]
    """
    most = HELD_BYTES // (ITEM_BYTES * MAX_REPLICATES * n_columns)
    block: list[IntArray] = []
    seen, held = np.zeros(n_items, dtype=bool), 0
    for rows in bags:
        # One that is too large by itself stays alone: it may have fewer replicates than others.
        new = len(np.unique(rows[~seen[rows]])) if len(rows) <= most else most + 1
        if block and held + new > most:
            yield block
            block, held = [], 0
            seen[:] = False
            new = max(new, len(np.unique(rows)))
        block.append(rows)
        held += new
        seen[rows] = True
    if block:
        yield block
