"""What all quantifiers share: data in, posteriors, and one or many estimates out.

A quantifier answers two questions and inherits the rest:

- ``_evidence(P)``: what does each item say about the classes? One row per item, ``(n, K)``. For
  the likelihood methods this is *the* matrix, the log-likelihood of each item under each class.
- ``_infer(evidence)``: which mix follows from these rows?

Evidence never depends on the other items of the batch, so it is computed once for many batches.

There may be several *versions* of the evidence, ``(V, n, K)``, each as plausible as the others: one
for each model of a cross-fitted classifier, or for each reweighting of uncertain references. Point
methods pool the versions, Bayesian ones mix their posteriors.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import get_tags

from truemix._saved_arrays import read_classes, read_shares, read_text
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix._version import __version__
from truemix.estimates import Estimate, EstimateSet
from truemix.estimates.checks import Check
from truemix.estimates.replicates import Replicates
from truemix.estimates.unknown import Unknown
from truemix.quantifiers.content_order import reference_order
from truemix.quantifiers.scoring import GivenPosteriors, Scorer, Scoring
from truemix.tables import column_names, groups_of, labels_of
from truemix.validation import (
    check_classes,
    check_one_class_is_not_enough,
    check_same_length,
    encode_labels,
)

# Settings that replicates of the references do not depend on.
NOT_IN_REPLICATES = frozenset(
    {"draws", "warmup", "sampler", "prior", "temperature", "estimand", "random_state"}
)

# The form of a fingerprint.
SOURCE = "[0-9a-f]{32}"


class NotFittedError(SklearnNotFittedError):
    """A quantifier was asked for an estimate before it was fitted."""


@dataclass(frozen=True)
class Inference:
    """What inference says about one batch.

    ``draws`` are of the estimand that was asked for, ``other_draws`` of the other one,
    ``replicate`` is the number of the replicate each of them comes from; ``settings`` holds what
    was resolved only now, such as a seed.
    """

    prevalence: FloatArray
    diagnostics: dict[str, Any] = field(default_factory=dict)
    draws: FloatArray | None = None
    other_draws: FloatArray | None = None
    unknown: Unknown | None = None
    replicate: IntArray | None = None
    settings: dict[str, Any] = field(default_factory=dict)


class Quantifier(BaseEstimator, metaclass=ABCMeta):
    """Base of all quantifiers; see :class:`truemix.KDEy` for how one is used."""

    # Whether the classifier's decisions are enough.
    _hard = False

    classifier: Any
    cv: Any
    crossfit: Any
    classes_: AnyArray
    train_prevalence_: FloatArray
    n_features_in_: int
    feature_names_in_: AnyArray
    _scorer: Scorer
    # What the references look like and their class numbers, for checks; absent after loading.
    _references: tuple[FloatArray, IntArray]
    # What replicates of the references are replicates of.
    _source: str

    # --- what a quantifier has to say ---------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise for a parameter that is wrong; called first in ``fit``."""

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        """Learn from the references' posteriors and class numbers."""

    @abstractmethod
    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        """Return what each item says about the classes, ``(n, K)``."""

    @abstractmethod
    def _infer(self, evidence: FloatArray) -> Inference:
        """Return the mix that follows from the rows of evidence."""

    def _seed(self) -> int | None:
        """Return the seed of the next run; None where nothing is random."""
        return None

    def _versions(self, scored: FloatArray, seed: int | None) -> FloatArray:
        """Return the evidence of items scored by each model, ``(V, n, K)``."""
        n_models, n_items, n_classes = scored.shape
        evidence = self._evidence(scored.reshape(-1, n_classes))
        return evidence.reshape(n_models, n_items, -1)

    def _infer_bags(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> list[Inference]:
        """Return the mix of each bag of rows, the same as one by one."""
        return [self._infer(rows_of(versions, rows)) for rows in bags]

    def _infer_scored(
        self, scored: FloatArray, bags: list[IntArray], seed: int | None
    ) -> list[Inference]:
        """Return the mix of each bag of items that have been scored."""
        return self._infer_bags(self._versions(scored, seed), bags, seed)

    def _mixes(
        self,
        versions: FloatArray,
        bags: list[IntArray],
        seed: int | None = None,
        near: FloatArray | None = None,
    ) -> FloatArray:
        """Return only the mixes of many bags, ``(n_bags, K)``, given answers that may be near."""
        inferences = self._infer_bags(versions, bags, seed)
        return np.array([inference.prevalence for inference in inferences])

    @classmethod
    def _versions_of_many(
        cls, quantifiers: Sequence[Any], scored: FloatArray, seeds: Sequence[int | None]
    ) -> Iterator[tuple[list[int], list[FloatArray]]]:
        """Yield the evidence of many quantifiers of this kind, fitted on the same references.

        Each step yields the numbers of quantifiers whose evidence is made together and the
        evidence of each, in an order in which neighbours give similar answers.
        """
        for number, quantifier in enumerate(quantifiers):
            yield [number], [quantifier._versions(scored, seeds[number])]

    def _split(self, mixes: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the mix of the classes, and the share of none of them if that was allowed for."""
        return mixes, None

    def _resolved(self) -> dict[str, Any]:
        """Return parameters as they were used, where they differ from how they were given."""
        return {}

    def _state(self) -> dict[str, AnyArray]:
        """Return what was learned from posteriors, as arrays of numbers or text."""
        return {
            "classes": self.classes_,
            "train_prevalence": self.train_prevalence_,
            "source": np.array(self._source),
        }

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        """Become the fitted quantifier that ``state`` was taken from; it may come from anybody."""
        self._check_parameters()
        # As in fit, which makes this to score the references.
        self._scoring()
        classes = read_classes(state)
        self.train_prevalence_ = read_shares(
            state, "train_prevalence", classes.shape, positive=True
        )
        self._source = read_text(state, "source", SOURCE)
        self.classes_ = classes
        self.n_features_in_ = len(self.classes_)
        self._scorer = GivenPosteriors(self.classes_)

    # --- what it gets for that ----------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, classes: Any = None) -> Self:
        """Learn from labelled reference items.

        Parameters
        ----------
        X : array-like or data frame of shape (m, K) or (m, n_features)
            Without a classifier: posteriors, one column per class, in the order of the sorted
            labels (or of ``classes``); a data frame's columns are matched by class name.
            With a classifier: features.
        y : array-like of shape (m,)
            Labels: strings, integers or booleans.
        classes : sequence, optional
            The classes in the wanted order. Default: the sorted distinct labels.

        Returns
        -------
        self
        """
        self._check_parameters()
        scoring = self._scoring()
        codes, order = read_labels(X, y, classes)
        posteriors, scorer = scoring.score_references(X, codes, order)
        self._fit_scored(posteriors, codes, order, scorer)
        self._remember_columns(X)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Estimate the mix of classes in a batch.

        Parameters
        ----------
        X : array-like or data frame
            The batch, with the same columns as in ``fit``.

        Returns
        -------
        ndarray of shape (K,)
            Shares in the order of ``classes_``.
        """
        return self.quantify(X).prevalence

    def quantify(self, X: Any, *, check: bool = False) -> Estimate:
        """Estimate the mix of classes in a batch, with everything known about the estimate.

        Parameters
        ----------
        X : array-like or data frame
            The batch, with the same columns as in ``fit``.
        check : bool
            Whether to check that the batch is a mix of the reference classes at all; the answer is
            in ``checks["label_shift"]``. See :func:`truemix.checks.label_shift`.

        Returns
        -------
        Estimate
        """
        scored = self._score(X)
        everything, seed = [np.arange(scored.shape[1])], self._seed()
        checks = self._checks(scored, everything, seed, check)
        inference = self._infer_scored(scored, everything, seed)[0]
        return self._estimate(scored, inference, checks[0])

    def quantify_by(self, X: Any, groups: Any, *, check: bool = False) -> EstimateSet:
        """Estimate the mix of each group of items (week, region, …), scoring each item once.

        Parameters
        ----------
        X : array-like or data frame
            All items.
        groups : array-like of shape (n,)
            The group of each item: strings, numbers or dates.
        check : bool
            As for :meth:`quantify`; p-values are adjusted for the number of groups.

        Returns
        -------
        EstimateSet
            One estimate per group, sorted as people would: week 9 before week 10, months as in
            the calendar.
        """
        scored = self._score(X)
        keys, members = groups_of(groups, scored.shape[1])
        seed = self._seed()
        checks = self._checks(scored, members, seed, check)
        inferences = self._infer_scored(scored, members, seed)
        return EstimateSet(
            {
                key: self._estimate(scored[:, rows], inference, own)
                for key, rows, inference, own in zip(keys, members, inferences, checks, strict=True)
            }
        )

    def _checks(
        self, scored: FloatArray, bags: list[IntArray], seed: int | None, wanted: bool
    ) -> list[dict[str, Check]]:
        """Return the checks of each bag, by their names."""
        if not wanted:
            return [{} for _ in bags]
        from truemix.checks.checking import check_scored

        # Methods without a seed of their own give the same answer each time; so does this.
        found = check_scored(self, scored, bags, random_state=0 if seed is None else seed)
        return [{"label_shift": each} for each in found]

    def _scoring(self) -> Scoring:
        """Return how items become posteriors: where it is equal, so are the posteriors."""
        return Scoring(self.classifier, self.cv, self._hard, self.crossfit)

    def _fit_scored(
        self, posteriors: FloatArray, codes: IntArray, classes: AnyArray, scorer: Scorer
    ) -> None:
        """Learn from references that have been scored; ``scorer`` will score targets."""
        order = reference_order(posteriors, codes)
        # Copies: the user's arrays may change after fit.
        posteriors, codes = posteriors[order], codes[order]
        self.classes_ = classes
        self.train_prevalence_ = np.bincount(codes, minlength=len(classes)) / len(codes)
        self._scorer = scorer
        self._references = (posteriors, codes)
        self._learn(posteriors, codes)
        self._source = self._fingerprint(posteriors, codes)

    def _fingerprint(self, posteriors: FloatArray, codes: IntArray) -> str:
        """Return what tells replicates of these references under these settings from others."""
        settings = {k: v for k, v in self._settings().items() if k not in NOT_IN_REPLICATES}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
        for array in (posteriors, codes):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.classifier is not None:
            features = get_tags(self.classifier).input_tags
            tags.input_tags.sparse = features.sparse
            tags.input_tags.allow_nan = features.allow_nan
        return tags

    def _score(self, X: Any) -> FloatArray:
        if not hasattr(self, "classes_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit with labelled reference "
                "items before asking for an estimate."
            )
        return self._scorer(X)

    def _estimate(
        self, scored: FloatArray, inference: Inference, checks: dict[str, Check]
    ) -> Estimate:
        decided = np.bincount(scored.argmax(axis=2).ravel(), minlength=len(self.classes_))
        return Estimate(
            classes=self.classes_,
            prevalence=inference.prevalence,
            counted=decided / decided.sum(),
            train_prevalence=self.train_prevalence_,
            n_items=scored.shape[1],
            method=type(self).__name__,
            settings={**self._settings(), **inference.settings},
            diagnostics=inference.diagnostics,
            estimand=getattr(self, "estimand", "batch"),
            draws=inference.draws,
            other_draws=inference.other_draws,
            unknown=inference.unknown,
            replicates=self._replicates(inference),
            checks=checks,
        )

    def _replicates(self, inference: Inference) -> Replicates | None:
        """Return where draws come from, if there are replicates that other batches share."""
        if inference.replicate is None:
            return None
        seed = inference.settings.get("random_state")
        return Replicates(inference.replicate, f"{self._source}-{seed}")

    def _settings(self) -> dict[str, Any]:
        given = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        return {**given, **self._resolved(), "version": __version__}

    def _remember_columns(self, X: Any) -> None:
        """Set what scikit-learn expects an estimator to know about its input."""
        if isinstance(self._scorer, GivenPosteriors):
            self.n_features_in_ = len(self.classes_)
        else:
            self.n_features_in_ = np.shape(X)[1]
        names = column_names(X)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def rows_of(versions: FloatArray, rows: IntArray) -> FloatArray:
    """Return the evidence of some items, that of all versions below each other."""
    return versions[:, rows].reshape(-1, versions.shape[2])


def pooled(versions: FloatArray, bags: list[IntArray]) -> tuple[FloatArray, list[IntArray]]:
    """Return all versions below each other as one matrix, and the rows of each bag in it."""
    n_versions, n_items, n_classes = versions.shape
    first = n_items * np.arange(n_versions)[:, None]
    return versions.reshape(-1, n_classes), [(first + rows).ravel() for rows in bags]


def gathered(scored: FloatArray, bags: list[IntArray]) -> tuple[FloatArray, list[IntArray]]:
    """Return the scores of the items in some bags, bag after bag, and the rows of each bag there.

    Without a copy where these are all items in their order, as in most calls.

    Examples
    --------
    >>> scored = np.array([[[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]])
    >>> part, rows = gathered(scored, [np.array([2]), np.array([1, 2])])
    >>> part[0, :, 0], [each.tolist() for each in rows]
    (array([0.4, 0.2, 0.4]), [[0], [1, 2]])
    """
    every = np.concatenate(bags)
    ends = np.cumsum([len(rows) for rows in bags])
    in_order = np.array_equal(every, np.arange(scored.shape[1]))
    part = scored if in_order else scored[:, every]
    return part, np.split(np.arange(len(every)), ends[:-1])


def read_labels(X: Any, y: Any, classes: Any = None) -> tuple[IntArray, AnyArray]:
    """Return the class number of each row of X, and the classes in their order."""
    labels = labels_of(y)
    order = np.unique(labels) if classes is None else check_classes(classes)
    check_one_class_is_not_enough(order)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    check_same_length(n_rows, labels)
    return encode_labels(labels, order), order


def _plain(value: Any) -> Any:
    """Return a parameter as something that can be printed and written to JSON."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return repr(value)
