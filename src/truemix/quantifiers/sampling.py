"""The sampler parameters that all Bayesian presets share."""

from __future__ import annotations

from typing import Any

NAMES = ("prior", "temperature", "draws", "warmup", "sampler", "estimand", "random_state")


def sampling_parameters(quantifier: Any) -> dict[str, Any]:
    """Return the parameters of a preset that its inference takes as they are."""
    return {name: getattr(quantifier, name) for name in NAMES}
