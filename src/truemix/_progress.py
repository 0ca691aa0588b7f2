"""The one display of progress, on stderr: a line that is redrawn, or a line per step.

Work that takes long says what it is and how far it has come (:func:`progress`). The first one that
is open owns the display; work inside of it adds to its line. In a terminal or a notebook the line
appears after a fraction of a second, and a thread of its own keeps it alive, because compiled loops
do not hold the interpreter lock. Elsewhere nothing is shown, unless the owner has a function that
writes lines, as the command line has: then one line per step. What draws in terminals, rich, is
imported when something is shown. Lines that are written to stderr in the meantime appear above it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from truemix._escaping import visible

# Seconds until work gives a sign of life.
DELAY = 0.3
# Seconds between two looks at a notebook's line, and between two lines where nothing can be drawn.
_REDRAWN, _BETWEEN_LINES = 0.5, 60.0
# What is left is guessed from this many seconds on.
_KNOWN = 1.0
_BAR, _NOTEBOOK_COLUMNS = 20, 110


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


class Work:
    """One piece of work, and how far it has come.

    Parameters
    ----------
    what : str
        What is done, such as "quantify"; may be empty if ``unit`` says enough.
    total : int, optional
        How many units there are, if that is known.
    unit : str
        What is counted, such as "groups"; of "rows" the speed is shown, too.
    elapsed : bool
        Show the time spent instead of the time left, which assumes that steps take equally long.

    Examples
    --------
    >>> work = Work("quantify", 12, "groups")
    >>> work.advance(3)
    >>> work.about(work.start + 2.0)
    'quantify: 3 of 12 groups, 6 s left'
    """

    def __init__(
        self, what: str, total: int | None = None, unit: str = "", *, elapsed: bool = False
    ) -> None:
        self.what, self.total, self.unit, self.elapsed = what, total, unit, elapsed
        self.start = time.monotonic()
        self.done, self.remark = 0, ""
        # The share of the work that is done, if it is not that of units.
        self.part: float | None = None

    def advance(self, n: int = 1, remark: str = "") -> None:
        """Count units as done; a remark stands behind their number."""
        self.done += n
        self.remark = remark

    def say(self, remark: str) -> None:
        """Show a remark."""
        self.remark = remark

    @property
    def share(self) -> float | None:
        """How much of the work is done, if that is known."""
        if self.part is not None:
            return self.part
        return min(self.done / self.total, 1.0) if self.total else None

    def about(self, now: float) -> str:
        """Return what is done and how far it has come, as text; nothing without name and steps."""
        if not self.what and not self.done:
            return self.remark
        seconds = max(now - self.start, 0.0)
        parts = []
        if self.unit == "rows" and self.done:
            parts.append(about_rows(self.done, None if self.part else self.total, seconds))
        elif self.unit and self.total:
            parts.append(f"{self.done:,} of {self.total:,} {self.unit}")
        elif self.unit and self.done:
            parts.append(f"{self.done:,} {self.unit}")
        share = self.share
        rows = self.unit == "rows" and self.part is None
        if self.elapsed and self.done:
            parts.append(_duration(seconds))
        elif share is not None and 0.0 < share < 1.0 and seconds >= _KNOWN and not rows:
            parts.append(f"{_duration(seconds * (1.0 - share) / share)} left")
        if self.remark:
            parts.append(self.remark)
        return ": ".join(filter(None, [self.what, ", ".join(parts)]))


class _Display:
    """The line of the work that is open, and the thread that keeps it alive."""

    def __init__(self, tell: Callable[[str], None] | None) -> None:
        self.stack: list[Work] = []
        self.owner = threading.get_ident()
        self._tell = tell
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="truemix progress")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def text(self) -> str:
        """Return what all open work says, from the outermost to the innermost."""
        now = time.monotonic()
        # A step of the command line and the call that it makes may have the same name.
        said = dict.fromkeys(work.about(now) for work in list(self.stack))
        return visible(" · ".join(filter(None, said)))

    def _watch(self) -> None:
        if self._stop.wait(DELAY):
            return
        if in_terminal():
            self._in_terminal()
        elif self._tell is not None:
            self._as_lines(self._tell)
        else:
            self._in_notebook()

    def _in_terminal(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        spinner = Spinner("dots")

        def line() -> Table:
            shares = [work.share for work in list(self.stack)]
            known = [share for share in shares if share is not None]
            bar = [ProgressBar(total=1.0, completed=known[0], width=_BAR)] if known else []
            row = Table.grid(padding=(0, 1))
            row.add_row(spinner, *bar, Text(self.text(), no_wrap=True, overflow="ellipsis"))
            return row

        console = Console(stderr=True)
        with Live(get_renderable=line, console=console, transient=True, refresh_per_second=8):
            self._stop.wait()

    def _in_notebook(self) -> None:
        """Redraw a line of plain text, which notebooks show as terminals do."""
        shown = 0
        while True:
            text = self.text()[:_NOTEBOOK_COLUMNS]
            if not _write(f"\r{text:<{shown}}"):
                return
            shown = len(text)
            if self._stop.wait(_REDRAWN):
                _write(f"\r{'':<{shown}}\r")
                return

    def _as_lines(self, tell: Callable[[str], None]) -> None:
        tell(f"{visible(self.stack[0].what)} …")
        while not self._stop.wait(_BETWEEN_LINES):
            tell(self.text())


# What was asked for, the last one counts; each is removed by itself, because threads may end in
# another order than they began.
_asked: list[_Asked] = []
_display: _Display | None = None


@dataclass(frozen=True, eq=False)
class _Asked:
    """That progress is to be shown, or not."""

    shown: bool


def _is_shown() -> bool:
    # A copy: another thread may remove its own at this moment.
    return all(each.shown for each in _asked[-1:])


@contextmanager
def progress(
    what: str,
    total: int | None = None,
    unit: str = "",
    *,
    shown: bool = True,
    inside: bool = False,
    elapsed: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Iterator[Work]:
    """Show how far work has come while the block runs; yield the work, to be advanced.

    Parameters
    ----------
    what, total, unit, elapsed
        As for :class:`Work`.
    shown : bool
        Whether to show anything, also of work inside of it.
    inside : bool
        Show it only as part of other work: alone it is too short, or not worth a line.
    tell : callable, optional
        Writes a line where none can be redrawn: one when work takes longer than a fraction of a
        second, and one a minute.

    Examples
    --------
    >>> with progress("quantify", 2, "groups") as work:
    ...     for group in ("May", "June"):
    ...         work.advance()
    """
    global _display  # noqa: PLW0603
    work, display = Work(what, total, unit, elapsed=elapsed), _display
    if display is not None:
        # Threads that share the work have nothing to add to its line.
        if not shown or not _is_shown() or display.owner != threading.get_ident():
            yield work
            return
        display.stack.append(work)
        try:
            yield work
        finally:
            display.stack.remove(work)
        return
    drawn = tell is not None or in_terminal() or in_notebook()
    if not shown:
        with show_progress(False):
            yield work
        return
    if inside or not _is_shown() or not drawn:
        yield work
        return
    display = _Display(tell)
    display.stack.append(work)
    _display = display
    display.start()
    try:
        yield work
    finally:
        _display = None
        display.stop()


def show_progress(shown: bool = True) -> AbstractContextManager[Any]:
    """Show the progress of long work in terminals and notebooks, or do not; it is shown by default.

    Parameters
    ----------
    shown : bool
        Whether to show it, from now on; in a ``with`` statement, until its end.

    Examples
    --------
    >>> import truemix
    >>> with truemix.show_progress(False):
    ...     pass  # nothing is shown here
    """
    asked = _Asked(bool(shown))
    _asked.append(asked)
    stack = ExitStack()
    stack.callback(_asked.remove, asked)
    return stack


def in_terminal() -> bool:
    """Return whether stderr is a terminal; one that is closed is none."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def in_notebook() -> bool:
    """Return whether this is a notebook, whose kernel has loaded IPython."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return hasattr(shell, "kernel")


def _write(text: str) -> bool:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return False
    return True


# --- what is shown most -----------------------------------------------------------------------


@contextmanager
def progress_spinner(what: str, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Show that something is done; yield a function that takes a remark about it."""
    with progress(what, shown=shown) as work:
        yield work.say


@contextmanager
def progress_bar(
    what: str, total: int | None = None, *, shown: bool = True, elapsed: bool = False
) -> Iterator[Advance]:
    """Show a bar while the block runs; yield a function that advances it by one step.

    Parameters
    ----------
    what : str
        What is counted, such as "bags".
    total : int, optional
        Number of steps, unless it becomes known only later.
    shown : bool
        Whether to show anything.
    elapsed : bool
        Show the time spent instead of the time left.

    Examples
    --------
    >>> with progress_bar("files", 2) as advance:
    ...     for name in ("a.csv", "b.csv"):
    ...         advance(f"last: {name}")
    """
    with progress("", total, what, shown=shown, elapsed=elapsed) as work:

        def advance(remark: str = "", total: int | None = None) -> None:
            work.total = work.total if total is None else total
            work.advance(1, remark)

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
        As for :func:`progress`.
    shown : bool
        Whether to show anything.

    Examples
    --------
    >>> with progress_files("read", 2) as show:
    ...     show(1, 1000, 0.5)
    """
    with progress(what, unit="rows", tell=tell, shown=shown) as work:

        def show(n_files: int, n_rows: int, share: float) -> None:
            work.done, work.part = n_rows, share
            work.remark = f"{n_files:,} of {total:,} files" if total > 1 else ""

        yield show


@contextmanager
def progress_rows(
    what: str, total: int | None, *, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show how many rows have been processed; yield a function that takes how many more.

    Examples
    --------
    >>> with progress_rows("summarize", 2000) as advance:
    ...     advance(1000)
    """
    with progress(what, total, "rows", shown=shown) as work:
        yield work.advance


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
    return text if total is None else f"{text}, {_duration(max(total - done, 0) / rate)} left"


def _duration(seconds: float) -> str:
    """Return a time, as precise as it can be known.

    Examples
    --------
    >>> _duration(6.2), _duration(312.0), _duration(9000.0)
    ('6 s', '5 min', '2.5 h')
    """
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"
