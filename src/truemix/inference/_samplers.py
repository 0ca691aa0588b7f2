"""Sample a mix given one matrix with the planned kernel: Gibbs, independence Metropolis, NUTS."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix import _core
from truemix._typing import BoolArray, FloatArray
from truemix.exceptions import InputError
from truemix.inference._chains import (
    DISPERSED_STEPPED,
    N_CHAINS,
    NUTS_CHAINS,
    Kernel,
    Restarted,
    Start,
    Stepped,
    dispersed_start,
    draws_per_chain,
    is_dispersed,
    near_corner,
    report_of,
    settle,
)
from truemix.inference._checks import check_finite
from truemix.inference._failures import DIVERGENT, failures
from truemix.inference._nutpie import Chain
from truemix.inference._nuts import away_from_mode, run_nuts
from truemix.inference._plan import LONG_TAIL, MAX_CHAINS, Plan, Settings, make_plan
from truemix.inference._posterior import Posterior, make_posterior
from truemix.inference._random import seed_state

# Target acceptances of NUTS, tried in turn until hardly any trajectory diverges.
_ACCEPT = (0.8, 0.95, 0.99)
# Distance of the initial point from the mode, in posterior standard deviations per coordinate: NUTS
# chains at the mode, and dispersed ones.
_AT_THE_MODE, _DISPERSED = 0.1, 3.0
# The same for independence Metropolis. A chain that starts where proposals have hardly any density
# would stay there, which says nothing about convergence elsewhere.
_WIDE = 2.0
NOT_WHOLE = "Gibbs sampling is for weights that, divided by the temperature, are whole numbers"
# A class is impossible for an item if its likelihood is below this fraction of the largest.
_IMPOSSIBLE = 1e-12


def sample_one(
    L: FloatArray, w: FloatArray, settings: Settings, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return the result of :func:`draw_mixes`, with ``failed`` added to the diagnostics."""
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
        Parameters of the sample.
    seed : SeedSequence
        The seed.
    """
    if settings.sampler == "gibbs":
        check_gibbs(settings.temperature, w)
    if L.shape[1] == 1:
        return _only_one_class(settings.draws)
    # To a whole power the likelihood of an item is that of so many copies of it.
    copied = settings.sampler != "nuts" and _is_whole(w / settings.temperature)
    if copied:
        posterior = make_posterior(L, w / settings.temperature, settings.prior, 1.0)
    else:
        posterior = make_posterior(L, w, settings.prior, settings.temperature)
    layout = _core.Layout(posterior.L, posterior.w, posterior.mode)
    chains, allocation, pilot = seed.spawn(3)
    made = settings._replace(draws=N_CHAINS * draws_per_chain(settings.draws))
    plan = make_plan(posterior, layout, made, pilot, no_gibbs="" if copied else NOT_WHOLE)
    if plan.sampler == "gibbs":
        kernel = _gibbs(posterior, layout, plan, chains)
    elif plan.proposal is not None:
        kernel = _metropolis(posterior, plan, plan.proposal, chains)
    else:
        kernel = _nuts(posterior, settings, chains)
    K = len(posterior.mode)
    settled = settle(
        kernel, settings.draws, K,
        thinning=plan.thinning, max_thinning=plan.max_thinning, certain=_certain(posterior),
    )  # fmt: skip
    draws = np.ascontiguousarray(settled.values[:, :K])
    if settled.values.shape[1] > K and settings.temperature == 1.0:
        batch = np.ascontiguousarray(settled.values[:, K:])
    else:
        if copied:
            # An item has one class, however many copies stand for it.
            items = posterior.w * settings.temperature
            layout = _core.Layout(posterior.L, items, posterior.mode)
        batch = _core.allocate_draws(layout, draws, seed_state(allocation))
    check_finite("mix", draws, batch)
    return draws, batch, {"sampler": plan.sampler, "reason": plan.reason, **settled.diagnostics}


def draw_replicate(
    L: FloatArray,
    w: FloatArray,
    settings: Settings,
    seed: np.random.SeedSequence,
    *,
    dispersed: bool,
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return a few draws of one NUTS chain, to be diagnosed jointly with other replicates."""
    posterior = make_posterior(L, w, settings.prior, settings.temperature)
    layout = _core.Layout(posterior.L, posterior.w, posterior.mode)
    stream, allocation = seed.spawn(2)
    spread = _DISPERSED if dispersed else _AT_THE_MODE
    number, accept = int(stream.generate_state(1, np.uint64)[0]), _acceptances(posterior)[0]
    chain = run_nuts(posterior, settings.draws, settings.warmup, number, accept, spread)
    draws = np.ascontiguousarray(chain.draws)
    batch = _core.allocate_draws(layout, draws, seed_state(allocation))
    return draws, batch, {**report_of([chain]), "thinning": 1}


def check_gibbs(temperature: float, w: FloatArray, *, replicated: bool = False) -> None:
    """Raise for a temperature or weights that Gibbs sampling does not support."""
    possible, limit = temperature == 1.0, "temperature 1"
    if not replicated:
        possible, limit = _is_whole(np.array([1.0 / temperature])), f"{limit}, 1/2, 1/3, ..."
    if not possible:
        raise InputError(
            f"The 'temperature' parameter is {temperature:g}, but sampler='gibbs' draws at "
            f"{limit} only; use sampler='auto'."
        )
    if not _is_whole(w / temperature):
        row = int(np.argmax(w / temperature % 1.0 > 0.0))
        raise InputError(
            f"A weight is {w[row]:g} but sampler='gibbs' needs weights that are whole numbers, "
            "how often each row counts; use sampler='auto'."
        )


def _is_whole(values: FloatArray) -> bool:
    return bool((values == np.floor(values)).all())


def _only_one_class(draws: int) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    diagnostics = {
        "sampler": "exact",
        "reason": "there is only one class",
        **{"ess": float(draws), "rhat": 1.0, "rhat_limit": 1.0, "constant": 0},
        **{"divergences": 0, "acceptance": 1.0, "steps": 0, "thinning": 1},
    }
    return np.ones((draws, 1)), np.ones((draws, 1)), diagnostics


def _certain(posterior: Posterior) -> BoolArray:
    """Return which shares the items determine: those of classes impossible for every item.

    If only one class is possible for any item, its share is certain, too.
    """
    impossible = posterior.L.max(axis=0) <= _IMPOSSIBLE
    return np.asarray(impossible | (impossible.sum() == len(impossible) - 1))


def _starts(
    posterior: Posterior, plan: Plan, stream: np.random.SeedSequence, spread: float = np.inf
) -> list[Start]:
    """Return the initial states of the chains.

    The steps to discard are divided among the chains; dispersed chains discard at least
    ``plan.forget``. They start near corners of the simplex, or ``spread`` standard deviations from
    the mode.
    """
    starts = []
    # A random first corner: there may be more corners than chains.
    first = int(stream.generate_state(1)[0])
    for number, seed in enumerate(stream.spawn(N_CHAINS)):
        pi, discard = posterior.mode.copy(), -(-plan.discard // N_CHAINS)
        if is_dispersed(number, DISPERSED_STEPPED):
            if spread < np.inf:
                pi = away_from_mode(posterior, spread, seed)
            else:
                pi = near_corner(
                    dispersed_start(seed, len(pi)), first + number // DISPERSED_STEPPED
                )
            discard = max(discard, plan.forget)
        starts.append(Start((pi,), seed_state(seed), discard))
    return starts


def _gibbs(
    posterior: Posterior, layout: _core.Layout, plan: Plan, stream: np.random.SeedSequence
) -> Kernel:
    """Return the Gibbs kernel, with proposals if planned; columns: mix, then realised mix."""

    def step(start: Start, discard: int, kept: int, thinning: int) -> tuple[FloatArray, int]:
        (pi,) = start.place
        draws, batch, accepted = _core.sweep(
            layout, posterior.prior, pi, start.state, discard, kept, thinning, plan.proposal
        )
        return np.hstack([draws, batch]), accepted

    return Stepped(step, _starts(posterior, plan, stream), proposes=plan.proposal is not None)


def _metropolis(
    posterior: Posterior, plan: Plan, proposal: _core.Proposal, stream: np.random.SeedSequence
) -> Kernel:
    """Return the independence Metropolis kernel."""

    def step(start: Start, discard: int, kept: int, thinning: int) -> tuple[FloatArray, int]:
        (pi,) = start.place
        return _core.independence_chain(
            proposal, pi, start.state, discard, kept, thinning, plan.local
        )

    return Stepped(step, _starts(posterior, plan, stream, _WIDE))


def _acceptances(posterior: Posterior) -> list[float]:
    return list(_ACCEPT if posterior.prior.min() >= LONG_TAIL else _ACCEPT[1:])


def _nuts(posterior: Posterior, settings: Settings, stream: np.random.SeedSequence) -> Kernel:
    """Return the NUTS kernel; its first chain raises the target acceptance if it diverges."""
    kept = draws_per_chain(settings.draws, NUTS_CHAINS)
    max_runs = NUTS_CHAINS * MAX_CHAINS + len(_ACCEPT)
    seeds = iter(stream.generate_state(max_runs, np.uint64).tolist())
    accept = _acceptances(posterior)

    def run(number: int, first: bool) -> Chain:
        # All chains start from the same mode and scales, so later ones get a shorter warm-up.
        warmup = settings.warmup if first else settings.warmup // NUTS_CHAINS
        spread = _DISPERSED if is_dispersed(number) else _AT_THE_MODE
        chain = run_nuts(posterior, kept, warmup, next(seeds), accept[0], spread)
        if first and chain.divergences > DIVERGENT * kept and len(accept) > 1:
            accept.pop(0)
            return run(number, first)
        return chain

    return Restarted(run)
