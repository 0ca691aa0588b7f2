"""The error of estimated mixes, bag by bag, by name or by a function of the user."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.metrics import (
    absolute_error,
    kl_divergence,
    relative_absolute_error,
    squared_error,
    weight_ratio_error,
)
from truemix.validation import check_choice

METRICS = (
    "absolute_error",
    "relative_absolute_error",
    "squared_error",
    "kl_divergence",
    "weight_ratio_error",
)


def check_metric(metric: Any) -> None:
    """Refuse what is neither a function nor the name of a metric."""
    if not callable(metric):
        check_choice(metric, "metric", METRICS)


def errors(
    metric: Any,
    truth: FloatArray,
    mixes: FloatArray,
    *,
    sizes: IntArray,
    train_prevalence: FloatArray,
) -> FloatArray:
    """Return the error of each bag's estimated mix.

    Parameters
    ----------
    metric : str or function
        The name of a metric, or a function of a true and an estimated mix.
    truth, mixes : ndarray of shape (n_bags, K)
    sizes : ndarray of shape (n_bags,)
        Items in each bag.
    train_prevalence : ndarray of shape (K,)
    """
    if callable(metric):
        return _own_metric(metric, truth, mixes)
    if metric == "weight_ratio_error":
        return weight_ratio_error(truth, mixes, train_prevalence)
    if metric in {"relative_absolute_error", "kl_divergence"}:
        # Half an item of each bag, as usual.
        eps = 0.5 / sizes
        smoothed = kl_divergence if metric == "kl_divergence" else relative_absolute_error
        return smoothed(truth, mixes, eps=eps)
    return (squared_error if metric == "squared_error" else absolute_error)(truth, mixes)


def _own_metric(metric: Any, truth: FloatArray, mixes: FloatArray) -> FloatArray:
    result = np.empty(len(truth))
    for bag, (true, estimated) in enumerate(zip(truth, mixes, strict=True)):
        value = metric(true, estimated)
        try:
            result[bag] = float(value)
        except (TypeError, ValueError, OverflowError):
            result[bag] = np.nan
        if np.isnan(result[bag]):
            raise InputError(
                f"The metric returned {value!r} for bag {bag}; expected a number, smaller for a "
                "better estimate."
            )
    return result
