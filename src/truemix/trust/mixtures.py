"""Mixtures of labelled items: bags without repeats, of many mixes, from a part of the items.

Unlike :class:`truemix.protocols.DirichletBags`, which rounds ``size * mix``, class counts here are
multinomial, as those of a batch from a source with that mix are: the drawn mix is the truth of the
population, the realised one that of the batch, and the two differ as they do in life.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truemix._typing import FloatArray, IntArray

# Keys of the random streams, so that what is drawn for one purpose depends on no other.
_FOLDS, _MIX, _ITEMS, _REFERENCES = range(4)
# References of a class that every part of them keeps, if there are as many: folds of a classifier
# need two.
_MIN_OF_CLASS = 2


class Mixture(NamedTuple):
    """Rows of the items, the mix they were drawn with, and the one they have."""

    rows: IntArray
    population: FloatArray
    batch: FloatArray


def draw_mixture(
    members: Sequence[IntArray], mix: FloatArray, size: int, rng: np.random.Generator
) -> Mixture:
    """Draw items without repeats, in multinomial numbers.

    Where a class has too few items for the size, the bag shrinks until the expected number of that
    class, and a standard deviation more, are there. Only draws that are still beyond are left out.

    Parameters
    ----------
    members : sequence of ndarray of int
        The rows of each class, at least one.
    mix : ndarray of shape (K,)
        Probability of each class.
    size : int
        Items wanted.
    rng : Generator

    Examples
    --------
    >>> members = [np.arange(0, 90), np.arange(90, 100)]
    >>> bag = draw_mixture(members, np.array([0.5, 0.5]), 50, np.random.default_rng(0))
    >>> len(bag.rows), bag.population, bag.batch.round(2)
    (14, array([0.5, 0.5]), array([0.57, 0.43]))
    """
    available = np.array([len(rows) for rows in members])
    # n p + sqrt(n p) = available, solved for n.
    with np.errstate(divide="ignore", over="ignore"):
        fitting = ((np.sqrt(1.0 + 4.0 * available) - 1.0) / 2.0) ** 2 / mix
    shrunk = max(1, int(min(size, fitting.min())))
    counts = np.minimum(rng.multinomial(shrunk, mix), available)
    rows = [
        rng.choice(own, count, replace=False) for own, count in zip(members, counts, strict=True)
    ]
    return Mixture(np.concatenate(rows), mix, counts / counts.sum())


class Mixtures:
    """The mixtures of a backtest: what is drawn depends on the seed and their numbers alone.

    Mixtures with the same number have the same mix, whatever their size, so that sizes are
    compared on the same mixes.
    """

    def __init__(self, seed: int, n_classes: int) -> None:
        self._seed, self._n_classes = seed, n_classes

    def draw(self, members: Sequence[IntArray], number: int, size: int) -> Mixture:
        """Return one mixture, of a mix from all over the simplex."""
        mix = self._rng(_MIX, number).dirichlet(np.ones(self._n_classes))
        return draw_mixture(members, mix, size, self._rng(_ITEMS, number, size))

    def for_folds(self) -> np.random.Generator:
        """Return the stream that folds are drawn from."""
        return self._rng(_FOLDS)

    def part(self, codes: IntArray, share: float, *fold: int) -> IntArray:
        """Return rows of a share of each class; a smaller share is a part of a larger one."""
        if share >= 1.0:
            return np.arange(len(codes))
        rng = self._rng(_REFERENCES, *fold)
        kept = []
        for k in range(self._n_classes):
            own = rng.permutation(np.flatnonzero(codes == k))
            kept.append(own[: max(_MIN_OF_CLASS, round(share * len(own)))])
        return np.sort(np.concatenate(kept))

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))
