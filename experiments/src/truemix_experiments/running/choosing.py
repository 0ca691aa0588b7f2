"""Model selection as in the paper: the setting with the smallest error on validation bags."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from truemix.exceptions import InputError
from truemix.quantifiers.sampling import BayesianMixin
from truemix.quantifiers.scoring import GivenPosteriors
from truemix.selection._search import _judge as judge_settings
from truemix.selection._validation import Scored, Validation
from truemix.selection.temperature import _judge as judge_temperature
from truemix_experiments.files import atomic_write, read_json
from truemix_experiments.methods import (
    METHODS,
    Method,
    Setting,
    grids_of,
    point_quantifier,
    quantifier_of,
)
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.running.scores import ScoreFiles, Scores
from truemix_experiments.running.stages import Bags


@dataclass(frozen=True)
class Choice:
    """What was chosen for a point method.

    Attributes
    ----------
    classifier : dict
        Setting of the classifier; empty for given posteriors.
    setting : dict
        Setting of the quantifier.
    error : float
        Mean absolute error on the validation bags.
    n_candidates : int
        How many settings there were.
    unconverged : int
        Candidates with a classifier that had not converged.
    seconds : float
        Time it took, without the training of classifiers.
    """

    classifier: Setting
    setting: Setting
    error: float
    n_candidates: int
    unconverged: int
    seconds: float


@dataclass(frozen=True)
class Temperature:
    """The temperature that was chosen for a Bayesian method, and the score of each."""

    temperature: float
    scores: dict[str, float]
    seconds: float


class Choices:
    """What is chosen on the validation bags, each thing once; kept in files."""

    def __init__(self, scores: ScoreFiles, bags: Bags, folder: Path) -> None:
        self._scores, self._bags, self._folder = scores, bags, folder
        # Files that were there, but could not be used.
        self.damaged: list[Path] = []

    def of(self, point: str) -> Choice:
        """Return the chosen setting of a point method."""
        name = f"choice-{point}"
        found = Choice(**self._kept(name, Choice, lambda: asdict(self._choose(point))))
        grids = grids_of(point, self._scores.settings)
        if found.classifier not in self._scores.candidates() or not any(
            found.setting in grid for grid in grids
        ):
            raise self._strange(name)
        return found

    def temperature(self, method: Method) -> Temperature:
        """Return the chosen temperature of a Bayesian method."""
        name = f"temperature-{method.base}"
        found = Temperature(
            **self._kept(name, Temperature, lambda: asdict(self._calibrate(method)))
        )
        if found.temperature not in self._scores.settings.temperature:
            raise self._strange(name)
        return found

    def _strange(self, name: str) -> InputError:
        return InputError(
            f"The file {str(self._path(name))!r} holds a choice that there was not; delete it."
        )

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _kept(
        self, name: str, kind: type[Any], make: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        path = self._path(name)
        try:
            return read_sealed(path, {each.name for each in fields(kind)})
        except FileNotFoundError:
            pass
        except (OSError, ValueError):
            self.damaged.append(path)
        write_sealed(path, make())
        # Read back, so that a later run sees the same.
        return read_sealed(path, {each.name for each in fields(kind)})

    def _validation(self, scores: Scores) -> tuple[Validation, Scored]:
        stage = self._scores.stage
        parts = Validation(
            references=None,
            codes=stage.references.y,
            pool=None,
            classes=stage.classes,
            bags=self._bags.rows,
            truth=self._bags.truth,
        )
        return parts, Scored(scores.references, GivenPosteriors(stage.classes), scores.pool)

    def _choose(self, point: str) -> Choice:
        rules = self._scores.settings
        found: list[tuple[float, Setting, Setting]] = []
        unconverged, seconds = 0, 0.0
        for classifier in self._scores.candidates():
            scores = self._scores.read(classifier)
            start = time.perf_counter()
            parts, scored = self._validation(scores)
            for grid in grids_of(point, rules):
                named = [{**classifier, **setting} for setting in grid]
                quantifiers = [point_quantifier(point, setting) for setting in grid]
                judged = judge_settings(named, quantifiers, parts, scored, "absolute_error")
                found += [(each.score, classifier, grid[each.number]) for each in judged]
            unconverged += bool(scores.unconverged)
            seconds += time.perf_counter() - start
        # The first of equal ones.
        error, classifier, setting = min(found, key=lambda each: each[0])
        return Choice(classifier, setting, error, len(found), unconverged, seconds)

    def _calibrate(self, method: Method) -> Temperature:
        choice = self.of(method.point)
        rules: BenchSettings = self._scores.settings
        scores = self._scores.read(choice.classifier)
        start = time.perf_counter()
        parts, scored = self._validation(scores)
        fitted = quantifier_of(METHODS[method.base], choice.setting, rules)
        if not isinstance(fitted, BayesianMixin):
            raise TypeError(f"{method.name} has no temperature")
        fitted.set_params(draws=rules.calibration_draws)
        parts.fit(fitted, scored)
        versions = fitted._versions(scored.pool, fitted._seed())
        found = {}
        for temperature in rules.temperature:
            fitted.set_params(temperature=temperature)
            judged = judge_temperature(fitted, versions, parts, rules.level)
            found[f"{temperature:g}"] = judged["winkler_score"]
        best = min(rules.temperature, key=lambda each: found[f"{each:g}"])
        return Temperature(best, found, time.perf_counter() - start)


def write_sealed(path: Path, contents: dict[str, Any]) -> None:
    """Write a JSON file with the checksum of its contents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        sealed = {"sha256": _sha256(contents), "contents": contents}
        file.write(json.dumps(sealed, indent=1, allow_nan=False).encode())


def read_sealed(path: Path, names: set[str]) -> dict[str, Any]:
    """Return the contents of a file that :func:`write_sealed` wrote, or raise a ValueError."""
    found = read_json(path.read_bytes())
    if not isinstance(found, dict) or set(found) != {"sha256", "contents"}:
        raise ValueError("it has no checksum")
    contents = found["contents"]
    if not isinstance(contents, dict) or set(contents) != names:
        raise ValueError("it holds something else")
    if found["sha256"] != _sha256(contents):
        raise ValueError("its checksum is wrong")
    return contents


def _sha256(contents: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
