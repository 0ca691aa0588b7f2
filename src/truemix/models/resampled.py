"""The bootstrap of the references: a wrapper that refits a model on resampled references.

References are resampled with replacement within each class, as many as there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from truemix._replicate_budget import MAX_REPLICATES
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError

# Resamples are drawn in fit, before a run has a seed: a fixed one.
_SEED = 0
# Key that makes this stream independent of runs with the same seed.
_STREAM = 8
_PREFIX = "resampled_"


class ResampledReferences(BaseEstimator):
    """A model with replicates from 100 resamples of its references.

    Parameters
    ----------
    model : LikelihoodModel
        The model. With a method ``reweighted`` (kernel densities), replicates share kernel values
        and differ in the weights 0, 1, 2, … of the references; with ``refits``, it refits itself
        with these weights; any other model is fitted again on each resample.

    Attributes
    ----------
    model_ : LikelihoodModel
        The model fitted on the original references.

    Examples
    --------
    >>> from truemix.models import Confusion
    >>> posteriors = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.2, 0.8]])
    >>> model = ResampledReferences(model=Confusion()).fit(posteriors, np.array([0, 0, 0, 1]), 2)
    >>> model.replicates(posteriors[:1], np.arange(3), seed=0).shape
    (3, 1, 2)
    """

    model_: Any
    # One model per resample, where matrices do not come from weights.
    _models: list[Any]
    _codes: IntArray

    def __init__(self, *, model: Any) -> None:
        self.model = model

    @property
    def hard(self) -> bool:
        """Whether the classifier's ``predict`` is used instead of ``predict_proba``."""
        return bool(getattr(self.model, "hard", False))

    @property
    def references_(self) -> tuple[FloatArray, IntArray]:
        """Posteriors and class numbers of the references, where the model keeps them."""
        references: tuple[FloatArray, IntArray] = self.model_.references_
        return references

    @property
    def class_counts_(self) -> IntArray:
        """Number of items of each class, where the model keeps it."""
        counts: IntArray = self.model_.class_counts_
        return counts

    @property
    def counts_(self) -> FloatArray:
        """Sum of the observations of each class's original references."""
        counts: FloatArray = self.model_.counts_
        return counts

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        if hasattr(self.model, "check"):
            self.model.check()

    def resolved(self) -> dict[str, Any]:
        """Return the parameters that the model selected."""
        return self.model_.resolved() if hasattr(self.model_, "resolved") else {}

    def fit(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> Self:
        """Fit the model on the references and on each resample."""
        self.model_ = clone(self.model, safe=False)
        self.model_.fit(posteriors, codes, n_classes)
        every = np.arange(MAX_REPLICATES)
        if hasattr(self.model_, "reweighted"):
            self._models, self._codes = [], self.references_[1]
        elif hasattr(self.model_, "refits"):
            self._models = self.model_.refits(posteriors, codes, resample_counts(codes, every))
        else:
            self._models = []
            for number in every:
                rows = resampled_rows(codes, int(number))
                other = clone(self.model, safe=False)
                other.fit(posteriors[rows], codes[rows], n_classes)
                self._models.append(other)
        return self

    def log_likelihood(self, posteriors: FloatArray) -> FloatArray:
        """Return the matrix under the original references."""
        matrix: FloatArray = self.model_.log_likelihood(posteriors)
        return matrix

    def observe(self, posteriors: FloatArray) -> FloatArray:
        """Return the observation of each item, ``(n, D)``."""
        observed: FloatArray = self.model_.observe(posteriors)
        return observed

    def replicates(self, posteriors: FloatArray, numbers: IntArray, seed: int) -> FloatArray:
        """Return the matrix under each resample; ``seed`` is not used."""
        if not self._models:
            # One after the other: many items may be few distinct references.
            weights = [self.model_.merged(each) for each in resample_counts(self._codes, numbers)]
            matrices: FloatArray = self.model_.reweighted(posteriors, np.array(weights))
            return matrices
        return np.stack([self._models[number].log_likelihood(posteriors) for number in numbers])

    def counts_of(self, numbers: IntArray) -> FloatArray:
        """Return the observations of each class's references in each resample, ``(v, K, D)``."""
        return np.stack([self._models[number].counts_ for number in numbers])

    def state(self) -> dict[str, AnyArray]:
        """Return the arrays of the model, and those of all resamples, stacked."""
        states = [model.state() for model in self._models]
        resampled = {
            f"{_PREFIX}{name}": np.stack([state[name] for state in states])
            for name in _names(states)
        }
        return {**self.model_.state(), **resampled}

    def restore(self, state: Mapping[str, AnyArray], n_classes: int) -> None:
        """Become the model that was saved."""
        self.model_ = clone(self.model, safe=False)
        self.model_.restore(state, n_classes)
        self._models = []
        if hasattr(self.model_, "reweighted"):
            self._codes = self.references_[1]
            return
        stacked = {
            name.removeprefix(_PREFIX): values
            for name, values in state.items()
            if name.startswith(_PREFIX)
        }
        for name, values in stacked.items():
            if values.shape[:1] != (MAX_REPLICATES,):
                raise InputError(
                    f"{_PREFIX}{name} has shape {values.shape}; expected {MAX_REPLICATES} rows"
                )
        for number in range(MAX_REPLICATES):
            other = clone(self.model, safe=False)
            other.restore({name: values[number] for name, values in stacked.items()}, n_classes)
            self._models.append(other)


def _names(states: Sequence[Mapping[str, AnyArray]]) -> list[str]:
    return list(states[0]) if states else []


def resampled_rows(codes: IntArray, number: int) -> IntArray:
    """Return the rows of one resample: for each item a random one of its class.

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


def resample_counts(codes: IntArray, numbers: IntArray) -> Iterator[FloatArray]:
    """Yield how often each reference is drawn in some resamples."""
    for number in numbers.tolist():
        drawn = np.bincount(resampled_rows(codes, number), minlength=len(codes))
        yield drawn.astype(np.float64)
