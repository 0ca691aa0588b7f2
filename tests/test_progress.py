"""Progress is drawn on stderr in terminals, and nowhere else."""

import io
import sys

import pytest

from truemix import _progress
from truemix._progress import in_terminal, progress_bar, progress_files, progress_spinner


def as_terminal(monkeypatch):
    """Make stderr a terminal; not as a fixture, because pytest sets stderr again after these."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def show_both(**options):
    with progress_bar("files", **options) as advance:
        advance("first.csv", total=2)
        sys.stderr.write("Note: [b]one[/b]\n")
        advance("second.csv")
    with progress_spinner("read", shown=options.get("shown", True)) as update:
        update("[100] rows")


def test_bar_and_spinner_are_shown_with_remarks_and_with_lines_above(monkeypatch):
    terminal = as_terminal(monkeypatch)
    show_both()
    shown = terminal.getvalue()
    for text in ("files", "2/2", "second.csv", "Note: [b]one[/b]\n", "read: [100] rows"):
        assert text in shown
    assert sys.stderr is terminal


def test_nothing_is_drawn_if_that_is_not_wanted(monkeypatch):
    terminal = as_terminal(monkeypatch)
    show_both(shown=False)
    assert terminal.getvalue() == "Note: [b]one[/b]\n"


def test_an_interrupt_goes_through_and_leaves_stderr_as_it_was(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), progress_bar("files", 2):
        raise KeyboardInterrupt
    assert sys.stderr is terminal


def test_a_closed_or_missing_stderr_is_no_terminal(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert not in_terminal()
        with progress_bar("files", 1) as advance:
            advance()


def read_files(**options):
    with progress_files("read", 12, **options) as show:
        show(3, 3_000_000, 0.25)


def test_files_have_a_bar_with_rows_speed_and_time_left(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    read_files()
    for text in ("read", "3 of 12 files", "3,000,000 rows", " per second", " left"):
        assert text in terminal.getvalue()


def test_where_nothing_can_be_drawn_a_line_says_what_takes_long(monkeypatch):
    told = []
    read_files(tell=told.append)
    assert told == []
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with progress_files("read", 12, tell=told.append) as show:
        show(3, 3_000_000, 0.25)
        show(4, 4_000_000, 0.25)
    (line,) = told
    assert line.startswith("read: 3 of 12 files, 3,000,000 rows, ")
    read_files(tell=told.append, shown=False)
    assert len(told) == 1
