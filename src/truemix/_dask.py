"""Work on Dask: one task per part, merged as a tree where the results are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from truemix._threads import limit_threads

Result = TypeVar("Result")

_FAN_IN = 8


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
    parts = [run(work, sent, part) for part in frame.to_delayed()]
    together = library.delayed(_merged, pure=False)
    while len(parts) > 1:
        parts = [together(merge, parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    found: tuple[Result] = library.compute(parts[0])
    return found[0]


def _on_one_thread(work: Callable[[Any, Any], Result], worker: Any, part: Any) -> Result:
    # Dask runs as many tasks as there are cores.
    with limit_threads(1):
        return work(worker, part)


def _merged(merge: Callable[..., Result], parts: list[Result]) -> Result:
    return merge(*parts)
