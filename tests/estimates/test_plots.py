import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from estimate_support import doubtful, estimate, sampled
from truemix import InputError


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


def parameters():
    # Looking at the backend is what chooses it.
    return {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}


@pytest.fixture(autouse=True)
def nothing_global_changes():
    before = parameters()
    yield
    assert parameters() == before


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
@pytest.mark.parametrize("draws", [False, True])
def test_figures_can_be_drawn_for_few_and_many_classes(n_classes, draws, tmp_path):
    e = sampled(np.linspace(1, 9, n_classes)) if draws else estimate(n_classes)
    figure = e.plot()
    figure.savefig(tmp_path / "e.png", dpi=40)
    found = texts(figure)
    assert all(label in found for label in e.classes.tolist())
    assert f"{e.method}: the mix of {e.n_items:,} items" in found
    assert {"reference mix", "counted"} <= set(found)
    width, height = figure.get_size_inches()
    assert (height > 15) == (n_classes == 100)
    assert width < 7


@pytest.mark.parametrize("changes", [{}, {"level": 0.5}, {"kind": "ternary"}, {"kind": "forest"}])
def test_the_level_and_the_estimand_are_on_the_picture(changes):
    found = " ".join(texts(sampled([2, 3, 4]).plot(**changes)))
    assert ("50 %" if "level" in changes else "95 %") in found
    assert "these very items (batch)" in found


@pytest.fixture(autouse=True)
def default_style():
    """Other libraries that tests import change matplotlib's style for the whole process."""
    with mpl.rc_context():
        mpl.rcdefaults()
        yield


def test_no_text_crosses_the_edge_of_the_figure():
    long = np.array(["a long name " * 5 + str(k) for k in range(3)])
    for figure in (
        sampled([2, 3, 4], classes=long).plot(),
        sampled([2, 3, 4], classes=long).plot(kind="forest"),
        sampled(np.ones(100)).plot(),
    ):
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        assert box.min.min() > -0.02
        assert (box.max < figure.get_size_inches() + 0.02).all()


def test_classes_are_sorted_by_share_on_demand():
    e = sampled([2, 9, 4])
    (ax,) = e.plot(sort="share").axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["class 1", "class 2", "class 0"]
    dots = {line.get_label(): line.get_xdata() for line in ax.lines}
    np.testing.assert_array_equal(dots["counted"], e.classify_and_count[[1, 2, 0]])
    np.testing.assert_array_equal(dots["estimate, 95 % interval"], e.prevalence[[1, 2, 0]])


def test_three_classes_are_a_forest_unless_a_triangle_is_asked_for():
    assert len(sampled([2, 3, 4]).plot().axes[0].get_yticklabels()) == 3
    assert not sampled([2, 3, 4]).plot(kind="ternary").axes[0].axison


def test_a_failed_check_adds_the_range_over_other_assumptions():
    e = doubtful(sampled([2, 3, 4]))
    (ax,) = e.plot(sort="share").axes
    order = np.argsort(-e.prevalence)
    segments = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(segments[:, :, 0], e.range()[order])
    assert "range over other assumptions" in texts(ax.figure)
    assert "range over other assumptions" not in texts(sampled([2, 3, 4]).plot())


def test_long_names_take_two_lines_and_are_cut_in_the_middle():
    long = np.array(["first " * 9, "unbroken" * 9, "short"])
    (ax,) = sampled([2, 3, 4], classes=long).plot().axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "first first first first\nfirst firs…irst first first ",
        "unbrokenunbrokenunbrokenun\nbrokenun…nunbrokenunbroken",
        "short",
    ]


def test_markers_can_be_left_out():
    for kind in ("forest", "ternary"):
        found = texts(sampled([2, 3, 4]).plot(kind=kind, reference=False, counted=False))
        assert not {"reference mix", "counted"} & set(found)


def test_given_axes_are_drawn_on_and_their_figure_is_returned():
    figure = Figure(figsize=(12, 3), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, e in zip(axes, [sampled([2, 3, 4]), estimate(), sampled(np.ones(100))], strict=True):
        assert e.plot(ax=ax) is figure
        assert ax.has_data()
    figure.draw_without_rendering()
    sub = Figure().subfigures(1, 2)
    assert estimate().plot(ax=sub[0].subplots()) is sub[0]


def test_the_forest_shows_the_numbers():
    e = sampled([2, 3, 4, 5])
    (ax,) = e.plot(level=0.8).axes
    segments = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(segments[:, :, 0], e.interval(0.8))
    by_label = {line.get_label(): line.get_xdata() for line in ax.lines}
    np.testing.assert_array_equal(by_label["estimate, 80 % interval"], e.prevalence)
    np.testing.assert_array_equal(by_label["counted"], e.classify_and_count)
    np.testing.assert_array_equal(by_label["reference mix"], e.train_prevalence)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_class_names_are_shown_as_they_are(tmp_path):
    names = np.array(["$x$", r"$\\bad{", "a_b"])
    with mpl.rc_context({"text.usetex": True}):
        for kind in ("forest", "ternary"):
            figure = sampled([2, 3, 4], classes=names).plot(kind=kind)
            shown = [t for t in figure.findobj(mpl.text.Text) if t.get_text() in names.tolist()]
            assert {text.get_text() for text in shown} == set(names.tolist())
            assert not any(text.get_parse_math() or text.get_usetex() for text in shown)
    sampled([2, 3, 4], classes=names).plot().savefig(tmp_path / "literal.png", dpi=40)


@pytest.mark.parametrize("kind", ["forest", "ternary"])
def test_certain_and_single_draws_can_be_drawn(kind):
    certain = np.tile([0.0, 0.25, 0.75], (200, 1))
    estimate(draws=certain, n_items=8).plot(kind=kind).draw_without_rendering()
    certain[:, 1:] += np.random.default_rng(0).choice([0, 0.125], (200, 1)) * [1, -1]
    estimate(draws=certain, n_items=8).plot(kind=kind).draw_without_rendering()
    estimate(draws=certain[:1], n_items=8).plot(kind=kind).draw_without_rendering()
    estimate().plot(kind=kind).draw_without_rendering()


def test_pyplot_does_not_know_the_figures_but_notebooks_show_them():
    code = """
import sys
from estimate_support import sampled
figure = sampled([2, 3, 4]).plot()
assert "matplotlib.pyplot" not in sys.modules
assert figure._repr_png_().startswith(b"\\x89PNG")
"""
    subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], cwd=Path(__file__).parents[1], check=True
    )


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    with pytest.raises(InputError, match="triangle of three classes, but there are 2; use kind='f"):
        sampled([2, 3]).plot(kind="ternary")
    with pytest.raises(InputError, match="'kind' parameter must be one of 'forest', 'ternary'"):
        sampled([2, 3]).plot(kind="pie")
    with pytest.raises(InputError, match="ax is an object of type 'Figure'; expected matplotlib A"):
        sampled([2, 3]).plot(ax=Figure())
    with pytest.raises(InputError, match="'level' parameter"):
        estimate().plot(level=95)
