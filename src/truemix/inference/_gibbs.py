"""Gibbs sampling by data augmentation: classes given the mix, the mix given the classes.

It mixes as fast as EM converges, since both move by the same expected allocation. Where that is
slow, each sweep begins with independence Metropolis proposals for the mix; an accepted one makes
the sweep independent of the past. Both moves leave the posterior invariant, so the sweep does, too.
"""

from __future__ import annotations

import numpy as np

from truemix._compiled import compiled
from truemix._typing import FloatArray
from truemix.inference._allocation import Layout, allocate
from truemix.inference._blocks import BLOCK
from truemix.inference._proposal import Proposal, independence_step
from truemix.inference._random import State, dirichlet


@compiled
def sweep(
    layout: Layout,
    prior: FloatArray,
    pi: FloatArray,
    s: State,
    skipped: int,
    kept: int,
    thinning: int,
    proposal: Proposal,
    tries: int,
) -> tuple[FloatArray, FloatArray, int]:
    """Run ``skipped + kept * thinning`` sweeps; discard the first, then keep every ``thinning``-th.

    Parameters
    ----------
    layout : Layout
        The items, in the layout for allocation; weights must be whole numbers.
    prior : array of shape (K,)
        Dirichlet parameters.
    pi : array of shape (K,)
        The initial mix; updated in place, so that a second call continues the chain.
    s : array of 4
        State of the random stream, advanced in place.
    skipped, kept, thinning : int
        Sweeps to discard, draws to keep, and sweeps per draw.
    proposal : Proposal
        The distribution of independence proposals.
    tries : int
        Number of proposals per sweep.

    Returns
    -------
    draws, batch : arrays of shape (kept, K)
        The mixes, and the class shares of the allocations they were drawn from.
    accepted : int
        Number of accepted proposals, over all sweeps.
    """
    K = len(pi)
    draws, batch = np.empty((kept, K)), np.empty((kept, K))
    work, counts, shape = np.empty((3, max(K, BLOCK))), np.empty(K), np.empty(K)
    new, accepted = np.empty((2, K)), 0
    for number in range(1 - skipped, kept * thinning + 1):
        if tries > 0:
            accepted += independence_step(proposal, tries, s, pi, new, work)
        allocate(layout, pi, s, work, counts)
        for k in range(K):
            shape[k] = prior[k] + counts[k]
        dirichlet(s, shape, pi)
        if number > 0 and number % thinning == 0:
            total = 0.0
            for k in range(K):
                total += counts[k]
            for k in range(K):
                draws[number // thinning - 1, k] = pi[k]
                batch[number // thinning - 1, k] = counts[k] / total
    return draws, batch, accepted
