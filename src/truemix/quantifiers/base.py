"""Quantifiers: scikit-learn estimators that wire a model and an inference.

A quantifier names its two parts, and everything else is written once, here:

    items -> scorer -> posteriors -> model -> matrix (n, K) -> inference -> result -> Estimate
"""

from __future__ import annotations

import hashlib
import json
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import ClassifierTags, get_tags

from truemix._progress import progress
from truemix._saved_arrays import read_classes, read_shares, read_text
from truemix._strict_json import MAX_DIGITS
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix._version import __version__
from truemix.estimates import Estimate, EstimateSet
from truemix.exceptions import InputError
from truemix.inference.batched import check_bags
from truemix.quantifiers.content_order import reference_order
from truemix.quantifiers.decisions import KNOWN, GivenDecisions, scorer_of
from truemix.quantifiers.estimating import estimates_of_batches, estimates_of_pool
from truemix.quantifiers.pool import pool_of_bags
from truemix.quantifiers.scored_batch import ScoredBatch
from truemix.quantifiers.scoring import GivenPosteriors, Scorer, Scoring, read_labels
from truemix.quantifiers.shares import check_shares
from truemix.quantifiers.summarizing import (
    by_longer_periods,
    in_memory,
    in_order,
    key_names,
    places_of,
    summarize,
    summarize_by,
)
from truemix.summaries import Summary
from truemix.tables import column_names

if TYPE_CHECKING:
    from truemix.trust.labelled_estimate import LabelledItems

# Settings on which replicates of the references do not depend.
NOT_IN_REPLICATES = frozenset(
    {
        "draws",
        "warmup",
        "sampler",
        "prior",
        "temperature",
        "estimand",
        "random_state",
        "self_calibration",
    }
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
    # Fingerprint of the classes and references, by which summaries know who scored them.
    scored_by_: str
    # Fingerprint of the references and settings that replicates are made from.
    _source: str
    # How much wider intervals have to be, by the size of the batch; found when it is needed.
    widenings_: dict[int, Any]

    @abstractmethod
    def parts(self) -> Parts:
        """Return the unfitted model and inference that the parameters describe.

        Raises
        ------
        InputError
            If a parameter is wrong.
        """

    def fit(self, X: Any, y: Any = None, *, classes: Any = None) -> Self:
        """Learn from labelled reference items.

        Parameters
        ----------
        X : array-like or data frame of shape (m, K) or (m, n_features)
            Without a classifier: posteriors, one column per class, in the order of the sorted
            labels (or of ``classes``); a data frame's columns are matched by class name. Or, for
            ``BayesianACC``, ``ACC`` and ``CC``, decisions: a column of names ``(m,)``, or text of
            several judges ``(m, J)``.
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
        with progress("fit"):
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

    def quantify(
        self,
        X: Any,
        *,
        check: bool = False,
        labels: Any = None,
        inclusion: Any = None,
        assumption: str = "robust",
    ) -> Estimate:
        """Estimate the mix of classes in a batch, with everything known about the estimate.

        Parameters
        ----------
        X : array-like, data frame, batches or Summary
            The batch, with the same columns as in ``fit``. Without a classifier also posteriors by
            several models of a cross-fitted classifier, ``(M, n, K)``. Or an iterable of batches, a
            ``pyarrow.dataset.Dataset``, a polars ``LazyFrame`` or a Dask ``DataFrame``, which are
            read once, in bounded memory. With more distinct rows than :meth:`summarize` keeps, the
            estimate comes from a sample of them, whose error is part of its intervals
            (``diagnostics["summary"]``).
        check : bool
            Whether to test the label-shift assumption, that the batch is a mix of the reference
            classes; the result is in ``checks["label_shift"]``. See
            :func:`truemix.checks.label_shift`.
        labels : array-like of shape (n,) or mapping, optional
            Labels of some of the items, a probability sample of them (``Estimate.choose_items``
            draws one): one per item, missing (None or NaN) where unlabelled, or a mapping from row
            number to label. Items must then be in memory.
        inclusion : number, array-like of shape (n,) or mapping, optional
            The probability with which each labelled item was chosen, in the same form. By default
            labelled items are a simple random sample.
        assumption : {"robust", "label-shift", "none"}
            With labels: rely on label shift as far as they (and the check, if there is one) agree
            with it; fully; or not at all. ``diagnostics["labels"]`` says what they told. A
            quantifier without draws (KDEy, EMQ, …) cannot be weighed against labels: for it,
            ``"robust"`` is ``"none"``, and the estimate has draws all the same.

        Returns
        -------
        Estimate
        """
        with progress("quantify"):
            batch = ScoredBatch(self, self._summary(X), X if in_memory(X) else None)
            labelled = self._labelled(batch, labels, inclusion, assumption)
            places = [batch.row_of_item] if check and batch.knows_items else None
            # Labels decide between assumptions.
            answers = labelled is None
            [estimate] = estimates_of_batches([batch], places, check=check, answers=answers)
        return estimate if labelled is None else labelled.applied_to(estimate)

    def quantify_by(
        self, X: Any, groups: Any = None, *, every: str | None = None, check: bool = False
    ) -> EstimateSet:
        """Estimate the mix of each group of items (week, region, …), scoring each item once.

        Parameters
        ----------
        X : array-like, data frame, batches, or mapping of group to Summary
            All items, as for :meth:`quantify`; or a summary of each group.
        groups : array-like of shape (n,), data frame, list of tuples, str or tuple of str
            The group of each item: strings, numbers or dates; or the column that holds it. Several
            columns, or a tuple per item, make a group of each combination (region and month). For
            an iterable of batches, an iterable of the groups of each.
        every : {"hour", "day", "week", "month", "quarter", "year"}, optional
            Groups are times, and those of the same period belong together; of several columns, the
            one with times is meant. Of summaries those of longer periods can be made: months of
            days. See :func:`truemix.groups.by_period`.
        check : bool
            As for :meth:`quantify`; p-values are adjusted for the number of groups.

        Returns
        -------
        EstimateSet
            One estimate per group, sorted as people would: week 9 before week 10, months as in
            the calendar. Its ``order`` tells which groups follow each other, and which periods have
            no items.

        Examples
        --------
        >>> from truemix import PCC
        >>> quantifier = PCC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
        >>> times = ["2024-01-31T23:59Z", "2024-02-01T00:00Z", "2024-02-29T12:00Z"]
        >>> items = [[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]]
        >>> found = quantifier.quantify_by(items, times, every="month")
        >>> {month: each.n_items for month, each in found.items()}
        {'2024-01': 1, '2024-02': 2}
        """
        with progress("quantify"):
            if isinstance(X, Mapping) and groups is None:
                given = {group: self._summary(each) for group, each in X.items()}
                summaries = in_order(by_longer_periods(given, every))
            else:
                summaries = self.summarize_by(X, groups, every=every)
            if not summaries:
                raise InputError("X has no groups; expected a summary of at least one.")
            parts = [ScoredBatch(self, summary) for summary in summaries.values()]
            places = None
            if check and groups is not None and in_memory(X):
                places = places_of(self, list(summaries.values()), X, groups, every)
            found = estimates_of_batches(parts, places, check=check)
        by = key_names(groups)
        return EstimateSet(dict(zip(summaries, found, strict=True)), by=by, every=every)

    def summarize(self, X: Any, *, capacity: int | None = None) -> Summary:
        """Return a batch in bounded memory, to be merged, saved and quantified later.

        Parameters
        ----------
        X : array-like, data frame or batches
            As for :meth:`quantify`.
        capacity : int, optional
            How many distinct rows of posteriors to keep. With no more than that the summary is
            exact; of more it keeps a sample. By default 200,000, and less with more than 20
            classes (four million numbers in all).

        Returns
        -------
        Summary
        """
        self._check_fitted()
        return summarize(self, X, capacity)

    def summarize_by(
        self, X: Any, groups: Any, *, every: str | None = None, capacity: int | None = None
    ) -> dict[Any, Summary]:
        """Return the summary of each group of items, from one pass over them.

        Parameters
        ----------
        X, groups, every
            As for :meth:`quantify_by`.
        capacity : int, optional
            As for :meth:`summarize`, of each group; with many large groups all have less, so that
            together they stay in bounded memory.

        Returns
        -------
        dict
            Group to :class:`Summary`, sorted as people would.
        """
        self._check_fitted()
        return summarize_by(self, X, groups, every, capacity)

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
        pool, _ = pool_of_bags(scored, check_bags(bags, scored.shape[1]))
        return estimates_of_pool(self, pool)

    def posteriors(self, X: Any) -> FloatArray:
        """Return the posteriors of items by each model that scores them, ``(M, n, K)``.

        Parameters
        ----------
        X : array-like or data frame
            The batch, with the same columns as in ``fit``.
        """
        self._check_fitted()
        return self._scorer(X)

    @property
    def decisions_(self) -> list[Any] | None:
        """The decisions that columns of the confusion matrix stand for, if it was given decisions.

        Text; of several judges the combinations, or pairs of judge and decision.
        """
        given = self.given_decisions
        return None if given is None else given.decisions

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit with labelled reference "
                "items before asking for an estimate."
            )

    # --- for those who score or bag items themselves ------------------------------------------

    def scoring(self) -> Scoring:
        """Return how items are scored; quantifiers with equal scoring have equal posteriors."""
        model, inference = self.checked_parts()
        hard = bool(getattr(model, "hard", False))
        takes = getattr(inference, "takes_decisions", KNOWN)
        return Scoring(self.classifier, self.cv, hard, self.crossfit, takes)

    @property
    def given_decisions(self) -> GivenDecisions | None:
        """What reads decisions; None for a quantifier of posteriors."""
        scorer = getattr(self, "_scorer", None)
        return scorer if isinstance(scorer, GivenDecisions) else None

    @property
    def given_scorer(self) -> GivenPosteriors | GivenDecisions:
        """What reads items that are scored already, by whatever scored them."""
        return self.given_decisions or GivenPosteriors(self.classes_)

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
        tell_layout(parts.model, scorer)
        order = reference_order(posteriors, codes)
        # Copies: the user's arrays may change after fit.
        posteriors, codes = posteriors[order], codes[order]
        self.classes_ = classes
        self.train_prevalence_ = np.bincount(codes, minlength=len(classes)) / len(codes)
        self._scorer = scorer
        self._references = (posteriors, codes)
        self.widenings_ = {}
        self.model_, self.inference_ = parts
        self.model_.fit(posteriors, codes, len(classes))
        self.inference_.prepare(classes, self.train_prevalence_)
        self._source = self._fingerprint(posteriors, codes)
        names = np.array([str(label) for label in classes.tolist()])
        self.scored_by_ = _digest(names, posteriors, codes)
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
        given |= {} if self.given_decisions is None else self.given_decisions.settings()
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
            "scored_by": np.array(self.scored_by_),
        }
        if hasattr(self.inference_, "seed_"):
            learned["seed"] = np.array(str(self.inference_.seed_))
        if self.given_decisions is not None:
            learned |= self.given_decisions.state()
        return {**learned, **self.model_.state()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Become the fitted quantifier that ``state`` was taken from; it is untrusted input."""
        # Validates the parameters of scoring, as fit does.
        scoring = self.scoring()
        parts = self.checked_parts()
        classes = read_classes(state)
        scorer = scorer_of(state, classes, scoring.takes) or GivenPosteriors(classes)
        tell_layout(parts.model, scorer)
        shares = read_shares(state, "train_prevalence", classes.shape, positive=True)
        source = read_text(state, "source", SOURCE)
        scored_by = read_text(state, "scored_by", SOURCE)
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
        self.classes_, self.train_prevalence_ = classes, shares
        self._source, self.scored_by_ = source, scored_by
        self.widenings_ = {}
        self._scorer = scorer
        self.n_features_in_ = self._n_given_columns

    # --- items and summaries ------------------------------------------------------------------

    def _summary(self, X: Any) -> Summary:
        """Return the summary of X, which may be one already; of this quantifier, or raise."""
        if not isinstance(X, Summary):
            return self.summarize(X)
        self._check_fitted()
        if X.source != self.scored_by_:
            raise InputError(
                "This summary was made by another quantifier; expected one with the same "
                "references, classes and classifier. Summarise the items again with this one."
            )
        return X

    def _labelled(
        self, batch: ScoredBatch, labels: Any, inclusion: Any, assumption: str
    ) -> LabelledItems | None:
        """Return the labels of a batch, read before anything takes long; None without any."""
        if labels is None:
            if inclusion is not None:
                raise InputError(
                    "inclusion is about labelled items, but labels is missing; pass both, or "
                    "neither."
                )
            return None
        from truemix.trust.labelled_estimate import labelled_items

        return labelled_items(batch, labels, inclusion, assumption)

    def _fingerprint(self, posteriors: FloatArray, codes: IntArray) -> str:
        """Return a hash of the references and of the settings that replicates depend on."""
        settings = {k: v for k, v in self.settings().items() if k not in NOT_IN_REPLICATES}
        text = json.dumps(settings, sort_keys=True, default=str)
        return _digest(np.array(text), posteriors, codes)

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

    @property
    def _n_given_columns(self) -> int:
        given = self.given_decisions
        return len(self.classes_) if given is None else given.n_judges

    def remember_columns(self, X: Any) -> None:
        """Set ``n_features_in_`` and ``feature_names_in_``, as scikit-learn expects."""
        if isinstance(self._scorer, GivenPosteriors | GivenDecisions):
            self.n_features_in_ = self._n_given_columns
        else:
            self.n_features_in_ = np.shape(X)[1]
        names = column_names(X)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def tell_layout(model: Any, scorer: Any) -> None:
    """Tell a model, or one inside of it, how decisions are laid out in the rows of a scorer."""
    if isinstance(scorer, GivenDecisions):
        for path in model.get_params(deep=True):
            name = path.rpartition("__")[2]
            if name in {"widths", "spare"}:
                model.set_params(**{path: getattr(scorer, name)})


def _digest(*arrays: AnyArray) -> str:
    """Return a hash of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:32]


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
