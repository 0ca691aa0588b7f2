"""The README's code runs and prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n+```\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


NUMBER = re.compile(r" *\d+(?:\.\d*)?")


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_an_example_prints_what_it_says(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102
    assert NUMBER.sub("#", printed.getvalue()) == NUMBER.sub("#", output)
    # Another processor rounds sums differently, and a chain of draws goes its own way from there:
    # the end of an interval from 1000 draws moves by a few items of the 267.
    found, shown = (
        [float(number) for number in NUMBER.findall(text)] for text in (printed.getvalue(), output)
    )
    assert found == pytest.approx(shown, abs=1.5)
