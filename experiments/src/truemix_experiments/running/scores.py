"""Posteriors of all items under each setting of the classifier, kept in files.

References are scored out-of-fold, the pool by the model refitted on all of them, as in the paper,
and for evaluation also by the fold models (cross-fitting). Training is the expensive part, so its
results are kept for runs that are resumed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truemix.exceptions import InputError
from truemix.validation import check_posteriors
from truemix_experiments import kept_arrays
from truemix_experiments._typing import FloatArray, IntArray
from truemix_experiments.methods import Setting
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.running.stages import Bags, Stage

ARRAYS = ("references", "pool", "folds", "sizes", "truth")
NUMBERS = ("unconverged", "seconds")


@dataclass(frozen=True)
class Scores:
    """Posteriors of the items of a stage under one setting of the classifier.

    Attributes
    ----------
    references : ndarray of shape (m, K)
    pool : ndarray of shape (1, n, K)
    folds : ndarray of shape (models, n, K)
        The pool under each model of the folds; no models while settings are chosen.
    sizes, truth : ndarrays
        Items and mix of each published bag; empty without them.
    unconverged : int
        Models that had not converged at the last step.
    seconds : float
        Time it took.
    """

    references: FloatArray
    pool: FloatArray
    folds: FloatArray
    sizes: IntArray
    truth: FloatArray
    unconverged: int = 0
    seconds: float = 0.0

    def published_bags(self) -> Bags:
        """Return the published bags as rows of the pool."""
        ends = np.cumsum(self.sizes)
        return Bags(np.split(np.arange(ends[-1]), ends[:-1]), self.truth)


class ScoreFiles:
    """The scores of a stage: from files, or made and then kept there."""

    def __init__(self, stage: Stage, folder: Path, settings: BenchSettings) -> None:
        self.stage = stage
        self.settings = settings
        self._folder = folder
        self._given: Scores | None = None
        # Files that were there, but could not be used.
        self.damaged: list[Path] = []

    def candidates(self) -> list[Setting]:
        """Return the settings of the classifier to choose from; one without any for posteriors."""
        return [{}] if self.stage.given else self.settings.classifiers()

    def read(self, setting: Setting) -> Scores:
        """Return the scores under a setting."""
        if self.stage.given:
            self._given = self._given or _given(self.stage)
            return self._given
        path = self._path(setting)
        if path.exists():
            try:
                return _load(path)
            except InputError:
                self.damaged.append(path)
        found: Scores | None = None
        # Published bags take long to read: once for all settings that will be needed.
        together = self.stage.fixed is not None and self.stage.name == "choose"
        missing = [setting]
        if together:
            missing = [s for s in self.candidates() if not self._path(s).exists() or s == setting]
        for each, scores in zip(missing, train(self.stage, missing, self.settings), strict=True):
            _save(self._path(each), scores)
            found = scores if each == setting else found
        if found is None:
            raise LookupError(setting)
        return found

    def _path(self, setting: Setting) -> Path:
        weight = setting["class_weight"] or "unweighted"
        return self._folder / f"{self.stage.name}-C{setting['C']:g}-{weight}.npz"


def train(stage: Stage, settings: Sequence[Setting], rules: BenchSettings) -> Iterator[Scores]:
    """Train classifiers on the references and score everything, for one setting after the other."""
    trained = [_Trained(stage, setting, rules) for setting in settings]
    sizes, truth = [], []
    for X, mix in stage.blocks():
        for each in trained:
            each.score(X)
        if mix is not None:
            sizes.append(X.shape[0])
            truth.append(mix)
    for each in trained:
        yield each.scores(np.array(sizes, dtype=np.intp), np.array(truth))


class _Trained:
    """The models of one setting, and their posteriors of the pool so far."""

    def __init__(self, stage: Stage, setting: Setting, rules: BenchSettings) -> None:
        from sklearn.linear_model import LogisticRegression

        from truemix.quantifiers import cross_fit

        start = time.perf_counter()
        classifier = LogisticRegression(**setting, max_iter=rules.max_iter, tol=rules.tol)
        references = stage.references
        self._models = cross_fit(
            classifier, references.X, references.y, cv=rules.cv, classes=stage.classes
        )
        models = (*self._models.fold_models, self._models.refitted)
        self._unconverged = sum(int(max(each.n_iter_) >= rules.max_iter) for each in models)
        # The refitted model scores the pool as in the paper, the fold models only for evaluation.
        self._in_folds = stage.name == "evaluate"
        self._pool: list[FloatArray] = []
        self._folds: list[FloatArray] = []
        self._seconds = time.perf_counter() - start

    def score(self, X: Any) -> None:
        """Score more items of the pool."""
        start = time.perf_counter()
        self._pool.append(self._models.score(X))
        if self._in_folds:
            self._folds.append(self._models.score(X, crossfit=True))
        self._seconds += time.perf_counter() - start

    def scores(self, sizes: IntArray, truth: FloatArray) -> Scores:
        """Return everything, and forget it."""
        pool = np.concatenate(self._pool, axis=1)
        folds = np.concatenate(self._folds, axis=1) if self._in_folds else _no_models(pool)
        self._pool.clear()
        self._folds.clear()
        return Scores(
            references=self._models.posteriors,
            pool=pool,
            folds=folds,
            sizes=sizes,
            truth=truth,
            unconverged=self._unconverged,
            seconds=self._seconds,
        )


def _given(stage: Stage) -> Scores:
    """Return posteriors that are the data."""
    references, pool = (
        check_posteriors(X, n_classes=stage.n_classes)
        for X in (stage.references.X, np.concatenate([X for X, _ in stage.blocks()]))
    )
    none = np.empty(0, np.intp), np.empty(0)
    return Scores(references, pool[None], _no_models(pool[None]), *none)


def _no_models(pool: FloatArray) -> FloatArray:
    return np.empty((0, *pool.shape[1:]))


def _save(path: Path, scores: Scores) -> None:
    numbers = {name: np.array(getattr(scores, name)) for name in NUMBERS}
    kept_arrays.write(path, {**{name: getattr(scores, name) for name in ARRAYS}, **numbers})


def _load(path: Path) -> Scores:
    """Return what a file holds that is whole."""
    found = kept_arrays.read(path, (*ARRAYS, *NUMBERS))
    contents: dict[str, Any] = {name: found[name] for name in ARRAYS}
    return Scores(**contents, **{name: found[name].item() for name in NUMBERS})
