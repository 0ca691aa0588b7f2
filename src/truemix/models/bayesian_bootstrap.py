"""Densities are only as certain as the references tell: replicates of what they could be.

The Bayesian bootstrap gives each reference item a random weight, Dirichlet(1, ..., 1) within its
class. It knows only what it has seen: with five references of a class, items of a sixth kind would
be impossible in all replicates. So each class is a Dirichlet process: its references count one
each, and items like those of any class together ``UNSEEN``.
"""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray

# Items of kinds that the references of a class do not show, in units of references: the
# concentration of the Dirichlet process.
UNSEEN = 2.0
# Keep these random numbers apart from each other and from the sampler's, which has the same seed.
_STREAM, _UNSEEN_STREAM = 7, 9


def reference_weights(n_references: int, replicates: IntArray, seed: int) -> FloatArray:
    """Return a weight for each reference in each replicate, ``(len(replicates), n_references)``.

    Only ratios within a class matter, and exponential numbers have those of a Dirichlet(1, ..., 1)
    vector. A replicate has the same weights whichever replicates are asked for with it.

    Examples
    --------
    >>> both = reference_weights(3, np.array([4, 9]), seed=0)
    >>> bool((both[1] == reference_weights(3, np.array([9]), seed=0)).all())
    True
    """
    weights = np.empty((len(replicates), n_references))
    for row, replicate in zip(weights, replicates.tolist(), strict=True):
        source = np.random.SeedSequence(seed, spawn_key=(_STREAM, replicate))
        np.random.default_rng(source).standard_exponential(out=row)
    return weights


def unseen_parts(counts: IntArray, replicates: IntArray, seed: int) -> FloatArray:
    """Return what each class is made of in each replicate, ``(len(replicates), K, K)``.

    Row k is Dirichlet: the references of class k weigh ``counts[k]``, and items like those of any
    class ``UNSEEN / K`` each. With few references a class may well contain items like another's
    that none of its references show; with many hardly.

    Examples
    --------
    >>> parts = unseen_parts(np.array([5, 500]), np.arange(1000), seed=0)
    >>> parts.mean(axis=0).round(2)
    array([[0.86, 0.14],
           [0.  , 1.  ]])
    """
    n_classes = len(counts)
    shapes = np.full((n_classes, n_classes), UNSEEN / n_classes) + np.diag(counts)
    parts = np.empty((len(replicates), n_classes, n_classes))
    for part, replicate in zip(parts, replicates.tolist(), strict=True):
        source = np.random.SeedSequence(seed, spawn_key=(_UNSEEN_STREAM, replicate))
        part[:] = np.random.default_rng(source).standard_gamma(shapes)
    return np.asarray(parts / parts.sum(axis=2, keepdims=True))
