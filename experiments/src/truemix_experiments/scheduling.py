"""Where jobs run: one after the other here, in several processes, or on a Dask cluster.

Results do not depend on it. Workers write them to the folder themselves, so that nothing is lost
with a worker, and another one goes on where it stopped; on a cluster the folders of results and of
data must be the same on all machines.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import replace
from typing import Any

from truemix.exceptions import InputError
from truemix_experiments.running import Job, Report, run_dataset

# How long to wait for a scheduler.
PATIENCE = "15s"
# Times a job is tried again.
RETRIES = 2
# How often workers look for their parent, in seconds, and the name of the thread that does.
WATCH_INTERVAL = 0.5
WATCHER = "truemix-parent"


def run_jobs(
    jobs: Sequence[Job], *, n_jobs: int = 1, scheduler: str | None = None
) -> Iterator[Report]:
    """Yield what became of each job, as they finish.

    Parameters
    ----------
    jobs : sequence of Job
        In the order in which they are begun.
    n_jobs : int
        Processes on this machine; they share its cores.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://host:8786``; its workers are used instead.
    """
    from joblib import cpu_count

    if scheduler is not None:
        yield from _on_cluster(jobs, scheduler)
    elif n_jobs > 1 and len(jobs) > 1:
        yield from _in_processes(jobs, min(n_jobs, len(jobs)))
    else:
        for job in jobs:
            yield run_dataset(replace(job, threads=cpu_count()))


def _in_processes(jobs: Sequence[Job], n_jobs: int) -> Iterator[Report]:
    from joblib import Parallel, cpu_count, delayed

    threads = max(1, cpu_count() // n_jobs)
    each = (
        delayed(_run_in_worker)(replace(job, threads=threads, alone=True), os.getpid())
        for job in jobs
    )
    run = Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch="all", return_as="generator_unordered")
    missing = {job.dataset for job in jobs}
    try:
        with closing(run(each)) as reports:
            for report in reports:
                missing.discard(report.dataset)
                yield report
    except BrokenProcessPool:
        # The others end with it, but all that was finished is kept.
        for name in sorted(missing):
            yield Report(
                name,
                [
                    f"{name} is not finished: a process was ended from outside, perhaps for lack "
                    "of memory. The same command goes on where it stopped."
                ],
            )


def _run_in_worker(job: Job, parent: int) -> Report:
    if not any(thread.name == WATCHER for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=WATCHER, daemon=True).start()
    return run_dataset(job)


def _end_with(parent: int) -> None:
    """End this process soon after its parent, which may be killed without notice.

    The system's own signal for this (PR_SET_PDEATHSIG) comes when the thread ends that started the
    worker, not when the process does.
    """
    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL)
    # Nobody is left to read a result or an error.
    os._exit(1)


def _on_cluster(jobs: Sequence[Job], address: str) -> Iterator[Report]:
    try:
        import distributed
    except ImportError:
        raise InputError(
            "A Dask scheduler needs the package distributed, which is not installed; run: pip "
            "install 'truemix-experiments[dask]'."
        ) from None
    # It has no types that could be checked.
    dask: Any = distributed
    try:
        client = dask.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"There is no Dask scheduler at {address!r} ({str(error) or type(error).__name__}); "
            "expected the address that 'dask scheduler' shows, such as tcp://host:8786."
        ) from None
    with client:
        # One thread each: a worker runs as many jobs at once as it has threads.
        futures = {
            client.submit(
                run_dataset, replace(job, threads=1, alone=True), pure=False, retries=RETRIES
            ): job
            for job in jobs
        }
        for future in dask.as_completed(list(futures), loop=client.loop):
            problem = future.exception()
            if problem is None:
                yield future.result()
            else:
                name = futures[future].dataset
                kind = type(problem).__name__
                yield Report(name, [f"{name} failed on the cluster ({kind}: {problem})."])
