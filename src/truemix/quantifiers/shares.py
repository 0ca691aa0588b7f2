"""Shares of the classes, told from that of items of none of them."""

from __future__ import annotations

from typing import NamedTuple

from truemix._typing import FloatArray
from truemix.estimates.unknown import Unknown, split_mix
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
