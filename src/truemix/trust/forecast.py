"""How wide intervals will be with so many labels, before any item is labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from truemix._optional import require
from truemix._typing import AnyArray, FloatArray
from truemix.estimates.intervals import interval_of
from truemix.exceptions import InputError
from truemix.trust.prediction_powered import (
    MISFIT_ITEMS,
    MODEL_ITEMS,
    Measurement,
    residual_covariance,
    shrunk_covariance,
)
from truemix.trust.robust import RobustMixture, as_counts, draw, measured_alone, on_simplex
from truemix.trust.sampling_design import inclusion_probabilities

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = (25, 50, 100, 200)
# Enough for the width of an interval to a few percent.
_DRAWS = 2000


@dataclass(frozen=True, eq=False)
class Forecast:
    """Expected widths of the intervals.

    Attributes
    ----------
    classes : ndarray of shape (K,)
    numbers : tuple of int
        Numbers of labels.
    if_holds : ndarray of shape (len(numbers), K) or None
        Widths if labels agree with label shift; None if nothing relies on it.
    if_fails : ndarray of shape (len(numbers), K)
        Widths if they do not, so that the estimate rests on labels and predictions.
    level : float
        Of the intervals.
    """

    classes: AnyArray
    numbers: tuple[int, ...]
    if_holds: FloatArray | None
    if_fails: FloatArray
    level: float

    def frame(self) -> pd.DataFrame:
        """Return one row per number of labels and class: ``n``, ``class`` and both widths."""
        require("pandas", "Forecast.frame()")
        import pandas as pd

        return pd.DataFrame(self.records())

    def records(self) -> list[dict[str, object]]:
        """Return the rows of :meth:`frame` as plain values."""
        return [
            {
                "n": n,
                "class": label,
                "width_if_holds": None if self.if_holds is None else float(self.if_holds[i, k]),
                "width_if_fails": float(self.if_fails[i, k]),
            }
            for i, n in enumerate(self.numbers)
            for k, label in enumerate(self.classes.tolist())
        ]


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a forecast is made from.

    Attributes
    ----------
    classes : ndarray of shape (K,)
    predicted : ndarray of shape (R, K)
        Probabilities of the classes for each distinct row of items.
    counts : ndarray of shape (R,)
        Number of items equal to each row.
    estimand : {"batch", "population"}
    mixture : RobustMixture or None
        What is known before the labels; None if it is not known how sure that is.
    """

    classes: AnyArray
    predicted: FloatArray
    counts: FloatArray
    estimand: str
    mixture: RobustMixture | None

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return round(float(self.counts.sum()))

    def forecast(self, numbers: Sequence[int] = NUMBERS, level: float = 0.95) -> Forecast:
        """Return the widths that are expected with these numbers of labels.

        Parameters
        ----------
        numbers : sequence of int
            More than there are items are all of them.
        level : float
            Level of the intervals.
        """
        numbers = tuple(min(n, self.n_items) for n in numbers)
        holds = [self._width(n, level, fails=False) for n in numbers] if self.mixture else None
        fails = [self._width(n, level, fails=True) for n in numbers]
        return Forecast(
            self.classes,
            numbers,
            None if holds is None else np.array(holds),
            np.array(fails),
            level,
        )

    def needed(self, width: float, level: float = 0.95) -> int:
        """Return the smallest number of labels with intervals no wider than ``width`` on average.

        Parameters
        ----------
        width : float
            Mean width over the classes, between 0 and 1; also if label shift fails.
        level : float
            Level of the intervals.
        """
        if not 0.0 < width < 1.0:
            raise InputError(
                f"The wanted width is {width:g}; expected a share above 0 and below 1, such as "
                "0.05 for five percentage points."
            )
        low, high = 0, self.n_items
        # Widths fall with the number of labels.
        while high - low > 1:
            middle = (low + high) // 2
            if self._width(middle, level, fails=True).mean() <= width:
                high = middle
            else:
                low = middle
        return high

    def measurement(self, n: int) -> Measurement:
        """Return what n labels are expected to measure, if the predictions are right."""
        share = self.counts / self.n_items
        mean = share @ self.predicted
        degrees = n - 1.0 + MODEL_ITEMS + MISFIT_ITEMS
        inclusion = inclusion_probabilities(self.predicted, self.counts, n)
        # The variance of a sum over labelled items, each 1 / inclusion times.
        parts = share * (1.0 - inclusion) / inclusion
        factor = float(parts.sum())
        if factor <= 0.0:
            return Measurement(mean, np.zeros((len(mean), len(mean))), degrees, np.ones(len(mean)))
        errors = residual_covariance(self.predicted, self.predicted, parts / factor)
        covariance = shrunk_covariance(errors, n - 1.0, errors) * factor / self.n_items
        return Measurement(mean, covariance, degrees, np.ones(len(mean)))

    def _width(self, n: int, level: float, *, fails: bool) -> FloatArray:
        measured = self.measurement(n)
        if fails or self.mixture is None:
            components = [measured_alone(measured, self.n_items)]
        else:
            # Labels say what label shift says.
            agreeing = replace(measured, share=self.mixture.expected[0].mean[0])
            components, _ = self.mixture.after(agreeing, self.n_items)
        # The same random numbers for all n, so that widths can be compared.
        rng = np.random.default_rng(0)
        shares, source = draw(components, measured.degrees, _DRAWS, rng)
        if self.estimand == "population":
            draws = on_simplex(source)
        else:
            known = np.floor(n * measured.share).astype(np.intp)
            draws = as_counts(shares, known, self.n_items)
        return np.diff(interval_of(draws, level), axis=1)[:, 0]
