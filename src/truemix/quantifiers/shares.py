"""Shares of the classes, told from that of items of none of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates.unknown import Unknown, split_mix
from truemix.exceptions import InputError
from truemix.inference.protocol import MixtureResult


class Shares(NamedTuple):
    """The mix of the classes, with draws, and the share of none of them if that was allowed."""

    prevalence: FloatArray
    draws: FloatArray | None
    other_draws: FloatArray | None
    unknown: Unknown | None


def split_result(result: MixtureResult, train_prevalence: FloatArray) -> Shares:
    """Tell the share of the unknown, the column after the classes, from those of the classes."""
    if len(result.prevalence) == len(train_prevalence):
        return Shares(result.prevalence, result.draws, result.other_draws, None)
    mix, share = split_mix(result.prevalence, train_prevalence)
    if result.draws is None or result.other_draws is None:
        return Shares(mix, None, None, Unknown(float(share)))
    draws, unknown = split_mix(result.draws, train_prevalence)
    others, other_unknown = split_mix(result.other_draws, train_prevalence)
    found = Unknown(float(unknown.mean()), unknown, other_unknown)
    return Shares(draws.mean(axis=0), draws, others, found)


def check_shares(model: Any, shares: FloatArray) -> None:
    """Refuse a model that was learned from references of other shares."""
    counts: FloatArray
    if hasattr(model, "references_"):
        counts = np.bincount(model.references_[1], minlength=len(shares)).astype(np.float64)
    elif hasattr(model, "counts_"):
        counts = model.counts_.sum(axis=1)
    else:
        counts = getattr(model, "shares_", shares)
    if not np.allclose(counts / counts.sum(), shares, rtol=0.0, atol=1e-9):
        raise InputError("the references do not have the shares of train_prevalence")
