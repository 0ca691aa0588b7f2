"""Model selection as in the paper: the setting with the smallest error on validation bags."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from truemix import evaluate
from truemix.exceptions import InputError
from truemix.selection import GridSearch, calibrate_temperature
from truemix_experiments.files import atomic_write, read_json
from truemix_experiments.methods import (
    METHODS,
    Method,
    Setting,
    grid_of,
    point_quantifier,
    quantifier_of,
    settings_of,
)
from truemix_experiments.running.scores import ScoreFiles, Scores
from truemix_experiments.running.stages import Bags

METRIC = "absolute_error"


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
        settings = settings_of(point, self._scores.settings)
        if found.classifier not in self._scores.candidates() or found.setting not in settings:
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

    def _choose(self, point: str) -> Choice:
        found: list[tuple[float, Setting, Setting]] = []
        unconverged, seconds = 0, 0.0
        for classifier in self._scores.candidates():
            scores = self._scores.read(classifier)
            start = time.perf_counter()
            error, setting = self._best(point, scores)
            found.append((error, classifier, setting))
            unconverged += bool(scores.unconverged)
            seconds += time.perf_counter() - start
        n_candidates = len(found) * len(settings_of(point, self._scores.settings))
        # The first of equal ones.
        error, classifier, setting = min(found, key=lambda each: each[0])
        return Choice(classifier, setting, error, n_candidates, unconverged, seconds)

    def _best(self, point: str, scores: Scores) -> tuple[float, Setting]:
        """Return the smallest error on the bags under one classifier, and the setting it has."""
        stage = self._scores.stage
        references = scores.references, stage.references.y
        grid = grid_of(point, self._scores.settings)
        quantifier = point_quantifier(point, {})
        if not grid:
            fitted = quantifier.fit(*references, classes=stage.classes)
            found = evaluate(fitted, scores.pool, None, protocol=self._bags, metrics=[METRIC])
            return float(found[METRIC].mean()), {}
        search = GridSearch(
            quantifier,
            grid,
            protocol=self._bags,
            metric=METRIC,
            validation=(scores.pool, None),
            refit=False,
            verbose=False,
        ).fit(*references, classes=stage.classes)
        if len(search.results_) < len(settings_of(point, self._scores.settings)):
            # A search that is interrupted takes the best so far; a choice is made of all or none.
            raise KeyboardInterrupt
        return search.best_score_, search.best_params_

    def _calibrate(self, method: Method) -> Temperature:
        choice = self.of(method.point)
        rules, stage = self._scores.settings, self._scores.stage
        scores = self._scores.read(choice.classifier)
        start = time.perf_counter()
        quantifier = quantifier_of(METHODS[method.base], choice.setting, rules)
        calibrated = calibrate_temperature(
            quantifier.set_params(draws=rules.calibration_draws),
            scores.references,
            stage.references.y,
            classes=stage.classes,
            protocol=self._bags,
            grid=rules.temperature,
            level=rules.level,
            validation=(scores.pool, None),
            verbose=False,
        )
        results = calibrated.results
        tried = zip(results["temperature"].tolist(), results["winkler_score"].tolist(), strict=True)
        found = {f"{temperature:g}": score for temperature, score in tried}
        return Temperature(calibrated.temperature, found, time.perf_counter() - start)


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
