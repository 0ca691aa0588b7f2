"""Bags of a quantifier's own references, quantified by the other references.

The references are split into folds. The model of all but one of them, with the settings of the
fitted quantifier, estimates the mix of bags of that one, in which no item repeats and whose mix is
known.
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
from truemix.trust.mixtures import Mixture, draw_mixture

if TYPE_CHECKING:
    from truemix.quantifiers.base import Quantifier

N_FOLDS = 3
# Of more references a random part is used: time grows with their square.
MAX_REFERENCES = 5_000


class ReferenceBag(NamedTuple):
    """A bag of references, and what the others say about it."""

    mixture: Mixture
    result: MixtureResult


def reference_bags(
    quantifier: Quantifier,
    references: tuple[FloatArray, IntArray],
    size: int,
    n_bags: int,
    draws: int,
    seed: int,
) -> Iterator[ReferenceBag]:
    """Yield bags of the references of a fitted quantifier, with results for them.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted, with a model that can be fitted on other references with the settings it has, and
        at least ``N_FOLDS`` references of each class.
    references : tuple of ndarray
        Its ``references_``: posteriors and class numbers.
    size : int
        Items in a bag; fewer where a fold has too few of a class for the mix that was drawn.
    n_bags : int
        In all; each fold has about as many.
    draws : int
        Draws for each bag.
    seed : int
    """
    posteriors, codes = references
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(13,)))
    kept = at_most(MAX_REFERENCES, codes, rng)
    posteriors, codes = posteriors[kept], codes[kept]
    n_classes = len(quantifier.classes_)
    fold = folds_of(codes, rng, N_FOLDS)
    inference = clone(quantifier.inference_).set_params(draws=draws, random_state=seed)
    inference.prepare(quantifier.classes_, quantifier.train_prevalence_)
    for number in range(N_FOLDS):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        members = [np.flatnonzero(codes[inside] == k) for k in range(n_classes)]
        bags = [
            draw_mixture(members, rng.dirichlet(np.ones(n_classes)), size, rng)
            for _ in range(number, n_bags, N_FOLDS)
        ]
        model = quantifier.model_.of_other_references(posteriors[outside], codes[outside])
        results = infer(model, inference, posteriors[inside][None], [bag.rows for bag in bags])
        yield from map(ReferenceBag, bags, results)
