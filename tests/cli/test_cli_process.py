"""The real process: its exit codes, its terminal, a pipe nobody reads, and Ctrl-C."""

import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from cli_support import CLASSES, contents, finished, start, target_frame, written
from support import posteriors
from truemix import __version__, _core

PCC = ("--label", "label", "--method", "pcc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("process")
    written(path)
    return path


@pytest.fixture(scope="module")
def files(folder):
    return [folder / "reference.csv", folder / "target.csv"]


def test_exit_codes_of_the_process(files, folder):
    flat = target_frame()
    flat[CLASSES] = [0.3, 0.4, 0.3]
    flat.to_csv(folder / "flat.csv", index=False)
    flat.assign(label=CLASSES.tolist() * 50).to_csv(folder / "flat-reference.csv", index=False)
    acc = ("--label", "label", "--method", "acc")
    children = {
        0: start("--version"),
        1: start("estimate", files[0], "missing.csv", *PCC),
        2: start("estimate", "--nonsense"),
        3: start("estimate", folder / "flat-reference.csv", folder / "flat.csv", *acc, "--quiet"),
    }
    done = {code: finished(child) for code, child in children.items()}
    assert {code: each.code for code, each in done.items()} == {code: code for code in done}
    assert done[0].out == f"truemix {__version__}\n"
    assert done[1].err.startswith("Error: There is no file missing.csv;")
    assert done[1].err.count("\n") == 1
    assert "No such option: --nonsense" in done[2].err
    assert done[3].out.startswith("ACC: the mix of 150 items\n")
    assert done[3].err.startswith("Warning: ")


def test_the_long_version_names_instructions_and_libraries():
    done = finished(start("--version", "--verbose"))
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0] == f"truemix {__version__}"
    assert lines[1].startswith(f"core: {_core.instructions} instructions (this processor has ")
    assert any(line.startswith("numpy 2") for line in lines)
    # Alone it asks for nothing.
    assert "Missing command." in finished(start("--verbose")).err


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from truemix.cli import main; main(['estimate', '--help']);"
        "heavy = ['numpy', 'pandas', 'pyarrow', 'sklearn', 'scipy', 'jinja2', 'matplotlib'];"
        "sys.exit(' '.join(name for name in heavy if name in sys.modules))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stderr == "\n"
    assert "--classifier" in done.stdout


def test_a_pipe_that_nobody_reads_ends_quietly(files):
    child = start("estimate", *files, *PCC, "--by", "week", "--format", "json", "--quiet")
    child.stdout.close()
    child.stdout = None
    done = finished(child)
    assert done.err == ""
    assert done.code == 141


def test_in_a_terminal_there_are_lines_and_times(files):
    ours, theirs = pty.openpty()
    child = start("estimate", *files, *PCC, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 4096)
        except OSError:
            # Linux says so when the other side has closed.
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert child.wait(60) == 0
    text = shown.decode()
    assert "PCC: the mix of 150 items" in text
    assert "────" in text
    assert "Time: read reference" in text
    assert "Traceback" not in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
def test_an_interrupt_leaves_no_file_behind(folder, tmp_path):
    import pandas as pd

    # Enough references that the search for a bandwidth takes long on any machine.
    P, codes = posteriors(20_000, 8, 0)
    frame = pd.DataFrame(P, columns=[f"c{k}" for k in range(8)])
    frame.to_parquet(folder / "many.parquet")
    os.mkfifo(folder / "reference.pipe")
    out = tmp_path / "result.json"
    options = ("--label", "label", "--out", out, "--report", tmp_path / "report.html")
    child = start("estimate", folder / "reference.pipe", folder / "many.parquet", *options)
    frame.assign(label=[f"c{k}" for k in codes]).to_parquet(folder / "labelled.parquet")
    # Opening waits until the command has begun to read, so it is past its first imports.
    with (folder / "reference.pipe").open("wb") as pipe:
        pipe.write((folder / "labelled.parquet").read_bytes())
    time.sleep(3)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    done = finished(child)
    # Lines about the steps, as far as there was time for them.
    *steps, last = done.err.splitlines()
    assert steps == ["fit …", "quantify …"][: len(steps)]
    assert last == "Interrupted."
    assert done.code == 130
    assert contents(tmp_path) == []


def test_an_interrupt_inside_exec_has_the_same_exit_code(tmp_path):
    """Python itself would end by the signal, but only if it was started with -m."""
    lines = [
        "import os, signal, sys, time",
        "from truemix.cli import _app",
        "@_app.app.command()",
        "def stuck():",
        "    exec('os.kill(os.getpid(), signal.SIGINT); time.sleep(60)')",
        "sys.exit(_app.run(['stuck']))",
    ]
    (tmp_path / "interrupted.py").write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")
