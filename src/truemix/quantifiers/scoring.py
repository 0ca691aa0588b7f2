"""Scoring: from items to posteriors, given as they are or by a scikit-learn classifier.

References are scored out of fold, because a model is overconfident on its own training items, whose
posteriors would not be distributed like those of new items. Targets are scored by the model
refitted on everything or, with cross-fitting, by each of the fold models: then references and
targets of a class have the same distribution of posteriors.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from truemix._progress import progress
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.quantifiers.content_order import feature_order
from truemix.quantifiers.decision_columns import are_decisions
from truemix.quantifiers.decisions import KNOWN, read_references
from truemix.tables import check_container, features_of, labels_of, posteriors_of
from truemix.validation import (
    check_classes,
    check_cv,
    check_labels,
    check_one_class_is_not_enough,
    check_same_length,
    encode_labels,
    parameter_error,
    shown_list,
)


class Scorer(Protocol):
    """Turns what the user passes as X into posteriors in class order, ``(models, n, K)``."""

    def __call__(self, X: Any) -> FloatArray:
        """Score items."""
        ...


@dataclass(frozen=True)
class GivenPosteriors:
    """X holds posteriors already."""

    classes: AnyArray

    def __call__(self, X: Any) -> FloatArray:
        """Check the posteriors and put their columns in class order.

        Posteriors by several models are an array ``(M, n, K)``.
        """
        if isinstance(X, np.ndarray) and X.ndim == 3:
            if not len(X):
                raise InputError("X holds the posteriors of no model; expected at least one.")
            return np.stack([posteriors_of(layer, self.classes) for layer in X])
        return posteriors_of(X, self.classes)[None]


@dataclass(frozen=True)
class ClassifierScorer:
    """X holds features; one or several fitted models score them."""

    models: tuple[Any, ...]
    classes: AnyArray
    hard: bool

    def __call__(self, X: Any) -> FloatArray:
        """Return each model's posteriors, or its decisions as ones and zeros."""
        features = features_of(X)
        return np.stack(
            [_scores(model, features, self.classes, hard=self.hard) for model in self.models]
        )


@dataclass(frozen=True)
class Scoring:
    """The parameters that determine how a quantifier scores items."""

    classifier: Any
    cv: Any
    hard: bool
    crossfit: Any
    # Which decisions the inference takes, in place of posteriors.
    takes: str = KNOWN

    def __post_init__(self) -> None:
        check_cv(self.cv)
        if not isinstance(self.crossfit, bool | np.bool_):
            raise parameter_error("crossfit", "True or False", self.crossfit)

    def score_references(
        self, X: Any, codes: IntArray, classes: AnyArray
    ) -> tuple[FloatArray, Scorer]:
        """Return the references' posteriors ``(m, K)`` and the scorer for targets.

        With ``hard`` the classifier's ``predict`` is used, and decisions become one-hot rows.
        """
        if self.classifier is None:
            return self.read_references(X, codes, classes)
        _check_method(self.classifier, hard=self.hard)
        if isinstance(self.classifier, FrozenEstimator):
            _check_trained_on(self.classifier, classes)
            scorer = ClassifierScorer((self.classifier,), classes, self.hard)
            return scorer(X)[0], scorer
        return self._train(features_of(X), codes, classes)

    def read_references(
        self, X: Any, codes: IntArray, classes: AnyArray
    ) -> tuple[FloatArray, Scorer]:
        """Return posteriors or decisions that were given, and what reads those of targets."""
        if not are_decisions(X, classes):
            return posteriors_of(X, classes), GivenPosteriors(classes)
        if not self.hard:
            raise InputError(
                "X holds names, but this method needs posteriors, one column of numbers for each "
                "class; use BayesianACC, ACC or CC for decisions, and a classifier for features."
            )
        return read_references(X, codes, classes, self.takes)

    def _train(
        self, features: Any, codes: IntArray, classes: AnyArray
    ) -> tuple[FloatArray, ClassifierScorer]:
        posteriors, models = self.train_folds(features, codes, classes)
        if not self.crossfit:
            models = [self.refit(features, codes, classes)]
        return posteriors, ClassifierScorer(tuple(models), classes, self.hard)

    def train_folds(
        self, features: Any, codes: IntArray, classes: AnyArray
    ) -> tuple[FloatArray, list[Any]]:
        """Return out-of-fold posteriors of the references, and the model of each fold."""
        labels, models = classes[codes], []
        posteriors = np.empty((len(codes), len(classes)))
        folds = list(_folds(self.cv, features, codes, classes))
        with progress("train", len(folds), "folds", inside=True) as work:
            for train, test in folds:
                model = clone(self.classifier).fit(_safe_indexing(features, train), labels[train])
                held_out = _safe_indexing(features, test)
                posteriors[test] = _scores(model, held_out, classes, hard=self.hard)
                models.append(model)
                work.advance()
        return posteriors, models

    def refit(self, features: Any, codes: IntArray, classes: AnyArray) -> Any:
        """Return the classifier trained on all references."""
        order = feature_order(features, codes)
        table, labels = _safe_indexing(features, order), classes[codes[order]]
        with progress("train on all references", inside=True):
            return clone(self.classifier).fit(table, labels)


@dataclass(frozen=True)
class CrossFit:
    """A classifier trained as quantifiers train theirs.

    Attributes
    ----------
    classes : ndarray of shape (K,)
    posteriors : ndarray of shape (m, K)
        Out-of-fold posteriors of the items.
    fold_models : tuple
        The model of each fold; one for each test fold.
    refitted : classifier
        The model trained on all items.
    """

    classes: AnyArray
    posteriors: FloatArray
    fold_models: tuple[Any, ...]
    refitted: Any

    def score(self, X: Any, *, crossfit: bool = False) -> FloatArray:
        """Return posteriors of other items, ``(M, n, K)``.

        Parameters
        ----------
        X : array-like or data frame
            Features.
        crossfit : bool
            By each of the fold models, instead of the one that was trained on everything.
        """
        models = self.fold_models if crossfit else (self.refitted,)
        return ClassifierScorer(models, self.classes, hard=False)(X)


def cross_fit(classifier: Any, X: Any, y: Any, *, cv: Any = 5, classes: Any = None) -> CrossFit:
    """Train a classifier once, for many quantifiers that take posteriors.

    ``KDEy().fit(trained.posteriors, y)`` and then ``quantify(trained.score(X, crossfit=True))`` is
    what ``KDEy(classifier=classifier)`` does by itself.

    Parameters
    ----------
    classifier : scikit-learn classifier
        With ``predict_proba``; it is cloned.
    X, y, classes
        Labelled items, as for ``fit`` of a quantifier.
    cv : int or scikit-learn splitter
        Folds.

    Returns
    -------
    CrossFit

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from truemix.quantifiers import cross_fit
    >>> X, y = [[0.0], [0.2], [0.9], [1.0]] * 5, ["ham", "ham", "spam", "spam"] * 5
    >>> trained = cross_fit(GaussianNB(), X, y)
    >>> trained.posteriors.shape, trained.score([[0.5]], crossfit=True).shape
    ((20, 2), (5, 1, 2))
    """
    codes, order = read_labels(X, y, classes)
    scoring = Scoring(classifier, cv, hard=False, crossfit=False)
    _check_method(classifier, hard=False)
    features = features_of(X)
    posteriors, models = scoring.train_folds(features, codes, order)
    refitted = scoring.refit(features, codes, order)
    return CrossFit(order, posteriors, tuple(models), refitted)


def read_labels(X: Any, y: Any, classes: Any = None) -> tuple[IntArray, AnyArray]:
    """Return the class number of each row of X, and the classes in their order."""
    if y is None:
        check_container(X, "give its items and labels: fit(*data.Xy)")
        raise InputError(
            "fit requires y to be passed, but the target y is None; pass a label for each row of X."
        )
    labels = labels_of(y)
    order = np.unique(labels) if classes is None else check_classes(classes)
    check_one_class_is_not_enough(order)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    check_same_length(n_rows, labels)
    return encode_labels(labels, order), order


def _check_method(classifier: Any, *, hard: bool) -> None:
    if hasattr(classifier, "predict" if hard else "predict_proba"):
        return
    kind = type(getattr(classifier, "estimator", classifier)).__name__
    if hard:
        raise parameter_error("classifier", "a scikit-learn classifier with predict", kind)
    raise InputError(
        f"The classifier {kind} has no predict_proba, but this method needs posteriors. Choose a "
        "classifier that has it, wrap this one in CalibratedClassifierCV, or use CC or ACC."
    )


def _folds(
    cv: Any, features: Any, codes: IntArray, classes: AnyArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (train, test) rows such that each row is tested exactly once."""
    if isinstance(cv, int | np.integer):
        # Content order, so that folds do not depend on the order of rows; a user's splitter gets
        # the rows as they are.
        order = feature_order(features, codes)
        counts = np.bincount(codes, minlength=len(classes))
        if counts.min() < 2:
            label = classes[int(counts.argmin())].item()
            raise InputError(
                f"Class {label!r} has only 1 reference item; scoring it needs a model trained on "
                "another item of its class. Add items, or pass a trained classifier as "
                "FrozenEstimator."
            )
        # Shuffled, because the order is sorted; with a fixed seed, so that deterministic
        # quantifiers stay deterministic.
        from sklearn.model_selection import StratifiedKFold

        n_folds = int(min(cv, counts.max()))
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    else:
        order, splitter = np.arange(len(codes)), cv
    tested = np.zeros(len(codes), dtype=np.intp)
    with warnings.catch_warnings():
        # A class with fewer items than folds is fine: two items are in different folds.
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(splitter.split(features, codes[order]))
    for train, test in splits:
        tested[order[test]] += 1
        yield order[train], order[test]
    if (tested != 1).any():
        row = int(np.flatnonzero(tested != 1)[0])
        raise InputError(
            f"The 'cv' splitter tests row {row} {tested[row]} times; expected each row in exactly "
            "one test fold."
        )


def _check_trained_on(classifier: Any, classes: AnyArray) -> None:
    trained = getattr(classifier, "classes_", None)
    if trained is None:
        raise InputError(
            "The frozen classifier has not been trained (it has no classes_); fit it before "
            "wrapping it in FrozenEstimator."
        )
    known = set(check_labels(trained, "the classifier's classes_").tolist())
    asked = set(classes.tolist())
    if known != asked:
        odd = min(known ^ asked, key=str)
        where = "in the labels" if odd in asked else "known to the classifier"
        raise InputError(
            f"Class {odd!r} is only {where}: the frozen classifier was trained on "
            f"{shown_list(sorted(known, key=str))}, the labels hold "
            f"{shown_list(sorted(asked, key=str))}; expected the same classes."
        )


def _scores(model: Any, features: Any, classes: AnyArray, *, hard: bool) -> FloatArray:
    """Return a fitted model's posteriors with its columns in our class order."""
    position = {label: k for k, label in enumerate(classes.tolist())}
    if hard:
        decided = check_labels(model.predict(features), "the classifier's predictions")
        return np.eye(len(classes))[[position[label] for label in decided.tolist()]]
    raw = np.asarray(model.predict_proba(features), dtype=np.float64)
    # A fold may lack a class: its model gives that class no probability.
    posteriors = np.zeros((len(raw), len(classes)))
    known = check_labels(model.classes_, "the classifier's classes_").tolist()
    posteriors[:, [position[label] for label in known]] = raw
    return posteriors_of(posteriors, classes, "the classifier's predict_proba")
