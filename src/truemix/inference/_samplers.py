"""Run a sampler until its draws are worth what is promised, and say what they are worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from truemix._typing import BoolArray, FloatArray
from truemix.exceptions import InputError
from truemix.inference._allocation import Layout, allocate_draws, arrange
from truemix.inference._chains import (
    N_CHAINS,
    SECOND,
    draws_per_chain,
    far_start,
    near_corner,
    settle,
    starts_far,
)
from truemix.inference._checks import check_finite
from truemix.inference._failures import DIVERGENT, failures
from truemix.inference._gibbs import sweep
from truemix.inference._nutpie import Chain
from truemix.inference._nuts import away_from_mode, run_nuts
from truemix.inference._plan import MOST_CHAINS, Plan, Settings, make_plan
from truemix.inference._posterior import Posterior, make_posterior
from truemix.inference._proposal import Proposal, jump_chain, no_proposal
from truemix.inference._random import State, seed_state

# Mean acceptances of NUTS to try in turn, until hardly any trajectory diverges.
_ACCEPT = (0.8, 0.95, 0.99)
# Below this prior the log of an empty class has a tail so long that long steps hit its other end.
_LONG_TAIL = 0.75
# How far from the mode a chain of NUTS starts, in posterior standard deviations per coordinate.
_AT_THE_MODE, _FAR = 0.1, 3.0
# The same for independent proposals: a chain that starts where hardly any lead to would stay there,
# and nothing follows from that.
_WIDE = 2.0
# Chains of NUTS, which take long to adapt; the fourth part of them starts far away.
NUTS_CHAINS = 4
# A class is impossible for an item if its likelihood is this part of the largest.
_IMPOSSIBLE = 1e-12


def sample_one(
    L: FloatArray, w: FloatArray, settings: Settings, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return what :func:`draw_mixes` does, with what failed among the diagnostics."""
    draws, batch, diagnostics = draw_mixes(L, w, settings, seed)
    diagnostics["failed"] = failures(diagnostics, len(draws)) if L.shape[1] > 1 else []
    return draws, batch, diagnostics


def draw_mixes(
    L: FloatArray, w: FloatArray, settings: Settings, seed: np.random.SeedSequence
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
    """
    whole = bool((w == np.floor(w)).all())
    if settings.sampler == "gibbs":
        check_gibbs(settings.temperature, w, whole)
    if L.shape[1] == 1:
        return _only_one_class(settings.draws)
    posterior = make_posterior(L, w, settings.prior, settings.temperature)
    layout = arrange(posterior.L, posterior.w, posterior.mode)
    chains, allocation, pilot = seed.spawn(3)
    made = settings._replace(draws=N_CHAINS * draws_per_chain(settings.draws))
    plan = make_plan(posterior, layout, made, whole, pilot)
    if plan.sampler == "gibbs":
        results = _by_gibbs(posterior, layout, settings, plan, chains)
    elif plan.proposal is not None:
        results = _by_jumps(posterior, layout, settings, plan, plan.proposal, chains, allocation)
    else:
        results = _by_nuts(posterior, layout, settings, plan, chains, allocation)
    draws, batch, diagnostics = results
    check_finite("mix", draws, batch)
    return draws, batch, {"sampler": plan.sampler, "reason": plan.reason, **diagnostics}


def draw_replicate(
    L: FloatArray,
    w: FloatArray,
    settings: Settings,
    seed: np.random.SeedSequence,
    *,
    dispersed: bool,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return a few draws of a single chain of NUTS, to be judged together with other replicates."""
    posterior = make_posterior(L, w, settings.prior, settings.temperature)
    layout = arrange(posterior.L, posterior.w, posterior.mode)
    stream, allocation = seed.spawn(2)
    spread = _FAR if dispersed else _AT_THE_MODE
    own, accept = int(stream.generate_state(1, np.uint64)[0]), _acceptances(posterior)[0]
    chain = run_nuts(posterior, settings.draws, settings.warmup, own, accept, spread)
    draws = np.ascontiguousarray(chain.draws)
    batch = allocate_draws(layout, draws, seed_state(allocation))
    diagnostics = _statistics({}, chain.acceptance, 1, chain.steps)
    return draws, batch, {**diagnostics, "divergences": chain.divergences}


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
    chain: dict[str, Any], acceptance: float, thinning: int, steps: int
) -> dict[str, Any]:
    return {
        **chain,
        "divergences": 0,
        "acceptance": acceptance,
        "thinning": thinning,
        "steps": steps,
    }


def _certain(posterior: Posterior) -> BoolArray:
    """Return which shares the items leave no doubt about: those of classes that explain none.

    If only one class explains any item, its share is certain too.
    """
    impossible = posterior.L.max(axis=0) <= _IMPOSSIBLE
    return np.asarray(impossible | (impossible.sum() == len(impossible) - 1))


class _Start(NamedTuple):
    """Where a chain is, its random stream, and how many steps to discard."""

    pi: FloatArray
    state: State
    discard: int


def _starts(
    posterior: Posterior, plan: Plan, stream: np.random.SeedSequence, spread: float = np.inf
) -> list[_Start]:
    """Return the chains: the steps to discard are shared out, but a far start takes its own.

    Far starts are in the corners of the simplex, or ``spread`` standard deviations from the mode.
    """
    starts = []
    # Any corner first: of many classes there are more than chains.
    first = int(stream.generate_state(1)[0])
    for number, own in enumerate(stream.spawn(N_CHAINS)):
        pi, discard = posterior.mode.copy(), -(-plan.discard // N_CHAINS)
        if starts_far(number, SECOND):
            if spread < np.inf:
                pi = away_from_mode(posterior, spread, own)
            else:
                pi = near_corner(far_start(own, len(pi)), first + number // SECOND)
            discard = max(discard, plan.forget)
        starts.append(_Start(pi, seed_state(own), discard))
    return starts


def _by_gibbs(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    plan: Plan,
    stream: np.random.SeedSequence,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    K, kept = len(posterior.mode), draws_per_chain(settings.draws)
    tries = 0 if plan.proposal is None else 1
    proposal = plan.proposal or no_proposal(K)
    starts, made, accepted = _starts(posterior, plan, stream), 0, 0

    def more(thinning: int) -> FloatArray:
        nonlocal made, accepted
        chains = []
        for start in starts:
            discard = start.discard if made < N_CHAINS else 0
            draws, batch, taken = sweep(
                layout, posterior.prior, start.pi, start.state, discard, kept, thinning, proposal,
                tries,
            )  # fmt: skip
            chains.append(np.hstack([draws, batch]))
            made, accepted = made + 1, accepted + taken
        return np.stack(chains)

    settled = settle(
        more, settings.draws, K,
        thinning=plan.thinning, most=plan.most, certain=_certain(posterior),
    )  # fmt: skip
    steps = sum(start.discard for start in starts) + N_CHAINS * kept * settled.thinning
    draws, batch = np.hsplit(settled.values, 2)
    acceptance = accepted / steps if tries else 1.0
    diagnostics = _statistics(settled.worth, acceptance, settled.thinning, steps)
    return np.ascontiguousarray(draws), np.ascontiguousarray(batch), diagnostics


def _by_jumps(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    plan: Plan,
    proposal: Proposal,
    stream: np.random.SeedSequence,
    allocation: np.random.SeedSequence,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    K, kept = len(posterior.mode), draws_per_chain(settings.draws)
    starts, made, accepted = _starts(posterior, plan, stream, _WIDE), 0, 0

    def more(thinning: int) -> FloatArray:
        nonlocal made, accepted
        chains = []
        for start in starts:
            discard = start.discard if made < N_CHAINS else 0
            draws, taken = jump_chain(proposal, start.pi, start.state, discard, kept, thinning)
            chains.append(draws)
            made, accepted = made + 1, accepted + taken
        return np.stack(chains)

    settled = settle(
        more, settings.draws, K,
        thinning=plan.thinning, most=plan.most, certain=_certain(posterior),
    )  # fmt: skip
    steps = sum(start.discard for start in starts) + N_CHAINS * kept * settled.thinning
    batch = allocate_draws(layout, settled.values, seed_state(allocation))
    diagnostics = _statistics(settled.worth, accepted / steps, settled.thinning, steps)
    return settled.values, batch, diagnostics


def _acceptances(posterior: Posterior) -> list[float]:
    return list(_ACCEPT if posterior.prior.min() >= _LONG_TAIL else _ACCEPT[1:])


def _by_nuts(
    posterior: Posterior,
    layout: Layout,
    settings: Settings,
    plan: Plan,
    stream: np.random.SeedSequence,
    allocation: np.random.SeedSequence,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    kept = draws_per_chain(settings.draws, NUTS_CHAINS)
    most = NUTS_CHAINS * MOST_CHAINS + len(_ACCEPT)
    seeds = iter(stream.generate_state(most, np.uint64).tolist())
    accept, done = _acceptances(posterior), list[Chain]()

    def run(number: int) -> Chain:
        # Chains that follow start from the same mode and scales: less is left to adapt.
        warmup = settings.warmup if not done else settings.warmup // NUTS_CHAINS
        spread = _FAR if starts_far(number) else _AT_THE_MODE
        return run_nuts(posterior, kept, warmup, next(seeds), accept[0], spread)

    def more(rounds: int) -> FloatArray:
        # NUTS cannot go on where it was: instead of longer chains there are more of them, which
        # are thinned to the same number of draws.
        chains = []
        for number in range(NUTS_CHAINS):
            own = [run(number) for _ in range(rounds)]
            while not done and own[0].divergences > DIVERGENT * kept and len(accept) > 1:
                done.append(own[0])
                accept.pop(0)
                own = [run(number) for _ in range(rounds)]
            done.extend(own)
            chains.append(np.concatenate([chain.draws for chain in own])[rounds - 1 :: rounds])
        return np.stack(chains)

    settled = settle(
        more, settings.draws, len(posterior.mode),
        thinning=1, most=plan.most, certain=_certain(posterior),
    )  # fmt: skip
    batch = allocate_draws(layout, settled.values, seed_state(allocation))
    acceptance = float(np.mean([chain.acceptance for chain in done]))
    steps = sum(chain.steps for chain in done)
    diagnostics = _statistics(settled.worth, acceptance, settled.thinning, steps)
    used = done[-NUTS_CHAINS * settled.thinning :]
    return settled.values, batch, {
        **diagnostics, "divergences": sum(chain.divergences for chain in used)
    }  # fmt: skip
