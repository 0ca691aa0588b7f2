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


def test_groups_with_several_keys_follow_each_other_where_the_others_are_the_same():
    names = [("north", "Jan"), ("north", "Feb"), ("south", "Feb"), ("south", "Apr")]
    order = group_order(names)
    assert (order.along, order.ordered, order.n_keys) == (1, False, 2)
    assert order.series == [[0, 1], [2, 3]]
    assert order.follows == [None, 0, None, 2]
    other_way = group_order(sorted_groups([name[::-1] for name in names]))
    assert [name[0] for name in other_way.names] == ["Jan", "Feb", "Feb", "Apr"]
    assert other_way.follows == [None, 0, None, 2]
    # Only one region: all of them follow each other.
    assert group_order(names[:2]).ordered


def test_of_two_keys_with_an_order_that_of_time_counts():
    months_of_shops = [("2024-01", 7), ("2024-01", 8), ("2024-02", 7), ("2024-02", 8)]
    assert group_order(months_of_shops).follows == [None, None, 0, 1]
    # Numbers of shops that look like years.
    years = [("1001", "2023"), ("1001", "2024"), ("1002", "2024")]
    assert group_order([(int(a), b) for a, b in years], every="year").follows == [None, 0, None]
    assert group_order([(b, int(a)) for a, b in years], every="year").along == 0


def test_groups_without_an_order_follow_nothing():
    order = group_order([("north", "mail"), ("south", "mail")])
    assert (order.along, order.follows, order.gaps) == (None, [None, None], [])
    assert order.series == [[0, 1]]


@pytest.mark.parametrize(
    ("names", "every", "gaps"),
    [
        (["2023-11", "2024-02"], None, [("2023-12", "2024-01", 2)]),
        (["Nov 2023", "Jan 2024"], None, [("2023-12", "2023-12", 1)]),
        (["2020-W52", "2021-W01"], None, [("2020-W53", "2020-W53", 1)]),
        (["2021-W52", "2022-W01"], None, []),
        (["2023Q3", "2024Q1", "2024Q2"], None, [("2023-Q4", "2023-Q4", 1)]),
        (["2024-02-28", "2024-03-01"], "day", [("2024-02-29", "2024-02-29", 1)]),
        (["2023-02-28", "2023-03-01"], "day", []),
        (["1960", "1970"], "year", [("1961", "1969", 9)]),
        (["2024-01-01 22:00", "2024-01-02 00:00"], "hour", [("2024-01-01 23:00",) * 2 + (1,)]),
        # The clock goes forward, and back.
        (["2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00"], "hour", []),
        (["2024-10-27 02:00+02:00", "2024-10-27 02:00+01:00"], "hour", []),
        # Dates may be one per week, and numbers may count anything.
        (["2024-03-01", "2024-03-08"], None, []),
        (["2022", "2024"], None, []),
        ([1, 3], None, []),
    ],
)  # fmt: skip
def test_periods_without_items_are_gaps(names, every, gaps):
    order = group_order(names, every)
    assert order.ordered
    found = [(gap.first, gap.last, gap.n_periods) for gap in order.gaps]
    assert found == gaps
    assert [gap.after for gap in order.gaps] == [0] * len(gaps)
    if gaps:
        assert order.positions == [0, gaps[0][2] + 1, gaps[0][2] + 2][: len(names)]
    # What comes behind a gap follows what was before it.
    assert order.follows == [None, *range(len(names) - 1)]


def test_gaps_are_those_between_the_groups_of_one_series():
    order = group_order([("a", "2024-01"), ("a", "2024-03"), ("b", "2024-02"), ("b", "2024-03")])
    assert [(gap.first, gap.after) for gap in order.gaps] == [("2024-02", 0)]
    assert order.positions == [0, 2, 1, 2]


def test_hours_are_in_the_order_of_instants():
    hours = ["2024-10-27 01:00+02:00", "2024-10-27 02:00+02:00", "2024-10-27 02:00+01:00"]
    assert sorted_groups(sorted(hours)) == hours
    assert group_order(hours).ordered
    # With and without a zone they cannot be compared.
    assert not group_order([hours[0], "2024-10-27 02:00"]).ordered


@pytest.mark.parametrize(
    "names",
    [
        ["XS", "S", "M", "L", "XL", "XXL"],
        ["Strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
        ["low", "medium", "high"],
        ["never", "sometimes", "always"],
        ["poor", "fair", "good", "very good"],
    ],
)
def test_scales_are_sorted_by_degree_but_nothing_rises_along_them(names):
    assert sorted_groups(sorted(names)) == names
    assert not group_order(names).ordered
