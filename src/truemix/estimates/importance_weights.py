"""Importance weights of the classes, and posteriors corrected for the new mix."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates.export import by_class
from truemix.exceptions import InputError, InputNote
from truemix.tables import posteriors_of

if TYPE_CHECKING:
    import pandas as pd

    from truemix.estimates.estimate import Estimate


def weights_frame(estimate: Estimate, level: float) -> pd.DataFrame:
    """Return the importance weights, with one row per class."""
    return by_class(estimate.classes, weight_columns(estimate, level), "Estimate.weights()")


def weight_columns(estimate: Estimate, level: float) -> dict[str, FloatArray]:
    """Return the importance weights and, with draws, their bounds."""
    columns = {"weight": importance_weights(estimate)}
    if estimate.draws is not None:
        # A weight is a share times a constant, and so are the bounds.
        bounds = estimate.interval(level) / reference_shares(estimate)[:, None]
        columns["lower"], columns["upper"] = bounds.T
    return columns


def importance_weights(estimate: Estimate) -> FloatArray:
    """Return estimated over reference share, for each class."""
    reference = reference_shares(estimate)
    absent = np.flatnonzero(~(reference > 0))
    if absent.size:
        label = estimate.classes.tolist()[absent[0]]
        raise InputError(
            f"Class {label!r} has the share {reference[absent[0]]} in the "
            "reference, so its weight is not defined; expected a positive share of each class in "
            "train_prevalence."
        )
    return np.asarray(estimate.prevalence / reference)


def reference_shares(estimate: Estimate) -> FloatArray:
    """Return the shares in the reference, or raise if they are not known."""
    if estimate.train_prevalence is None:
        raise InputError(
            "Weights need the shares in the reference, which this estimate does not hold; pass "
            "train_prevalence to Estimate.from_draws."
        )
    return estimate.train_prevalence


def adapt_posteriors(estimate: Estimate, posteriors: Any) -> FloatArray:
    """Return posteriors corrected for the new mix; see :meth:`truemix.Estimate.adapt`."""
    given = posteriors_of(posteriors, estimate.classes, "posteriors")
    with np.errstate(divide="ignore"):
        # Logarithms: a tiny posterior times a tiny weight would vanish.
        logs = np.log(given) + np.log(importance_weights(estimate))
    peak = logs.max(axis=1, keepdims=True)
    lost = np.isneginf(peak[:, 0])
    adapted = np.exp(logs - np.where(lost[:, None], 0.0, peak))
    adapted[lost] = given[lost]
    if lost.any():
        warnings.warn(
            f"{lost.sum()} of {len(lost)} rows of posteriors (the first is row {lost.argmax()}) "
            "have probability only for classes whose estimated share is 0; they were left as "
            "they are.",
            InputNote,
            stacklevel=3,
        )
    return np.asarray(adapted / adapted.sum(axis=1, keepdims=True))
