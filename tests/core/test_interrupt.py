"""Ctrl-C ends the core's long loops, in the main thread and in others."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from truemix import _core
from truemix._threads import for_each_block

# What runs in the background of a shell ignores the signal, and so do its children.
PRELUDE = """
import signal
import numpy as np
from truemix import _core
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begun", flush=True)
"""
# Loops that would take minutes; they say when they begin.
LONG = {
    "kernel sums": """
T, Z = np.zeros((20_000, 50, 32)), np.zeros((4_000, 50))
_core.add_kernel_sums(T, np.zeros((20_000, 2, 50)), np.ones((20_000, 32)),
                      np.zeros(20_000, dtype=np.int64), Z, np.ones(3),
                      np.full((4_000, 1), np.inf), np.zeros((3, 4_000, 1)))
""",
    "gibbs": """
L = np.random.default_rng(0).random((20_000, 10))
layout = _core.Layout(L, np.ones(20_000), np.full(10, 0.1))
_core.sweep(layout, np.ones(10), np.full(10, 0.1), np.ones(4, dtype=np.uint64), 0, 10, 10**6)
""",
    "threads": """
from truemix._threads import for_each_block
L = np.random.default_rng(0).random((20_000, 10))
layout = _core.Layout(L, np.ones(20_000), np.full(10, 0.1))
def work(rows):
    state = np.arange(1, 5, dtype=np.uint64)
    _core.sweep(layout, np.ones(10), np.full(10, 0.1), state, 0, 10, 10**6)
for_each_block(work, 8, 1)
""",
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_a_long_loop(name):
    code = PRELUDE + LONG[name]
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "begun\n"
    time.sleep(1.0)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    # It looks ten times a second; a minute is only for machines that do a lot else.
    _, error = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in error
    assert child.returncode == -signal.SIGINT


def test_an_error_in_one_thread_ends_the_others():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core runs one block at a time")
    layout = _core.Layout(
        np.random.default_rng(0).random((20_000, 10)), np.ones(20_000), np.ones(10)
    )
    begun = threading.Event()

    def work(rows):
        if rows.start == 0:
            begun.wait()
            raise ValueError("on purpose")
        begun.set()
        state = np.arange(1, 5, dtype=np.uint64)
        _core.sweep(layout, np.ones(10), np.full(10, 0.1), state, 0, 10, 10**9)

    # The second block would take days.
    with pytest.raises(ValueError, match="on purpose"):
        for_each_block(work, 2, 1)
