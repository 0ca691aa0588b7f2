"""Progress on stderr: a spinner, notes, and timings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from truemix._progress import ShowFiles, in_terminal, progress, progress_files
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
        self.quiet = quiet
        self._timings = (timings or in_terminal()) and not quiet
        self._seconds: dict[str, float] = {}
        self._notes: dict[str, None] = {}

    def note(self, text: str) -> None:
        """Keep a note for the end, once: beside an error it would only distract."""
        self._notes[text] = None

    def show(self, text: str) -> None:
        """Show what was done, such as which file was written."""
        if not self.quiet:
            tell(text)

    @contextmanager
    def step(self, what: str) -> Iterator[Update]:
        """Time the block and show it; yield a function that adds to its text.

        Where there is no terminal, one line says what is done.
        """
        with self._timed(what), progress(what, shown=not self.quiet, tell=tell) as work:
            yield work.say

    @contextmanager
    def reading(self, what: str, n_files: int) -> Iterator[ShowFiles]:
        """Time the block and show it, as a step."""
        with (
            self._timed(what),
            progress_files(what, n_files, tell=tell, shown=not self.quiet) as show,
        ):
            yield show

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self._seconds[what] = self._seconds.get(what, 0.0) + spent

    def finish(self) -> None:
        """Show all notes, and how long the steps took."""
        for text in self._notes:
            self.show(f"Note: {text}")
        if self._timings and self._seconds:
            each = ", ".join(f"{what} {spent:.1f} s" for what, spent in self._seconds.items())
            tell(f"Time: {each}")

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
