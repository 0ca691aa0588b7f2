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

# How long work goes on, in seconds, before a line says so where nothing can be drawn, and how long
# until the next one.
PATIENCE = 10.0
_BETWEEN_LINES = 60.0


class Advance(Protocol):
    """Advances a bar by one step."""

    def __call__(self, remark: str = "", total: int | None = None) -> None:
        """Show a remark beside the bar; ``total`` steps if that was not known before."""
        ...


class ShowFiles(Protocol):
    """Shows how far the reading of files has come."""

    def __call__(self, n_files: int, n_rows: int, share: float) -> None:
        """Show the files and rows that are done, and which share of all that is."""
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
def progress_files(
    what: str, total: int, *, tell: Callable[[str], None] | None = None, shown: bool = True
) -> Iterator[ShowFiles]:
    """Show how many files and rows have been read, how fast, and how long the rest will take.

    Parameters
    ----------
    what : str
        What is done, such as "read target".
    total : int
        Number of files.
    tell : callable, optional
        Takes a line of text now and then if stderr is not a terminal and reading takes long.
    shown : bool
        Whether to show anything.

    Examples
    --------
    >>> with progress_files("read", 2) as show:
    ...     show(1, 1000, 0.5)
    """
    start = time.monotonic()
    if not shown or not in_terminal():
        due = start + PATIENCE

        def told(n_files: int, n_rows: int, share: float) -> None:
            nonlocal due
            now = time.monotonic()
            if shown and tell is not None and now >= due:
                due = now + _BETWEEN_LINES
                tell(f"{what}: {_about_files(n_files, total, n_rows, share, now - start)}")

        yield told
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TextColumn("{task.fields[remark]}", markup=False),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0, remark="")

        def show(n_files: int, n_rows: int, share: float) -> None:
            remark = _about_files(n_files, total, n_rows, share, time.monotonic() - start)
            bar.update(task, completed=share, remark=remark)

        yield show


def _about_files(n_files: int, total: int, n_rows: int, share: float, spent: float) -> str:
    """Return how far reading has come, as text.

    Examples
    --------
    >>> _about_files(3, 12, 3_000_000, 0.25, 30.0)
    '3 of 12 files, 3,000,000 rows, 100,000 per second, 90 s left'
    """
    parts = [f"{n_files:,} of {total:,} files"] if total > 1 else []
    parts.append(about_rows(n_rows, None, spent))
    if 0.0 < share < 1.0:
        parts.append(_left(spent * (1.0 - share) / share))
    return ", ".join(parts)


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
    return text if total is None else f"{text}, {_left(max(total - done, 0) / rate)}"


def _left(seconds: float) -> str:
    """Return a time that is left, as precise as it can be known.

    Examples
    --------
    >>> _left(6.2), _left(312.0), _left(9000.0)
    ('6 s left', '5 min left', '2.5 h left')
    """
    if seconds < 120.0:
        return f"{seconds:.0f} s left"
    return (
        f"{seconds / 60.0:.0f} min left" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h left"
    )
