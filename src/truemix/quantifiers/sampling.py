"""What the Bayesian quantifiers share: the prior, the seed and the two estimands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from truemix._saved_arrays import read_text
from truemix._strict_json import MAX_DIGITS
from truemix._threads import n_threads, row_blocks
from truemix._typing import AnyArray, FloatArray, IntArray, Seed
from truemix.estimates.unknown import Unknown
from truemix.exceptions import InputError
from truemix.inference import MixtureSample, sample_versions
from truemix.inference.sampling import SAMPLERS
from truemix.quantifiers.base import Inference, Quantifier
from truemix.validation import (
    check_choice,
    check_integer,
    check_number,
    check_prior,
    check_seed_number,
    shown_list,
)

ESTIMANDS = ("batch", "population")
# Draws of the bags that are worked on together.
DRAWS_BYTES = 32 << 20
# The form of a seed in a file.
SEED = f"[0-9]{{1,{MAX_DIGITS}}}"


class BayesianMixin(Quantifier):
    """Draw from the posterior of the mix where the point method would maximise."""

    prior: Any
    temperature: Any
    draws: Any
    warmup: Any
    sampler: Any
    random_state: Any
    estimand: Any
    _fixed_prior: FloatArray | None
    _fitted_seed: int
    # Whether Gibbs sampling knows temperatures.
    _gibbs_is_tempered = False

    def _seed(self) -> int:
        """Return the seed of every run: the given one, or that which ``fit`` took in its place.

        Batches of one fitted quantifier must share their replicates to be comparable.
        """
        given = self.random_state
        return (
            self._fitted_seed if given is None or isinstance(given, np.random.Generator) else given
        )

    def _infer(self, evidence: FloatArray) -> Inference:
        return self._infer_bags(evidence[None], [np.arange(len(evidence))])[0]

    def _infer_bags(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> list[Inference]:
        seed = self._seed() if seed is None else seed
        if self._fixed_prior is not None:
            samples = sample_versions(
                versions, bags, prior=self._fixed_prior, random_state=seed, **self._options()
            )
        else:
            samples = []
            for rows in bags:
                prior = self._prior(versions[:, rows])
                samples += sample_versions(
                    versions, [rows], prior=prior, random_state=seed, **self._options()
                )
        return [self._inference(sample, seed) for sample in samples]

    def _options(self) -> dict[str, Any]:
        names = ("temperature", "draws", "warmup", "sampler")
        return {name: getattr(self, name) for name in names}

    def _infer_blocks(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> Iterator[Inference]:
        """Yield the mix of each bag; draws of a few bags are held at a time."""
        bytes_per_bag = 16 * int(self.draws) * versions.shape[2]
        for block in row_blocks(len(bags), max(n_threads(), DRAWS_BYTES // bytes_per_bag)):
            yield from self._infer_bags(versions, bags[block], seed)

    def _mixes(
        self,
        versions: FloatArray,
        bags: list[IntArray],
        seed: int | None = None,
        near: FloatArray | None = None,
    ) -> FloatArray:
        return np.array([each.prevalence for each in self._infer_blocks(versions, bags, seed)])

    def _prior(self, versions: FloatArray) -> FloatArray:
        """Return the parameters of the Dirichlet prior for a batch with this evidence."""
        return prior_vector(self.prior, self.classes_)

    def _resolve_prior(self) -> FloatArray | None:
        """Return the prior if it is the same for every batch."""
        return prior_vector(self.prior, self.classes_)

    def _check_sampling(self) -> None:
        temperature = check_number(self.temperature, "temperature")
        check_integer(self.draws, "draws")
        check_integer(self.warmup, "warmup")
        check_choice(self.sampler, "sampler", SAMPLERS)
        check_choice(self.estimand, "estimand", ESTIMANDS)
        resolved_seed(self.random_state)
        if self.sampler == "gibbs" and temperature != 1.0 and not self._gibbs_is_tempered:
            raise InputError(
                f"The 'temperature' parameter is {temperature:g}, but sampler='gibbs' draws at "
                "temperature 1 only; use sampler='nuts' or 'auto'."
            )

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        super()._learn(posteriors, codes)
        self._fixed_prior = self._resolve_prior()
        self._fitted_seed = resolved_seed(self.random_state)

    def _state(self) -> dict[str, AnyArray]:
        return {**super()._state(), "seed": np.array(str(self._seed()))}

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        super()._restore(state)
        self._fixed_prior = self._resolve_prior()
        self._fitted_seed = resolved_seed(int(read_text(state, "seed", SEED)))

    def _inference(self, sample: MixtureSample, seed: int) -> Inference:
        views = {"population": sample.draws, "batch": sample.batch}
        draws, unknown = self._split(views.pop(self.estimand))
        other_draws, other_unknown = self._split(views.popitem()[1])
        return Inference(
            draws.mean(axis=0),
            sample.diagnostics,
            draws=draws,
            other_draws=other_draws,
            unknown=None
            if unknown is None
            else Unknown(float(unknown.mean()), unknown, other_unknown),
            replicate=sample.replicate,
            settings={"random_state": seed},
        )


def seed_of_runs(random_state: Seed, fitted: int) -> int:
    """Return the given seed, or what ``fit`` took in its place.

    Examples
    --------
    >>> seed_of_runs(7, fitted=3), seed_of_runs(None, fitted=3)
    (7, 3)
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return fitted
    return resolved_seed(random_state)


def resolved_seed(random_state: Seed) -> int:
    """Return the integer that repeats this run.

    Examples
    --------
    >>> resolved_seed(7)
    7
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return check_seed_number(random_state)


def prior_vector(prior: Any, classes: AnyArray) -> FloatArray:
    """Return one Dirichlet parameter per class from a number, a sequence or a mapping.

    Examples
    --------
    >>> prior_vector({"ham": 2, "spam": 1}, np.array(["ham", "spam"]))
    array([2., 1.])
    """
    labels = classes.tolist()
    if isinstance(prior, Mapping):
        unknown = [label for label in prior if label not in labels]
        absent = [label for label in labels if label not in prior]
        if unknown or absent:
            wrong = f"names {unknown[0]!r}" if unknown else f"does not name {absent[0]!r}"
            raise InputError(
                f"The 'prior' parameter {wrong}; expected a number for each of the classes "
                f"{shown_list(labels)}."
            )
        prior = [prior[label] for label in labels]
    return check_prior(prior, len(labels))
