"""Choose warm-up, thinning and proposals of the sampler by predicted cost.

Costs are predicted by formulas fitted to timings, never measured by a clock, so that the choice,
and with it the draws, depends on the input and the seed alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truemix import _core
from truemix._typing import FloatArray
from truemix.inference._nutpie import MIN_WARMUP
from truemix.inference._posterior import Posterior
from truemix.inference._proposal import AcceptanceRate, acceptance_rate, make_proposal

# The effective sample size per draw that a plan aims for: above PROMISED, since the measured one is
# a minimum over the classes, and noisy.
_AIM = 0.55
# Maximum cost of a plan, in predicted nanoseconds: about half a minute.
_BUDGET = 3e10
MAX_CHAINS = 8
# Minimum acceptance rate for independence Metropolis without Gibbs sweeps or local moves: nothing
# else moves a chain out of a region that the proposals rarely reach.
_MIN_ACCEPTANCE = 0.5
# Below this prior the log share of an empty class has a very long tail.
LONG_TAIL = 0.75
# The autocorrelation between exchanges with K - 1 pairs of classes, where proposals are rejected.
_EXCHANGED = 0.95
# The warm-up is this many relaxation times, 1 / (1 - autocorrelation) sweeps.
_FORGET = 10
# A dispersed start is forgotten once its distance has shrunk to this fraction of the posterior's
# width; the warm-up of such a chain is limited to this many steps.
_NEAR, _MAX_FORGET = 0.05, 2000
# A thinning that exceeds every budget.
_MAX_THINNING = 2**32


class Settings(NamedTuple):
    """The validated parameters of a sample."""

    prior: FloatArray
    temperature: float
    draws: int
    warmup: int
    sampler: str


class Plan(NamedTuple):
    """The sampler and the reason for it, and the maximum number of steps per draw.

    For NUTS, "steps per draw" counts chains. For Gibbs and Metropolis sampling also: steps to
    discard, steps per draw, steps to forget a dispersed start, the distribution of independence
    proposals, if there are any, and whether local moves follow them.
    """

    sampler: str
    reason: str
    max_thinning: int
    discard: int = 0
    thinning: int = 1
    forget: int = 0
    proposal: _core.Proposal | None = None
    local: bool = False


class _Sweeps(NamedTuple):
    cost: float
    discard: int
    thinning: int
    forget: int
    max_thinning: int
    proposal: _core.Proposal | None


def make_plan(
    posterior: Posterior,
    layout: _core.Layout,
    settings: Settings,
    seed: np.random.SeedSequence,
    *,
    no_gibbs: str = "",
) -> Plan:
    """Return Gibbs sampling where it is exact, else independence Metropolis; NUTS only if asked.

    ``no_gibbs`` is the reason why Gibbs sampling would not be exact, if there is one.
    """
    if settings.sampler == "nuts":
        chains = int(min(max(_BUDGET / _cost_of_nuts(posterior, settings), 1), MAX_CHAINS))
        return Plan("nuts", "it was asked for", chains)
    if no_gibbs:
        return _plan_metropolis(posterior, settings, seed, no_gibbs)
    gibbs, reason = _plan_sweeps(posterior, layout, settings, posterior.gibbs_rate(), seed)
    if settings.sampler == "gibbs":
        reason = f"it was asked for; {reason}"
    return _plan_of("gibbs", reason, gibbs)


def _plan_metropolis(
    posterior: Posterior, settings: Settings, seed: np.random.SeedSequence, reason: str
) -> Plan:
    """Return independence Metropolis, with local moves where its proposals do not suffice."""
    proposal = make_proposal(posterior)
    rates = acceptance_rate(proposal, seed)
    accepted = 1.0 - rates.share @ rates.rejected
    reason += f"; of independent proposals {accepted:.0%} should be accepted"
    # In long tails most proposals are rejected, however many are accepted elsewhere: chains that
    # get there would stay for long, and the effective sample size would not show it.
    local = bool(accepted < _MIN_ACCEPTANCE or posterior.prior.min() < LONG_TAIL)
    rate = 1.0
    nanoseconds = _cost_of_proposal(proposal)
    if local:
        reason += "; exchanges between pairs of classes follow each"
        nanoseconds += _cost_of_exchanges(proposal)
        rate = _EXCHANGED ** (proposal.n_exchanges / (len(posterior.mode) - 1.0))
    metropolis = _sweeps(nanoseconds, rate, rates, posterior, settings, proposal)
    return _plan_of("metropolis", reason, metropolis)._replace(local=local)


def _plan_of(sampler: str, reason: str, sweeps: _Sweeps) -> Plan:
    return Plan(
        sampler, reason, sweeps.max_thinning, sweeps.discard, sweeps.thinning, sweeps.forget,
        sweeps.proposal,
    )  # fmt: skip


def _plan_sweeps(
    posterior: Posterior,
    layout: _core.Layout,
    settings: Settings,
    rate: float,
    seed: np.random.SeedSequence,
) -> tuple[_Sweeps, str]:
    """Return the cheaper of Gibbs sampling with and without proposals, and the reason."""
    nanoseconds = _cost_of_sweep(posterior, layout)
    no_proposals = AcceptanceRate(np.ones(1), np.ones(1))
    plain = _sweeps(nanoseconds, rate, no_proposals, posterior, settings, None)
    reason = f"EM converges at rate {rate:.3f} per sweep, so Gibbs sampling needs "
    if plain.thinning > 1:
        proposal = make_proposal(posterior)
        rates = acceptance_rate(proposal, seed)
        nanoseconds += 2.0 * _cost_of_proposal(proposal)
        proposing = _sweeps(nanoseconds, rate, rates, posterior, settings, proposal)
        if proposing.cost < plain.cost:
            accepted = 1.0 - rates.share @ rates.rejected
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
    rates: AcceptanceRate,
    posterior: Posterior,
    settings: Settings,
    proposal: _core.Proposal | None,
) -> _Sweeps:
    # Autocorrelation is zero after an accepted proposal, else that of Gibbs sampling.
    correlation = np.minimum(rate * rates.rejected, 1 - 1e-9)
    thinning = _thinning(correlation, rates.share)
    discard = settings.warmup
    steps = float(rates.share @ (1.0 / (1.0 - correlation)))
    if discard > 0:
        discard = max(discard, min(int(_FORGET * steps), _FORGET * discard))
    width = 1.0 / np.sqrt(posterior.prior.sum() + posterior.w.sum() / posterior.temperature)
    forget = int(min(np.ceil(steps * np.log(1.0 / (_NEAR * width))), _MAX_FORGET))
    max_thinning = max(1, int(_BUDGET / (nanoseconds * (settings.draws + settings.warmup))))
    thinning = min(thinning, max_thinning)
    cost = nanoseconds * (settings.draws * thinning + discard)
    return _Sweeps(cost, discard, thinning, forget, max_thinning, proposal)


def _thinning(correlation: FloatArray, share: FloatArray) -> int:
    """Return the sweeps per draw that give an effective sample size of ``_AIM`` per draw.

    The chain spends a ``share`` of its time where the autocorrelation between sweeps is
    ``correlation``. Taken as first-order autoregressive, it is r = correlation^t between draws
    t sweeps apart, and the effective sample size per draw is (1 - r) / (1 + r).
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


def _cost_of_sweep(posterior: Posterior, layout: _core.Layout) -> float:
    K = len(posterior.mode)
    cost = 200.0 + 25.0 * K + (3.0 + 0.35 * K) * layout.n_doubtful
    cost += (30.0 + K) * min(layout.n_sure, 4.0 * layout.sum_of_odds + K)
    return float(cost + 200.0 * K * layout.n_heavy)


def _cost_of_proposal(proposal: _core.Proposal) -> float:
    K = proposal.n_classes
    return 200.0 + 45.0 * K + 0.15 * K * K + (1.3 + 0.17 * K) * proposal.n_places


def _cost_of_exchanges(proposal: _core.Proposal) -> float:
    K = proposal.n_classes
    return proposal.n_exchanges * (500.0 + (3.5 + 0.04 * K) * proposal.n_places)


def _cost_of_nuts(posterior: Posterior, settings: Settings) -> float:
    n, K = posterior.L.shape
    per_step = 4000.0 + 60.0 * K + 0.5 * K * K + (3.7 + 0.28 * K) * n
    # Steps per draw as measured from K = 3 to 100; the factor 1.3 is for additional chains.
    steps = 2.7 * K**0.3 * (settings.draws + max(settings.warmup, MIN_WARMUP))
    return float(3e6 + 1.3 * per_step * steps)
