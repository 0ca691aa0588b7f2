"""A wrapper that adds an unknown class: a further column for items of none of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.densities.background import background_log_likelihood, background_tilt
from truemix.models.out_of_fold import at_most, folds_of
from truemix.models.protocol import is_uncertain

# Maximum number of references that items are ranked among; more would hardly change the ranks.
MAX_RANKED = 2_000


class WithUnknown(BaseEstimator):
    """A model with one more class, the unknown: items that belong to none of the others.

    Column K + 1 is the even mix of all classes, tilted towards items that are unusual among
    out-of-fold references (:func:`truemix.densities.background.background_log_likelihood`).

    Parameters
    ----------
    model : LikelihoodModel
        The model of the known classes.

    Attributes
    ----------
    model_ : LikelihoodModel
        The fitted model.

    Examples
    --------
    >>> from truemix.models import KernelDensity
    >>> p = np.linspace(0.02, 0.98, 50)
    >>> model = WithUnknown(model=KernelDensity(bandwidth=0.3, shrinkage=0.1))
    >>> model = model.fit(np.column_stack([1 - p, p]), np.repeat([0, 1], 25), 2)
    >>> model.log_likelihood(np.array([[0.9, 0.1]])).shape
    (1, 3)
    """

    # The matrix has one column more than there are classes.
    has_unknown = True
    model_: Any
    _log_likelihood: FloatArray
    _codes: IntArray

    def __init__(self, *, model: Any) -> None:
        self.model = model

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
    def uncertain(self) -> bool:
        """Whether the model has replicates."""
        return is_uncertain(self.model)

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        if hasattr(self.model, "check"):
            self.model.check()

    def resolved(self) -> dict[str, Any]:
        """Return the parameters that the model selected."""
        return self.model_.resolved() if hasattr(self.model_, "resolved") else {}

    def fit(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> Self:
        """Fit the model, and compute out-of-fold log-likelihoods of references for ranking."""
        self.model_ = clone(self.model, safe=False)
        self.model_.fit(posteriors, codes, n_classes)
        # Those that are kept, in their order, so that a loaded model ranks the same.
        kept = self.references_ if hasattr(self.model_, "references_") else (posteriors, codes)
        self._rank(*kept, n_classes)
        return self

    def _rank(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> None:
        rng = np.random.default_rng(0)
        fold, ranked = folds_of(codes, rng), at_most(MAX_RANKED, codes, rng)
        self._codes = codes[ranked]
        self._log_likelihood = np.empty((len(ranked), n_classes))
        counts = np.bincount(codes, minlength=n_classes)
        for f in np.unique(fold[ranked]):
            here = np.flatnonzero(fold[ranked] == f)
            # A class with a single item keeps it as its reference, even for the item itself.
            others = np.flatnonzero((fold != f) | (counts[codes] == 1))
            model = self._unfitted()
            model.fit(posteriors[others], codes[others], n_classes)
            self._log_likelihood[here] = model.log_likelihood(posteriors[ranked[here]])

    def _unfitted(self) -> Any:
        """Return an unfitted model with the settings in use, so that folds do not select anew."""
        return (
            self.model_.chosen()
            if hasattr(self.model_, "chosen")
            else clone(self.model, safe=False)
        )

    def log_likelihood(self, posteriors: FloatArray) -> FloatArray:
        """Return the matrix with the column of the unknown class, ``(n, K + 1)``."""
        known = self.model_.log_likelihood(posteriors)
        column = background_log_likelihood(known, self._log_likelihood, self._codes)
        return np.column_stack([known, column])

    def shared_work(self, numbers: IntArray) -> IntArray:
        """Return the groups of replicates that share work in the model."""
        if hasattr(self.model_, "shared_work"):
            return np.asarray(self.model_.shared_work(numbers))
        return np.zeros_like(numbers)

    def replicates(self, posteriors: FloatArray, numbers: IntArray, seed: int) -> FloatArray:
        """Return the replicates of the model, each with the column of the unknown class."""
        known = self.model_.replicates(posteriors, numbers, seed)
        # The tilt of an item is the same in all replicates.
        plain = self.model_.log_likelihood(posteriors)
        tilt = background_tilt(plain, self._log_likelihood, self._codes)
        even = np.log(np.exp(known).mean(axis=2, dtype=np.float64)) + tilt
        return np.concatenate([known, even[:, :, None].astype(known.dtype)], axis=2)

    def state(self) -> dict[str, AnyArray]:
        """Return the arrays of the model."""
        state: dict[str, AnyArray] = self.model_.state()
        return state

    def restore(self, state: Mapping[str, AnyArray], n_classes: int) -> None:
        """Become the model that was saved."""
        self.model_ = clone(self.model, safe=False)
        self.model_.restore(state, n_classes)
        self._rank(*self.references_, n_classes)
