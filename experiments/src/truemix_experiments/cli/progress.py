"""The progress of ``truemix bench`` on stderr: a bar in a terminal, a line per run elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from truemix.cli.plugins import tell

if TYPE_CHECKING:
    from truemix_experiments.watching import Finished


class BenchProgress:
    """Shows runs as they finish, with the time left."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._terminal and not self._quiet:
            self._bar = _bar()
            self._task = self._bar.add_task("runs", total=None, left="")
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, finished: Finished) -> None:
        """Show that a run is finished."""
        if self._quiet:
            return
        left = f"{duration(finished.seconds_left)} left" if finished.seconds_left > 0 else "done"
        if self._bar is None:
            progress = f"{finished.n_done} of {finished.n_runs}"
            tell(f"{_line(finished)} ({progress}, {left})")
            return
        self._bar.console.print(_line(finished), markup=False, highlight=False)
        self._bar.update(
            self._task, completed=finished.n_done, total=finished.n_runs, left=left
        )  # fmt: skip


def _line(finished: Finished) -> str:
    from truemix_experiments.published import shown_method

    key = finished.key
    alpha = "" if key.alpha == 1.0 else f", Dirichlet({key.alpha:g})"
    error = "" if finished.error is None else f": AE {finished.error:.4f}"
    return f"{key.dataset}, {shown_method(key.method)}{alpha}{error}"


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    )


def duration(seconds: float) -> str:
    """Return a duration as text.

    Examples
    --------
    >>> duration(4.2), duration(200), duration(7400)
    ('4 s', '3 min', '2 h 3 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
