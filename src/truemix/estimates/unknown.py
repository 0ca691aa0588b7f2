"""The share of items that belong to none of the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates.intervals import interval_of
from truemix.estimates.text import LEVEL_SHOWN, percent
from truemix.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Unknown:
    """How many items seem to belong to none of the classes.

    Attributes
    ----------
    share : float
        Among all items; the shares of the classes are among the others.
    draws, other_draws : ndarray of shape (draws,), optional
        Draws of the share, row by row with those of the estimate, and of the other estimand.

    Examples
    --------
    >>> Unknown(0.12, np.linspace(0.1, 0.14, 101)).interval()
    array([0.1004, 0.1396])
    """

    share: float
    draws: FloatArray | None = None
    other_draws: FloatArray | None = None

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return an equal-tailed interval for the share.

        Parameters
        ----------
        level : float
            Nominal coverage.

        Returns
        -------
        ndarray of shape (2,)
        """
        if self.draws is None:
            raise InputError(
                "interval needs draws, but this unknown share is a point estimate; use "
                "BayesianKDEy(unknown=True)."
            )
        return np.asarray(interval_of(self.draws[:, None], level)[0])

    def of_the_other_estimand(self) -> Unknown:
        """Return the share of the other estimand, from the same run."""
        if self.other_draws is None:
            return self
        return Unknown(float(self.other_draws.mean()), self.other_draws, self.draws)

    def __str__(self) -> str:
        text = f"{percent(self.share)} of the items seem to belong to none of these classes"
        if self.draws is not None:
            lower, upper = self.interval(LEVEL_SHOWN)
            text += f" ({percent(lower, unit='')} \N{EN DASH} {percent(upper)})"
        return f"{text}; the shares are of the others"


def split_mix(mix: FloatArray, fallback: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mix of the classes, adding up to one, and the last share, which is unknown.

    Parameters
    ----------
    mix : ndarray of shape (..., K + 1)
        Shares of the classes and of the unknown.
    fallback : ndarray of shape (..., K)
        The mix of the classes where the unknown share is 1.

    Examples
    --------
    >>> split_mix(np.array([0.3, 0.6, 0.1]), np.array([0.5, 0.5]))
    (array([0.33333333, 0.66666667]), array(0.1))
    """
    known = mix[..., :-1]
    total = known.sum(axis=-1, keepdims=True)
    shares = np.where(total > 0, known / np.where(total > 0, total, 1.0), fallback)
    return shares, np.asarray(mix[..., -1])
