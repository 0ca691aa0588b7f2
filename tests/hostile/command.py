"""The command line in this process, with what it writes kept, judged as an attempt."""

import io
import json
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from hostile.attempts import ANSWERED, REFUSED, check_sentence
from truemix.cli import main


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def run(*arguments: object) -> Done:
    """Run a command."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("error")
        code = main([str(each) for each in arguments])
    kept = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Done(code, *kept)


def outcome(done: Done, holds) -> str:
    """Judge what a command did that was to answer with JSON; ``holds`` raises if that is wrong."""
    if done.code == 1:
        lines = done.err.splitlines()
        if done.out or len(lines) != 1 or not lines[0].startswith("Error: "):
            raise AssertionError(f"not one sentence but {done.out[:100]!r}, {done.err[:400]!r}")
        check_sentence(lines[0])
        return REFUSED
    if done.code not in (0, 3):
        raise AssertionError(f"exit code {done.code}: {done.err[:400]!r}")
    holds(json.loads(done.out))
    return ANSWERED
