"""Estimates of groups: tables, changes and files."""

import datetime
import pickle

import numpy as np
import pytest

from archive_support import contents, sealed
from estimate_support import doubtful, estimate, sampled
from truemix import Estimate, EstimateSet, InputError

WEEKS = ["week 9", "week 10", "week 11"]
REGIONS = ["north", "south", "<b>east</b>"]


def made(groups=WEEKS, alpha=(20, 30, 50), **changes):
    return EstimateSet(
        {
            group: sampled(
                np.add(alpha, [10 * k] + [0] * (len(alpha) - 1)), seed=k, n_draws=60, **changes
            )
            for k, group in enumerate(groups)
        }
    )


def test_two_groups_are_compared_by_name_and_the_last_with_the_first():
    s = made()
    assert repr(s.compare("week 10", "week 9")) == repr(s["week 10"].compare(s["week 9"]))
    assert repr(s.compare()) == repr(s["week 11"].compare(s["week 9"]))
    assert s.compare(level=0.5).level == 0.5
    assert repr(made(REGIONS).compare("north", "south")).startswith("BayesianKDEy: the change")


def test_changes_are_all_steps_one_below_the_other():
    s = made()
    frame = s.changes(0.9)
    assert frame["group"].tolist() == ["week 10"] * 3 + ["week 11"] * 3
    assert frame["before_group"].tolist() == ["week 9"] * 3 + ["week 10"] * 3
    step = s["week 11"].compare(s["week 10"], 0.9).frame().reset_index()
    assert frame.iloc[3:, 2:].reset_index(drop=True).equals(step)


def test_groups_that_are_tuples_are_compared_and_tabled():
    s = made([("north", 1), ("north", 2)])
    assert s.compare(("north", 2), ("north", 1)).level == 0.95
    assert "north, 2" in s._repr_html_()


def test_months_follow_each_other_in_each_region():
    groups = [(region, month) for region in ("north", "south") for month in ("2026-01", "2026-02")]
    s = made(groups)
    assert s.changes()["group"].tolist() == [groups[1]] * 3 + [groups[3]] * 3
    with pytest.raises(InputError, match="needs groups that follow each other"):
        s.compare()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: made().compare("week 12", "week 9"),
            "There is no group 'week 12'; the groups",
        ),
        (lambda: made().compare("week 10"), "compare got 1 group; expected two, the later one"),
        (lambda: made().compare([1], "week 9"), "There is no group"),
        (lambda: made(REGIONS).compare(), "needs groups that follow each other.*have no order"),
        (lambda: made(REGIONS).changes(), "needs groups that follow each other"),
        (lambda: made(WEEKS[:1]).changes(), "at least two groups; this EstimateSet has 1"),
    ],
)
def test_comparisons_that_mean_nothing_are_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_notebooks_get_a_table_with_escaped_names_and_failed_checks():
    s = made(REGIONS, classes=np.array(["a<script>", "b", "c"]))
    html = s._repr_html_()
    assert "&lt;b&gt;east" in html and "<b>" not in html and "<script" not in html
    assert "<th>check</th>" not in html
    failed = EstimateSet({**s, "north": doubtful(s["north"])})
    assert failed._repr_html_().count(">failed<") == 1
    # Text and lines take the colours of the notebook, light or dark.
    assert "color" not in html
    assert EstimateSet({})._repr_html_().startswith("<div>")


def test_the_table_of_many_groups_and_classes_is_small():
    s = made([f"week {k}" for k in range(200)], alpha=np.ones(30))
    html = s._repr_html_()
    assert len(html) < 40_000
    assert "… and 170 groups before" in html and "… and 22 smaller classes" in html
    assert "<th>week 199" not in html.split("<tbody>")[0] and "week 199" in html


DAY = datetime.date(2026, 5, 1)
KEYS = [
    ["b", "a"],
    [1, 2],
    [0.5, float("inf")],
    [True, False],
    [DAY, datetime.date(2026, 5, 2)],
    [datetime.datetime(2026, 5, 1, 8, tzinfo=datetime.UTC), datetime.datetime(2026, 5, 1)],
    [np.datetime64("2026-05-01"), np.datetime64("2026-05-01T08:00:00", "ns")],
    [("north", DAY), ("south", 1)],
    [np.int64(3), None],
    [np.str_("x"), "y"],
]


@pytest.mark.parametrize("groups", KEYS, ids=str)
def test_groups_come_back_from_a_file_as_they_were(groups, tmp_path):
    s = made(groups)
    s.save(tmp_path / "s")
    again = EstimateSet.load(tmp_path / "s")
    assert list(again) == groups
    assert [type(group) for group in again] == [
        type(group.item() if isinstance(group, np.int64 | np.str_) else group) for group in groups
    ]
    for group in groups:
        np.testing.assert_array_equal(again[group].draws, s[group].draws)


def test_names_of_keys_and_periods_come_back(tmp_path):
    s = EstimateSet(dict(made(["2026-01", "2026-03"]).items()), by=["month"], every="month")
    s.save(tmp_path / "s")
    again = EstimateSet.load(tmp_path / "s")
    assert (again.by, again.every) == (("month",), "month")
    assert again.order.gaps == s.order.gaps != []


def test_everything_an_estimate_has_comes_back_and_may_differ_between_groups(tmp_path):
    s = EstimateSet(
        {
            "point": estimate(3, diagnostics={"gap": 1e-9, "converged": True, "iterations": 3}),
            "drawn": sampled([2, 3, 4], n_draws=50, settings={"prior": 1.0}),
            "doubtful": doubtful(sampled([2, 3, 4], n_draws=70)),
            "given": Estimate.from_draws(["class 0", "class 1", "class 2"], np.full((9, 3), 1 / 3)),
        }
    )
    s.save(tmp_path / "s")
    again = EstimateSet.load(tmp_path / "s")
    assert repr(again) == repr(s)
    assert again["doubtful"].range().tolist() == s["doubtful"].range().tolist()
    assert again["point"].diagnostics == s["point"].diagnostics
    assert again["given"].train_prevalence is None


def test_more_groups_than_a_file_may_have_arrays_are_saved(tmp_path):
    s = made(range(400), alpha=(1, 2))
    s.save(tmp_path / "s")
    assert list(EstimateSet.load(tmp_path / "s")) == list(range(400))


def test_what_cannot_be_read_again_is_not_saved(tmp_path):
    other = {"a": estimate(2), "b": estimate(3)}
    for groups, sentence in [
        (other, "group 'b' has other classes than the first one"),
        ({}, "it has no groups"),
        ({frozenset("a"): estimate(2)}, "of type frozenset; expected text, numbers, dates, or"),
        ({np.datetime64("NaT"): estimate(2)}, "of type datetime64"),
    ]:
        with pytest.raises(InputError, match=sentence):
            EstimateSet(groups).save(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_file_of_something_else_is_named(tmp_path):
    estimate(2).save(tmp_path / "e")
    with pytest.raises(
        InputError, match="holds a 'truemix estimate'; expected a truemix estimate s"
    ):
        EstimateSet.load(tmp_path / "e")
    made().save(tmp_path / "s")
    with pytest.raises(InputError, match="holds a 'truemix estimate set'; expected a truemix est"):
        Estimate.load(tmp_path / "s")
    (tmp_path / "p").write_bytes(pickle.dumps({}))
    with pytest.raises(InputError, match="is damaged, was changed, or is not a saved estimate set"):
        EstimateSet.load(tmp_path / "p")


def changed(path, change):
    header, arrays = contents(path)
    change(header["groups"], arrays)
    path.write_bytes(sealed(header, arrays))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda groups, _: groups.clear(), "it names no groups"),
        (lambda groups, _: groups.pop(), "numbers that belong to no group"),
        (lambda groups, _: groups[1].update(group="week 9"), "it holds a group twice"),
        (lambda groups, _: groups[0].update(group={"$date": "soon"}), "is damaged"),
        (lambda groups, _: groups[0].update(group={"$datetime64": ["2026", "as"]}), "no date"),
        (lambda groups, _: groups[0].update(group=["a"]), "neither text nor number nor date"),
        (lambda groups, _: groups[0]["lengths"].update(draws=999), "is longer than all of it"),
        (lambda groups, _: groups[0]["lengths"].update(draws=-1), "is longer than all of it"),
        (lambda groups, _: groups[0]["lengths"].update(draws=True), "is longer than all of it"),
        (lambda groups, _: groups[0]["lengths"].update(draws=59), "not of the same length"),
        (lambda groups, _: groups[0]["estimate"].update(method=3), "method is no text"),
        (lambda groups, _: groups[0]["estimate"].pop("method"), "is damaged"),
        (lambda _, arrays: arrays.update(more=np.zeros(2)), "belong to no group"),
        (lambda _, arrays: arrays["draws"].__setitem__(0, 7.0), "is damaged"),
    ],
)
def test_contents_that_do_not_fit_are_refused(change, sentence, tmp_path):
    path = tmp_path / "s"
    made().save(path)
    changed(path, change)
    with pytest.raises(InputError, match=sentence):
        EstimateSet.load(path)


def test_both_write_the_page_of_the_command_line(tmp_path):
    s = made()
    s.report(tmp_path / "groups.html", level=0.9)
    s["week 9"].report(tmp_path / "one.html")
    for name, expected in [("groups.html", "week 11"), ("one.html", "200")]:
        page = (tmp_path / name).read_text("utf-8")
        assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
        assert expected in page and "<script" not in page
    with pytest.raises(InputError, match="has no groups"):
        EstimateSet({}).report(tmp_path / "none.html")
