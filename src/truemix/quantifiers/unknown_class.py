"""One more column of the matrix: the log-likelihood of items that belong to none of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.densities.background import background_log_likelihood, background_tilt
from truemix.quantifiers.held_out import at_most, folds_of, judged_by_others

if TYPE_CHECKING:
    from truemix.densities.class_densities import ClassDensities

# References that items are ranked among; more would only sharpen the last digit of a rank.
MOST_RANKED = 2_000


@dataclass(frozen=True, eq=False)
class UnknownClass:
    """How typical items are among references that are judged as targets are."""

    log_likelihood: FloatArray  # (m, K), of references that had no part in the densities
    codes: IntArray

    @classmethod
    def beside(cls, densities: ClassDensities) -> UnknownClass:
        """Return the unknown class beside the classes of these densities."""
        rng = np.random.default_rng(0)
        codes = densities.codes
        fold, ranked = folds_of(codes, rng), at_most(MOST_RANKED, codes, rng)
        held_out = judged_by_others(
            (densities.reference, codes, fold),
            (densities.reference[ranked], fold[ranked]),
            densities.kernel,
            densities.bandwidths,
            densities.shrinkage,
        )
        return cls(held_out[0], codes[ranked])

    def column(self, log_likelihood: FloatArray) -> FloatArray:
        """Return the log-likelihood of each item under none of the classes, ``(n,)``."""
        return background_log_likelihood(log_likelihood, self.log_likelihood, self.codes)

    def tilt(self, log_likelihood: FloatArray) -> FloatArray:
        """Return by how much that exceeds the even mix of the classes, ``(n,)``."""
        return background_tilt(log_likelihood, self.log_likelihood, self.codes)
