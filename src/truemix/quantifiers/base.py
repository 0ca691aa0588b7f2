"""Quantifiers: scikit-learn estimators that wire a model and an inference.

A quantifier names its two parts, and everything else is written once, here:

    items -> scorer -> posteriors -> model -> matrix (n, K) -> inference -> result -> Estimate
"""

from __future__ import annotations

import hashlib
import json
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import ClassifierTags, get_tags

from truemix._saved_arrays import read_classes, read_shares, read_text
from truemix._strict_json import MAX_DIGITS
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix._version import __version__
from truemix.estimates import Estimate, EstimateSet
from truemix.estimates.checks import Check
from truemix.estimates.draw_origin import DrawOrigin
from truemix.exceptions import InputError
from truemix.inference.batched import check_bags
from truemix.inference.protocol import MixtureResult
from truemix.quantifiers.content_order import reference_order
from truemix.quantifiers.scoring import GivenPosteriors, Scorer, Scoring, read_labels
from truemix.quantifiers.shares import check_shares, split_result
from truemix.quantifiers.wiring import gathered, infer
from truemix.tables import column_names, groups_of

# Settings on which replicates of the references do not depend.
NOT_IN_REPLICATES = frozenset(
    {"draws", "warmup", "sampler", "prior", "temperature", "estimand", "random_state"}
)
# The forms of a fingerprint and of a seed in a file.
SOURCE = "[0-9a-f]{32}"
SEED = f"[0-9]{{1,{MAX_DIGITS}}}"


class NotFittedError(SklearnNotFittedError):
    """A quantifier was asked for an estimate before it was fitted."""


class Parts(NamedTuple):
    """What a quantifier is made of: a :class:`LikelihoodModel` and an :class:`Inference`."""

    model: Any
    inference: Any


class Quantifier(BaseEstimator, metaclass=ABCMeta):
    """Base of all quantifiers; see :class:`truemix.KDEy` for how one is used.

    Attributes
    ----------
    model_, inference_
        The fitted parts.
    classes_ : ndarray of shape (K,)
        Class labels in the order of all results.
    train_prevalence_ : ndarray of shape (K,)
        Shares in the reference.
    """

    classifier: Any
    cv: Any
    crossfit: Any
    model_: Any
    inference_: Any
    classes_: AnyArray
    train_prevalence_: FloatArray
    n_features_in_: int
    feature_names_in_: AnyArray
    _scorer: Scorer
    # Posteriors and class numbers of the references; absent after loading.
    _references: tuple[FloatArray, IntArray]
    # Fingerprint of the references and settings that replicates are made from.
    _source: str

    @abstractmethod
    def parts(self) -> Parts:
        """Return the unfitted model and inference that the parameters describe.

        Raises
        ------
        InputError
            If a parameter is wrong.
        """

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
        scoring = self.scoring()
        codes, order = read_labels(X, y, classes)
        posteriors, scorer = scoring.score_references(X, codes, order)
        self.fit_scored(posteriors, codes, order, scorer)
        self.remember_columns(X)
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
            The batch, with the same columns as in ``fit``. Without a classifier also posteriors by
            several models of a cross-fitted classifier, ``(M, n, K)``.
        check : bool
            Whether to test the label-shift assumption, that the batch is a mix of the reference
            classes; the result is in ``checks["label_shift"]``. See
            :func:`truemix.checks.label_shift`.

        Returns
        -------
        Estimate
        """
        scored = self.posteriors(X)
        everything = [np.arange(scored.shape[1])]
        return next(self._estimates(scored, everything, check=check))

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
        scored = self.posteriors(X)
        keys, members = groups_of(groups, scored.shape[1])
        estimates = self._estimates(scored, members, check=check)
        return EstimateSet(dict(zip(keys, estimates, strict=True)))

    def quantify_bags(self, X: Any, bags: Sequence[Any]) -> Iterator[Estimate]:
        """Estimate the mix of each of many bags of items, scoring each item once.

        Parameters
        ----------
        X : array-like or data frame
            The pool that all bags are drawn from.
        bags : sequence of arrays of int
            The rows of each bag; rows may repeat, within a bag and between bags.

        Yields
        ------
        Estimate
            One for each bag, the same as ``quantify(X[bag])``; made lazily, a few bags at a time.

        Examples
        --------
        >>> from truemix import PCC
        >>> quantifier = PCC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
        >>> pool = [[0.9, 0.1], [0.1, 0.9]]
        >>> [each.prevalence.tolist() for each in quantifier.quantify_bags(pool, [[0], [0, 1]])]
        [[0.9, 0.1], [0.5, 0.5]]
        """
        scored = self.posteriors(X)
        return self._estimates(scored, check_bags(bags, scored.shape[1]))

    def posteriors(self, X: Any) -> FloatArray:
        """Return the posteriors of items by each model that scores them, ``(M, n, K)``.

        Parameters
        ----------
        X : array-like or data frame
            The batch, with the same columns as in ``fit``.
        """
        if not hasattr(self, "classes_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit with labelled reference "
                "items before asking for an estimate."
            )
        return self._scorer(X)

    # --- for those who score or bag items themselves ------------------------------------------

    def scoring(self) -> Scoring:
        """Return how items are scored; quantifiers with equal scoring have equal posteriors."""
        hard = bool(getattr(self.checked_parts().model, "hard", False))
        return Scoring(self.classifier, self.cv, hard, self.crossfit)

    def checked_parts(self) -> Parts:
        """Return the unfitted parts, or raise for an invalid parameter of theirs."""
        parts = self.parts()
        for part in parts:
            if hasattr(part, "check"):
                part.check()
        return parts

    def fit_scored(
        self, posteriors: FloatArray, codes: IntArray, classes: AnyArray, scorer: Scorer
    ) -> Self:
        """Learn from references that have been scored.

        Parameters
        ----------
        posteriors : ndarray of shape (m, K)
        codes : ndarray of shape (m,)
            Class numbers, each of 0 to K - 1 at least once.
        classes : ndarray of shape (K,)
        scorer : Scorer
            Will score targets.
        """
        parts = self.checked_parts()
        order = reference_order(posteriors, codes)
        # Copies: the user's arrays may change after fit.
        posteriors, codes = posteriors[order], codes[order]
        self.classes_ = classes
        self.train_prevalence_ = np.bincount(codes, minlength=len(classes)) / len(codes)
        self._scorer = scorer
        self._references = (posteriors, codes)
        self.model_, self.inference_ = parts
        self.model_.fit(posteriors, codes, len(classes))
        self.inference_.prepare(classes, self.train_prevalence_)
        self._source = self._fingerprint(posteriors, codes)
        return self

    @property
    def references_(self) -> tuple[FloatArray, IntArray] | None:
        """Posteriors and class numbers of the references, in content order.

        None after loading a file that does not hold them.
        """
        if hasattr(self.model_, "references_"):
            references: tuple[FloatArray, IntArray] = self.model_.references_
            return references
        return getattr(self, "_references", None)

    def settings(self) -> dict[str, Any]:
        """Return all parameters as they were used, with the seed and the version of truemix."""
        given = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        for part in (self.model_, self.inference_):
            given |= part.resolved() if hasattr(part, "resolved") else {}
        return {**given, "version": __version__}

    def state(self) -> dict[str, AnyArray]:
        """Return what was learned from posteriors, as arrays of numbers or text."""
        if not (hasattr(self.model_, "state") and hasattr(self.model_, "restore")):
            raise InputError(
                f"The model {type(self.model_).__name__} has no methods state() and restore(), so "
                "what it learned cannot be written to a file; see truemix.models.Savable."
            )
        learned: dict[str, AnyArray] = {
            "classes": self.classes_,
            "train_prevalence": self.train_prevalence_,
            "source": np.array(self._source),
        }
        if hasattr(self.inference_, "seed_"):
            learned["seed"] = np.array(str(self.inference_.seed_))
        return {**learned, **self.model_.state()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Become the fitted quantifier that ``state`` was taken from; it is untrusted input."""
        # Validates the parameters of scoring, as fit does.
        self.scoring()
        parts = self.checked_parts()
        classes = read_classes(state)
        shares = read_shares(state, "train_prevalence", classes.shape, positive=True)
        source = read_text(state, "source", SOURCE)
        if not hasattr(parts.model, "restore"):
            raise InputError(f"the model {type(parts.model).__name__} cannot be restored")
        parts.model.restore(state, len(classes))
        check_shares(parts.model, shares)
        parts.inference.prepare(classes, shares)
        if hasattr(parts.inference, "seed_"):
            seed = int(read_text(state, "seed", SEED))
            if parts.inference.random_state is None:
                parts.inference.seed_ = seed
        self.model_, self.inference_ = parts
        self.classes_, self.train_prevalence_, self._source = classes, shares, source
        self.n_features_in_ = len(self.classes_)
        self._scorer = GivenPosteriors(self.classes_)

    # --- from scored items to estimates -------------------------------------------------------

    def _estimates(
        self, scored: FloatArray, bags: list[IntArray], *, check: bool = False
    ) -> Iterator[Estimate]:
        checks = self._checks(scored, bags) if check else [{} for _ in bags]
        results = infer(self.model_, self.inference_, scored, bags)
        settings = self.settings()
        for rows, result, bag_checks in zip(bags, results, checks, strict=True):
            part, _ = gathered(scored, [rows])
            yield self._estimate(part, result, bag_checks, settings)

    def _checks(self, scored: FloatArray, bags: list[IntArray]) -> list[dict[str, Check]]:
        """Return the checks of each bag, by their names."""
        from truemix.checks.checking import check_scored

        # A fixed seed for deterministic methods, so that their checks are deterministic, too.
        seed = getattr(self.inference_, "seed_", 0)
        shift_checks = check_scored(self, scored, bags, random_state=seed)
        return [{"label_shift": check} for check in shift_checks]

    def _estimate(
        self,
        scored: FloatArray,
        result: MixtureResult,
        checks: dict[str, Check],
        settings: dict[str, Any],
    ) -> Estimate:
        decided = np.bincount(scored.argmax(axis=2).ravel(), minlength=len(self.classes_))
        shares = split_result(result, self.train_prevalence_)
        return Estimate(
            classes=self.classes_,
            prevalence=shares.prevalence,
            classify_and_count=decided / decided.sum(),
            train_prevalence=self.train_prevalence_,
            n_items=scored.shape[1],
            method=type(self).__name__,
            settings=settings,
            diagnostics=result.diagnostics,
            estimand=getattr(self.inference_, "estimand", "batch"),
            draws=shares.draws,
            other_draws=shares.other_draws,
            unknown=shares.unknown,
            origin=self._origin(result),
            checks=checks,
        )

    def _origin(self, result: MixtureResult) -> DrawOrigin | None:
        """Return the origin of the draws, if they are spread over replicates of the references."""
        if result.replicate is None:
            return None
        return DrawOrigin(result.replicate, f"{self._source}-{self.inference_.seed_}")

    def _fingerprint(self, posteriors: FloatArray, codes: IntArray) -> str:
        """Return a hash of the references and of the settings that replicates depend on."""
        settings = {k: v for k, v in self.settings().items() if k not in NOT_IN_REPLICATES}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
        for array in (posteriors, codes):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if getattr(self.parts().model, "binary", False):
            tags.classifier_tags = ClassifierTags(multi_class=False)
        if self.classifier is not None:
            features = get_tags(self.classifier).input_tags
            tags.input_tags.sparse = features.sparse
            tags.input_tags.allow_nan = features.allow_nan
        return tags

    def remember_columns(self, X: Any) -> None:
        """Set ``n_features_in_`` and ``feature_names_in_``, as scikit-learn expects."""
        if isinstance(self._scorer, GivenPosteriors):
            self.n_features_in_ = len(self.classes_)
        else:
            self.n_features_in_ = np.shape(X)[1]
        names = column_names(X)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def _plain(value: Any) -> Any:
    """Return a parameter as a value that JSON can hold."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return repr(value)
