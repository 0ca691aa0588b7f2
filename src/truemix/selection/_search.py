"""Score many settings on validation bags, computing shared work only once.

Settings share, from the outside in: the split and its bags; per classifier setting, the trained
classifier and all posteriors; per density setting (for KDEy: kernel and shrinkage), the distances;
and per bag, the mix under the neighbouring setting, as a warm start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.parallel import Parallel, delayed

from truemix._typing import FloatArray
from truemix.quantifiers import Quantifier
from truemix.quantifiers.scoring import Scoring
from truemix.quantifiers.wiring import mixes_of_many
from truemix.selection._settings import Setting, naming
from truemix.selection._validation import Scored, Validation
from truemix.selection.scores import errors


@dataclass(frozen=True)
class Result:
    """One finished setting."""

    number: int
    score: float
    standard_error: float
    seconds: float


def search(
    settings: list[Setting],
    quantifiers: list[Quantifier],
    validation: Validation,
    *,
    metric: Any,
    n_jobs: int | None,
) -> Iterator[Result]:
    """Yield finished settings, classifier by classifier; ``quantifiers`` are fitted on the way."""
    groups: dict[Hashable, list[int]] = {}
    for number, quantifier in enumerate(quantifiers):
        scoring = quantifier.scoring()
        key = fingerprint((scoring.classifier, scoring.cv, scoring.hard, scoring.crossfit))
        groups.setdefault(key, []).append(number)
    members = list(groups.values())
    jobs = (
        delayed(_score)(validation, quantifiers[numbers[0]].scoring(), settings[numbers[0]])
        for numbers in members
    )
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    with closing(run(jobs)) as scored:
        for numbers, (posteriors, seconds) in zip(members, scored, strict=True):
            group = [settings[number] for number in numbers], [quantifiers[n] for n in numbers]
            for result in _evaluate(*group, validation, posteriors, metric):
                yield Result(
                    numbers[result.number],
                    result.score,
                    result.standard_error,
                    result.seconds + seconds / len(numbers),
                )


def _evaluate(
    settings: list[Setting],
    quantifiers: list[Quantifier],
    validation: Validation,
    posteriors: Scored,
    metric: Any,
) -> Iterator[Result]:
    """Yield the results of the settings that share one classifier setting."""
    fitting = []
    for setting, quantifier in zip(settings, quantifiers, strict=True):
        with naming(setting):
            seconds, _ = _timed(validation.fit, quantifier, posteriors)
        fitting.append(seconds)
    for members in _of_one_kind(quantifiers):
        models = [quantifiers[number].model_ for number in members]
        inferences = [quantifiers[number].inference_ for number in members]
        train = validation.train_prevalence
        groups = mixes_of_many(models, inferences, *posteriors.pool, train)
        while True:
            shared, group = _timed(next, groups, None)
            if group is None:
                break
            numbers, mixes_in_turn = [members[place] for place in group[0]], group[1]
            for number in numbers:
                start = time.perf_counter()
                with naming(settings[number]):
                    mixes = next(mixes_in_turn)
                    error = errors(
                        metric,
                        validation.truth,
                        mixes,
                        sizes=validation.sizes,
                        train_prevalence=train,
                    )
                seconds = fitting[number] + shared / len(numbers) + time.perf_counter() - start
                yield Result(number, float(error.mean()), _standard_error(error), seconds)


def _of_one_kind(quantifiers: list[Quantifier]) -> list[list[int]]:
    """Return the numbers of quantifiers whose models are of one class: these may share work."""
    kinds: dict[type, list[int]] = {}
    for number, quantifier in enumerate(quantifiers):
        kinds.setdefault(type(quantifier.model_), []).append(number)
    return list(kinds.values())


def fingerprint(value: Any) -> Hashable:
    """Return a hashable value that is equal for equal classifiers, such as clones.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> fingerprint(GaussianNB()) == fingerprint(GaussianNB())
    True
    >>> fingerprint(GaussianNB()) == fingerprint(GaussianNB(var_smoothing=0.1))
    False
    """
    try:
        content: str = joblib.hash(value)
        return content
    except Exception:
        # A part cannot be pickled, such as a lambda: hash the parts separately.
        if isinstance(value, list | tuple):
            return tuple(fingerprint(item) for item in value)
        if hasattr(value, "get_params") and not isinstance(value, FrozenEstimator):
            parameters = sorted(value.get_params(deep=False).items())
            return (type(value), *[(name, fingerprint(item)) for name, item in parameters])
        return id(value)


def _score(validation: Validation, scoring: Scoring, setting: Setting) -> tuple[Scored, float]:
    with naming(setting):
        seconds, scored = _timed(validation.score, scoring)
    return scored, seconds


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def _standard_error(error: FloatArray) -> float:
    if len(error) < 2 or not np.isfinite(error).all():
        return float("nan")
    return float(error.std(ddof=1) / np.sqrt(len(error)))
