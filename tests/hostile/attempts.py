"""Attempts at breaking truemix, made in a process that may crash, hang or eat all memory.

Nothing but two outcomes is right: *refused* with one sentence, or *answered* with an answer that
holds what truemix promises. Everything else (another exception, a crash, a wrong answer, too much
memory or time) is a finding, told with the name of the attempt.
"""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from truemix.exceptions import InputError

REFUSED, ANSWERED = "refused", "answered"
# What one attempt may take. An attempt that has come this far is not slow but without a limit.
MEMORY = 1 << 30
SECONDS = 120


@dataclass(frozen=True)
class Attempt:
    """Something hostile, and what to do with it.

    ``make`` returns REFUSED or ANSWERED, or raises for everything that must not happen. It is made
    long after the attempt was listed, or never: whatever costs time belongs into it.
    """

    category: str
    name: str
    make: Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    """What became of an attempt."""

    category: str
    name: str
    result: str
    memory: int = 0

    @property
    def finding(self) -> bool:
        return self.result not in (REFUSED, ANSWERED)


def outcome_of(call: Callable[[], object], holds: Callable[[object], object]) -> str:
    """Make a call that may be refused; what it answers must hold (or ``holds`` raises)."""
    try:
        answer = call()
    except InputError as error:
        check_sentence(str(error))
        return REFUSED
    holds(answer)
    return ANSWERED


def check_sentence(text: str) -> None:
    """Raise unless this is a sentence that somebody can read."""
    if not text.strip() or "\n" in text or not text.isprintable() or len(text) > 2000:
        raise AssertionError(f"not one readable sentence: {text[:200]!r}")


def outcomes(attempts: Callable[[], Iterable[Attempt]], start: int = 0) -> Iterator[Outcome]:
    """Make attempts in a child process, and go on in another one after a crash.

    The list is made anew in each child, so it must be the same each time. Children are new
    processes, not forks: threads and compiled code of this one would not survive a fork.
    """
    context = multiprocessing.get_context("spawn")
    while True:
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(attempts, start, there), daemon=True)
        child.start()
        there.close()
        running = None
        while True:
            if not here.poll(SECONDS):
                os.kill(child.pid or 0, signal.SIGKILL)
                result = f"no end after {SECONDS} s"
                break
            try:
                kind, *said = json.loads(here.recv_bytes())
            except EOFError:
                child.join()
                result = f"crashed, exit code {child.exitcode}"
                break
            if kind == "end":
                child.join()
                return
            if kind == "start":
                running = said
            else:
                yield Outcome(*running, *said)
                start, running = start + 1, None
        child.join()
        if running is None:
            raise RuntimeError(f"The attempts themselves failed before number {start}: {result}.")
        yield Outcome(*running, result)
        start += 1


def _work(attempts: Callable[[], Iterable[Attempt]], start: int, pipe: Connection) -> None:
    def say(*words: object) -> None:
        pipe.send_bytes(json.dumps(words).encode())

    for number, attempt in enumerate(attempts()):
        if number < start:
            continue
        say("start", attempt.category, attempt.name)
        before = _reset_peak_memory()
        try:
            result = attempt.make()
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"[:500]
        memory = peak_memory() - before
        if memory > MEMORY and result in (REFUSED, ANSWERED):
            result = f"{result}, but took {memory / 2**20:.0f} MB"
        say("done", result, memory)
    say("end")


def peak_memory() -> int:
    """Return the largest memory of this process since the peak was reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _reset_peak_memory() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()
