"""Gibbs sampling by data augmentation: classes given the mix, the mix given the classes.

It mixes as fast as EM converges, since both move by the same expected allocation.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from truemix._typing import FloatArray
from truemix.inference._allocation import Layout, allocate
from truemix.inference._random import State, dirichlet


@njit(nogil=True, cache=True, error_model="numpy")
def sweep(
    L: FloatArray,
    layout: Layout,
    prior: FloatArray,
    pi: FloatArray,
    s: State,
    skipped: int,
    kept: int,
    thinning: int,
) -> tuple[FloatArray, FloatArray]:
    """Run ``skipped + kept * thinning`` sweeps and keep every ``thinning``-th of the last.

    Parameters
    ----------
    L : array of shape (n, K)
        Likelihoods.
    layout : Layout
        Its rows, arranged for allocation; whole weights only.
    prior : array of shape (K,)
        Dirichlet parameters.
    pi : array of shape (K,)
        Where to start; holds the last mix afterwards, so that a second call continues.
    s : array of 4
        State of the random stream, advanced.
    skipped, kept, thinning : int
        Which sweeps to keep.

    Returns
    -------
    draws, batch : arrays of shape (kept, K)
        The mixes, and the share of each class among the allocations they were drawn from.
    """
    K = len(pi)
    draws, batch = np.empty((kept, K)), np.empty((kept, K))
    shares, counts, shape = np.empty(K), np.empty(K), np.empty(K)
    for number in range(1 - skipped, kept * thinning + 1):
        allocate(L, layout, pi, s, shares, counts)
        for k in range(K):
            shape[k] = prior[k] + counts[k]
        dirichlet(s, shape, pi)
        if number > 0 and number % thinning == 0:
            draws[number // thinning - 1] = pi
            batch[number // thinning - 1] = counts / counts.sum()
    return draws, batch
