"""Run a sampler until its draws are worth what is promised, and say what they are worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._typing import FloatArray
from truemix.exceptions import InputError
from truemix.inference._allocation import Layout, allocate_draws, arrange
from truemix.inference._checks import check_finite
from truemix.inference._diagnostics import chain_statistics
from truemix.inference._failures import DIVERGENT, failures, falls_short
from truemix.inference._gibbs import sweep
from truemix.inference._nutpie import Chain
from truemix.inference._nuts import run_nuts
from truemix.inference._plan import MOST_CHAINS, Plan, Settings, make_plan
from truemix.inference._posterior import Posterior, make_posterior
from truemix.inference._proposal import Proposal, jump_chain, no_proposal
from truemix.inference._random import seed_state

# Mean acceptances of NUTS to try in turn, until hardly any trajectory diverges.
_ACCEPT = (0.8, 0.95, 0.99)
# Below this prior the log of an empty class has a tail so long that long steps hit its other end.
_LONG_TAIL = 0.75
# How far from the mode a chain of NUTS starts, in posterior standard deviations per coordinate.
_AT_THE_MODE, _FAR = 0.1, 3.0


def sample_one(
    L: FloatArray, w: FloatArray, settings: Settings, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return what :func:`draw_mixes` does, with what failed among the diagnostics."""
    draws, batch, diagnostics = draw_mixes(L, w, settings, seed)
    diagnostics["failed"] = failures(diagnostics, len(draws)) if L.shape[1] > 1 else []
    return draws, batch, diagnostics


def draw_mixes(
    L: FloatArray,
    w: FloatArray,
    settings: Settings,
    seed: np.random.SeedSequence,
    *,
    dispersed: bool = False,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return draws of the mix, of the realised mix, and diagnostics.

    Parameters
    ----------
    L : array of shape (n, K), C-contiguous
        Likelihoods, each row scaled to maximum 1.
    w : array of shape (n,)
        Positive weights, as counts.
    settings : Settings
        What to draw.
    seed : SeedSequence
        Where the randomness comes from.
    dispersed : bool
        Whether NUTS starts far from the mode.
    """
    whole = bool((w == np.floor(w)).all())
    if settings.sampler == "gibbs":
        check_gibbs(settings.temperature, w, whole)
    if L.shape[1] == 1:
        return _only_one_class(settings.draws)
    posterior = make_posterior(L, w, settings.prior, settings.temperature)
    layout = arrange(posterior.L, posterior.w, posterior.mode)
    chains, allocation, pilot = seed.spawn(3)
    plan = make_plan(posterior, layout, settings, whole, pilot)
    if plan.sampler == "gibbs":
        results = _by_gibbs(posterior, layout, settings, plan, seed)
    elif plan.proposal is not None:
        results = _by_jumps(posterior, layout, settings, plan, plan.proposal, chains, allocation)
    else:
        spread = _FAR if dispersed else _AT_THE_MODE
        results = _by_nuts(posterior, layout, settings, plan, chains, allocation, spread)
    draws, batch, diagnostics = results
    check_finite("mix", draws, batch)
    return draws, batch, {"sampler": plan.sampler, "reason": plan.reason, **diagnostics}


def check_gibbs(temperature: float, w: FloatArray, whole: bool) -> None:
    """Refuse what Gibbs sampling cannot do."""
    if temperature != 1.0:
        raise InputError(
            f"The 'temperature' parameter is {temperature:g} but sampler='gibbs' draws at "
            "temperature 1 only; use sampler='nuts' or 'auto'."
        )
    if not whole:
        row = int(np.argmax(w != np.floor(w)))
        raise InputError(
            f"A weight is {w[row]:g} but sampler='gibbs' needs weights that are whole numbers, "
            "how often each row counts; use sampler='nuts' or 'auto'."
        )


def _only_one_class(draws: int) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    diagnostics = {
        "sampler": "exact",
        "reason": "there is only one class",
        **_statistics({"ess": float(draws), "rhat": 1.0, "rhat_limit": 1.0}, 1.0, 1, 0),
    }
    return np.ones((draws, 1)), np.ones((draws, 1)), diagnostics


def _statistics(
    chain: dict[str, float | None], acceptance: float, thinning: int, steps: int
) -> dict[str, Any]:
    return {
        **chain,
        "divergences": 0,
        "acceptance": acceptance,
        "thinning": thinning,
        "steps": steps,
    }


def _by_gibbs(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    plan: Plan,
    seed: np.random.SeedSequence,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    state, pi, n = seed_state(seed), posterior.mode.copy(), settings.draws
    tries = 0 if plan.proposal is None else 1
    proposal = plan.proposal or no_proposal(len(pi))

    thinning, steps = plan.thinning, plan.discard + n * plan.thinning
    draws, batch, accepted = sweep(
        layout, posterior.prior, pi, state, plan.discard, n, thinning, proposal, tries
    )
    worth = chain_statistics(draws)
    while falls_short(worth, n) and 2 * thinning <= plan.most:
        # As many sweeps again, and every second draw of both: nothing is thrown away.
        more, more_batch, more_accepted = sweep(
            layout, posterior.prior, pi, state, 0, n, thinning, proposal, tries
        )
        draws = np.concatenate([draws, more])[1::2]
        batch = np.concatenate([batch, more_batch])[1::2]
        accepted += more_accepted
        steps += n * thinning
        thinning *= 2
        worth = chain_statistics(draws)
    acceptance = accepted / steps if tries else 1.0
    return draws, batch, _statistics(worth, acceptance, thinning, steps)


def _by_jumps(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    plan: Plan,
    proposal: Proposal,
    stream: np.random.SeedSequence,
    allocation: np.random.SeedSequence,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    state, pi, n = seed_state(stream), posterior.mode.copy(), settings.draws
    thinning, steps = plan.thinning, plan.discard + n * plan.thinning
    draws, accepted = jump_chain(proposal, pi, state, plan.discard, n, thinning)
    worth = chain_statistics(draws)
    while falls_short(worth, n) and 2 * thinning <= plan.most:
        more, more_accepted = jump_chain(proposal, pi, state, 0, n, thinning)
        draws = np.concatenate([draws, more])[1::2]
        accepted += more_accepted
        steps += n * thinning
        thinning *= 2
        worth = chain_statistics(draws)
    draws = np.ascontiguousarray(draws)
    batch = allocate_draws(layout, draws, seed_state(allocation))
    return draws, batch, _statistics(worth, accepted / steps, thinning, steps)


def _by_nuts(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    plan: Plan,
    stream: np.random.SeedSequence,
    allocation: np.random.SeedSequence,
    spread: float,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    n = settings.draws
    chains: list[Chain] = []
    seeds = stream.generate_state(MOST_CHAINS, np.uint64)
    accept = list(_ACCEPT if posterior.prior.min() >= _LONG_TAIL else _ACCEPT[1:])
    wanted, steps = 1, 0
    while True:
        for number in range(len(chains), wanted):
            # Chains that follow start from the same mode and scales: less is left to adapt.
            warmup = settings.warmup if number == 0 else settings.warmup // 2
            chain = run_nuts(posterior, n, warmup, int(seeds[number]), accept[0], spread)
            steps += chain.steps
            while number == 0 and chain.divergences > DIVERGENT * n and len(accept) > 1:
                accept.pop(0)
                chain = run_nuts(posterior, n, warmup, int(seeds[number]), accept[0], spread)
                steps += chain.steps
            chains.append(chain)
        # Each chain gives the same number of draws, evenly spaced, in its own order.
        draws = np.concatenate([chain.draws for chain in chains])[wanted - 1 :: wanted]
        worth = chain_statistics(draws)
        if not falls_short(worth, n) or 2 * wanted > plan.most:
            break
        wanted *= 2
    draws = np.ascontiguousarray(draws)
    batch = allocate_draws(layout, draws, seed_state(allocation))
    acceptance = float(np.mean([chain.acceptance for chain in chains]))
    diagnostics = _statistics(worth, acceptance, wanted, steps)
    diagnostics["divergences"] = sum(chain.divergences for chain in chains)
    return draws, batch, diagnostics
