"""Maximum-likelihood mixes and posterior draws of many bags from one pool, on all cores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from truemix import _core
from truemix._threads import for_each_block
from truemix._typing import FloatArray, IntArray, Seed
from truemix.exceptions import InputError
from truemix.inference._checks import (
    check_controls,
    check_finite,
    check_matrix,
    check_rows,
    check_start,
    relative_weights,
    scale_rows,
)
from truemix.inference._plan import Settings
from truemix.inference._samplers import sample_one
from truemix.inference.bags import Bag, plain_bags
from truemix.inference.maximum_likelihood import MixtureFit
from truemix.inference.sampling import MixtureSample, check_seed, check_settings
from truemix.validation import check_counts

# The duality gap at which the solver stops, and its largest number of iterations.
TOL, MAX_ITER = 1e-8, 1000
# Small bags are solved in less time than a thread needs to take up a task.
BAGS_PER_TASK = 16


def maximize_mixtures(
    log_likelihood: npt.ArrayLike,
    bags: Sequence[npt.ArrayLike],
    *,
    weights: npt.ArrayLike | None = None,
    starts: npt.ArrayLike | None = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
) -> list[MixtureFit]:
    """Find the maximum-likelihood mix of each bag of items from one pool.

    Parameters
    ----------
    log_likelihood : array-like of shape (n, K)
        The pool, as for :func:`truemix.inference.maximize_mixture`.
    bags : sequence of integer arrays
        For each bag, the rows of the pool in it; rows may repeat.
    weights : array-like of shape (n,), optional
        How much each row of the pool counts; 1 by default.
    starts : array-like of shape (len(bags), K), optional
        Where to start for each bag; uniform by default.
    tol, max_iter
        As for :func:`truemix.inference.maximize_mixture`.

    Returns
    -------
    list of MixtureFit
        One per bag, equal to ``maximize_mixture(log_likelihood[bag])``.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix.inference import maximize_mixtures
    >>> pool = np.log([[8, 1], [8, 1], [1, 8], [1, 8]])
    >>> fits = maximize_mixtures(pool, [[0, 1, 2, 3], [0, 1, 2], [2, 3, 3]])
    >>> np.round([fit.prevalence for fit in fits], 2)
    array([[0.5 , 0.5 ],
           [0.71, 0.29],
           [0.  , 1.  ]])
    """
    values = check_matrix(log_likelihood)
    rows = check_bags(bags, len(values))
    _check_starts(starts, len(rows), values.shape[1])
    check_controls(tol, max_iter)
    return solve_bags(values, weighted_bags(rows, weights, len(values)), starts, tol, max_iter)


def solve_bags(
    values: FloatArray,
    bags: list[Bag],
    starts: npt.ArrayLike | None = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
) -> list[MixtureFit]:
    """Solve as :func:`maximize_mixtures` does, for bags whose rows have counts of their own."""
    firsts = _check_starts(starts, len(bags), values.shape[1])
    L, peaks = _scale_pool(values, _used(bags, len(values)))

    def solve(number: int) -> MixtureFit:
        bag = bags[number]
        items = _items_of(L, bag.rows)
        w = relative_weights(bag.counts, len(items))
        x, gap, steps, converged = _core.solve_mixture(
            items, w, firsts[number], float(tol), int(max_iter)
        )
        check_finite("mix", x)
        mean = float(w @ (np.log(items @ x) + peaks[bag.rows]))
        return MixtureFit(x, float(gap), int(steps), bool(converged), mean)

    fits: list[MixtureFit | None] = [None] * len(bags)

    def work(block: slice) -> None:
        fits[block] = [solve(number) for number in range(block.start, block.stop)]

    for_each_block(work, len(bags), 1, "batches")
    return [fit for fit in fits if fit is not None]


def mixes_under_each(
    matrices: FloatArray, rows: list[IntArray], counts: list[IntArray], tol: float = TOL
) -> FloatArray:
    """Return the maximum-likelihood mix of each bag under each of several matrices.

    Each matrix starts where the one before it ended: neighbours should be similar.

    Parameters
    ----------
    matrices : ndarray of shape (S, n, K)
        Log-likelihoods of one pool.
    rows, counts : lists of ndarrays
        For each bag, distinct rows of the pool and how often each is in the bag.
    tol : float
        As for :func:`maximize_mixtures`.

    Returns
    -------
    ndarray of shape (S, len(rows), K)

    Examples
    --------
    >>> pool = np.log([[8, 1], [8, 1], [1, 8]])
    >>> rows, counts = [np.array([0, 2]), np.array([1, 2])], [np.array([1, 1]), np.array([2, 1])]
    >>> mixes_under_each(pool[None], rows, counts)[0].round(2)
    array([[0.5 , 0.5 ],
           [0.71, 0.29]])
    """
    _, n, n_classes = matrices.shape
    used = _used(plain_bags(rows), n)
    pools = [_scale_pool(values, used)[0] for values in matrices]
    mixes = np.empty((len(pools), len(rows), n_classes))

    def work(block: slice) -> None:
        for bag in range(block.start, block.stop):
            w = counts[bag] / counts[bag].sum()
            mix = check_start(None, n_classes)
            for L, found in zip(pools, mixes, strict=True):
                mix = _core.solve_mixture(L[rows[bag]], w, mix, tol, MAX_ITER)[0]
                found[bag] = mix

    for_each_block(work, len(rows), BAGS_PER_TASK)
    check_finite("mix", mixes)
    return mixes


def sample_mixtures(
    log_likelihood: npt.ArrayLike,
    bags: Sequence[npt.ArrayLike],
    *,
    prior: npt.ArrayLike = 1.0,
    temperature: float = 1.0,
    draws: int = 1000,
    warmup: int = 500,
    sampler: str = "auto",
    weights: npt.ArrayLike | None = None,
    random_state: Seed | Sequence[Seed] = None,
) -> list[MixtureSample]:
    """Draw from the posterior of the mix of each bag of items from one pool.

    Parameters
    ----------
    log_likelihood : array-like of shape (n, K)
        The pool, as for :func:`truemix.inference.sample_mixture`.
    bags : sequence of integer arrays
        For each bag, the rows of the pool in it; rows may repeat.
    prior, temperature, draws, warmup, sampler
        As for :func:`truemix.inference.sample_mixture`.
    weights : array-like of shape (n,), optional
        How many items each row of the pool stands for; 1 by default.
    random_state : int, Generator, None, or a sequence of them
        One seed for all bags, or one for each. An integer means the same random stream in each
        bag; if draws are compared between bags, give each bag its own seed.

    Returns
    -------
    list of MixtureSample
        One per bag, equal to ``sample_mixture(log_likelihood[bag], ...)`` called one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix.inference import sample_mixtures
    >>> pool = np.log([[8, 1], [8, 1], [1, 8], [1, 8]])
    >>> samples = sample_mixtures(pool, [[0, 1, 2, 3], [2, 3, 3]], random_state=0)
    >>> [sample.draws.shape for sample in samples]
    [(1000, 2), (1000, 2)]
    """
    values = check_matrix(log_likelihood)
    rows = check_bags(bags, len(values))
    settings = check_settings(values.shape[1], prior, temperature, draws, warmup, sampler)
    seeds = seeds_of_bags(random_state, len(rows))
    return draw_bags(values, weighted_bags(rows, weights, len(values)), settings, seeds)


def draw_bags(
    values: FloatArray,
    bags: list[Bag],
    settings: Settings,
    seeds: list[np.random.SeedSequence],
) -> list[MixtureSample]:
    """Draw as :func:`sample_mixtures` does, for input that has been checked."""
    L, _ = _scale_pool(values, _used(bags, len(values)))
    samples: list[MixtureSample | None] = [None] * len(bags)

    def work(block: slice) -> None:
        for number in range(block.start, block.stop):
            bag = bags[number]
            results = sample_one(
                *_counted(_items_of(L, bag.rows), bag.weights), settings, seeds[number]
            )
            samples[number] = MixtureSample(*results)

    for_each_block(work, len(bags), 1, "batches")
    return [sample for sample in samples if sample is not None]


def weighted_bags(rows: list[IntArray], weights: npt.ArrayLike | None, n_rows: int) -> list[Bag]:
    """Return bags of rows, given how many items each row of the pool stands for."""
    if weights is None:
        return plain_bags(rows)
    counts = check_counts(weights, n_rows)
    return [Bag(each, counts[each]) for each in rows]


def seeds_of_bags(random_state: Seed | Sequence[Seed], n_bags: int) -> list[np.random.SeedSequence]:
    """Return the seed of each bag, given one for all or one for each."""
    if random_state is None or not isinstance(random_state, Sequence | np.ndarray):
        random_state = [random_state] * n_bags
    if len(random_state) != n_bags:
        raise InputError(
            f"random_state has {len(random_state)} seeds for {n_bags} bags; expected a single "
            "seed, or one for each bag."
        )
    # In order: a shared generator advances as in separate calls.
    return [check_seed(state) for state in random_state]


def check_bags(bags: Sequence[npt.ArrayLike], n: int) -> list[IntArray]:
    """Return the row numbers in each bag, all between 0 and n - 1."""
    rows = []
    for number, bag in enumerate(bags):
        index = np.asarray(bag)
        if index.ndim != 1 or index.size == 0 or index.dtype.kind not in "iu":
            raise InputError(
                f"Bag {number} is an array of shape {index.shape} and type {index.dtype}; expected "
                "a list of at least one row number of log_likelihood, for a mask "
                "np.flatnonzero(mask)."
            )
        outside = np.flatnonzero((index < 0) | (index >= n))
        if outside.size:
            raise InputError(
                f"Bag {number} holds the row number {index[outside[0]]} at position {outside[0]}; "
                f"log_likelihood has rows 0 to {n - 1}."
            )
        rows.append(index.astype(np.intp))
    return rows


def _used(bags: list[Bag], n: int) -> FloatArray:
    """Return 1.0 for the rows of the pool that are in a bag."""
    used = np.zeros(n)
    for bag in bags:
        used[bag.rows] = 1.0
    return used


def _scale_pool(values: FloatArray, used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale the pool once; only rows that are in a bag need a possible class."""
    peaks = check_rows(values, used)
    return scale_rows(values, np.where(used > 0, peaks, 0.0)), peaks


def _items_of(L: FloatArray, rows: IntArray) -> FloatArray:
    """Return some rows, without a copy if they are all rows in order (the common case)."""
    return L if np.array_equal(rows, np.arange(len(L))) else L[rows]


def _counted(L: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows of positive weight."""
    return (L, w) if w.all() else (L[w > 0], w[w > 0])


def _check_starts(starts: npt.ArrayLike | None, n_bags: int, K: int) -> list[FloatArray]:
    if starts is None:
        return [check_start(None, K)] * n_bags
    table = np.asarray(starts)
    if table.shape != (n_bags, K):
        raise InputError(
            f"starts has shape {table.shape}; expected one row for each of the {n_bags} bags and "
            f"one column for each of the {K} classes, shape ({n_bags}, {K})."
        )
    return [check_start(start, K) for start in table]
