"""Gibbs sampling by data augmentation: classes given the mix, the mix given the classes.

It mixes as fast as EM converges, since both move by the same expected allocation. Where that is
slow, each sweep begins with independent proposals for the mix: a sweep that accepts one has
forgotten where it came from. Both moves leave the posterior as it is, so together they do.
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
    """Run ``skipped + kept * thinning`` sweeps and keep every ``thinning``-th of the last.

    Parameters
    ----------
    layout : Layout
        The items, arranged for allocation; whole weights only.
    prior : array of shape (K,)
        Dirichlet parameters.
    pi : array of shape (K,)
        Where to start; holds the last mix afterwards, so that a second call continues.
    s : array of 4
        State of the random stream, advanced.
    skipped, kept, thinning : int
        Which sweeps to keep.
    proposal : Proposal
        Where independent proposals come from.
    tries : int
        How many of them to make in each sweep.

    Returns
    -------
    draws, batch : arrays of shape (kept, K)
        The mixes, and the share of each class among the allocations they were drawn from.
    accepted : int
        How many proposals were accepted, in all sweeps.
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
