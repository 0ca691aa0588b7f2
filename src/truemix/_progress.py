"""The one display of progress: a bar or a spinner on stderr, shown only in a terminal.

What draws it, rich, is imported when something is shown. Lines that are written to stderr in the
meantime appear above it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Advances a bar by one step."""

    def __call__(self, remark: str = "", total: int | None = None) -> None:
        """Show a remark beside the bar; ``total`` steps if that was not known before."""
        ...


def in_terminal() -> bool:
    """Return whether stderr is a terminal; one that is closed is none."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


@contextmanager
def progress_spinner(what: str, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Show a spinner while the block runs; yield a function that adds to its text."""
    if not shown or not in_terminal():
        yield lambda more: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(what)) as status:
        yield lambda more: status.update(Text(f"{what}: {more}"))


@contextmanager
def progress_bar(
    what: str, total: int | None = None, *, shown: bool = True, elapsed: bool = False
) -> Iterator[Advance]:
    """Show a bar while the block runs; yield a function that advances it by one step.

    Nothing is shown if stderr is not a terminal.

    Parameters
    ----------
    what : str
        What is counted, such as "bags".
    total : int, optional
        Number of steps, unless it becomes known only later.
    shown : bool
        Whether to show anything.
    elapsed : bool
        Show the time spent instead of the time left, which assumes that steps take equally long.

    Examples
    --------
    >>> with progress_bar("files", 2) as advance:
    ...     for name in ("a.csv", "b.csv"):
    ...         advance(f"last: {name}")
    """
    if not shown or not in_terminal():
        yield lambda remark="", total=None: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn() if elapsed else rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[remark]}", markup=False),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, remark="")

        def advance(remark: str = "", total: int | None = None) -> None:
            bar.update(task, advance=1, total=total, remark=remark)

        yield advance


@contextmanager
def progress_rows(
    what: str, total: int | None, *, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show how many rows have been processed; yield a function that takes how many more.

    Shows rows per second and, if the total is known, the time left. Nothing is shown if stderr is
    not a terminal.

    Examples
    --------
    >>> with progress_rows("summarize", 2000) as advance:
    ...     advance(1000)
    """
    start, done = time.monotonic(), 0
    with progress_spinner(what, shown=shown) as update:

        def advance(n_rows: int) -> None:
            nonlocal done
            done += n_rows
            update(about_rows(done, total, time.monotonic() - start))

        yield advance


def about_rows(done: int, total: int | None, seconds: float) -> str:
    """Return how far rows have come, how fast, and how long the others will take.

    Examples
    --------
    >>> about_rows(3_000_000, 12_000_000, 2.0)
    '3,000,000 of 12,000,000 rows, 1,500,000 per second, 6 s left'
    """
    rate = done / max(seconds, 1e-9)
    text = f"{done:,} rows" if total is None else f"{done:,} of {total:,} rows"
    text = f"{text}, {round(rate):,} per second"
    return text if total is None else f"{text}, {round(max(total - done, 0) / rate)} s left"
