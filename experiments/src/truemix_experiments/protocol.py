"""The paper's protocol: everything that a result depends on beside the data and the method."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from truemix.exceptions import InputError
from truemix.validation import check_integer

# Raised whenever the same settings come to mean something else, so that old results are redone.
REVISION = 3
ALPHAS = (1.0, 0.1, 10.0)
# The paper's priors where it knows something of the mixes; elsewhere the uniform one.
PRIORS = {0.1: 0.3, 10.0: 3.0}


def _steps(first: float, last: float, n: int) -> tuple[float, ...]:
    """Return numbers evenly spaced in their logarithm, free of rounding in the powers of ten.

    Examples
    --------
    >>> _steps(-1, 1, 3)
    (0.1, 1.0, 10.0)
    """
    return tuple(float(f"{value:.15g}") for value in np.logspace(first, last, n))


@dataclass(frozen=True)
class BenchSettings:
    """How data become results.

    Attributes
    ----------
    n_bags, n_validation_bags : int
        Test bags and validation bags.
    seed : int
        Of the bags and of the samplers.
    C, class_weight : tuple
        Grid of the logistic regression.
    gaussian_bandwidth, aitchison_bandwidth, shrinkage, temperature : tuple of float
        Grids of the quantifiers.
    draws, warmup : int
        Of Bayesian methods; bootstraps have as many draws.
    calibration_draws : int
        Draws while temperatures are compared; over many bags fewer are enough.
    level : float
        Of the intervals.
    cv : int
        Folds in which references are scored.
    max_iter, tol
        When the logistic regression stops.

    Examples
    --------
    >>> settings = BenchSettings(n_bags=10)
    >>> len(settings.C) * len(settings.class_weight)
    18
    >>> settings.fingerprint("data")[:8] == BenchSettings().fingerprint("data")[:8]
    False
    """

    n_bags: int = 500
    n_validation_bags: int = 100
    seed: int = 0
    C: tuple[float, ...] = _steps(-4, 4, 9)
    class_weight: tuple[str | None, ...] = (None, "balanced")
    gaussian_bandwidth: tuple[float, ...] = _steps(-2, 0, 10)
    aitchison_bandwidth: tuple[float, ...] = _steps(-1, 1, 10)
    shrinkage: tuple[float, ...] = (0.001, 0.25, 0.5, 0.75, 0.9, 0.999)
    temperature: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 5.0, 10.0, 100.0, 1000.0)
    draws: int = 1000
    warmup: int = 500
    calibration_draws: int = 250
    level: float = 0.95
    cv: int = 5
    max_iter: int = 1000
    tol: float = 1e-4

    def __post_init__(self) -> None:
        check_integer(self.n_bags, "bags", kind="n_bags")
        check_integer(self.n_validation_bags, "validation bags", kind="n_bags")
        check_integer(self.seed, "seed", kind="random_state")

    def quick(self) -> Self:
        """Return settings with fewer values to choose from, for a first look.

        Examples
        --------
        >>> BenchSettings().quick().C
        (0.01, 1.0, 100.0)
        """
        return replace(
            self,
            n_validation_bags=min(self.n_validation_bags, 25),
            C=(0.01, 1.0, 100.0),
            class_weight=(None,),
            gaussian_bandwidth=self.gaussian_bandwidth[::3],
            aitchison_bandwidth=self.aitchison_bandwidth[::3],
            shrinkage=self.shrinkage[::2],
            temperature=(1.0, 2.0, 10.0),
        )

    def seed_of(self, purpose: str) -> int:
        """Return the seed for ``"validation"`` bags, ``"test"`` bags or the ``"sampler"``.

        Examples
        --------
        >>> settings = BenchSettings()
        >>> len({settings.seed_of(each) for each in ("validation", "test", "sampler")})
        3
        """
        streams = ("validation", "test", "sampler")
        source = np.random.SeedSequence(self.seed, spawn_key=(streams.index(purpose),))
        return int(source.generate_state(1)[0])

    def classifiers(self) -> list[dict[str, Any]]:
        """Return the settings of the classifier to choose from."""
        return [{"C": C, "class_weight": weight} for weight in self.class_weight for C in self.C]

    def plain(self) -> dict[str, Any]:
        """Return the settings as what JSON knows."""
        return {name: _listed(value) for name, value in asdict(self).items()}

    def fingerprint(self, data: str) -> str:
        """Return a text that differs for other settings or other data (a digest)."""
        content = json.dumps([REVISION, self.plain(), data], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def check_same(self, other: Mapping[str, Any], where: str) -> None:
        """Refuse to go on with results in ``where`` that were made with other settings."""
        own = self.plain()
        for field in fields(self):
            name = field.name
            if name not in other or other[name] != own[name]:
                raise InputError(
                    f"The folder {where!r} holds results with {name.replace('_', ' ')} "
                    f"{_shown(other.get(name))}, but {_shown(own[name])} was asked for; expected "
                    "the same settings in one folder. Choose another one with --out."
                )


def prior_of(alpha: float) -> float:
    """Return the parameter of the symmetric Dirichlet prior for bags from Dirichlet(α).

    Examples
    --------
    >>> prior_of(1.0), prior_of(0.1), prior_of(10), prior_of(2.0)
    (1.0, 0.3, 3.0, 1.0)
    """
    return PRIORS.get(float(alpha), 1.0)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
