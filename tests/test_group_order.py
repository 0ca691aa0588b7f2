"""Which groups follow each other, and how groups are sorted."""

import datetime
import itertools

import numpy as np
import pandas as pd
import pytest

from truemix._group_order import group_order, sorted_groups

ORDERED = [
    [2, 9, 10],
    [-1.5, 0.0, 2.25],
    [np.int64(1), np.int64(2)],
    ["2", "9", "10"],
    ["-1.0", "0.25", "0.5"],
    ["2023", "2024"],
    [datetime.date(2024, 1, 31), datetime.date(2024, 2, 1)],
    list(pd.date_range("2024-01-30", periods=4)),
    list(pd.period_range("2024-01", periods=3, freq="M")),
    list(pd.period_range("2023-12-25", periods=3, freq="W")),
    list(pd.period_range("2023-10", periods=3, freq="Q")),
    list(np.arange("2023-11", "2024-02", dtype="datetime64[M]")),
    ["2023-12-31", "2024-01-09", "2024-01-10"],
    ["2023/9", "2023/10"],
    ["2024-03-01 09:00:00", "2024-03-01 10:00:00"],
    ["2024-03-01T09:00Z", "2024-03-01T10:00Z"],
    ["2023-W52", "2024-W01", "2024-W02"],
    ["2023Q4", "2024Q1"],
    ["Q4 2023", "Q1 2024"],
    ["Q4.2023", "Q1.2024"],
    ["FY2023", "FY2024"],
    ["Dec 2023", "Jan 2024", "Feb 2024"],
    ["2023 December", "2024 January"],
    ["week 9", "week 10"],
    ["Week 9", "week 10", "WEEK 11"],
    ["W1", "W2"],
    ["calendar week 9", "calendar week 10"],
    ["v1.9", "v1.10", "v2.0"],
    ["1.2", "1.9", "1.10", "2"],
    ["model v2", "model v10"],
    ["churn-v2", "churn-v10"],
    ["08:30", "09:00", "17:15"],
    ["January", "February", "March", "April", "May", "June"],
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
    ["Tuesday", "Friday", "Saturday"],
]

# Each is sorted, but says nothing about what comes after what.
UNORDERED = [
    ["east", "north", "west"],
    ["region 1", "region 2", "region 10"],
    ["store 2", "store 10"],
    ["view 1", "view 2"],
    ["M1", "M2"],
    ["18-25", "26-35", "36-45"],
    ["4711-12", "4711-13"],
    ["01.02.2024", "02.01.2024"],
    ["01/02/2024", "02/01/2024"],
    [False, True],
    ["Jan", "north"],
    ["Jan", "January"],
    ["day 1", "week 2"],
    ["2024-W01", "week 2"],
]


@pytest.mark.parametrize("groups", ORDERED, ids=lambda groups: str(groups[0]))
def test_groups_that_follow_each_other_are_sorted_and_known(groups):
    assert group_order(groups).ordered
    shuffles = itertools.islice(itertools.permutations(groups), 1, 500, 7)
    for shuffled in [groups[::-1], *shuffles]:
        assert sorted_groups(shuffled) == groups
        assert list(shuffled) == groups or not group_order(shuffled).ordered


@pytest.mark.parametrize("groups", UNORDERED, ids=lambda groups: str(groups[0]))
def test_other_groups_are_sorted_but_have_no_order(groups):
    assert sorted_groups(groups[::-1]) == groups
    assert not group_order(groups).ordered


def test_groups_of_mixed_kinds_are_sorted_as_text():
    assert sorted_groups(["b", 2, 10]) == [10, 2, "b"]
    assert not group_order([10, 2, "b"]).ordered


def test_dates_with_and_without_a_time_zone_cannot_be_compared():
    naive = datetime.datetime(2024, 1, 1)
    assert not group_order(
        [naive, naive.replace(tzinfo=datetime.UTC) + datetime.timedelta(days=1)]
    ).ordered


def test_one_group_is_in_order_if_others_could_follow_it():
    assert group_order(["2024-W09"]).ordered
    assert not group_order(["north"]).ordered
