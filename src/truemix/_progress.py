"""The one display of progress: a bar or a spinner on stderr, shown only in a terminal.

What draws it, rich, is imported when something is shown. Lines that are written to stderr in the
meantime appear above it.
"""

from __future__ import annotations

import sys
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
