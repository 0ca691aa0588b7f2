"""The Bayesian bootstrap of the references: random weights for replicates of class densities.

Each reference gets a random weight, Dirichlet(1, ..., 1) within its class. That alone gives no mass
to items unlike all references of the class, however few they are. So each class is a Dirichlet
process: its references have weight one each, and a base measure, items like those of any class, has
total weight ``UNSEEN``.
"""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray

# Concentration of the Dirichlet process: the weight of items unlike the references of a class, in
# units of references.
UNSEEN = 2.0
# Keys that make these streams independent of each other and of the sampler's, given one seed.
_STREAM, _UNSEEN_STREAM = 7, 9


def reference_weights(
    n_references: int, replicates: IntArray, seed: int, counts: IntArray | None = None
) -> FloatArray:
    """Return a weight for each reference in each replicate, ``(len(replicates), n_references)``.

    Only ratios within a class matter: exponential variates, normalised, are Dirichlet(1, ..., 1).
    A reference that stands for ``counts`` equal ones has the sum of as many, a gamma variate. The
    weights of a replicate do not depend on which other replicates are requested.

    Examples
    --------
    >>> both = reference_weights(3, np.array([4, 9]), seed=0)
    >>> bool((both[1] == reference_weights(3, np.array([9]), seed=0)).all())
    True
    """
    weights = np.empty((len(replicates), n_references))
    if counts is not None and (counts == 1).all():
        # The same variates, faster.
        counts = None
    for row, replicate in zip(weights, replicates.tolist(), strict=True):
        source = np.random.SeedSequence(seed, spawn_key=(_STREAM, replicate))
        rng = np.random.default_rng(source)
        if counts is None:
            rng.standard_exponential(out=row)
        else:
            rng.standard_gamma(counts, out=row)
    return weights


def unseen_parts(counts: IntArray, replicates: IntArray, seed: int) -> FloatArray:
    """Return the composition of each class in each replicate, ``(len(replicates), K, K)``.

    Row k is Dirichlet: the references of class k have parameter ``counts[k]``, and items like those
    of each class j have ``UNSEEN / K``. With few references, class k may contain a substantial
    share of items that look like another class; with many references hardly any.

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
