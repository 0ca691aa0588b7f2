"""Folds of the references, and their out-of-fold log-likelihoods, as if they were targets."""

from __future__ import annotations

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.densities.class_densities import ClassDensities
from truemix.densities.distinct import distinct_rows, sums_of_equal

N_FOLDS = 5


def by_appearance(codes: IntArray) -> IntArray:
    """Return class numbers in order of first appearance.

    Examples
    --------
    >>> by_appearance(np.array([2, 2, 0, 1, 0]))
    array([2, 0, 1])
    """
    present, first = np.unique(codes, return_index=True)
    return np.asarray(present[np.argsort(first)])


def folds_of(codes: IntArray, rng: np.random.Generator, n_folds: int = N_FOLDS) -> IntArray:
    """Assign items to stratified random folds: each class is spread over as many as possible.

    Classes are processed in order of appearance, so that the folds do not depend on their numbers.

    Examples
    --------
    >>> fold = folds_of(np.zeros(10, dtype=int), np.random.default_rng(0))
    >>> np.bincount(fold)
    array([2, 2, 2, 2, 2])
    """
    shuffled = rng.permutation(len(codes))
    turn = np.empty(codes.max() + 1, dtype=np.intp)
    turn[by_appearance(codes)] = np.arange(len(np.unique(codes)))
    by_class = shuffled[np.argsort(turn[codes[shuffled]], kind="stable")]
    fold = np.empty(len(codes), dtype=np.intp)
    fold[by_class] = np.arange(len(codes)) % n_folds
    return fold


def at_most(n: int, codes: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a stratified subsample of about n rows.

    Classes are reduced in proportion, but keep at least ``n / K`` items if they have as many. As in
    :func:`folds_of`, the rows do not depend on the numbers of classes.

    Examples
    --------
    >>> codes = np.repeat([0, 1], [90, 10])
    >>> np.bincount(codes[at_most(20, codes, np.random.default_rng(0))])
    array([18, 10])
    """
    if len(codes) <= n:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    even = n // len(counts)
    wanted = np.maximum(np.minimum(counts, even), counts * n // len(codes))
    parts = [
        rng.choice(np.flatnonzero(codes == k), wanted[k], replace=False)
        for k in by_appearance(codes)
    ]
    return np.concatenate(parts)


def out_of_fold_log_likelihood(
    reference: tuple[FloatArray, IntArray, IntArray],
    items: tuple[FloatArray, IntArray],
    kernel: str,
    bandwidths: FloatArray,
    shrinkage: float,
) -> FloatArray:
    """Return the log-likelihood of items, each under the references of other folds.

    Parameters
    ----------
    reference : tuple of ndarrays
        Posteriors ``(m, K)``, class numbers and folds of the references.
    items : tuple of ndarrays
        Posteriors ``(n, K)`` and folds of the items, which may be references themselves.
    kernel, bandwidths, shrinkage
        Of the densities.

    Returns
    -------
    ndarray of shape (n_bandwidths, n, K)
    """
    posteriors, codes, fold = reference
    rows, place = distinct_rows(posteriors, codes)
    densities = ClassDensities(posteriors[rows], codes[rows], kernel, bandwidths, shrinkage)
    # A class with a single item keeps it as its reference, even for the item itself.
    single = np.bincount(codes)[codes] == 1
    result = np.empty((len(bandwidths), *items[0].shape))
    for f in np.unique(items[1]):
        here = np.flatnonzero(items[1] == f)
        others = ((fold != f) | single).astype(np.float64)
        weights = sums_of_equal(others, place, len(rows))
        result[:, here] = densities.log_likelihood(items[0][here], weights)
    return result
