"""Progress on stderr: a spinner, notes, and timings."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from truemix._escaping import visible
from truemix.cli._streams import tell

Update = Callable[[str], None]


class Progress:
    """Spinner, notes and timings on stderr.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    timings : bool
        Show how long each step took; in a terminal always.
    """

    def __init__(self, *, quiet: bool = False, timings: bool = False) -> None:
        self._terminal = sys.stderr.isatty()
        self.quiet = quiet
        self._timings = (timings or self._terminal) and not quiet
        self._seconds: dict[str, float] = {}
        self._notes: dict[str, None] = {}
        self._console: Any = None

    def note(self, text: str) -> None:
        """Keep a note for the end, once: beside an error it would only distract."""
        self._notes[text] = None

    def show(self, text: str) -> None:
        """Show what was done, such as which file was written."""
        if not self.quiet:
            self._print(text)

    @contextmanager
    def step(self, what: str, *, spinner: bool = True) -> Iterator[Update]:
        """Time the block, with a spinner in a terminal; yield a function that adds to its text."""
        start = time.perf_counter()
        try:
            with self._status(what, spinner=spinner) as update:
                yield update
        finally:
            spent = time.perf_counter() - start
            self._seconds[what] = self._seconds.get(what, 0.0) + spent

    @contextmanager
    def _status(self, what: str, *, spinner: bool) -> Iterator[Update]:
        if self.quiet or not self._terminal or not spinner:
            yield lambda more: None
            return
        from rich.console import Console
        from rich.text import Text

        self._console = self._console or Console(stderr=True, highlight=False)
        with self._console.status(Text(what)) as status:
            yield lambda more: status.update(Text(f"{what}: {more}"))

    def finish(self) -> None:
        """Show all notes, and how long the steps took."""
        for text in self._notes:
            self.show(f"Note: {text}")
        if self._timings and self._seconds:
            each = ", ".join(f"{what} {spent:.1f} s" for what, spent in self._seconds.items())
            self._print(f"Time: {each}")

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Turn the warnings of libraries into short notes."""

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            if issubclass(category, UserWarning):
                # The first sentence: libraries add advice for programmers.
                self.note(str(message).strip().splitlines()[0])

        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = show
            yield

    def _print(self, text: str) -> None:
        if self._console is not None:
            # Above the line that shows what is being done.
            self._console.print(visible(text), markup=False, emoji=False, soft_wrap=True)
        else:
            tell(text)
