"""Jobs on a data set, their outcome, and how a process is prepared for them."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from truemix import limit_threads
from truemix_experiments.protocol import BenchSettings

PACKAGES = ("truemix", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Job:
    """What is to be done on one data set, in a form that can be sent to another process.

    Attributes
    ----------
    dataset : str
    methods : tuple of str
    alphas : tuple of float
    settings : BenchSettings
    out : str
        Folder of the results.
    data, cache : str or None
        Folders of the data sets and of downloads.
    download : bool
    threads : int
        Cores to use.
    alone : bool
        Whether the process is there for such jobs only; its settings need not be restored then.
    """

    dataset: str
    methods: tuple[str, ...]
    alphas: tuple[float, ...]
    settings: BenchSettings
    out: str
    data: str | None = None
    cache: str | None = None
    download: bool = False
    threads: int = 1
    alone: bool = False


@dataclass
class Report:
    """The outcome of a job: sentences about failures, and notes."""

    dataset: str
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


@contextmanager
def steadily(job: Job) -> Iterator[None]:
    """Use the cores of the job; train without warnings, which results hold, and with one thread.

    So the last digits are always the same.
    """
    from threadpoolctl import threadpool_limits

    if job.alone:
        # Jobs may share the process: what one restored, another would miss.
        _ignore_warnings()
        threadpool_limits(1)
        with limit_threads(job.threads):
            yield
        return
    with limit_threads(job.threads), warnings.catch_warnings(), threadpool_limits(1):
        _ignore_warnings()
        yield


def _ignore_warnings() -> None:
    from sklearn.exceptions import ConvergenceWarning

    from truemix.selection import SearchInterrupted

    # What is interrupted ends here, and takes nothing of the search.
    for category in (ConvergenceWarning, SearchInterrupted):
        warnings.filterwarnings("ignore", category=category)


def provenance(threads: int) -> dict[str, Any]:
    """Return what made a result: versions, machine and cores.

    Examples
    --------
    >>> sorted(provenance(threads=1))
    ['machine', 'threads', 'versions']
    """
    from importlib.metadata import version

    versions = {name: version(name) for name in PACKAGES}
    return {
        "versions": {"python": platform.python_version(), **versions},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "threads": threads,
    }
