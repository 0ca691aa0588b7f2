"""Charts against the size of bags, and backtests with many classes."""

import numpy as np
import pytest

from estimate_support import sampled
from support import posteriors
from truemix import PCC, backtest
from truemix.report.charts.sizes import size_chart
from truemix.report.page import render_backtest, render_page
from truemix.report.plain import plain
from truemix.report.summary import summarize


def runs(**columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_positions_are_logarithmic_across_and_shares_along():
    picture = size_chart(runs(n_items=[10, 100, 1000], error=[0.3, 0.15, 0.0]), ["error"])
    [line] = picture.lines
    assert [dot.x for dot in line.dots] == [2.0, 50.0, 98.0]
    assert [dot.y for dot in line.dots] == [0.0, 50.0, 100.0]
    assert [(tick.label, tick.anchor) for tick in picture.columns] == [
        ("10", "start"), ("100", "middle"), ("1,000", "end"),
    ]  # fmt: skip
    assert picture.level is None


def test_coverage_ends_at_one_and_shows_its_level():
    picture = size_chart(runs(n_items=[10, 90], held=[1.0, 0.9]), ["held"], level=0.95)
    assert [dot.y for dot in picture.lines[0].dots] == [0.0, 100.0]
    assert picture.level == pytest.approx(50.0)


def test_a_single_size_has_no_picture():
    assert size_chart(runs(n_items=[10], error=[0.3]), ["error"]) is None
    assert size_chart(runs(n_items=[10, 10], error=[0.3, 0.2]), ["error"]) is None


def test_of_many_classes_those_with_the_largest_errors_are_shown():
    P, codes = posteriors(400, 40, seed=0)
    tested = plain(backtest(PCC(), P, codes, bag_size=10, n_bags=4, random_state=0).summary())
    page = render_backtest({**tested, "truemix": "1", "reference": {"name": None, "n_items": 400}})
    assert "the 30 classes with the largest errors" in page
    errors = {row["class"]: row["mean_error"] for row in tested["classes"]}
    worst, best = max(errors, key=errors.get), min(errors, key=errors.get)
    assert f"<bdi>{worst}</bdi>" in page
    assert f"<bdi>{best}</bdi>" not in page
    # A point method on one size: no pictures, and nothing about intervals.
    assert "<figure>" not in page
    assert "Held the truth" not in page


def test_the_panel_of_an_estimate_escapes_names():
    P, codes = posteriors(60, 2, seed=0)
    labels = np.array(["<hr>", "b"])[codes]
    tested = backtest(PCC(), P, labels, bag_size=5, n_bags=4, random_state=0).summary()
    page = render_page(summarize(sampled([2, 3]), backtest=tested))
    assert 'id="backtest"' in page
    assert "<bdi>&lt;hr&gt;</bdi>" in page
    assert "<hr>" not in page
