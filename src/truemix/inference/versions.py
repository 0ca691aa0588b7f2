"""Draws of a mix when there are several versions of the matrix, each as plausible as the others.

Densities estimated from few references are uncertain, and so is a classifier trained on them. A
set of versions (reweighted references, models of several folds) stands for that uncertainty, and
what is known about the mix is then the mixture of the versions' posteriors: never their product,
which would count every item once per version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truemix._threads import for_each_block, n_threads, row_blocks
from truemix._typing import BoolArray, FloatArray, IntArray, Seed
from truemix.exceptions import InputError
from truemix.inference._checks import check_finite, check_matrix, check_rows
from truemix.inference.many import check_bags, draw_bags, seeds_of_bags
from truemix.inference.sampling import MixtureSample, check_settings

if TYPE_CHECKING:
    from truemix.inference._plan import Settings
    from truemix.inference._version_run import VersionRun

# Sweeps to discard in each version, unless they forget slowly: chains start at their modes.
WARMUP = 5
# So many versions are judged together, by how they differ; fewer one by one.
MIN_REPLICATES = 8
# Each thread holds what it works on twice; of matrices above this size one at a time is enough.
LARGE = 4_000_000


def sample_versions(
    log_likelihoods: npt.ArrayLike,
    bags: Sequence[npt.ArrayLike],
    *,
    prior: npt.ArrayLike = 1.0,
    temperature: float = 1.0,
    draws: int = 1000,
    warmup: int = 500,
    sampler: str = "auto",
    random_state: Seed | Sequence[Seed] = None,
) -> list[MixtureSample]:
    """Draw from the mixture of the posteriors under several versions of the matrix.

    Parameters
    ----------
    log_likelihoods : array-like of shape (V, n, K)
        Versions of the matrix that :func:`truemix.inference.sample_mixtures` takes.
    bags : sequence of integer arrays
        For each bag, the rows of the pool in it; rows may repeat.
    prior, temperature, draws, warmup, sampler, random_state
        As for :func:`truemix.inference.sample_mixtures`. The draws are spread evenly over the
        versions, in their order; if there are fewer draws than versions, the first ones are used.

    Returns
    -------
    list of MixtureSample
        One per bag, with the ``replicate`` that each draw comes from and these diagnostics more:
        ``versions``, their number; ``between_variance`` and ``within_variance`` (K,), how much of
        the variance of each share lies between the versions and how much within them; ``mcse``
        (K,), the Monte Carlo standard error of the mean of the draws. Of eight versions or more
        one in four starts far from its mode, and ``rhat`` compares these draws with the others;
        fewer are judged one by one, with split R-hat.

    Examples
    --------
    Forty items, and two versions that disagree about a quarter of them:

    >>> import numpy as np
    >>> from truemix.inference import sample_versions
    >>> sure = np.repeat([[0.0, -20.0], [-20.0, 0.0]], 20, axis=0)
    >>> other = np.repeat([[0.0, -20.0], [-20.0, 0.0]], [30, 10], axis=0)
    >>> sample, = sample_versions([sure, other], [np.arange(40)], random_state=0)
    >>> sample.batch[[0, -1]]
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    >>> sample.diagnostics["versions"]
    2
    """
    versions = np.asarray(log_likelihoods)
    if versions.ndim != 3 or not versions.size:
        raise InputError(
            f"log_likelihoods has shape {versions.shape}; expected (versions, items, classes), "
            "with at least one of each."
        )
    settings = check_settings(versions.shape[2], prior, temperature, draws, warmup, sampler)
    seeds = seeds_of_bags(random_state, len(bags))
    every = np.arange(len(versions))
    return sample_blocks([(every, versions)], len(versions), bags, settings, seeds)


def sample_blocks(
    blocks: Iterable[tuple[IntArray, FloatArray]],
    n_versions: int,
    bags: Sequence[npt.ArrayLike],
    settings: Settings,
    seeds: list[np.random.SeedSequence],
) -> list[MixtureSample]:
    """Draw as :func:`sample_versions` does, from versions that come in blocks.

    Each block holds the numbers of some versions and their matrices ``(v, n, K)``; the first block
    begins with version 0, by which the run is planned.
    """
    n_versions = min(n_versions, settings.draws)
    runs: list[VersionRun] = []
    for numbers, block in blocks:
        rows = check_bags(bags, block.shape[1])
        if n_versions == 1:
            # The plain case, with the very draws it would have by itself.
            return draw_bags(check_matrix(block[0]), rows, settings, seeds)
        used = numbers < n_versions
        known = _check_versions(block if used.all() else block[used], rows)
        if not runs:
            runs = _plan_runs(known[0], rows, n_versions, settings, seeds)
        _extend(runs, known, numbers[used])
        # Before the next block is made: the two together may be too much.
        del block, known
    return [_mixture(run) for run in runs]


def _check_versions(block: FloatArray, rows: list[IntArray]) -> FloatArray:
    used = np.zeros(block.shape[1])
    used[np.concatenate(rows)] = 1.0
    for matrix in block:
        check_rows(check_matrix(matrix), used)
    # Single precision may stay: the samplers scale each row by itself.
    kept = block.dtype if block.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(block, dtype=kept)


def _plan_runs(
    first: FloatArray,
    rows: list[IntArray],
    n_versions: int,
    settings: Settings,
    seeds: list[np.random.SeedSequence],
) -> list[VersionRun]:
    from truemix.inference._version_run import VersionRun

    ends = np.linspace(0, settings.draws, n_versions + 1).astype(np.intp)
    # Every version runs for this long; a long warm-up for each would be most of the work.
    each = settings._replace(draws=int(np.diff(ends).max()), warmup=min(settings.warmup, WARMUP))
    return [VersionRun(first, *bag, ends, each) for bag in zip(rows, seeds, strict=True)]


def _extend(runs: list[VersionRun], versions: FloatArray, numbers: IntArray) -> None:
    """Run these versions for every bag, on all cores; results do not depend on how many."""
    chunk = max(1, -(-len(versions) * len(runs) // n_threads()))
    jobs = [
        (run, block)
        for run in runs
        for block in row_blocks(len(versions), min(chunk, len(versions)))
    ]

    def work(rows: slice) -> None:
        for run, block in jobs[rows]:
            run.extend(versions[block], numbers[block])

    if versions[0].size > LARGE:
        work(slice(0, len(jobs)))
    else:
        for_each_block(work, len(jobs), 1)


def mix_samples(samples: list[MixtureSample]) -> MixtureSample:
    """Return the draws of several versions as one sample; that of a single one as it is."""
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
        # Each has been judged by its own chains.
        {
            "ess": len(every) * min(each["ess"] for each in every),
            **max(
                ({name: each[name] for name in ("rhat", "rhat_limit")} for each in every),
                key=lambda each: each["rhat"] - each["rhat_limit"],
            ),
            "constant": sum(each["constant"] for each in every),
        },
    )


def _mixture(run: VersionRun) -> MixtureSample:
    return _with_diagnostics(run.draws, run.batch, run.ends, run.dispersed, run.statistics())


def _with_diagnostics(
    draws: FloatArray,
    batch: FloatArray,
    ends: IntArray,
    dispersed: BoolArray,
    known: dict[str, Any],
    judged: dict[str, Any] | None = None,
) -> MixtureSample:
    """Add what only all versions together can tell."""
    from truemix.inference._failures import failures
    from truemix.inference._replicate_diagnostics import replicate_statistics

    check_finite("mix", draws, batch)
    diagnostics = {
        "sampler": known["sampler"],
        "reason": known["reason"],
        **replicate_statistics(draws, ends, dispersed),
        **(judged or {}),
        **{name: known[name] for name in ("divergences", "acceptance", "thinning", "steps")},
    }
    return MixtureSample(
        draws,
        batch,
        {**diagnostics, "failed": failures(diagnostics, len(draws))},
        np.repeat(np.arange(len(ends) - 1), np.diff(ends)),
    )
