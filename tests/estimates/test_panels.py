"""Pictures of groups: one panel per class, over time or with the groups below each other."""

import datetime

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from estimate_support import doubtful, estimate, sampled
from truemix import Estimate, EstimateSet, InputError

WEEKS = ["week 9", "week 10", "week 11"]
DAYS = [datetime.date(2026, 3, day) for day in (1, 2, 3, 8, 9)]


@pytest.fixture(autouse=True)
def default_style():
    """Other libraries that tests import change matplotlib's style for the whole process."""
    with mpl.rc_context():
        mpl.rcdefaults()
        yield


def made(groups=WEEKS, n_classes=3, **changes):
    alpha = np.arange(n_classes, 0, -1) * 5.0
    return EstimateSet(
        {group: sampled(alpha, seed=k, n_draws=40, **changes) for k, group in enumerate(groups)}
    )


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_groups_that_follow_each_other_are_a_timeline_with_a_panel_per_class():
    s = made()
    figure = s.plot(level=0.8)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["class 0", "class 1", "class 2"]
    dots = lines(figure.axes[1])["estimate, 80 % interval"]
    np.testing.assert_array_equal(dots.get_ydata(), [e.prevalence[1] for e in s.values()])
    ends = [e.interval(0.8)[1] for e in s.values()]
    [bars] = [c for c in figure.axes[1].collections if hasattr(c, "get_segments")]
    np.testing.assert_allclose(np.array(bars.get_segments())[:, :, 1], ends)
    found = texts(figure)
    assert {"week 9", "week 11", "BayesianKDEy: 3 groups of 600 items in all"} <= set(found)
    assert {"counted", "reference mix"} <= set(found)


def test_other_groups_are_below_each_other():
    s = made(["north", "south"])
    figure = s.plot()
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["north", "south"]
    dots = lines(figure.axes[2])["estimate, 95 % interval"]
    np.testing.assert_array_equal(dots.get_xdata(), [e.prevalence[2] for e in s.values()])
    assert made().plot(kind="forest").axes[0].get_yticklabels()[0].get_text() == "week 9"


def test_lines_end_at_gaps_between_dates_and_dates_are_where_they_are_in_time():
    (ax,) = made(DAYS).plot(classes=["class 0"]).axes
    joined = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert [len(line.get_xdata()) for line in joined] == [3, 2]
    dots = lines(ax)["estimate, 95 % interval"].get_xdata()
    np.testing.assert_allclose(np.diff(dots), [1, 1, 5, 1])


def test_periods_without_items_are_gaps():
    months = ["2026-01", "2026-02", "2026-04", "2026-05"]
    s = EstimateSet(dict(made(months).items()), every="month")
    (ax,) = s.plot(classes=["class 0"]).axes
    dots = lines(ax)["estimate, 95 % interval"].get_xdata()
    np.testing.assert_array_equal(dots, [0, 1, 3, 4])
    joined = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert [len(line.get_xdata()) for line in joined] == [2, 2]


def test_groups_whose_check_failed_are_marked_and_have_a_range():
    s = made()
    s = EstimateSet({**s, "week 10": doubtful(s["week 10"])})
    for figure in (s.plot(), s.plot(kind="forest")):
        assert {"check failed", "range over other assumptions"} <= set(texts(figure))
        failed = lines(figure.axes[0])["check failed"]
        share = s["week 10"].prevalence[0]
        assert share in (*failed.get_xdata(), *failed.get_ydata())
    assert "check failed" not in texts(made().plot())


def test_of_two_classes_one_is_drawn_and_axes_can_be_given():
    s = made(n_classes=2)
    figure = Figure()
    ax = figure.subplots()
    assert s.plot(ax) is figure
    assert any("class 1" in text for text in texts(figure))
    assert made().plot(ax, classes="class 0") is figure


def test_panels_are_sorted_by_share_on_demand():
    s = made(classes=np.array(["b", "c", "a"]))
    names = ["x", "y", "z"]
    s = EstimateSet({g: Estimate.from_draws(names, e.draws[:, ::-1]) for g, e in s.items()})
    titles = [ax.get_title(loc="left") for ax in s.plot(sort="share").axes]
    assert titles == ["z", "y", "x"]


def test_many_classes_and_groups_stay_a_page_and_say_what_is_left_out():
    s = made([f"week {k}" for k in range(60)], n_classes=40)
    figure = s.plot(sort="share")
    # 600 rows of groups in all.
    assert len(figure.axes) == 10
    assert any("30 smaller classes are not shown" in text for text in texts(figure))
    assert max(figure.get_size_inches()) < 20
    assert len(s.plot(classes=["class 39", "class 3"]).axes) == 2


def test_names_are_shown_as_they_are_and_points_need_no_draws(tmp_path):
    names = np.array(["$x$", r"$\\bad{", "a_b"])
    groups = {f"${k}$ {k}": estimate(3, classes=names) for k in "ab"}
    figure = EstimateSet(groups).plot()
    assert set(names) | set(groups) <= set(texts(figure))
    figure.savefig(tmp_path / "literal.png", dpi=40)


def test_no_text_crosses_the_edge_of_the_figure():
    long = np.array(["a long name " * 5 + str(k) for k in range(3)])
    failed = {week: doubtful(e) for week, e in made(classes=long).items()}
    for s in (made(classes=long), made(["north " * 4, "south"]), EstimateSet(failed)):
        for figure in (s.plot(), s.plot(classes=s[next(iter(s))].classes.tolist()[:1])):
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
            assert box.min.min() > -0.05
            assert (box.max < figure.get_size_inches() + 0.05).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: made().plot(Figure().subplots()), "ax is one panel, but there are 3 classes to d"),
        (lambda: made().plot(Figure(), classes=["class 0"]), "ax is an object of type 'Figure'"),
        (lambda: made().plot(classes=["class 7"]), "classes names 'class 7'; expected some of"),
        (lambda: made().plot(classes=[]), "classes is empty; expected some of"),
        (lambda: made().plot(kind="pie"), "'kind' parameter must be one of 'timeline', 'forest'"),
        (lambda: made().plot(sort="size"), "'sort' parameter must be one of 'class', 'share'"),
        (lambda: made().plot(level=95), "'level' parameter"),
        (lambda: EstimateSet({}).plot(), "plot needs at least one group"),
        (
            lambda: EstimateSet({1: estimate(2), 2: estimate(3)}).plot(),
            "plot needs the same classes in the same order in all groups",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
