"""The code in README and docs runs and prints what they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"```python\n(.*?)```\n+```\n(.*?)```", re.DOTALL)
EXAMPLES = [each for page in PAGES for each in EXAMPLE.findall(page.read_text("utf-8"))]


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


# A row of the table with an interval: class, estimate, lower, upper, then counted and reference.
WITH_DRAWS = re.compile(r"^(\S+ +)([\d.]+) %( +)([\d.]+) \u2013 +([\d.]+) %( .*)$")


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_an_example_prints_what_it_says(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102
    found, shown = printed.getvalue().splitlines(), output.splitlines()
    assert len(found) == len(shown)
    for line, expected in zip(found, shown, strict=True):
        if drawn := WITH_DRAWS.match(expected):
            now = WITH_DRAWS.match(line)
            assert now[1].split() == drawn[1].split()
            # Counted shares too: the decision of a fold model may be as close as a rounding error.
            shares = [[float(n) for n in re.findall(r"[\d.]+", each[6])] for each in (now, drawn)]
            assert shares[0] == pytest.approx(shares[1], abs=0.11)
            # Another processor rounds sums differently, and a chain of draws goes its own way
            # from there: the end of an interval may move by two of the 267 items.
            for k in (2, 4, 5):
                assert float(now[k]) == pytest.approx(float(drawn[k]), abs=0.8)
        elif "between" in expected or "strangest" in expected:
            # The ends of an interval again, as whole percents, or a rank that is as close.
            numbers = [[int(n) for n in re.findall(r"\d+", text)] for text in (line, expected)]
            assert numbers[0] == pytest.approx(numbers[1], abs=1)
        else:
            assert line == expected
