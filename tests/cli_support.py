"""Files for the command line's tests, and the command itself, in this process or as a child."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd

from support import posteriors
from truemix import _progress
from truemix.cli import main

CLASSES = np.array(["egg", "ham", "spam"])
# A kernel without a search for it, and few draws: what is tested is not the estimate.
FAST = ("--bandwidth", "0.3", "--shrinkage", "0.5", "--draws", "200")


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def reference_frame(n=120, names=CLASSES):
    P, codes = posteriors(n, 3, 2)
    frame = pd.DataFrame(P, columns=names)
    frame.insert(0, "label", np.asarray(names)[codes])
    return frame


def target_frame(n=150, names=CLASSES):
    P, _ = posteriors(n, 3, 1, mix=[0.6, 0.3, 0.1])
    frame = pd.DataFrame(P, columns=names)
    frame["week"] = [f"week {1 + i // 15}" for i in range(n)]
    return frame


def written(folder, reference=None, target=None):
    """Write both tables as CSV and return their names."""
    reference = reference_frame() if reference is None else reference
    target = target_frame() if target is None else target
    names = [str(folder / "reference.csv"), str(folder / "target.csv")]
    reference.to_csv(names[0], index=False)
    target.to_csv(names[1], index=False)
    return names


def run(capsys, *arguments):
    """Run a command in this process."""
    capsys.readouterr()
    # Here nothing takes long: on a busy machine there should be no lines about progress.
    with patch.object(_progress, "DELAY", 60.0):
        code = main([str(each) for each in arguments])
    return Done(code, *capsys.readouterr())


def fails(capsys, *arguments):
    """Run a command that is to fail with one sentence, and return the sentence."""
    done = run(capsys, *arguments)
    assert done.code == 1
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    return lines[0].removeprefix("Error: ")


def closing(stream, command):
    """Return a command that runs another one with a standard stream closed.

    By a shell, not by a function between fork and exec: other tests of this process may have
    started threads that do not survive a fork.
    """
    return ["/bin/sh", "-c", f'exec "$@" {stream}>&-', "sh", *map(str, command)]


def start(*arguments, environment=None, closed=None, **options):
    """Start the command as a child process, maybe with a standard stream closed."""
    command = [sys.executable, "-W", "error", "-m", "truemix.cli", *map(str, arguments)]
    if closed is not None:
        command = closing(closed, command)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    variables = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **(environment or {})}
    return subprocess.Popen(command, env=variables, **{**pipes, **options})  # noqa: S603


def finished(child, data=None):
    """Wait for a child and return what it left behind."""
    out, err = child.communicate(data, timeout=120)
    return Done(child.returncode, (out or b"").decode(), (err or b"").decode())


def contents(folder):
    """Return the names of all files in a folder."""
    return sorted(path.name for path in Path(folder).iterdir())
