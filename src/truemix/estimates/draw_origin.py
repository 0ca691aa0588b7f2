"""Which replicate of the references each draw comes from, so that draws can be paired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._typing import IntArray


@dataclass(frozen=True, eq=False)
class DrawOrigin:
    """Where the draws of an estimate come from.

    Replicate v of the references is the same for every batch of one fitted quantifier, and an error
    of its densities affects all batches alike. So draws of two batches are dependent, but
    independent given the replicate.

    Attributes
    ----------
    number : ndarray of int of shape (draws,)
        The replicate of each draw.
    source : str
        Fingerprint of the fitted quantifier. Replicates with the same source and number are the
        same.

    Examples
    --------
    >>> May = DrawOrigin(np.array([0, 0, 1, 1, 2]), "a quantifier")
    >>> June = DrawOrigin(np.array([1, 0, 1]), "a quantifier")
    >>> [(now.tolist(), then.tolist()) for now, then in June.pairs(May)]
    [([1], [0, 1]), ([0, 2], [2, 3])]
    """

    number: IntArray
    source: str

    def pairs(self, other: DrawOrigin) -> list[tuple[IntArray, IntArray]]:
        """Return for each common replicate the draws of this estimate and of the other."""
        return [
            (np.flatnonzero(self.number == each), np.flatnonzero(other.number == each))
            for each in np.intersect1d(self.number, other.number)
        ]
