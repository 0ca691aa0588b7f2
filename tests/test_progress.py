"""Progress is a line that is redrawn in terminals and notebooks, and a line per step elsewhere."""

import io
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import truemix
from support import posteriors
from truemix import KDEy, _progress, show_progress
from truemix._progress import (
    Work,
    in_terminal,
    progress,
    progress_bar,
    progress_files,
    progress_spinner,
)
from truemix._threads import for_each_block, map_on_cores


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(_progress, "DELAY", 0.0)


def as_terminal(monkeypatch):
    """Make stderr a terminal; not as a fixture, because pytest sets stderr again after these."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def seen(stream, *texts):
    """Wait until all texts have been written."""
    until = time.monotonic() + 20.0
    while not all(text in stream.getvalue() for text in texts):
        assert time.monotonic() < until, (texts, stream.getvalue())
        time.sleep(0.01)


# --- what is said: with a clock of our own ------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "done", "seconds", "said"),
    [
        (Work("fit"), 0, 5.0, "fit"),
        (Work("quantify", 12, "groups"), 3, 6.0, "quantify: 3 of 12 groups, 18 s left"),
        (Work("quantify", 12, "groups"), 12, 6.0, "quantify: 12 of 12 groups"),
        # Too early to tell.
        (Work("quantify", 12, "groups"), 3, 0.5, "quantify: 3 of 12 groups"),
        (Work("", 300, "bags"), 150, 600.0, "150 of 300 bags, 10 min left"),
        (Work("read", None, "rows"), 500, 2.0, "read: 500 rows, 250 per second"),
        (
            Work("read", 4_000_000, "rows"), 1_000_000, 10.0,
            "read: 1,000,000 of 4,000,000 rows, 100,000 per second, 30 s left",
        ),
        (Work("", None, "runs", elapsed=True), 2, 61.0, "2 runs, 61 s"),
    ],
)  # fmt: skip
def test_work_says_what_is_done_how_fast_and_how_long_the_rest_takes(work, done, seconds, said):
    if done:
        work.advance(done)
    assert work.about(work.start + seconds) == said


def test_a_remark_stands_last():
    work = Work("backtest", 10, "bags")
    work.advance(5, "fold 1 of 5")
    assert work.about(work.start + 4.0) == "backtest: 5 of 10 bags, 4 s left, fold 1 of 5"


# --- in a terminal ------------------------------------------------------------------------------


def test_a_line_shows_what_is_done_inside_of_what(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with progress("quantify") as work, progress("", 12, "groups", inside=True) as inside:
        inside.advance(3)
        seen(terminal, "quantify · 3 of 12 groups")
        work.say("[100] \x1b[31mrows")
        seen(terminal, r"quantify: [100] \x1b[31mrows")
        sys.stderr.write("Note: [b]one[/b]\n")
    assert "Note: [b]one[/b]\n" in terminal.getvalue()
    assert sys.stderr is terminal


def test_bar_and_spinner_and_files_are_shown_with_remarks(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with progress_bar("bags") as advance:
        advance("first", total=2)
        advance("second")
        seen(terminal, "2 of 2 bags, second")
    with progress_spinner("read") as update:
        update("100 rows")
        seen(terminal, "read: 100 rows")
    with progress_files("read", 12) as show:
        show(3, 3_000_000, 0.25)
        seen(terminal, "read: 3,000,000 rows, ", "per second, ", "3 of 12 files")


def test_short_work_is_not_shown(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setattr(_progress, "DELAY", 60.0)
    with progress("short"):
        pass
    assert terminal.getvalue() == ""


def test_there_is_a_sign_of_life_within_half_a_second_while_compiled_code_runs(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert _progress.DELAY < 0.5
    with progress("long"):
        seen(terminal, "long")


@pytest.mark.parametrize("silenced", ["shown", "everywhere"])
def test_nothing_is_drawn_if_that_is_not_wanted(silenced, monkeypatch):
    terminal = as_terminal(monkeypatch)
    told = []
    shown = silenced != "shown"
    with show_progress(silenced != "everywhere"), progress("a", shown=shown, tell=told.append):
        time.sleep(0.02)
    assert terminal.getvalue() == "" and told == []
    with progress("again"):
        seen(terminal, "again")


def test_threads_that_silence_their_work_end_in_any_order(monkeypatch):
    terminal = as_terminal(monkeypatch)
    first, second = progress("a", shown=False), progress("b", shown=False)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with progress("still silent"):
        time.sleep(0.02)
    assert terminal.getvalue() == ""
    second.__exit__(None, None, None)
    with progress("again"):
        seen(terminal, "again")


def test_what_is_only_part_of_other_work_is_not_shown_alone(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with progress("densities", 3, "rows", inside=True):
        time.sleep(0.02)
    assert terminal.getvalue() == ""


def test_other_threads_do_not_add_to_the_line(monkeypatch):
    terminal = as_terminal(monkeypatch)

    def other():
        with progress("elsewhere"):
            time.sleep(0.3)

    with progress("here"):
        thread = threading.Thread(target=other)
        thread.start()
        seen(terminal, "here")
        thread.join()
    assert "elsewhere" not in terminal.getvalue()


def test_an_interrupt_goes_through_and_leaves_stderr_as_it_was(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), progress("bags"), progress("inside"):
        seen(terminal, "bags · inside")
        raise KeyboardInterrupt
    assert sys.stderr is terminal
    assert _progress._display is None
    assert "truemix progress" not in [thread.name for thread in threading.enumerate()]


def test_a_closed_or_missing_stderr_is_no_terminal(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert not in_terminal()
        with progress_bar("files", 1) as advance:
            advance()


# --- elsewhere ----------------------------------------------------------------------------------


def test_notebooks_redraw_a_line_and_leave_nothing_behind(monkeypatch):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("quantify", 2, "groups") as work:
        work.advance()
        seen(stream, "\rquantify: 1 of 2 groups")
    last = stream.getvalue().split("\r")
    assert last[-1] == "" and last[-2].strip() == ""
    del shell.kernel
    with progress("elsewhere"):
        time.sleep(0.02)
    assert "elsewhere" not in stream.getvalue()


def test_without_a_terminal_there_is_one_line_per_step_and_one_a_minute(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    told = io.StringIO()
    with progress("quantify", tell=lambda line: told.write(f"{line}\n")):
        seen(told, "quantify …\n")
        time.sleep(0.05)
    assert told.getvalue() == "quantify …\n"
    monkeypatch.setattr(_progress, "_BETWEEN_LINES", 0.01)
    tell = lambda line: told.write(f"{line}\n")  # noqa: E731
    with progress("quantify", tell=tell), progress("", 2, "groups", inside=True) as inside:
        inside.advance()
        seen(told, "quantify · 1 of 2 groups\n")


def test_a_library_call_without_a_terminal_is_silent(capsys):
    P, codes = posteriors(60, 2, 0)
    KDEy(bandwidth=0.3, shrinkage=0.1).fit(P, codes).quantify(P)
    assert capsys.readouterr().err == ""


def test_estimates_of_groups_show_the_groups_that_are_done(monkeypatch):
    P, codes = posteriors(200, 2, 0)
    quantifier = KDEy(bandwidth=0.3, shrinkage=0.1).fit(P, codes)
    said = []
    advance = Work.advance

    def noted(work, *given):
        advance(work, *given)
        said.append([each.about(each.start) for each in _progress._display.stack])

    as_terminal(monkeypatch)
    monkeypatch.setattr(Work, "advance", noted)
    quantifier.quantify_by(P, np.arange(200) // 50)
    assert ["quantify", "4 of 4 groups"] in said
    assert truemix.show_progress is show_progress


@pytest.mark.parametrize("cores", [1, 2])
def test_blocks_and_items_that_are_done_are_counted(cores, monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setattr("truemix._threads.n_cores", lambda: cores)
    with progress("work") as outer:
        gate = threading.Event()

        def work(rows):
            if rows.start == 4:
                gate.wait(20.0)

        watcher = threading.Thread(
            target=lambda: (seen(terminal, "work · 4 of 5 rows"), gate.set())
        )
        watcher.start()
        for_each_block(work, 5, 2, "rows" if outer else None)
        watcher.join()
        assert map_on_cores(str, [1, 2, 3], "items") == ["1", "2", "3"]
