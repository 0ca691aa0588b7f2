"""Stdout, stderr and stdin that are closed, full, slow or a terminal, and signals that end all."""

import errno
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from cli_support import closing, contents, finished, run, start, target_frame, written

PCC = ("--label", "label", "--method", "pcc")
QUIET = (*PCC, "--quiet")
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no disk that is always full")
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs the signals and descriptors of POSIX")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams")
    written(path)
    return path


@pytest.fixture(scope="module")
def files(folder):
    return [folder / "reference.csv", folder / "target.csv"]


class Trickle(io.RawIOBase):
    """A file that takes a few bytes at a time, as a nearly full disk does, and then no more."""

    def __init__(self, room):
        self.data, self._room = b"", room

    def writable(self):
        return True

    def write(self, data):
        if not self._room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = bytes(data)[: min(self._room, 1000)]
        self.data += taken
        self._room -= len(taken)
        return len(taken)


def run_into(raw, monkeypatch, capsys, *arguments):
    """Run a command whose stdout is unbuffered, as with PYTHONUNBUFFERED."""
    stdout = io.TextIOWrapper(raw, "utf-8", write_through=True)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        done = run(capsys, *arguments)
        assert sys.stdout is stdout
    return done


# --- stdout -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_short_writes_are_continued(files, monkeypatch, capsys, form):
    arguments = ("estimate", *files, *PCC, "--by", "week", "--format", form)
    raw = Trickle(10**9)
    done = run_into(raw, monkeypatch, capsys, *arguments)
    assert (done.code, done.err) == (0, "")
    assert raw.data.decode() == run(capsys, *arguments).out


def test_help_is_written_whole_too(monkeypatch, capsys):
    raw = Trickle(10**9)
    run_into(raw, monkeypatch, capsys, "estimate", "--help")
    assert raw.data.decode() == run(capsys, "estimate", "--help").out


@pytest.mark.parametrize("room", [0, 1, 2500])
def test_a_disk_that_fills_up_is_an_error(files, monkeypatch, capsys, room):
    arguments = ("estimate", *files, *PCC, "--by", "week", "--format", "json")
    done = run_into(Trickle(room), monkeypatch, capsys, *arguments)
    assert done.code == 1
    assert done.err == "Error: Cannot write to stdout (No space left on device).\n"


@needs_full
@POSIX
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_an_error_in_the_process_too(files, unbuffered):
    # Python itself writes once more at exit, and would end with another code.
    commands = {
        "json": ("estimate", *files, *QUIET, "--format", "json"),
        "table": ("estimate", *files, *QUIET),
        "help": ("--help",),
        "help of a command": ("estimate", "--help"),
        "version": ("--version",),
    }
    environment = {"PYTHONUNBUFFERED": unbuffered}
    with FULL.open("wb") as full:
        children = {
            name: start(*command, stdout=full, environment=environment)
            for name, command in commands.items()
        }
    done = {name: finished(child) for name, child in children.items()}
    sentence = "Error: Cannot write to stdout (No space left on device).\n"
    assert {name: (each.code, each.err) for name, each in done.items()} == dict.fromkeys(
        done, (1, sentence)
    )


@POSIX
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_slow_reader_of_a_pipe_that_does_not_wait_gets_everything(tmp_path, unbuffered):
    # As programs that start others without waiting for them set their pipes.
    weeks = target_frame(3000).assign(week=lambda frame: frame.index)
    files = written(tmp_path, target=weeks)
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    command = ("estimate", *files, *QUIET, "--by", "week", "--format", "json")
    child = start(*command, stdout=theirs, environment={"PYTHONUNBUFFERED": unbuffered})
    os.close(theirs)
    data = b""
    with open(ours, "rb", buffering=0) as pipe:  # noqa: PTH123
        while part := pipe.read(1 << 15):
            data += part
            time.sleep(0.005)
    assert finished(child).code == 0
    assert len(json.loads(data)["groups"]) == 3000


# --- stderr and stdin -------------------------------------------------------------------------


@POSIX
def test_a_run_does_not_need_stderr(files, tmp_path):
    # With a class column that is not used, so that there is a note, and with timings.
    extra = target_frame().assign(note="x")
    target = Path(written(tmp_path, target=extra)[1])
    command = ("estimate", files[0], target, *PCC, "--format", "json", "--timings")
    children = [start(*command, stderr=None, closed=2)]
    bad = ("estimate", files[0], "missing.csv", *PCC)
    children.append(start(*bad, stderr=None, closed=2))
    children.append(start("demo", files[0], stderr=None, closed=2))
    children.append(start("estimate", "--nonsense", stderr=None, closed=2))
    if FULL.exists():
        with FULL.open("wb") as full:
            for unbuffered in ("", "1"):
                environment = {"PYTHONUNBUFFERED": unbuffered}
                children.append(start(*command, stderr=full, environment=environment))
    done = [finished(child) for child in children]
    assert [each.code for each in done[:4]] == [0, 1, 1, 2]
    for each in (done[0], *done[4:]):
        assert each.code == 0
        assert len(each.json["groups"][0]["classes"]) == 3


@POSIX
def test_what_libraries_print_does_not_end_up_in_the_output(files, tmp_path):
    # A closed stderr has a number that the next file to be opened would get.
    out = tmp_path / "result.json"
    code = (
        "import os, sys; from truemix import _files; from truemix.cli import main\n"
        "real = _files.create_part\n"
        "def noisy(*a, **k):\n"
        "    found = real(*a, **k)\n"
        "    os.write(2, b'a warning of some library')\n"
        "    return found\n"
        "_files.create_part = noisy\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "estimate", *files, *PCC, "--out", out]
    done = subprocess.run(closing(2, command), check=False)  # noqa: S603
    assert done.returncode == 0
    assert json.loads(out.read_text())["method"] == "PCC"


@POSIX
def test_a_closed_stdin_is_said(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    done = run(capsys, "estimate", files[0], "-", *PCC)
    assert done.code == 1
    assert done.err == (
        "Error: Stdin is closed; send a table to it, or name a file instead of -.\n"
    )
    child = start("estimate", "-", files[1], *PCC, stdin=None, closed=0)
    done = finished(child)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: Stdin is closed;")
    monkeypatch.undo()
    with (tmp_path / "for writing only").open("wb") as file:
        child = start("estimate", files[0], "-", *PCC, stdin=file)
    done = finished(child)
    assert done.code == 1
    assert done.err == "Error: Stdin cannot be read (Bad file descriptor); expected a table.\n"


# --- signals ----------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_no_copy_of_stdin_behind(files, tmp_path, number, code):
    environment = {"TMPDIR": str(tmp_path)}
    command = ("estimate", files[0], "-", *PCC)
    # Tests that run under nohup would hand on that SIGHUP is ignored.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        child = start(*command, stdin=subprocess.PIPE, environment=environment)
    finally:
        signal.signal(number, before)
    child.stdin.write(b"egg,ham,spam\n" + b"1,0,0\n" * 500_000)
    child.stdin.flush()
    # All but what a pipe holds has been read, so there is a copy; it waits for more.
    assert len(contents(tmp_path)) == 1
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (code, b"", b"")
    assert contents(tmp_path) == []


@POSIX
def test_signals_that_are_ignored_stay_ignored(tmp_path, capsys):
    # As nohup starts programs.
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(capsys, "--version").code == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_command_can_be_run_in_a_thread(files, capsys):
    # Only the main thread may say what signals do.
    codes = []
    thread = threading.Thread(target=lambda: codes.append(run(capsys, "--version").code))
    thread.start()
    thread.join()
    assert codes == [0]


# --- terminals --------------------------------------------------------------------------------

# Clears the screen, sets the title, and the one-byte form of the same.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m"
SHOWN = r"\x1b[2J\x1b]0;owned\x07\x9b31m"


def in_terminal(*arguments):
    """Return all that a command shows in a terminal."""
    ours, theirs = pty.openpty()
    child = start(*arguments, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    child.wait(60)
    return shown.decode()


def hostile_files(folder):
    frame = target_frame()
    frame["week"] = [f"{HOSTILE}{i % 2}" for i in range(len(frame))]
    written(folder, target=frame.assign(**{f"{HOSTILE}unused": 1}))
    target = folder / f"{HOSTILE}target.csv"
    (folder / "target.csv").rename(target)
    return [folder / "reference.csv", target]


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_values_cannot_steer_a_terminal(tmp_path, form):
    files = hostile_files(tmp_path)
    shown = in_terminal("estimate", *files, *PCC, "--by", "week", "--format", form)
    assert "Traceback" not in shown
    for sign in ("\x1b]", "\x1b[2J", "\x07", "\x9b"):
        assert sign not in shown
    assert r"owned" in shown
    if form == "csv":
        assert SHOWN in shown


def test_messages_cannot_steer_a_terminal(tmp_path, capsys):
    files = hostile_files(tmp_path)
    for arguments in (
        ("estimate", files[0], f"{HOSTILE}.csv", *PCC),
        ("estimate", *files, "--label", HOSTILE, "--method", "pcc"),
        ("estimate", *files, "--label", "label", "--method", HOSTILE),
        ("estimate", *files, *PCC, "--out", tmp_path / HOSTILE / "x"),
        ("estimate", *files, HOSTILE),
        ("estimate", *files, f"--{HOSTILE}"),
        (HOSTILE,),
        ("estimate", *files, *PCC, "--out", tmp_path / f"{HOSTILE}.json"),
        ("demo", tmp_path / HOSTILE),
    ):
        done = run(capsys, *arguments)
        assert "Traceback" not in done.err
        assert r"\x1b" in done.out + done.err, arguments
        for sign in ("\x1b", "\x07", "\x9b"):
            assert sign not in done.out + done.err


def test_a_message_is_one_line_whatever_is_in_it(capsys):
    done = run(capsys, "estimate", "two\nlines.csv", "x.csv", *PCC)
    assert done.err.count("\n") == 1
    assert done.err.startswith(r"Error: There is no file two\nlines.csv;")


def test_data_in_files_and_pipes_stay_as_they_are(tmp_path, capsys):
    files = hostile_files(tmp_path)
    done = run(capsys, "estimate", *files, *PCC, "--by", "week", "--format", "csv", "--quiet")
    assert f"{HOSTILE}0," in done.out
    done = run(capsys, "estimate", *files, *PCC, "--by", "week", "--format", "json", "--quiet")
    assert [group["group"] for group in done.json["groups"]] == [f"{HOSTILE}0", f"{HOSTILE}1"]
    # JSON has its own way to write them.
    assert not {"\x1b", "\x07", "\x9b"} & set(done.out)


def test_stdin_is_kept_in_the_temporary_folder(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with files[1].open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run(capsys, "estimate", files[0], "-", *PCC).code == 0
    assert contents(tmp_path) == []
