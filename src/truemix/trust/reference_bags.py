"""Bags of a quantifier's own references, quantified by the other references.

The references are split into folds. The model of four of them, with the settings of the fitted
quantifier, estimates the mix of bags of the fifth, in which no item repeats and whose mix is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.base import clone

from truemix._typing import FloatArray, IntArray
from truemix.inference.protocol import MixtureResult
from truemix.models.out_of_fold import at_most, folds_of
from truemix.quantifiers.wiring import infer

if TYPE_CHECKING:
    from truemix.quantifiers.base import Quantifier

N_FOLDS = 3
# Of more references a random part is used: time grows with their square.
MAX_REFERENCES = 5_000


class ReferenceBag(NamedTuple):
    """A bag of references, and what the others say about it."""

    mix: FloatArray  # (K,): the mix that its items were drawn with
    counts: IntArray  # (K,): how many items of each class it has
    result: MixtureResult


def reference_bags(
    quantifier: Quantifier, size: int, n_bags: int, draws: int, seed: int
) -> Iterator[ReferenceBag]:
    """Yield bags of the references of a fitted quantifier, with results for them.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted, with a model that can be fitted on other references with the settings it has.
    size : int
        Items in a bag; fewer where a fold has too few of a class for the mix that was drawn.
    n_bags : int
        In all; each fold has about as many.
    draws : int
        Draws for each bag.
    seed : int
    """
    posteriors, codes = quantifier.references_ or (np.empty((0, 0)), np.empty(0, dtype=np.intp))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(13,)))
    kept = at_most(MAX_REFERENCES, codes, rng)
    posteriors, codes = posteriors[kept], codes[kept]
    n_classes = len(quantifier.classes_)
    fold = folds_of(codes, rng, N_FOLDS)
    inference = clone(quantifier.inference_).set_params(draws=draws, random_state=seed)
    inference.prepare(quantifier.classes_, quantifier.train_prevalence_)
    for number in range(N_FOLDS):
        inside = np.flatnonzero(fold == number)
        outside = np.flatnonzero(fold != number)
        wanted = len(range(number, n_bags, N_FOLDS))
        if len(np.unique(codes[outside])) < n_classes or not len(inside) or not wanted:
            continue
        bags = [drawn_bag(codes[inside], n_classes, size, rng) for _ in range(wanted)]
        model = quantifier.model_.of_other_references(posteriors[outside], codes[outside])
        results = infer(model, inference, posteriors[inside][None], [rows for rows, _, _ in bags])
        for (_, mix, counts), result in zip(bags, results, strict=True):
            yield ReferenceBag(mix, counts, result)


def drawn_bag(
    codes: IntArray, n_classes: int, size: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, IntArray]:
    """Draw a bag of a random mix without repetition.

    The mix is uniform on the simplex of the classes that there are, and each item's class is drawn
    from it. If a class has too few items for that, the bag is as small as it needs to be.

    Returns
    -------
    rows : ndarray of int
    mix : ndarray of shape (n_classes,)
    counts : ndarray of int of shape (n_classes,)

    Examples
    --------
    >>> codes = np.repeat([0, 1], [50, 30])
    >>> rows, mix, counts = drawn_bag(codes, 2, 20, np.random.default_rng(0))
    >>> len(np.unique(rows)), counts.tolist(), mix.round(2).tolist()
    (20, [4, 16], [0.4, 0.6])
    """
    available = np.bincount(codes, minlength=n_classes)
    mix = np.zeros(n_classes)
    mix[available > 0] = rng.dirichlet(np.ones(int((available > 0).sum())))
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(mix > 0, available / mix, np.inf).min()
    size = max(1, min(size, int(most)))
    counts = rng.multinomial(size, mix)
    while (counts > available).any():
        # Chance asks for more than there are: drop the surplus, and so a few items.
        counts = np.minimum(counts, available)
    rows = [
        rng.choice(np.flatnonzero(codes == k), counts[k], replace=False)
        for k in np.flatnonzero(counts)
    ]
    return np.concatenate(rows), mix, counts
