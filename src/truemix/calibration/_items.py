"""The validated items that calibration maps are fitted on, with log posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.simplex import FLOOR
from truemix.validation import (
    check_classes,
    check_labels,
    check_posteriors,
    check_same_length,
    check_weights,
    encode_labels,
)


@dataclass(frozen=True)
class Items:
    """Labelled posteriors, independent of weights: class numbers and (floored) log posteriors.

    ``true`` holds the posterior of each item's true class, as given.
    """

    classes: AnyArray
    code: IntArray
    true: FloatArray
    floor: float
    log_p: FloatArray

    @classmethod
    def checked(cls, P: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> Self:
        """Return validated items from user input."""
        labels = check_labels(y)
        names = np.unique(labels) if classes is None else check_classes(classes)
        posteriors = check_posteriors(P, "P", n_classes=len(names))
        check_same_length(len(posteriors), labels, "P", "y")
        code = encode_labels(labels, names)
        floor = _floor(posteriors)
        true = posteriors[np.arange(code.size), code]
        return cls(names, code, true, floor, floored_log(posteriors, floor))

    def weights(self, given: ArrayLike | None, name: str = "sample_weight") -> FloatArray:
        """Return weights that sum to 1; every class must have positive weight."""
        if given is None:
            return np.full(self.code.size, 1.0 / self.code.size)
        weight = check_weights(given, self.code.size, name)
        # Divide by the maximum first: the sum of finite numbers may overflow.
        weight = weight / weight.max()
        mass = np.bincount(self.code, weight)
        if (mass == 0).any():
            raise InputError(
                f"The items of class number {int(mass.argmin())} all have weight zero; each class "
                "needs an item of positive weight."
            )
        return np.asarray(weight / weight.sum())


def floored_log(posteriors: FloatArray, floor: float) -> FloatArray:
    """Return the logs of posteriors, small ones raised to the floor first."""
    raised = np.maximum(posteriors, floor)
    return np.log(raised, out=raised)


def _floor(posteriors: FloatArray) -> float:
    if posteriors.min() > 0:
        return FLOOR
    return max(float(np.min(posteriors, where=posteriors > 0, initial=1.0)) / 2, FLOOR)
