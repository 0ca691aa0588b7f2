"""The proposals of independence Metropolis: where they come from, and how many are accepted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truemix import _core
from truemix._typing import FloatArray
from truemix.inference._posterior import Posterior
from truemix.inference._random import seed_state

# Rows of whole weight up to this are repeated instead, so that most rows have weight 1.
_FEW_COPIES = 3
# Number of proposals from which the acceptance rate is estimated.
_PILOT = 64


def make_proposal(posterior: Posterior) -> _core.Proposal:
    """Return the proposal distribution for a posterior."""
    w, temperature = posterior.w, posterior.temperature
    few = (w <= _FEW_COPIES) & (w == np.floor(w))
    copies = np.where(few, w, 1.0).astype(np.int64)
    return _core.Proposal(
        posterior.mode,
        posterior.precision(),
        posterior.prior,
        float(w.sum()) / temperature,
        np.repeat(posterior.L, copies, axis=0),
        np.repeat(np.where(few, 1.0, w) / temperature, copies),
    )


class AcceptanceRate(NamedTuple):
    """Rejection probabilities ``rejected`` (n,) at states of stationary weight ``share`` (n,)."""

    rejected: FloatArray
    share: FloatArray


def acceptance_rate(proposal: _core.Proposal, seed: np.random.SeedSequence) -> AcceptanceRate:
    """Estimate the acceptance rate by importance sampling, from a few proposals."""
    _, log_weight = proposal.propose(seed_state(seed), _PILOT)
    weights = np.exp(log_weight - max(log_weight.max(), -1e300))
    total = weights.sum()
    if not total > 0.0:
        return AcceptanceRate(np.ones(1), np.ones(1))
    # Proposals with these importance weights stand for the stationary distribution.
    accepted = np.minimum(1.0, weights / np.maximum(weights, 1e-300)[:, None]).mean(axis=1)
    return AcceptanceRate(1.0 - accepted, weights / total)
