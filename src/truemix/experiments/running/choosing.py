"""Model selection as in the paper: the setting with the smallest error on validation bags."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from truemix._files import atomic_write
from truemix.experiments.methods import (
    METHODS,
    Method,
    Setting,
    grids_of,
    point_quantifier,
    quantifier_of,
)
from truemix.experiments.protocol import BenchSettings
from truemix.experiments.running.scores import ScoreFiles, Scores
from truemix.experiments.running.stages import Bags
from truemix.quantifiers.sampling import BayesianMixin
from truemix.quantifiers.scoring import GivenPosteriors
from truemix.selection._search import _judge as judge_settings
from truemix.selection._validation import Scored, Validation
from truemix.selection.temperature import _judge as judge_temperature


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

    def of(self, point: str) -> Choice:
        """Return the chosen setting of a point method."""
        return Choice(**self._kept(f"choice-{point}", lambda: asdict(self._choose(point))))

    def temperature(self, method: Method) -> Temperature:
        """Return the chosen temperature of a Bayesian method."""
        name = f"temperature-{method.base}"
        return Temperature(**self._kept(name, lambda: asdict(self._calibrate(method))))

    def _kept(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        path = self._folder / f"{name}.json"
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            made = make()
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as file:
                file.write(json.dumps(made, indent=1).encode())
            # Read back, so that a later run sees the same.
            found = json.loads(path.read_text(encoding="utf-8"))
        return found

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
