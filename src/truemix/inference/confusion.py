"""Draws of the mix when the classifier's confusion matrix is itself uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray, IntArray, Seed
from truemix.exceptions import InputError
from truemix.inference._checks import as_floats, check_finite
from truemix.inference.sampling import MixtureSample, check_seed, check_settings
from truemix.validation import MAX_WEIGHT

if TYPE_CHECKING:
    from truemix.inference._nutpie import Chain

# How far sweeps may be thinned to get the promised effective draws.
MOST_THINNING = 256
MOST_CHAINS = 8
# Chains of NUTS, and how far from the centre of what is known beforehand they start.
NUTS_CHAINS = 4
_AT_THE_MODE, _FAR = 0.1, 2.0


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
    than half an item per predicted class, so nearly all proposals are accepted. Slices along lines
    that exchange two classes' shares follow each step; without them the draws of a weak
    classifier's mix would be worth a hundredth of their number.

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
    if settings.sampler == "nuts":
        return _by_nuts(problem, settings.draws, settings.warmup, seed)
    return _by_gibbs(problem, settings.draws, settings.warmup, seed)


class _Problem(NamedTuple):
    """The prior of the mix, what is known of the rows, and the counts, tempered and as given."""

    prior: FloatArray
    row_shapes: FloatArray
    powers: FloatArray
    counts: IntArray


def _by_gibbs(
    problem: _Problem, draws: int, warmup: int, seed: np.random.SeedSequence
) -> MixtureSample:
    from truemix.inference._chains import N_CHAINS, draws_per_chain, settle
    from truemix.inference._joint_gibbs import joint_sweeps
    from truemix.inference._random import seed_state

    n_classes, kept = len(problem.prior), draws_per_chain(draws)
    own = seed.spawn(N_CHAINS)
    starts = [_start(problem, number, each) for number, each in enumerate(own)]
    states = [seed_state(each) for each in own]
    discards = [_discard(warmup, number) for number in range(N_CHAINS)]
    made, accepted = 0, 0

    def more(thinning: int) -> FloatArray:
        nonlocal made, accepted
        chains = []
        for start, state, discard in zip(starts, states, discards, strict=True):
            first = discard if made < N_CHAINS else 0
            mixes, batch, taken = joint_sweeps(*problem, *start, state, first, kept, thinning)
            chains.append(np.hstack([mixes, batch]))
            made, accepted = made + 1, accepted + taken
        return np.stack(chains)

    settled = settle(more, draws, n_classes, thinning=1, most=MOST_THINNING)
    steps = sum(discards) + N_CHAINS * kept * settled.thinning
    mixes, batch = (np.ascontiguousarray(each) for each in np.hsplit(settled.values, 2))
    diagnostics = {
        "sampler": "gibbs",
        "reason": "mix and confusion matrix are conjugate given the classes of the items",
        **settled.worth,
        "divergences": 0,
        "acceptance": accepted / steps,
        "thinning": settled.thinning,
        "steps": steps,
    }
    check_finite("mix", mixes, batch)
    return MixtureSample(mixes, batch, _judged(diagnostics, draws))


def _start(
    problem: _Problem, number: int, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray]:
    """Return where a chain starts: in the middle of what is known beforehand, or anywhere."""
    from truemix.inference._chains import SECOND, far_start, near_corner, starts_far

    n_classes, n_decisions = problem.row_shapes.shape
    if starts_far(number, SECOND):
        rows = [far_start(seed, n_decisions, key=12 + row) for row in range(n_classes)]
        return near_corner(far_start(seed, n_classes), number // SECOND), np.array(rows)
    M = problem.row_shapes / problem.row_shapes.sum(axis=1, keepdims=True)
    return np.full(n_classes, 1.0 / n_classes), M


def _discard(warmup: int, number: int) -> int:
    """Return a chain's part of the sweeps to discard; a far start takes twice as many."""
    from truemix.inference._chains import N_CHAINS, SECOND, starts_far

    return -(-warmup * (2 if starts_far(number, SECOND) else 1) // N_CHAINS)


def _by_nuts(
    problem: _Problem, draws: int, warmup: int, seed: np.random.SeedSequence
) -> MixtureSample:
    from truemix.inference._chains import draws_per_chain, settle, starts_far
    from truemix.inference._joint_nuts import realised, run_joint_nuts
    from truemix.inference._random import seed_state

    stream, allocation = seed.spawn(2)
    seeds = iter(stream.generate_state(NUTS_CHAINS * MOST_CHAINS, np.uint64).tolist())
    n_classes, kept = len(problem.prior), draws_per_chain(draws, NUTS_CHAINS)
    done: list[Chain] = []

    def run(number: int) -> Chain:
        spread = _FAR if starts_far(number) else _AT_THE_MODE
        own = warmup if not done else warmup // NUTS_CHAINS
        done.append(run_joint_nuts(*problem[:3], kept, own, next(seeds), spread))
        return done[-1]

    def more(rounds: int) -> FloatArray:
        # Instead of longer chains there are more of them, thinned to the same number of draws.
        return np.stack([
            np.concatenate([run(number).draws for _ in range(rounds)])[rounds - 1 :: rounds]
            for number in range(NUTS_CHAINS)
        ])  # fmt: skip

    settled = settle(more, draws, n_classes, thinning=1, most=MOST_CHAINS)
    mixes = np.ascontiguousarray(settled.values[:, :n_classes])
    batch = realised(settled.values, n_classes, problem.counts, seed_state(allocation))
    diagnostics = {
        "sampler": "nuts",
        "reason": "it was asked for",
        **settled.worth,
        "divergences": sum(chain.divergences for chain in done),
        "acceptance": float(np.mean([chain.acceptance for chain in done])),
        "thinning": settled.thinning,
        "steps": sum(chain.steps for chain in done),
    }
    check_finite("mix", mixes, batch)
    return MixtureSample(mixes, batch, _judged(diagnostics, draws))


def _judged(diagnostics: dict[str, Any], draws: int) -> dict[str, Any]:
    from truemix.inference._failures import failures

    return {**diagnostics, "failed": failures(diagnostics, draws)}


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
    return F, N.astype(np.int64)
