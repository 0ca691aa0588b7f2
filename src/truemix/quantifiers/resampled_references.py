"""What a point quantifier would have learned from resampled references.

References are resampled with replacement within each class, as often as they are. What the
quantifier then learns is as plausible as what it did learn; CC and PCC learn nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np
from sklearn.base import clone

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.quantifiers.base import Quantifier
from truemix.quantifiers.emq import EMQ
from truemix.quantifiers.kdey import KDEy
from truemix.quantifiers.reference_uncertainty import VERSIONS

# Resamples are made in fit, before a run has a seed: always the same ones.
_SEED = 0
# Keeps these random numbers apart from those of runs with the same seed.
_STREAM = 8
_PREFIX = "resampled_"


class Resamples(ABC):
    """A fitted quantifier as it would be with each of many resamples of its references."""

    @abstractmethod
    def quantifier(self, number: int) -> Quantifier:
        """Return the quantifier that infers the mix from evidence of this resample."""

    @abstractmethod
    def versions(self, scored: FloatArray, numbers: IntArray) -> FloatArray:
        """Return the evidence under some resamples, ``(len(numbers), models, n, K)``."""

    def state(self) -> dict[str, AnyArray]:
        """Return what a saved quantifier must hold beside its own state."""
        return {}


class ReweightedDensities(Resamples):
    """KDEy: an item drawn twice has weight two, and kernels are computed once for all weights.

    Bandwidth and shrinkage stay as they were chosen.
    """

    def __init__(self, fitted: KDEy) -> None:
        self._fitted = fitted

    def quantifier(self, number: int) -> Quantifier:
        """Return the fitted quantifier: its references are in the evidence only."""
        return self._fitted

    def versions(self, scored: FloatArray, numbers: IntArray) -> FloatArray:
        """Return the log-likelihoods under weighted densities."""
        densities = self._fitted._densities
        targets = scored.reshape(-1, scored.shape[2])
        weights = resample_counts(densities.codes, numbers)
        matrices: FloatArray = densities.log_likelihoods(targets, weights)[0]
        return matrices.reshape(len(numbers), *scored.shape)


class Refitted(Resamples):
    """Any other quantifier: what it learns is small, and a copy for each resample is kept."""

    def __init__(self, copies: Sequence[Quantifier]) -> None:
        self._copies = copies

    def quantifier(self, number: int) -> Quantifier:
        """Return the copy."""
        return self._copies[number]

    def versions(self, scored: FloatArray, numbers: IntArray) -> FloatArray:
        """Return the evidence that each copy sees."""
        return np.stack([self._copies[number]._versions(scored, None) for number in numbers])

    def state(self) -> dict[str, AnyArray]:
        """Return the copies' states, each kind of array as one."""
        states = [each._state() for each in self._copies]
        return {f"{_PREFIX}{name}": np.stack([s[name] for s in states]) for name in states[0]}


def resample(fitted: Quantifier, posteriors: FloatArray, codes: IntArray) -> Resamples:
    """Return a quantifier, fitted on these references, with resamples of them."""
    if isinstance(fitted, KDEy):
        return ReweightedDensities(fitted)
    # Copies share what does not depend on the resample, such as the classifier.
    copies = [copy(fitted) for _ in range(VERSIONS)]
    if isinstance(fitted, EMQ) and fitted.calibrator_ is not None:
        counts = resample_counts(codes, np.arange(VERSIONS))
        maps = fitted.calibrator_.refits(posteriors, codes, counts)
        for other, calibrator in zip(copies, maps, strict=True):
            other.calibrator_ = calibrator
    else:
        for number, other in enumerate(copies):
            rows = resampled_rows(codes, number)
            other._learn(posteriors[rows], codes[rows])
    return Refitted(copies)


def restore(fitted: Quantifier, state: Mapping[str, AnyArray]) -> Resamples:
    """Return the resamples of a restored quantifier, from :meth:`Resamples.state`."""
    if isinstance(fitted, KDEy):
        return ReweightedDensities(fitted)
    stacked = {
        name.removeprefix(_PREFIX): values
        for name, values in state.items()
        if name.startswith(_PREFIX)
    }
    for name, values in stacked.items():
        if values.shape[:1] != (VERSIONS,):
            raise InputError(f"{_PREFIX}{name} has shape {values.shape}; expected {VERSIONS} rows")
    copies: list[Quantifier] = []
    for number in range(VERSIONS):
        other: Quantifier = clone(fitted)
        other._restore({name: values[number] for name, values in stacked.items()})
        if not np.array_equal(other.classes_, fitted.classes_):
            raise InputError(f"{_PREFIX}classes holds other classes")
        copies.append(other)
    return Refitted(copies)


def resampled_rows(codes: IntArray, number: int) -> IntArray:
    """Return the rows of one resample: for each item another one of its class.

    Examples
    --------
    >>> codes = np.array([0, 1, 0, 1, 1])
    >>> codes[resampled_rows(codes, 7)]
    array([0, 1, 0, 1, 1])
    """
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(_STREAM, number)))
    rows = np.empty_like(codes, dtype=np.intp)
    for k in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == k)
        rows[members] = rng.choice(members, len(members))
    return rows


def resample_counts(codes: IntArray, numbers: IntArray) -> FloatArray:
    """Return how often each reference is drawn in some resamples, ``(len(numbers), n)``."""
    counts = [
        np.bincount(resampled_rows(codes, number), minlength=len(codes))
        for number in numbers.tolist()
    ]
    return np.array(counts, dtype=np.float64)
