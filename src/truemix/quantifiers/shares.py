"""Separate the share of the unknown class from the mix of the known classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates.unknown import Unknown, split_mix
from truemix.exceptions import InputError
from truemix.inference.protocol import MixtureResult


class Shares(NamedTuple):
    """The mix of the known classes, with draws, and the unknown share if the model has one."""

    prevalence: FloatArray
    draws: FloatArray | None
    other_draws: FloatArray | None
    unknown: Unknown | None


def split_result(result: MixtureResult, train_prevalence: FloatArray) -> Shares:
    """Split off the share of the unknown class, the column after the known classes."""
    if len(result.prevalence) == len(train_prevalence):
        return Shares(result.prevalence, result.draws, result.other_draws, None)
    mix, share = split_mix(result.prevalence, train_prevalence)
    if result.draws is None or result.other_draws is None:
        return Shares(mix, None, None, Unknown(float(share)))
    draws, unknown = split_mix(result.draws, train_prevalence)
    others, other_unknown = split_mix(result.other_draws, train_prevalence)
    summary = Unknown(float(unknown.mean()), unknown, other_unknown)
    return Shares(draws.mean(axis=0), draws, others, summary)


def check_shares(model: Any, shares: FloatArray) -> None:
    """Raise if the model was fitted on references with other class shares."""
    counts: FloatArray
    if hasattr(model, "class_counts_"):
        counts = model.class_counts_.astype(np.float64)
    elif hasattr(model, "references_"):
        counts = np.bincount(model.references_[1], minlength=len(shares)).astype(np.float64)
    elif hasattr(model, "counts_"):
        counts = model.counts_.sum(axis=1)
    else:
        counts = getattr(model, "shares_", shares)
    if not np.allclose(counts / counts.sum(), shares, rtol=0.0, atol=1e-9):
        raise InputError("the references do not have the shares of train_prevalence")
