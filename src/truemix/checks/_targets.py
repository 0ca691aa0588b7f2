"""Targets with their likelihoods, computed exactly as those of the references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.checks._references import References
from truemix.densities.background import background_log_likelihood
from truemix.inference.bags import Bag, plain_bags

# Items of a target that are compared with references; beyond this a random part of them.
MAX_COMPARED = 2_000
# A row with more than this share of the items is treated in several ways.
MAX_CELLS = 50_000


@dataclass(frozen=True, eq=False)
class Target:
    """The items of one bag, in cells: equal items that are treated alike."""

    posteriors: FloatArray  # (c, K)
    log_likelihood: FloatArray  # (c, K)
    unknown: FloatArray  # (c,): log-likelihood of a class that the references lack
    counts: FloatArray  # (c,): how many items are in each cell
    row: IntArray  # (c,): the place of the cell's row in the bag, ascending
    compared: IntArray  # the cells of the items that are compared with references
    rng: np.random.Generator  # for everything random about this bag

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return round(float(self.counts.sum()))

    def cells_of(self, places: IntArray) -> IntArray:
        """Return the cell of each item, given the places of their rows in the bag."""
        cells = np.empty(len(places), dtype=np.intp)
        each = np.repeat(np.arange(len(self.counts)), self.counts.astype(np.intp))
        cells[np.argsort(places, kind="stable")] = each
        return cells


def targets_of(
    references: References, scored: FloatArray, given: Sequence[Bag | IntArray], seed: int
) -> list[Target]:
    """Return the items of each bag with their likelihoods, computed for all bags at once.

    Each item uses the posteriors of one of the models that scored it, and the densities of one of
    the folds, all in equal parts.

    Parameters
    ----------
    references : References
    scored : ndarray of shape (n_models, n, K)
        Posteriors of the items by each model.
    given : sequence of Bag or of ndarray of int
        The items of each bag.
    seed : int
        Each bag gets random numbers of its own.
    """
    bags, n_models, folds = plain_bags(given), len(scored), references.target_folds
    streams = [stream(seed, 1 + number) for number in range(len(bags))]
    cells = [
        _cells(bag.weights, n_models * len(folds), rng)
        for bag, rng in zip(bags, streams, strict=True)
    ]
    parts = [
        scored[way % n_models, bag.rows[row]]
        for bag, (row, way, _) in zip(bags, cells, strict=True)
    ]
    fold = np.concatenate([folds[way // n_models] for _, way, _ in cells])
    matrix = references.log_likelihood_of(np.concatenate(parts), fold)
    unknown = background_log_likelihood(matrix, references.log_likelihood, references.drawn_codes)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return [
        Target(part, own, beside, counts, row, _compared(counts, rng), rng)
        for part, own, beside, (row, _, counts), rng in zip(
            parts, np.split(matrix, ends), np.split(unknown, ends), cells, streams, strict=True
        )
    ]


def _cells(
    weights: FloatArray, n_ways: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray, FloatArray]:
    """Spread the items of each row evenly over the ways of treating them.

    Rows with a large share of all items are spread over all ways, those with a small share over
    one or a few: over many rows that is as even.

    Returns
    -------
    row, way, counts : ndarrays
        Of each cell: its row, the way, and the number of items.

    Examples
    --------
    >>> row, way, counts = _cells(np.array([1.0, 5.0]), 2, np.random.default_rng(0))
    >>> row.tolist(), np.bincount(row, counts)
    ([0, 1, 1], array([1., 5.]))
    """
    whole = weights.astype(np.int64)
    share = np.ceil(weights * (MAX_CELLS / weights.sum())).astype(np.int64)
    n_cells = np.minimum(np.clip(share, 1, n_ways), whole)
    each, left = np.divmod(whole, np.maximum(n_cells, 1))
    row = np.repeat(np.arange(len(weights)), n_cells)
    turn = np.arange(len(row)) - (np.cumsum(n_cells) - n_cells)[row]
    # Consecutive ways, from one that differs from row to row, all in equal parts.
    first = rng.permutation(len(weights)) % n_ways
    counts = each[row] + (turn < left[row])
    return row, (first[row] + turn) % n_ways, counts.astype(np.float64)


def _compared(counts: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the cells of the items that are compared: of all, or of a random part."""
    ends = np.cumsum(counts.astype(np.int64))
    if ends[-1] > MAX_COMPARED:
        items = np.sort(rng.choice(ends[-1], MAX_COMPARED, replace=False))
    else:
        items = np.arange(ends[-1])
    return np.searchsorted(ends, items, side="right")


def stream(seed: int, number: int) -> np.random.Generator:
    """Return independent random numbers for each number."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
