"""Run compiled, lock-free work on all cores.

Plain threads around the core's functions, which release the interpreter lock, rather than threads
of its own: thread pools of compilers abort or hang when entered from two threads at once or after a
fork, and a library cannot know where it is called from.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from truemix import _core
from truemix._progress import progress
from truemix.exceptions import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")

_LIMIT: ContextVar[int | None] = ContextVar("thread limit", default=None)


def n_threads() -> int:
    """Return the number of cores this process may use."""
    limit = _LIMIT.get()
    return n_cores() if limit is None else min(limit, n_cores())


def n_cores() -> int:
    """Return the number of cores there are for this process."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@contextmanager
def limit_threads(most: int) -> Iterator[None]:
    """Let truemix use fewer cores than there are: several processes or threads share them.

    The limit holds for what is called from the same thread while the block runs; results do not
    depend on it.

    Parameters
    ----------
    most : int
        How many threads may run at the same time.

    Examples
    --------
    >>> with limit_threads(1):
    ...     n_threads()
    1
    """
    if not isinstance(most, numbers.Integral) or isinstance(most, bool) or most < 1:
        raise InputError(
            f"The 'most' parameter must be a whole number of at least 1. Got {most!r:.80} instead."
        )
    token = _LIMIT.set(int(most))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def row_blocks(n_rows: int, block: int) -> Iterator[slice]:
    """Cut ``n_rows`` into consecutive slices of at most ``block`` rows.

    Examples
    --------
    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, block):
        yield slice(start, min(start + block, n_rows))


# Fewer rows are done before anybody can read their number.
MANY_ROWS = 10_000


def with_progress(blocks: Iterable[slice], n_rows: int, what: str = "") -> Iterator[slice]:
    """Yield blocks of rows, and show how many rows are done as part of other work.

    Examples
    --------
    >>> list(with_progress(row_blocks(3, 2), 3))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    with progress(what, n_rows, "rows", inside=True, shown=n_rows >= MANY_ROWS) as work:
        for rows in blocks:
            yield rows
            work.advance(rows.stop - rows.start)


def for_each_block(
    work: Callable[[slice], None], n_rows: int, block: int, unit: str | None = None
) -> None:
    """Call ``work`` on each block of rows, on all cores; the first error is raised.

    The blocks do not depend on the number of cores, so neither do the results. An error, Ctrl-C
    too, ends the other blocks within a fraction of a second. With a ``unit`` (rows, bags, …) the
    progress of work around it says how many are done.
    """
    blocks = list(row_blocks(n_rows, block))
    with progress("", n_rows, unit or "", shown=unit is not None, inside=True) as shown:
        _for_each(work, blocks, lambda rows: shown.advance(rows.stop - rows.start))


def _for_each(
    work: Callable[[slice], None], blocks: list[slice], finished: Callable[[slice], None]
) -> None:
    workers = min(n_threads(), len(blocks))
    if workers <= 1:
        for rows in blocks:
            work(rows)
            finished(rows)
        return
    together = _core.Cancellation()

    def run(rows: slice) -> None:
        with together:
            work(rows)

    with ThreadPoolExecutor(workers) as pool:
        try:
            for rows, _ in zip(blocks, pool.map(run, blocks), strict=True):
                finished(rows)
        except BaseException:
            together.cancel()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def map_on_cores(
    work: Callable[[Item], Result], items: Sequence[Item], unit: str | None = None
) -> list[Result]:
    """Return ``work(item)`` for each item: many at once, each on one core, or one on all cores.

    Examples
    --------
    >>> map_on_cores(len, ["a", "list", "of words"])
    [1, 4, 8]
    """
    if len(items) < n_threads():
        with progress("", len(items), unit or "", shown=unit is not None, inside=True) as shown:
            done = []
            for item in items:
                done.append(work(item))
                shown.advance()
        return done
    results: dict[int, Result] = {}

    def run(block: slice) -> None:
        with limit_threads(1):
            results[block.start] = work(items[block.start])

    for_each_block(run, len(items), 1, unit)
    return [results[number] for number in range(len(items))]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, so that matrix products in our threads do not start more."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    # Looking for libraries takes milliseconds, so it is done once.
    return ThreadpoolController()
