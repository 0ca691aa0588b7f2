"""A part of the attempts at breaking truemix; ``make fuzz`` makes all of them."""

import os
import signal
from functools import partial

import numpy as np
import pytest

from hostile.__main__ import KINDS, listed
from hostile.attempts import ANSWERED, REFUSED, Attempt, check_sentence, outcome_of, outcomes
from truemix.exceptions import InputError

# Each so-many-th attempt of a kind: seconds.
EVERY = {
    "loops": 20,
    "numbers": 100,
    "arrow_types": 45,
    "labels": 40,
    "input_files": 60,
    "streams": 25,
    "saved_files": 97,
    "bench_files": 10,
}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_breaks(kind):
    findings = [each for each in outcomes(partial(listed, kind, 0, EVERY[kind])) if each.finding]
    assert findings == []


def broken_in_all_ways():
    def crash():
        os.kill(os.getpid(), signal.SIGSEGV)

    def hungry():
        np.ones(1 << 28).sum()
        return ANSWERED

    def wrong():
        raise ZeroDivisionError("somewhere")

    def refuse():
        raise InputError("Row 3 is empty; fill it.")

    yield Attempt("x", "fine", lambda: outcome_of(refuse, bool))
    yield Attempt("x", "crash", crash)
    yield Attempt("x", "hungry", hungry)
    yield Attempt("x", "wrong", wrong)
    yield Attempt("x", "answer", lambda: ANSWERED)


def test_every_kind_of_finding_is_found():
    found = {each.name: each.result for each in outcomes(broken_in_all_ways)}
    assert found["fine"] == REFUSED
    assert found["crash"] == "crashed, exit code -11"
    assert found["hungry"].startswith("answered, but took 20")
    assert found["wrong"] == "ZeroDivisionError: somewhere"
    assert found["answer"] == ANSWERED


@pytest.mark.parametrize("text", ["", "two\nlines", "\x1b[2Jcleared", "x" * 5000])
def test_what_nobody_can_read_is_no_sentence(text):
    with pytest.raises(AssertionError, match="not one readable sentence"):
        check_sentence(text)
