"""All runs on one data set: what they share is made once, and what is finished is not repeated."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import Any

from truemix.exceptions import InputError
from truemix.quantifiers import Quantifier
from truemix_experiments.datasets import Data, load_dataset
from truemix_experiments.methods import METHODS, Method, quantifier_of
from truemix_experiments.protocol import prior_of
from truemix_experiments.results import (
    RunKey,
    RunResult,
    _slug,
    read_result,
    result_path,
    write_result,
)
from truemix_experiments.running.choosing import Choice, Choices, Temperature
from truemix_experiments.running.evaluating import evaluate_bags
from truemix_experiments.running.jobs import Job, Report, provenance, steadily
from truemix_experiments.running.scores import ScoreFiles, Scores
from truemix_experiments.running.stages import Bags, digest_of, stages_of

CACHE = ".cache"


def run_dataset(job: Job) -> Report:
    """Load a data set and do all runs of a job that have no result yet."""
    try:
        data = load_dataset(job.dataset, folder=job.data, cache=job.cache, download=job.download)
    except InputError as error:
        return Report(job.dataset, failures=[str(error)])
    return run_loaded(job, data)


def run_loaded(job: Job, data: Data) -> Report:
    """Do all runs of a job on data that are here already.

    A method that fails leaves the others as they are; what failed is in the report.
    """
    report = Report(job.dataset, notes=[f"{job.dataset}: {note}" for note in data.notes])
    start = time.perf_counter()
    with steadily(job):
        try:
            work = _Work(job, data)
        except InputError as error:
            report.failures.append(str(error))
            return report
        for name in job.methods:
            try:
                work.run(METHODS[name])
            # Whatever a method raises, the others are run, and the error is reported.
            except Exception as error:
                report.failures.append(
                    f"{name} failed on {job.dataset} ({type(error).__name__}: {error})."
                )
        report.notes += [
            f"The file {str(path)!r} was damaged and was made again." for path in work.damaged
        ]
    report.seconds = time.perf_counter() - start
    return report


class _Work:
    """The data of a job, with everything that methods have in common."""

    def __init__(self, job: Job, data: Data) -> None:
        self._job, self._data = job, data
        self._settings = job.settings
        self._fingerprint = job.settings.fingerprint(digest_of(data))
        folder = Path(job.out) / CACHE / f"{_slug(job.dataset)}-{self._fingerprint[:12]}"
        choose, self._stage = stages_of(data, job.settings)
        self._scores = ScoreFiles(self._stage, folder, job.settings)
        self._choosing = ScoreFiles(choose, folder, job.settings)
        self._folder = folder
        self._damaged_results: dict[Path, None] = {}

    @cached_property
    def _choices(self) -> Choices:
        stage = self._choosing.stage
        if stage.fixed is None:
            bags = stage.draw(self._settings, 1.0)
        else:
            bags = self._choosing.read(self._choosing.candidates()[0]).published_bags()
        return Choices(self._choosing, bags, self._folder)

    @property
    def damaged(self) -> list[Path]:
        """Files that were there, but could not be used."""
        choices = self.__dict__.get("_choices")
        kept = [] if choices is None else choices.damaged
        return [
            *self._damaged_results,
            *kept,
            *self._choosing.damaged,
            *self._scores.damaged,
        ]

    def run(self, method: Method) -> None:
        """Make the results of a method that are missing."""
        missing = [alpha for alpha in self._alphas if self._known(method, alpha) is None]
        if not missing:
            return
        choice = self._choices.of(method.point)
        temperature = self._choices.temperature(method) if method.calibrated else None
        scores = self._scores.read(choice.classifier)
        chosen_in = choice.seconds + (temperature.seconds if temperature is not None else 0.0)
        if temperature is not None and temperature.temperature == 1.0:
            missing = [a for a in missing if not self._adopt(method, temperature, a, chosen_in)]
        if not missing:
            return
        start = time.perf_counter()
        fitted = self._fit(method, choice, scores, temperature)
        pool = scores.folds if method.own and len(scores.folds) else scores.pool
        fitted_in = time.perf_counter() - start
        for alpha in missing:
            start = time.perf_counter()
            bags = self._bags(alpha, scores)
            if method.kind == "bayesian":
                _set_prior(fitted, prior_of(alpha))
            rows, n_failed = evaluate_bags(
                fitted, pool, bags, self._settings.level, apart=self._stage.fixed is not None
            )
            tested_in = fitted_in + time.perf_counter() - start
            about = {
                **self._about_run(scores),
                "settings": self._described(fitted, choice),
                "seconds": chosen_in + tested_in,
                "seconds_choosing": chosen_in,
                "seconds_testing": tested_in,
                "seconds_training": scores.seconds,
                "n_failed": n_failed,
                "temperatures": temperature.scores if temperature is not None else {},
            }
            key = RunKey(self._job.dataset, method.name, alpha)
            write_result(self._job.out, RunResult(key, rows, about))

    def _adopt(
        self, method: Method, calibrated: Temperature, alpha: float, chosen_in: float
    ) -> bool:
        """Take the result at temperature 1, the same draws, if that is what was chosen."""
        known = self._known(METHODS[method.base], alpha)
        if known is None:
            return False
        about = {
            **known.about,
            "seconds": chosen_in + known.about["seconds_testing"],
            "seconds_choosing": chosen_in,
            "temperatures": calibrated.scores,
        }
        key = RunKey(self._job.dataset, method.name, alpha)
        write_result(self._job.out, RunResult(key, known.rows, about))
        return True

    @property
    def _alphas(self) -> tuple[float, ...]:
        # Published bags are what they are.
        return self._job.alphas if self._stage.fixed is None else (1.0,)

    def _known(self, method: Method, alpha: float) -> RunResult | None:
        """Return the result that is there already, if it is whole and of the same experiment."""
        key = RunKey(self._job.dataset, method.name, alpha)
        try:
            found = read_result(self._job.out, key)
        except InputError:
            self._damaged_results[result_path(self._job.out, key)] = None
            return None
        same = found is not None and found.about.get("fingerprint") == self._fingerprint
        return found if same else None

    def _bags(self, alpha: float, scores: Scores) -> Bags:
        if self._stage.fixed is not None:
            return scores.published_bags()
        return self._stage.draw(self._settings, alpha)

    def _fit(
        self, method: Method, choice: Choice, scores: Scores, calibrated: Temperature | None
    ) -> Quantifier:
        quantifier = quantifier_of(method, choice.setting, self._settings)
        if calibrated is not None:
            quantifier.set_params(temperature=calibrated.temperature)
        codes, classes = self._stage.references.y, self._stage.classes
        return quantifier.fit(scores.references, codes, classes=classes)

    def _described(self, fitted: Quantifier, choice: Choice) -> dict[str, Any]:
        """Return the settings of a run, as they were chosen and used."""
        names = ("bandwidth_", "shrinkage_", "prior", "temperature", "draws", "warmup", "sampler")
        described = {name.rstrip("_"): getattr(fitted, name, None) for name in names}
        described["estimand"] = getattr(fitted, "estimand", None)
        return {
            **choice.classifier,
            **{name: value for name, value in described.items() if value is not None},
            "validation_ae": choice.error,
            "candidates": choice.n_candidates,
            "candidates_not_converged": choice.unconverged,
        }

    def _about_run(self, scores: Scores) -> dict[str, Any]:
        stage = self._stage
        return {
            "modality": self._data.info.modality,
            "seed": self._settings.seed,
            "fingerprint": self._fingerprint,
            "protocol": self._settings.plain(),
            **provenance(self._job.threads),
            "n_classes": stage.n_classes,
            "train_prevalence": stage.train_prevalence,
            "classifiers_not_converged": scores.unconverged,
            "notes": list(self._data.notes),
        }


def _set_prior(fitted: Quantifier, prior: float) -> None:
    """Change the prior of a fitted quantifier: fitting again would give the same model.

    Both the parameter, which is reported, and the inference, which uses it. How much wider
    intervals have to be was found with the prior before, and is found again.
    """
    fitted.set_params(prior=prior)
    fitted.inference_.set_params(prior=prior)
    fitted.inference_.prepare(fitted.classes_, fitted.train_prevalence_)
    fitted.widenings_ = {}
