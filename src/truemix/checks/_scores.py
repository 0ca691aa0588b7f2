"""Statistics in units of their spread among bags, so that they can be compared with each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._typing import FloatArray

# Numerical error of a statistic, from rounding and an inexact fit; a thousandth of its noise.
NOISE = 1e-9


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and standard deviation of columns of numbers."""

    mean: FloatArray
    spread: FloatArray
    n_rows: int

    @classmethod
    def of(cls, values: FloatArray) -> Scale:
        """Return the scale of the rows of ``values``."""
        mean, spread = values.mean(axis=0), values.std(axis=0)
        # A column that is the same for all bags, such as that of a class without items, is no
        # evidence.
        return cls(
            mean, np.where(spread > 1e-12 * (1.0 + np.abs(mean)), spread, np.inf), len(values)
        )

    def scores(self, values: FloatArray) -> FloatArray:
        """Return by how many standard deviations values differ from the mean."""
        return np.asarray((values - self.mean) / self.spread)

    def scores_of_the_others(self, values: FloatArray) -> FloatArray:
        """Return the leave-one-out scores of the rows that the scale was computed from.

        So they are comparable with the scores of a new row.

        Examples
        --------
        >>> values = np.array([[1.0], [2.0], [6.0]])
        >>> Scale.of(values).scores_of_the_others(values)[0].item() == (1 - 4) / 2
        True
        """
        scores, n = self.scores(values), self.n_rows
        left = np.maximum(1.0 - scores**2 / (n - 1), 1e-12)
        return np.asarray(scores * np.sqrt(n / (n - 1) / left))


def comparable(whole: FloatArray) -> FloatArray:
    """Return the statistics ``(B, 2)`` in a form that is nearly normal.

    The cube root of an energy distance is nearly normal, as that of a chi-square variable is.
    """
    energy = np.where(whole[:, 1] > NOISE, whole[:, 1], 0.0)
    return np.column_stack([whole[:, 0], np.cbrt(energy)])


def larger_score(scores: FloatArray) -> FloatArray:
    """Return the larger of the two scores of each row: too many unusual items or too few count."""
    return np.asarray(np.maximum(np.abs(scores[:, 0]), scores[:, 1]))
