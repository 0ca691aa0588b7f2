"""The progress of ``truemix bench`` on stderr: a bar in a terminal, a line per run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from truemix.cli.plugins import progress_bar, write_message

if TYPE_CHECKING:
    from truemix_experiments.watching import Finished


@contextmanager
def bench_progress(*, quiet: bool) -> Iterator[Callable[[Finished], None]]:
    """Yield a function that shows that a run is finished, with the time left."""
    has_bar = sys.stderr.isatty()

    def show(finished: Finished) -> None:
        if quiet:
            return
        left = f"{duration(finished.seconds_left)} left" if finished.seconds_left > 0 else "done"
        beside = "" if has_bar else f" ({finished.n_done} of {finished.n_runs}, {left})"
        write_message(f"{_line(finished)}{beside}")
        advance(left, finished.n_runs)

    with progress_bar("runs", shown=not quiet, elapsed=True) as advance:
        yield show


def _line(finished: Finished) -> str:
    from truemix_experiments.published import shown_method

    key = finished.key
    alpha = "" if key.alpha == 1.0 else f", Dirichlet({key.alpha:g})"
    error = "" if finished.error is None else f": AE {finished.error:.4f}"
    return f"{key.dataset}, {shown_method(key.method)}{alpha}{error}"


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
