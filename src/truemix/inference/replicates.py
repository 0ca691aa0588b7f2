"""Draws of a mix under several equally plausible replicates of the matrix.

Densities estimated from few references are uncertain, and so is a classifier trained on them. A
set of replicates (reweighted references, models of several folds) represents that uncertainty. The
posterior of the mix is the mixture of the replicates' posteriors, never their product, which would
count every item once per replicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truemix._progress import progress
from truemix._threads import for_each_block, n_threads, row_blocks
from truemix._typing import BoolArray, FloatArray, IntArray, Seed
from truemix.exceptions import InputError
from truemix.inference._checks import check_finite, check_matrix, check_rows
from truemix.inference._failures import failures
from truemix.inference._plan import Settings
from truemix.inference._replicate_diagnostics import replicate_statistics
from truemix.inference._replicate_run import ReplicateRun, streams_of
from truemix.inference.bags import Bag
from truemix.inference.batched import check_bags, draw_bags, seeds_of_bags, weighted_bags
from truemix.inference.sampling import MixtureSample, check_settings

# Warm-up sweeps per replicate: few, since chains start at their modes. Slow mixing lengthens it.
WARMUP = 5
# Each thread copies its matrix; matrices with more entries are processed one at a time.
LARGE = 4_000_000
# Replicates whose counts of sampled rows are in memory at a time, per thread.
MAX_COUNTED = 8


def sample_replicates(
    log_likelihoods: npt.ArrayLike,
    bags: Sequence[npt.ArrayLike],
    *,
    weights: npt.ArrayLike | None = None,
    prior: npt.ArrayLike = 1.0,
    temperature: float = 1.0,
    draws: int = 1000,
    warmup: int = 500,
    sampler: str = "auto",
    random_state: Seed | Sequence[Seed] = None,
) -> list[MixtureSample]:
    """Draw from the mixture of the posteriors under several replicates of the matrix.

    Parameters
    ----------
    log_likelihoods : array-like of shape (V, n, K)
        Replicates of the matrix that :func:`truemix.inference.sample_mixtures` takes.
    bags : sequence of integer arrays
        For each bag, the rows of the pool in it; rows may repeat.
    weights : array-like of shape (n,), optional
        How many items each row of the pool stands for, a whole number; 1 by default.
    prior, temperature, draws, warmup, sampler, random_state
        As for :func:`truemix.inference.sample_mixtures`. The draws are spread evenly over the
        replicates, in order; if there are more replicates than draws, the first ones are used.

    Returns
    -------
    list of MixtureSample
        One per bag, with the ``replicate`` that each draw comes from and additional diagnostics:
        ``replicates``, their number; ``between_variance`` and ``within_variance`` (K,), the
        variance of each share between and within replicates; ``mcse`` (K,), the Monte Carlo
        standard error of the mean of the draws. With eight or more replicates, one chain in four is
        dispersed (it starts far from its mode), and ``rhat`` compares these draws with the others;
        fewer replicates are diagnosed separately, with split R-hat.

    Examples
    --------
    Forty items, and two replicates that disagree about a quarter of them:

    >>> import numpy as np
    >>> from truemix.inference import sample_replicates
    >>> sure = np.repeat([[0.0, -20.0], [-20.0, 0.0]], 20, axis=0)
    >>> other = np.repeat([[0.0, -20.0], [-20.0, 0.0]], [30, 10], axis=0)
    >>> sample, = sample_replicates([sure, other], [np.arange(40)], random_state=0)
    >>> sample.batch[[0, -1]]
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    >>> sample.diagnostics["replicates"]
    2
    """
    matrices = np.asarray(log_likelihoods)
    if matrices.ndim != 3 or not matrices.size:
        raise InputError(
            f"log_likelihoods has shape {matrices.shape}; expected (replicates, items, classes), "
            "with at least one of each."
        )
    settings = check_settings(matrices.shape[2], prior, temperature, draws, warmup, sampler)
    seeds = seeds_of_bags(random_state, len(bags))
    every, n_rows = np.arange(len(matrices)), matrices.shape[1]
    given = weighted_bags(check_bags(bags, n_rows), weights, n_rows)
    return sample_blocks([(every, matrices)], len(matrices), given, settings, seeds)


def sample_blocks(
    blocks: Iterable[tuple[IntArray, FloatArray]],
    n_replicates: int,
    bags: list[Bag],
    settings: Settings,
    seeds: list[np.random.SeedSequence],
) -> list[MixtureSample]:
    """Draw as :func:`sample_replicates` does, from replicates that arrive in blocks.

    Each block holds the numbers of some replicates and their matrices ``(v, n, K)``; the first
    block begins with replicate 0, which determines the sampling plan. Blocks in half precision have
    been checked by whoever made them.
    """
    n_replicates = min(n_replicates, settings.draws)
    if n_replicates > 1:
        for bag in bags:
            _check_whole(bag)
    runs: list[ReplicateRun] = []
    with progress("", n_replicates, "replicates", inside=True) as work:
        for numbers, block in blocks:
            if n_replicates == 1:
                # A single matrix gives the same draws as sample_mixtures.
                return draw_bags(check_matrix(block[0]), bags, settings, seeds)
            used = numbers < n_replicates
            checked = _check_replicates(block if used.all() else block[used], bags)
            if not runs:
                runs = _plan_runs(checked[0], bags, n_replicates, settings, seeds)
            _extend(runs, checked, numbers[used])
            work.advance(int(used.sum()))
            # Free the block before the next one is made: both may not fit into memory.
            del block, checked
    return [_mixture(run) for run in runs]


def _check_whole(bag: Bag) -> None:
    """Raise for fractional weights: items are allocated to classes one by one."""
    if bag.counts is not None and (bag.counts != np.floor(bag.counts)).any():
        place = int(np.argmax(bag.counts != np.floor(bag.counts)))
        raise InputError(
            f"weights[{bag.rows[place]}] is {bag.counts[place]:g}; with several replicates weights "
            "must be whole numbers, how often each row counts."
        )


def _check_replicates(block: FloatArray, bags: list[Bag]) -> FloatArray:
    if block.dtype == np.float16:
        return np.ascontiguousarray(block)
    used = np.zeros(block.shape[1])
    for bag in bags:
        used[bag.rows] = 1.0
    for matrix in block:
        check_rows(check_matrix(matrix), used)
    # Single precision is enough: the samplers scale each row.
    dtype = block.dtype if block.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(block, dtype=dtype)


def _plan_runs(
    first: FloatArray,
    bags: list[Bag],
    n_replicates: int,
    settings: Settings,
    seeds: list[np.random.SeedSequence],
) -> list[ReplicateRun]:
    ends = np.linspace(0, settings.draws, n_replicates + 1).astype(np.intp)
    # A short warm-up: a long one for each replicate would dominate the run time.
    draws, warmup = int(np.diff(ends).max()), min(settings.warmup, WARMUP)
    per_replicate = settings._replace(draws=draws, warmup=warmup)
    return [
        ReplicateRun(first, bag, streams, ends, per_replicate)
        for bag, streams in zip(bags, streams_of(seeds, n_replicates), strict=True)
    ]


def _extend(runs: list[ReplicateRun], matrices: FloatArray, numbers: IntArray) -> None:
    """Sample every bag under these replicates, on all cores; results do not depend on how many."""
    chunk = max(1, -(-len(matrices) * len(runs) // n_threads()))
    if any(run.bag.sample is not None for run in runs):
        # Each of these replicates has counts of its own, which take memory.
        chunk = min(chunk, MAX_COUNTED)
    jobs = [
        (run, block)
        for run in runs
        for block in row_blocks(len(matrices), min(chunk, len(matrices)))
    ]

    def work(rows: slice) -> None:
        for run, block in jobs[rows]:
            run.extend(matrices[block], numbers[block])

    if matrices[0].size > LARGE:
        work(slice(0, len(jobs)))
    else:
        for_each_block(work, len(jobs), 1, "blocks of draws")


def mix_samples(samples: list[MixtureSample]) -> MixtureSample:
    """Concatenate the draws of several replicates into one sample; return a single one as it is."""
    if len(samples) == 1:
        return samples[0]
    every = [sample.diagnostics for sample in samples]
    return _with_diagnostics(
        np.concatenate([sample.draws for sample in samples]),
        np.concatenate([sample.batch for sample in samples]),
        np.cumsum([0, *(len(sample.draws) for sample in samples)]),
        np.zeros(len(samples), dtype=bool),
        {
            "sampler": every[0]["sampler"],
            "reason": every[0]["reason"],
            "divergences": sum(each["divergences"] for each in every),
            "acceptance": float(np.mean([each["acceptance"] for each in every])),
            "thinning": max(each["thinning"] for each in every),
            "steps": sum(each["steps"] for each in every),
        },
        # Each sample has already been diagnosed, from several chains.
        {
            "ess": len(every) * min(each["ess"] for each in every),
            **max(
                ({name: each[name] for name in ("rhat", "rhat_limit")} for each in every),
                key=lambda each: each["rhat"] - each["rhat_limit"],
            ),
            "constant": sum(each["constant"] for each in every),
        },
    )


def _mixture(run: ReplicateRun) -> MixtureSample:
    return _with_diagnostics(
        run.draws, run.batch, run.ends, run.dispersed, run.statistics(), run.sampling_error
    )


def _with_diagnostics(
    draws: FloatArray,
    batch: FloatArray,
    ends: IntArray,
    dispersed: BoolArray,
    sampler_statistics: dict[str, Any],
    chain_diagnostics: dict[str, Any] | None = None,
) -> MixtureSample:
    """Return the sample with the diagnostics of all replicates together."""
    check_finite("mix", draws, batch)
    diagnostics = {
        "sampler": sampler_statistics["sampler"],
        "reason": sampler_statistics["reason"],
        **replicate_statistics(draws, ends, dispersed),
        **(chain_diagnostics or {}),
        **{
            name: sampler_statistics[name]
            for name in ("divergences", "acceptance", "thinning", "steps")
        },
    }
    return MixtureSample(
        draws,
        batch,
        {**diagnostics, "failed": failures(diagnostics, len(draws))},
        np.repeat(np.arange(len(ends) - 1), np.diff(ends)),
    )
