"""Draws from the joint posterior of the mix and the classifier's confusion matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from truemix import _core
from truemix._typing import FloatArray, IntArray, Seed
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
    settle,
)
from truemix.inference._checks import as_floats, check_finite
from truemix.inference._failures import failures
from truemix.inference._joint_nuts import run_joint_nuts
from truemix.inference._nutpie import Chain
from truemix.inference._plan import Settings
from truemix.inference._random import seed_state
from truemix.inference.sampling import MixtureSample, check_seed, check_settings
from truemix.validation import MAX_WEIGHT

# Maximum thinning to reach the effective sample size, and the number of probabilities (of all
# matrices of a run) beyond which draws are not thinned further: a few seconds. With a hundred
# classes and a sparse prior there are modes between which no affordable chain moves.
MAX_THINNING = 256
MAX_PROBABILITIES = 6e7
MAX_CHAINS = 8
# Distance of NUTS' initial points from the origin: chains at the centre, and dispersed ones.
_AT_THE_MODE, _DISPERSED = 0.1, 2.0


def sample_confusion(
    labelled: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    prior: npt.ArrayLike = 1.0,
    temperature: float = 1.0,
    draws: int = 1000,
    warmup: int = 500,
    sampler: str = "auto",
    random_state: Seed = None,
) -> MixtureSample:
    """Draw the mix and the confusion matrix jointly from their posterior, given counts only.

    The model: labelled items of class y are predicted as c with probabilities ``M[y, c]`` (a
    uniform prior on each row), unlabelled ones with probabilities ``pi @ M``, and the mix ``pi``
    has a Dirichlet prior. A temperature raises both likelihoods to the power ``1 / temperature``.

    Parameters
    ----------
    labelled : array-like of shape (K, C)
        Number of labelled items of each class (row) predicted as each class (column).
    predicted : array-like of shape (C,)
        Number of unlabelled items predicted as each class.
    prior, temperature, draws, warmup, random_state
        As for :func:`truemix.inference.sample_mixture`.
    sampler : {"auto", "gibbs", "nuts"}
        Gibbs sampling works at every temperature here and is what ``"auto"`` takes.

    Returns
    -------
    MixtureSample
        ``acceptance`` of Gibbs sampling is 1 at temperature 1, where every step is exact.

    Notes
    -----
    Gibbs sampling with the unlabelled items' true classes as latent variables. At other
    temperatures the same step is a proposal of a Metropolis-Hastings sampler: it leaves out less
    than half an item per predicted class, so nearly all proposals are accepted. Slice-sampling
    moves that exchange mass between two classes follow each step; without them the effective sample
    size for a weak classifier would be a hundredth of the number of draws.

    Examples
    --------
    >>> sample = sample_confusion([[90, 10], [20, 80]], [55, 45], random_state=0)
    >>> sample.draws.mean(axis=0).round(1)
    array([0.5, 0.5])
    >>> sample.diagnostics["failed"]
    []
    """
    F, counts = _check_counts(labelled, predicted)
    settings = check_settings(len(F), prior, temperature, draws, warmup, sampler)
    seed = check_seed(random_state)
    problem = _Problem(
        settings.prior, 1.0 + F / settings.temperature, counts / settings.temperature, counts
    )
    return _draw(problem, settings, seed)


class _Problem(NamedTuple):
    """Dirichlet parameters of the mix and of the rows; predicted counts, tempered and as given."""

    prior: FloatArray
    row_shapes: FloatArray
    powers: FloatArray
    counts: IntArray


def _draw(problem: _Problem, settings: Settings, seed: np.random.SeedSequence) -> MixtureSample:
    n_classes = len(problem.prior)
    if settings.sampler == "nuts":
        stream, allocation = seed.spawn(2)
        settled = settle(
            _nuts(problem, settings, stream), settings.draws, n_classes, max_thinning=MAX_CHAINS
        )
        state = seed_state(allocation)
        batch = _core.realised(settled.values, n_classes, problem.counts, state)
        about = {"sampler": "nuts", "reason": "it was asked for"}
    else:
        kernel = _gibbs(problem, settings, seed)
        limit = _max_thinning(problem, settings.draws)
        settled = settle(kernel, settings.draws, n_classes, max_thinning=limit)
        batch = np.ascontiguousarray(settled.values[:, n_classes:])
        about = {
            "sampler": "gibbs",
            "reason": "mix and confusion matrix are conjugate given the classes of the items",
        }
    mixes = np.ascontiguousarray(settled.values[:, :n_classes])
    check_finite("mix", mixes, batch)
    diagnostics = {**about, **settled.diagnostics}
    diagnostics["failed"] = failures(diagnostics, settings.draws)
    return MixtureSample(mixes, batch, diagnostics)


def _max_thinning(problem: _Problem, draws: int) -> int:
    """Return how many sweeps a draw may take."""
    made = N_CHAINS * draws_per_chain(draws) * problem.row_shapes.size
    return int(min(max(MAX_PROBABILITIES / made, 1.0), MAX_THINNING))


def _gibbs(problem: _Problem, settings: Settings, seed: np.random.SeedSequence) -> Kernel:
    """Return the joint Gibbs kernel; columns: mix, then realised mix."""

    def step(start: Start, discard: int, kept: int, thinning: int) -> tuple[FloatArray, int]:
        pi, M = start.place
        mixes, batch, accepted = _core.joint_sweeps(
            *problem, pi, M, start.state, discard, kept, thinning
        )
        return np.hstack([mixes, batch]), accepted

    starts = [
        Start(
            _start(problem, number, stream), seed_state(stream), _discard(settings.warmup, number)
        )
        for number, stream in enumerate(seed.spawn(N_CHAINS))
    ]
    return Stepped(step, starts)


def _start(
    problem: _Problem, number: int, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray]:
    """Return the initial state of a chain: the uniform mix and the mean matrix, or dispersed."""
    n_classes, n_decisions = problem.row_shapes.shape
    if is_dispersed(number, DISPERSED_STEPPED):
        rows = [dispersed_start(seed, n_decisions, key=12 + row) for row in range(n_classes)]
        return near_corner(dispersed_start(seed, n_classes), number // DISPERSED_STEPPED), np.array(
            rows
        )
    M = problem.row_shapes / problem.row_shapes.sum(axis=1, keepdims=True)
    return np.full(n_classes, 1.0 / n_classes), M


def _discard(warmup: int, number: int) -> int:
    """Return how many sweeps a chain discards; dispersed chains discard twice as many."""
    return -(-warmup * (2 if is_dispersed(number, DISPERSED_STEPPED) else 1) // N_CHAINS)


def _nuts(problem: _Problem, settings: Settings, stream: np.random.SeedSequence) -> Kernel:
    """Return the joint NUTS kernel."""
    seeds = iter(stream.generate_state(NUTS_CHAINS * MAX_CHAINS, np.uint64).tolist())
    kept = draws_per_chain(settings.draws, NUTS_CHAINS)

    def run(number: int, first: bool) -> Chain:
        spread = _DISPERSED if is_dispersed(number) else _AT_THE_MODE
        warmup = settings.warmup if first else settings.warmup // NUTS_CHAINS
        return run_joint_nuts(*problem[:3], kept, warmup, next(seeds), spread)

    return Restarted(run)


def _check_counts(labelled: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[FloatArray, IntArray]:
    F, N = as_floats(labelled, "labelled"), as_floats(predicted, "predicted")
    if F.ndim != 2 or N.ndim != 1 or F.shape[1] != len(N) or F.shape[0] < 1:
        raise InputError(
            f"labelled has shape {F.shape} and predicted {N.shape}; expected (K, C) counts of "
            "labelled items and (C,) counts of predictions."
        )
    for name, values in (("labelled", F), ("predicted", N)):
        if not (np.isfinite(values) & (values >= 0) & (values == np.floor(values))).all():
            raise InputError(f"{name} must hold counts: whole numbers of at least 0.")
        if values.sum() > MAX_WEIGHT:
            raise InputError(f"{name} counts {values.sum():g} items; 2**53 are the most.")
    if N.sum() == 0:
        raise InputError("predicted counts no items; at least one is needed.")
    # The compiled core takes rows as they follow each other.
    return np.ascontiguousarray(F), N.astype(np.int64)
