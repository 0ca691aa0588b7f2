"""Run compiled, lock-free work on all cores.

Plain threads around numba functions that release the interpreter lock, rather than numba's own
``prange``: its thread pools abort the process when entered from two threads at once or after a
fork, and a library cannot know where it is called from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

_MOST: ContextVar[int | None] = ContextVar("most threads", default=None)


def n_threads() -> int:
    """Return the number of cores this process may use."""
    most = _MOST.get()
    return n_cores() if most is None else min(most, n_cores())


def n_cores() -> int:
    """Return the number of cores there are for this process."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@contextmanager
def most_threads(most: int) -> Iterator[None]:
    """Use fewer cores than there are: several processes share them.

    Examples
    --------
    >>> with most_threads(1):
    ...     n_threads()
    1
    """
    token = _MOST.set(most)
    try:
        yield
    finally:
        _MOST.reset(token)


def row_blocks(n_rows: int, block: int) -> Iterator[slice]:
    """Cut ``n_rows`` into consecutive slices of at most ``block`` rows.

    Examples
    --------
    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, block):
        yield slice(start, min(start + block, n_rows))


def for_each_block(work: Callable[[slice], None], n_rows: int, block: int) -> None:
    """Call ``work`` on each block of rows, on all cores; the first error is raised.

    The blocks do not depend on the number of cores, so neither do the results.
    """
    blocks = list(row_blocks(n_rows, block))
    workers = min(n_threads(), len(blocks))
    if workers <= 1:
        for rows in blocks:
            work(rows)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, blocks):
            pass


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products in our threads from starting threads of their own."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    # Looking for libraries takes milliseconds, so it is done once.
    return ThreadpoolController()
