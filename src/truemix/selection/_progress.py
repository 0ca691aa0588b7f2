"""A progress bar on stderr, shown only in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, total: int, *, verbose: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar while the block runs, and yield a function that advances it by one step.

    The function takes a remark to show next to the bar, such as the best result so far. Nothing is
    shown or imported if stderr is not a terminal, or without ``verbose``.
    """
    if not verbose or not sys.stderr.isatty():
        yield lambda remark: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[remark]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, remark="")

        def advance(remark: str) -> None:
            bar.update(task, advance=1, remark=remark)

        yield advance
