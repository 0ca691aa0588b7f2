"""Work on a Dask cluster: one task per item, merged as a tree where the results are.

Nothing is lost with a worker: Dask runs again what was only there. Whatever a task needs is part of
the task, so that it can be run again anywhere.
"""

from __future__ import annotations

import logging
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from truemix._optional import require
from truemix._threads import limit_threads
from truemix.exceptions import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
Facts = TypeVar("Facts")

# How long to wait for a scheduler.
PATIENCE = "15s"
# How many workers may die on a task until it is blamed for that.
_DEATHS = 10
_FAN_IN = 8
# What is merged needs less memory, so that it goes before what is yet to be read.
_SOON, _SOONER = 10, 20


@contextmanager
def connected(*, workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Start processes on this machine, or connect to a cluster; yield the client of Dask.

    Parameters
    ----------
    workers : int, optional
        Number of processes to start; they end with the block.
    scheduler : str, optional
        Address of a scheduler, whose workers are used instead.
    """
    require("distributed", "A cluster")
    import dask
    import distributed

    # They have no types that could be checked.
    library: Any = distributed
    settings = {
        "distributed.scheduler.allowed-failures": _DEATHS,
        # A fitted quantifier is larger than what is usual in a graph.
        "distributed.admin.large-graph-warning-threshold": "10 GiB",
    }
    # What a killed worker leaves open, and what Dask advises programmers, is not for users.
    with warnings.catch_warnings(), dask.config.set(settings):
        warnings.simplefilter("ignore")
        if scheduler is None:
            # Without a port of its own the dashboard would ask for one that others may have.
            with (
                library.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                    preload=__name__,
                ) as cluster,
                library.Client(cluster, set_as_default=False) as client,
            ):
                yield client
            return
        try:
            client = library.Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(
                f"There is no Dask scheduler at {scheduler!r} "
                f"({str(error) or type(error).__name__}); expected the address that 'dask "
                "scheduler' shows, such as tcp://host:8786."
            ) from None
        with client:
            yield client


def dask_setup(_: Any) -> None:
    """Let a worker ignore Ctrl-C, as Dask calls what a worker does first.

    A terminal sends it to all processes; whoever started the workers ends them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def is_dask_frame(X: Any) -> bool:
    """Return whether X is a data frame of Dask, without importing that."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")


def merge_partitions(
    frame: Any, worker: Any, work: Callable[[Any, Any], Result], merge: Callable[..., Result]
) -> Result:
    """Return ``merge`` of what ``work(worker, partition)`` returns for all partitions of a frame.

    Runs on whatever scheduler Dask is set to, a cluster if there is a client.
    """
    import dask

    library: Any = dask
    sent = library.delayed(worker, pure=False, traverse=False)
    run = library.delayed(_on_one_thread, pure=False)
    parts = [run(part, work, sent) for part in frame.to_delayed()]
    together = library.delayed(_merged, pure=False)
    while len(parts) > 1:
        parts = [together(merge, parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    found: tuple[Result] = library.compute(parts[0])
    return found[0]


def map_reduce(
    client: Any,
    work: Callable[[Any, Item], Result],
    shared: Any,
    items: Sequence[Item],
    *,
    merge: Callable[[list[Result]], Result],
    describe: Callable[[Result], Facts],
    tell: Callable[[int, Facts], None],
) -> Result:
    """Return what all items come to; each is worked on by itself, and merged where it is.

    Parameters
    ----------
    client : distributed.Client
    work : callable
        Takes ``shared`` and an item; runs on a worker, with one thread.
    shared : object
        What all tasks need; it is sent to each worker once.
    items : sequence
        At least one.
    merge : callable
        Takes some results in the order of their items.
    describe : callable
        Returns what is small of a result.
    tell : callable
        Gets the number of an item and what ``describe`` says of it, as items are finished.
    """
    import distributed

    library: Any = distributed
    given = client.submit(_given, shared, pure=False)
    results = client.map(_on_one_thread, items, work=work, shared=given, pure=False)
    facts = client.map(describe, results, pure=False, priority=_SOONER)
    while len(results) > 1:
        parts = [results[i : i + _FAN_IN] for i in range(0, len(results), _FAN_IN)]
        results = [client.submit(merge, part, pure=False, priority=_SOON) for part in parts]
    number_of = {future.key: number for number, future in enumerate(facts)}
    try:
        finished = library.as_completed(facts, loop=client.loop, with_results=True)
        for future, found in finished:
            tell(number_of[future.key], found)
        merged: Result = results[0].result()
    except library.KilledWorker as error:
        raise InputError(
            f"{_DEATHS} workers died one after the other ({error}), perhaps for lack of memory; "
            "use fewer workers, or machines with more memory."
        ) from None
    return merged


def _given(shared: Any) -> Any:
    return shared


def _on_one_thread(part: Any, work: Callable[[Any, Any], Result], shared: Any) -> Result:
    # Dask runs as many tasks as there are cores.
    with limit_threads(1):
        return work(shared, part)


def _merged(merge: Callable[..., Result], parts: list[Result]) -> Result:
    return merge(*parts)
