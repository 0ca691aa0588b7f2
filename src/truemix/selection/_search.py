"""Judge many settings, doing what they have in common only once.

Settings share, from the outside in: the split and its bags; per classifier setting the trained
classifier and all posteriors; per density setting (for KDEy kernel and shrinkage) the distances;
and per bag the answer of the neighbouring setting, from which the next one starts.
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
from truemix.selection._scores import errors
from truemix.selection._settings import Setting, naming
from truemix.selection._validation import Scored, Validation


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
        scoring = quantifier._scoring()
        key = fingerprint((scoring.classifier, scoring.cv, scoring.hard, scoring.crossfit))
        groups.setdefault(key, []).append(number)
    members = list(groups.values())
    jobs = (
        delayed(_score)(validation, quantifiers[numbers[0]]._scoring(), settings[numbers[0]])
        for numbers in members
    )
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    with closing(run(jobs)) as scored:
        for numbers, (posteriors, seconds) in zip(members, scored, strict=True):
            own = [settings[number] for number in numbers], [quantifiers[n] for n in numbers]
            for result in _judge(*own, validation, posteriors, metric):
                yield Result(
                    numbers[result.number],
                    result.score,
                    result.standard_error,
                    result.seconds + seconds / len(numbers),
                )


def _judge(
    settings: list[Setting],
    quantifiers: list[Quantifier],
    validation: Validation,
    posteriors: Scored,
    metric: Any,
) -> Iterator[Result]:
    """Yield the settings of one classifier."""
    fitting = []
    for setting, quantifier in zip(settings, quantifiers, strict=True):
        with naming(setting):
            seconds, _ = _timed(validation.fit, quantifier, posteriors)
        fitting.append(seconds)
    seeds = [quantifier._seed() for quantifier in quantifiers]
    groups = type(quantifiers[0])._versions_of_many(quantifiers, posteriors.pool, seeds)
    while True:
        shared, group = _timed(next, groups, None)
        if group is None:
            return
        mixes = None
        for number, versions in zip(*group, strict=True):
            start = time.perf_counter()
            with naming(settings[number]):
                quantifier, seed = quantifiers[number], seeds[number]
                mixes = quantifier._mixes(versions, validation.bags, seed, mixes)
                error = errors(metric, validation, mixes)
            seconds = fitting[number] + shared / len(group[0]) + time.perf_counter() - start
            yield Result(number, float(error.mean()), _standard_error(error), seconds)


def fingerprint(value: Any) -> Hashable:
    """Return something that is equal for equal classifiers, also for copies of one.

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
        # Something inside cannot be pickled, such as a lambda: look at the parts one by one.
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
