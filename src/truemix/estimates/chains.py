"""Draws as chains, so that diagnostics of other libraries apply to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truemix._replicate_budget import DIAGNOSED_JOINTLY
from truemix._typing import IntArray

if TYPE_CHECKING:
    from truemix.estimates.draw_origin import DrawOrigin
    from truemix.estimates.estimate import Estimate

# Chains that replicates are grouped into: as many as samplers usually run.
REPLICATE_CHAINS = 4
# R-hat of split chains needs four draws in each half.
MIN_LENGTH = 8


def rows_of_chains(estimate: Estimate) -> IntArray:
    """Return the rows of the draws that belong to each chain, ``(chains, draws)``.

    Draws within a replicate of the references depend on each other, those of different replicates
    do not. So each of four chains holds the draws of a quarter of the replicates: R-hat and ESS
    then say how well the mean over all replicates is known. Fewer than eight replicates (models of
    some folds) are no sample of many, but all there are: each chain holds a quarter of the draws of
    every replicate in turn. Without replicates chains are those of the sampler, if they are known.

    Chains are of equal length; of longer ones the last draws are left out.
    """
    n_draws = len(estimate.draws) if estimate.draws is not None else 0
    chain, order = np.zeros(n_draws, dtype=np.intp), np.arange(n_draws)
    known = estimate.diagnostics.get("chains")
    if estimate.origin is not None:
        chain, order = _of_replicates(estimate.origin)
    elif type(known) is int and 1 < known <= n_draws:
        # Draws are evenly spaced ones of all chains, one after the other.
        chain = (2 * order + 1) * known // (2 * max(n_draws, 1))
    lengths = np.bincount(chain)
    shortest = int(lengths.min())
    if shortest < min(MIN_LENGTH, n_draws):
        return np.arange(n_draws)[None]
    return np.stack([order[chain == number][:shortest] for number in range(len(lengths))])


def _of_replicates(origin: DrawOrigin) -> tuple[IntArray, IntArray]:
    """Return the rows of draws in the order in which chains hold them, and the chain of each."""
    _, number, sizes = np.unique(origin.number, return_inverse=True, return_counts=True)
    rows = np.argsort(number, kind="stable")
    if len(sizes) >= DIAGNOSED_JOINTLY:
        return number[rows] * REPLICATE_CHAINS // len(sizes), rows
    # Where each draw is within its replicate.
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    in_turn = np.argsort(place, kind="stable")
    quarter = place * REPLICATE_CHAINS // np.repeat(sizes, sizes)
    return quarter[in_turn], rows[in_turn]
