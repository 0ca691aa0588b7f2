"""Stdout and stderr that may be closed, full, unbuffered or a terminal, and fatal signals.

Results are written completely or end in an error; messages on stderr never stop a command.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NoReturn, TextIO

from truemix._escaping import visible
from truemix.exceptions import InputError

# Shells report a program ended by a signal as this plus the number of the signal.
_BY_SIGNAL = 128


def tell(text: str) -> None:
    """Write one line to stderr; if that is impossible, the work goes on."""
    try:
        print(visible(text), file=sys.stderr, flush=True)  # noqa: T201
    except (OSError, ValueError):
        discard(sys.stderr)


def write_stdout(data: bytes) -> None:
    """Write all of a result to stdout."""
    if sys.stdout is None:
        raise InputError("Stdout is closed, so there is nowhere to write; use --out FILE.")
    with _writing_stdout():
        sys.stdout.flush()
        left = memoryview(data)
        while left:
            try:
                left = left[sys.stdout.buffer.write(left) :]
            except BlockingIOError as error:
                left = left[error.characters_written :]
                _wait_for_stdout()


def flush_stdout() -> None:
    """Flush stdout until all of a result is written."""
    if sys.stdout is None:
        return
    with _writing_stdout():
        while True:
            try:
                sys.stdout.flush()
                break
            except BlockingIOError:
                _wait_for_stdout()


def _wait_for_stdout() -> None:
    """Wait until a non-blocking pipe accepts more."""
    select.select([], [sys.stdout], [])


@contextmanager
def _writing_stdout() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(sys.stdout)
        raise InputError(f"Cannot write to stdout ({error.strerror or error}).") from None


def discard(stream: TextIO) -> None:
    """Redirect a stream to the null device: Python flushes it at exit, and would fail again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    with suppress(OSError, ValueError):
        stream.flush()


# --- while the program runs -------------------------------------------------------------------


@contextmanager
def standard_streams() -> Iterator[None]:
    """Make stdout and stderr safe to write to while the block runs."""
    _open_closed()
    before = sys.stdout, sys.stderr
    with ExitStack() as stack:
        sys.stdout = stack.enter_context(_buffered(sys.stdout))
        if sys.stderr is None:
            sys.stderr = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123
        else:
            sys.stderr = stack.enter_context(_buffered(sys.stderr))
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def _open_closed() -> None:
    """Open those of the first three files that are closed.

    Otherwise the next file to be opened gets the descriptor, and with it whatever libraries print.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)


@contextmanager
def _buffered(stream: TextIO) -> Iterator[TextIO]:
    """Give an unbuffered stream a buffer: one system call may write less than it is given."""
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        yield stream
        return
    buffer = io.BufferedWriter(raw)
    text = io.TextIOWrapper(buffer, stream.encoding, stream.errors, write_through=True)
    try:
        yield text
    finally:
        # Otherwise the file would be closed with its buffer.
        with suppress(OSError, ValueError):
            text.detach()
            buffer.detach()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals that end a program end the block like an error, so that it cleans up."""

    def end(number: int, _: object) -> NoReturn:
        # A second one would interrupt the cleaning.
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(_BY_SIGNAL + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    # Whoever started the program may want it to ignore them.
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
