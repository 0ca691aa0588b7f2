"""Groups that are periods of times, and groups that several keys tell."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from support import posteriors
from truemix import PCC, BayesianKDEy, EstimateSet, InputError
from truemix.checks import label_shift_by
from truemix.groups import by_period

REGIONS = np.array(["north", "south"])[np.arange(90) % 2]
TIMES = pd.date_range("2023-11-20", periods=90, freq="31h", tz="Europe/Berlin")


@pytest.fixture(scope="module")
def quantifier():
    return PCC().fit(*posteriors(60, 3, 0), classes=[0, 1, 2])


@pytest.fixture(scope="module")
def target():
    P, _ = posteriors(90, 3, 1)
    return pd.DataFrame(P, columns=["0", "1", "2"]).assign(region=REGIONS, at=TIMES)


def same(found, expected):
    assert list(found) == list(expected)
    for group in expected:
        np.testing.assert_array_equal(found[group].prevalence, expected[group].prevalence)
        assert found[group].n_items == expected[group].n_items


def test_an_estimate_per_period_is_that_of_the_items_in_it(quantifier, target):
    P = target[["0", "1", "2"]]
    found = quantifier.quantify_by(P, target["at"], every="week")
    weeks = by_period(target["at"], "week")
    same(found, quantifier.quantify_by(P, weeks))
    assert found.every == "week"
    for week, estimate in found.items():
        inside = P[np.array(weeks) == week]
        np.testing.assert_allclose(estimate.prevalence, inside.mean(), atol=1e-12)


def test_every_kind_of_batch_gives_the_same_groups(quantifier, target):
    expected = quantifier.quantify_by(target, ("region", "at"), every="month")
    assert list(expected)[:2] == [("north", "2023-11"), ("north", "2023-12")]
    table = pa.Table.from_pandas(target, preserve_index=False)
    P = target[["0", "1", "2"]]
    keys = list(zip(REGIONS.tolist(), by_period(TIMES, "month"), strict=True))
    for X, groups in (
        (pl.from_pandas(target), ("region", "at")),
        (ds.dataset(table), ("region", "at")),
        (pl.from_pandas(target).lazy(), ("region", "at")),
        ([target[:7], target[7:8], target[8:]], ("region", "at")),
        (P, target[["region", "at"]]),
        (P, keys),
        ([P[:50], P[50:]], [keys[:50], keys[50:]]),
    ):
        same(quantifier.quantify_by(X, groups, every="month"), expected)


def test_summaries_of_days_are_those_of_months_together(quantifier, target):
    days = quantifier.summarize_by(target[["0", "1", "2", "at"]], "at", every="day")
    expected = quantifier.quantify_by(target[["0", "1", "2", "at"]], "at", every="quarter")
    same(quantifier.quantify_by(days, every="quarter"), expected)
    # By dates of Python too, and by region beside them.
    dated = {datetime.date.fromisoformat(day): each for day, each in days.items()}
    same(quantifier.quantify_by(dated, every="quarter"), expected)
    both = quantifier.summarize_by(target, ("region", "at"), every="day")
    expected = quantifier.quantify_by(target, ("region", "at"), every="year")
    same(quantifier.quantify_by(both, every="year"), expected)
    with pytest.raises(InputError, match="a quarter is not within a month"):
        quantifier.quantify_by({"2024-Q1": days["2023-11-20"]}, every="month")


def test_the_check_knows_the_same_groups(target):
    P, y = posteriors(60, 3, 0)
    fitted = BayesianKDEy(bandwidth=0.3, shrinkage=0.5, draws=100, self_calibration=False)
    fitted.fit(P, y, classes=[0, 1, 2])
    items = target[["0", "1", "2"]]
    found = fitted.quantify_by(target, ("region", "at"), every="year", check=True)
    keys = list(zip(REGIONS.tolist(), by_period(TIMES, "year"), strict=True))
    checked = label_shift_by(fitted, items, keys, random_state=0)
    assert list(found) == list(checked)
    assert all("label_shift" in each.checks for each in found.values())


def test_a_frame_has_a_column_for_each_key_and_compares_within_the_others(target):
    P, y = posteriors(60, 3, 0)
    fitted = BayesianKDEy(bandwidth=0.3, shrinkage=0.5, draws=100, self_calibration=False)
    found = fitted.fit(P, y, classes=[0, 1, 2]).quantify_by(target, ("region", "at"), every="year")
    frame = found.frame()
    assert frame.columns[:3].tolist() == ["region", "at", "class"]
    assert frame["region"].tolist() == ["north"] * 6 + ["south"] * 6
    expected = found["south", "2024"].compare(found["south", "2023"]).prob_increase
    rows = frame.set_index(["region", "at"])["prob_increase"]
    np.testing.assert_array_equal(rows["south", "2024"], expected)
    assert rows[:, "2023"].isna().all()
    # Not known by name, or by names that a frame has already.
    for by in (None, ["class", "at"], ["region"]):
        frame = EstimateSet(found, by=by, every="year").frame()
        assert frame.columns[:3].tolist() == ["group_1", "group_2", "class"]
    assert "[north, 2023] " in repr(found)


def test_regions_have_no_probability_of_a_rise(target):
    P, y = posteriors(60, 3, 0)
    fitted = BayesianKDEy(bandwidth=0.3, shrinkage=0.5, draws=100, self_calibration=False)
    found = fitted.fit(P, y, classes=[0, 1, 2]).quantify_by(target[["0", "1", "2"]], REGIONS)
    assert "prob_increase" not in found.frame()


@pytest.mark.parametrize(
    ("groups", "every", "sentence"),
    [
        ("when", "month", "groups is 'when'; expected the name of a column"),
        (("region", "when"), "month", "groups is 'when'; expected the name of a column"),
        ("region", "month", "Row 0 of groups has 'north'; expected a date or a time"),
        (("region", "0"), "month", "none of them holds dates or times"),
        ([("north", "2024-03-01")] * 89, "month", "X has 90 rows, but groups has 89 entries"),
        ([("2024-01-01", "2024-03-01")] * 90, "month", "more than one of them holds dates or"),
        ([("north", None)] * 90, None, "The group of row 0 is missing"),
        ([("north", True), ("south", 1)] * 45, None, "groups holds truth values and numbers"),
    ],
)
def test_wrong_groups_are_one_sentence(quantifier, target, groups, every, sentence):
    X = target if isinstance(groups, str | tuple) else target[["0", "1", "2"]]
    with pytest.raises(InputError, match=sentence):
        quantifier.quantify_by(X, groups, every=every)
