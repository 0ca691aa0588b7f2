"""Live progress of runs, wherever they run: a run is finished when its result file appears."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from truemix.exceptions import InputError
from truemix_experiments.datasets import CATALOGUE
from truemix_experiments.methods import METHODS
from truemix_experiments.results import RunKey, read_file, result_path

# How often to look.
INTERVAL = 0.5


@dataclass(frozen=True)
class Finished:
    """A run that was finished, and how far all of them are.

    Attributes
    ----------
    key : RunKey
    error : float or None
        Its mean absolute error.
    n_done, n_runs : int
        Runs that are finished, and all that are to be done.
    seconds_left : float
        Estimate from the time so far and the cost of finished and remaining runs.
    """

    key: RunKey
    error: float | None
    n_done: int
    n_runs: int
    seconds_left: float


class Watch:
    """Report results that appear in a folder, while the block runs.

    Parameters
    ----------
    folder : path
    keys : sequence of RunKey
        The runs to wait for.
    tell : function
        Called with a :class:`Finished` for each of them, from another thread.
    """

    def __init__(
        self, folder: str | Path, keys: Sequence[RunKey], tell: Callable[[Finished], None]
    ) -> None:
        self._paths = {key: result_path(folder, key) for key in keys}
        self._tell = tell
        self._seen = {key: _changed(path) for key, path in self._paths.items()}
        self._pending = list(keys)
        self._total = sum(map(cost, keys))
        self._start = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(INTERVAL):
            self._look()
        # What appeared between the last look and the end.
        self._look()

    def _look(self) -> None:
        for key in list(self._pending):
            path = self._paths[key]
            if _changed(path) not in {None, self._seen[key]}:
                self._pending.remove(key)
                self._tell(self._finished(key, path))

    def _finished(self, key: RunKey, path: Path) -> Finished:
        left = sum(map(cost, self._pending))
        spent = time.monotonic() - self._start
        return Finished(
            key=key,
            error=_error(path),
            n_done=len(self._paths) - len(self._pending),
            n_runs=len(self._paths),
            seconds_left=spent * left / (self._total - left),
        )


def cost(key: RunKey) -> float:
    """Return how long a run takes compared with others, by a rule fitted to timings; rough.

    Examples
    --------
    >>> cost(RunKey("letter", "CC")) > cost(RunKey("cmc", "CC"))
    True
    >>> cost(RunKey("cmc", "Bayes-ACC")) > cost(RunKey("cmc", "CC"))
    True
    """
    info, method = CATALOGUE[key.dataset], METHODS[key.method]
    items = info.bag_size * math.sqrt(info.n_classes)
    distances = info.n_train * (info.n_test or 100 * info.bag_size)
    size = 300.0 + items + distances / 3e5
    if method.kind == "point":
        # Most of it is the choice of a setting.
        return size * {"KDEy(Ait-lambda)": 1.5, "KDEy(Gau)": 0.3, "KDEy(Ait)": 0.3}.get(
            method.name, 0.05
        )
    if method.own:
        return 2.5 * size
    return size * (5.0 if method.point == "ACC" else 1.0)


def _changed(path: Path) -> int | None:
    """Return when a file was written, None if it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _error(path: Path) -> float | None:
    try:
        return float(read_file(path)[1]["ae"].to_numpy().mean())
    except InputError:
        return None
