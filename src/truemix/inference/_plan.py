"""Which sampler to take and how far apart its draws must be.

Predictions are rules fitted to timings, and no clock, so that the choice, and with it the draws,
depend on the input and the seed alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truemix._typing import FloatArray
from truemix.inference._allocation import Layout
from truemix.inference._nutpie import MIN_WARMUP
from truemix.inference._posterior import Posterior
from truemix.inference._proposal import AcceptanceRate, Proposal, acceptance_rate, make_proposal

# The effective sample size per draw that a plan aims at: more than is promised, since what is
# measured is the smallest over the classes, and noisy.
_AIM = 0.55
# What a plan may cost at most, in its own nanoseconds: about half a minute.
_BUDGET = 3e10
MAX_CHAINS = 8
# Without Gibbs sweeps in between nothing helps a chain out of a place that proposals avoid, so
# they must be good ones.
_MOSTLY = 0.5
# After so many times 1 / (1 - autocorrelation) sweeps the start is forgotten.
_FORGET = 10
# A start anywhere in the simplex is forgotten once the distance is this part of the posterior's
# width; chains that need more steps for that than this are not worth waiting for.
_NEAR, _MAX_FORGET = 0.05, 2000
# No plan can pay for draws that are further apart.
_MAX_THINNING = 2**32


class Settings(NamedTuple):
    """What to draw; all of it checked."""

    prior: FloatArray
    temperature: float
    draws: int
    warmup: int
    sampler: str


class Plan(NamedTuple):
    """How to draw it: the sampler and why, and the most steps per draw (or chains of NUTS).

    For Gibbs and Metropolis sampling also how many steps to discard, how many to make per draw,
    how many it takes to forget a start anywhere in the simplex, and where independent proposals
    come from, if there are any.
    """

    sampler: str
    reason: str
    most: int
    discard: int = 0
    thinning: int = 1
    forget: int = 0
    proposal: Proposal | None = None


class _Sweeps(NamedTuple):
    cost: float
    discard: int
    thinning: int
    forget: int
    most: int
    proposal: Proposal | None


def make_plan(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    whole: bool,
    seed: np.random.SeedSequence,
) -> Plan:
    """Choose the sampler with the smaller predicted cost for the same effective draws."""
    nuts = _cost_of_nuts(posterior, settings)
    chains = int(min(max(_BUDGET / nuts, 1), MAX_CHAINS))
    if settings.sampler == "nuts":
        return Plan("nuts", "it was asked for", chains)
    if settings.temperature != 1.0:
        reason = f"Gibbs sampling is for temperature 1, this is {settings.temperature:g}"
        return _plan_metropolis(posterior, settings, seed, nuts, reason, chains)
    if not whole:
        reason = "Gibbs sampling is for weights that are whole numbers"
        return _plan_metropolis(posterior, settings, seed, nuts, reason, chains)
    rate = posterior.gibbs_rate()
    gibbs, reason = _plan_sweeps(posterior, layout, settings, rate, seed)
    if settings.sampler == "gibbs":
        reason = f"it was asked for; {reason}"
    else:
        reason += f": predicted to take {gibbs.cost / nuts:.2g} of NUTS' time"
        if gibbs.cost > nuts:
            return Plan("nuts", reason, chains)
    return _plan_of("gibbs", reason, gibbs)


def _plan_metropolis(
    posterior: Posterior,
    settings: Settings,
    seed: np.random.SeedSequence,
    nuts: float,
    reason: str,
    chains: int,
) -> Plan:
    """Return independent proposals alone if most are accepted, and else NUTS."""
    proposal = make_proposal(posterior)
    met = acceptance_rate(proposal, seed)
    accepted = 1.0 - met.share @ met.rejected
    metropolis = _sweeps(_cost_of_proposal(proposal), 1.0, met, posterior, settings, proposal)
    reason += f"; of independent proposals {accepted:.0%} should be accepted"
    if accepted < _MOSTLY or metropolis.cost > nuts:
        return Plan("nuts", reason, chains)
    return _plan_of("metropolis", reason, metropolis)


def _plan_of(sampler: str, reason: str, sweeps: _Sweeps) -> Plan:
    return Plan(
        sampler, reason, sweeps.most, sweeps.discard, sweeps.thinning, sweeps.forget,
        sweeps.proposal,
    )  # fmt: skip


def _plan_sweeps(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    rate: float,
    seed: np.random.SeedSequence,
) -> tuple[_Sweeps, str]:
    """Return the cheaper of Gibbs sampling with and without proposals, and why."""
    nanoseconds = _cost_of_sweep(posterior, layout)
    alone = AcceptanceRate(np.ones(1), np.ones(1))
    plain = _sweeps(nanoseconds, rate, alone, posterior, settings, None)
    reason = f"EM converges at rate {rate:.3f} per sweep, so Gibbs sampling needs "
    if plain.thinning > 1:
        proposal = make_proposal(posterior)
        met = acceptance_rate(proposal, seed)
        nanoseconds += 2.0 * _cost_of_proposal(proposal)
        proposing = _sweeps(nanoseconds, rate, met, posterior, settings, proposal)
        if proposing.cost < plain.cost:
            accepted = 1.0 - met.share @ met.rejected
            reason += (
                f"{_sweeps_per_draw(plain)}, but {proposing.thinning} with independent proposals, "
                f"of which {accepted:.0%} should be accepted"
            )
            return proposing, reason
    return plain, reason + _sweeps_per_draw(plain)


def _sweeps_per_draw(sweeps: _Sweeps) -> str:
    return f"{sweeps.thinning} sweep{'s' * (sweeps.thinning > 1)} per draw"


def _sweeps(
    nanoseconds: float,
    rate: float,
    met: AcceptanceRate,
    posterior: Posterior,
    settings: Settings,
    proposal: Proposal | None,
) -> _Sweeps:
    # A sweep forgets all if a proposal is accepted, and else what Gibbs sampling forgets.
    correlation = np.minimum(rate * met.rejected, 1 - 1e-9)
    thinning = _thinning(correlation, met.share)
    discard = settings.warmup
    steps = float(met.share @ (1.0 / (1.0 - correlation)))
    if discard > 0:
        discard = max(discard, min(int(_FORGET * steps), _FORGET * discard))
    width = 1.0 / np.sqrt(posterior.prior.sum() + posterior.w.sum() / posterior.temperature)
    forget = int(min(np.ceil(steps * np.log(1.0 / (_NEAR * width))), _MAX_FORGET))
    most = max(1, int(_BUDGET / (nanoseconds * (settings.draws + settings.warmup))))
    thinning = min(thinning, most)
    cost = nanoseconds * (settings.draws * thinning + discard)
    return _Sweeps(cost, discard, thinning, forget, most, proposal)


def _thinning(correlation: FloatArray, share: FloatArray) -> int:
    """Return how far apart draws must be to be worth ``_AIM`` independent ones each.

    The chain spends a ``share`` of its time where the autocorrelation between sweeps is
    ``correlation``; between draws t sweeps apart it is the t-th power, and of the first order, so
    that (1 + r) / (1 - r) draws count for one.
    """

    def enough(apart: int) -> bool:
        r = correlation**apart
        return bool(share @ ((1.0 + r) / (1.0 - r)) <= 1.0 / _AIM)

    high = 1
    while not enough(high) and high < _MAX_THINNING:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _cost_of_sweep(posterior: Posterior, layout: Layout) -> float:
    K = len(posterior.mode)
    cost = 200.0 + 25.0 * K + (3.0 + 0.35 * K) * layout.weights.size
    cost += (30.0 + K) * min(len(layout.odds), 4.0 * layout.odds.sum() + K)
    return float(cost + 200.0 * K * len(layout.heavy))


def _cost_of_proposal(proposal: Proposal) -> float:
    K = len(proposal.shape)
    size = proposal.powers.size
    return 200.0 + 45.0 * K + 0.15 * K * K + (1.3 + 0.17 * K) * size


def _cost_of_nuts(posterior: Posterior, settings: Settings) -> float:
    n, K = posterior.L.shape
    per_step = 4000.0 + 60.0 * K + 0.5 * K * K + (3.7 + 0.28 * K) * n
    # Steps per draw as measured from K = 3 to 100, and a share of second chains.
    steps = 2.7 * K**0.3 * (settings.draws + max(settings.warmup, MIN_WARMUP))
    return float(3e6 + 1.3 * per_step * steps)
