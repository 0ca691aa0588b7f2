"""Targets with their likelihoods, computed exactly as those of the references."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.checks._references import References
from truemix.densities.background import background_log_likelihood

# Items of a target that are compared with references; beyond this a random part of them.
MAX_COMPARED = 2_000


@dataclass(frozen=True, eq=False)
class Target:
    """The items of one bag."""

    posteriors: FloatArray  # (n, K)
    log_likelihood: FloatArray  # (n, K)
    unknown: FloatArray  # (n,): log-likelihood of a class that the references lack
    compared: IntArray  # the rows that are compared with references
    rng: np.random.Generator  # for everything random about this bag


def targets_of(
    references: References, scored: FloatArray, bags: list[IntArray], seed: int
) -> list[Target]:
    """Return the items of each bag with their likelihoods, computed for all bags at once.

    Each item uses the posteriors of one of the models that scored it, and the densities of one of
    the folds, all in equal parts.

    Parameters
    ----------
    references : References
    scored : ndarray of shape (n_models, n, K)
        Posteriors of the items by each model.
    bags : list of ndarrays of int
        The items of each bag.
    seed : int
        Each bag gets random numbers of its own.
    """
    n_models = len(scored)
    streams = [stream(seed, 1 + number) for number in range(len(bags))]
    parts = [
        scored[rng.permutation(len(rows)) % n_models, rows]
        for rows, rng in zip(bags, streams, strict=True)
    ]
    folds = [
        references.folds_of_targets(len(rows), rng) for rows, rng in zip(bags, streams, strict=True)
    ]
    matrix = references.log_likelihood_of(np.concatenate(parts), np.concatenate(folds))
    unknown = background_log_likelihood(matrix, references.log_likelihood, references.drawn_codes)
    ends = np.cumsum([len(rows) for rows in bags])[:-1]
    return [
        Target(part, own, beside, np.sort(rng.permutation(len(part))[:MAX_COMPARED]), rng)
        for part, own, beside, rng in zip(
            parts, np.split(matrix, ends), np.split(unknown, ends), streams, strict=True
        )
    ]


def stream(seed: int, number: int) -> np.random.Generator:
    """Return independent random numbers for each number."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
