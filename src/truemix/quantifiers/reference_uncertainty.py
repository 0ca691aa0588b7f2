"""Densities are only as certain as the references tell: replicates of what they could be.

The Bayesian bootstrap gives each reference item a random weight, Dirichlet(1, ..., 1) within its
class. It knows only what it has seen: with five references of a class, items of a sixth kind would
be impossible in all replicates. So each class is a Dirichlet process: its references count one
each, and items like those of any class together ``UNSEEN``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truemix._typing import FloatArray, IntArray

# Versions of the densities that a posterior is spread over, and the fewest for huge batches: one
# beyond each end of a 95 % interval.
VERSIONS = 100
FEWEST_VERSIONS = 40
# Versions held at once, in single precision: likelihood ratios are exact to 1e-5 even where a class
# is a million times less likely. Beyond that they are made a few at a time, in so many passes.
VERSIONS_BYTES = 270_000_000
ITEM_BYTES = 4
MOST_PASSES = 6
# Items of kinds that the references of a class do not show, in units of references: the
# concentration of the Dirichlet process.
UNSEEN = 2.0
# Keep these random numbers apart from each other and from the sampler's, which has the same seed.
_STREAM, _UNSEEN_STREAM = 7, 9


def reference_weights(n_references: int, versions: IntArray, seed: int | None) -> FloatArray:
    """Return a weight for each reference in each version, ``(len(versions), n_references)``.

    Only ratios within a class matter, and exponential numbers have those of a Dirichlet(1, ..., 1)
    vector. A version has the same weights whichever versions are asked for with it.

    Examples
    --------
    >>> both = reference_weights(3, np.array([4, 9]), seed=0)
    >>> bool((both[1] == reference_weights(3, np.array([9]), seed=0)).all())
    True
    """
    weights = np.empty((len(versions), n_references))
    for row, version in zip(weights, versions.tolist(), strict=True):
        source = np.random.SeedSequence(seed, spawn_key=(_STREAM, version))
        np.random.default_rng(source).standard_exponential(out=row)
    return weights


def unseen_parts(counts: IntArray, versions: IntArray, seed: int | None) -> FloatArray:
    """Return what each class is made of in each version, ``(len(versions), K, K)``.

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
    parts = np.empty((len(versions), n_classes, n_classes))
    for part, version in zip(parts, versions.tolist(), strict=True):
        source = np.random.SeedSequence(seed, spawn_key=(_UNSEEN_STREAM, version))
        part[:] = np.random.default_rng(source).standard_gamma(shapes)
    return np.asarray(parts / parts.sum(axis=2, keepdims=True))


def number_of_versions(n_items: int, n_classes: int) -> int:
    """Return how many versions a batch of this size can afford.

    Examples
    --------
    >>> number_of_versions(1000, 10), number_of_versions(1_000_000, 10)
    (100, 40)
    """
    affordable = MOST_PASSES * VERSIONS_BYTES // (ITEM_BYTES * n_items * n_classes)
    return int(min(VERSIONS, max(FEWEST_VERSIONS, affordable)))


def versions_at_once(n_items: int, n_classes: int) -> int:
    """Return how many versions of a batch of this size may be held at once."""
    return int(max(1, VERSIONS_BYTES // (ITEM_BYTES * n_items * n_classes)))


def bags_at_once(bags: list[IntArray], n_classes: int) -> Iterator[list[IntArray]]:
    """Yield bags in turn, as many as may be held at once in all versions, but at least one.

    Examples
    --------
    >>> bags = [np.arange(n) for n in (400_000, 3, 4)]
    >>> [len(block) for block in bags_at_once(bags, n_classes=2)]
    [1, 2]
    """
    most = VERSIONS_BYTES // (ITEM_BYTES * VERSIONS * n_classes)
    block: list[IntArray] = []
    held = 0
    for rows in bags:
        if block and held + len(rows) > most:
            yield block
            block, held = [], 0
        block.append(rows)
        held += len(rows)
    if block:
        yield block
