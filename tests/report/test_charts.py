import re

import numpy as np
import pytest

from estimate_support import sampled
from truemix import EstimateSet
from truemix.report.charts.density import density
from truemix.report.charts.differences import differences
from truemix.report.charts.forest import forest
from truemix.report.charts.scale import MARGIN, Scale
from truemix.report.charts.ternary import ternary
from truemix.report.charts.timeline import timeline
from truemix.report.summary import LEVELS, summarize


def entry(share, half_width=0.05, counted=None, reference=0.5):
    return {
        "class": "a",
        "share": share,
        "lower": max(0.0, share - half_width),
        "upper": min(1.0, share + half_width),
        "classify_and_count": share if counted is None else counted,
        "reference": reference,
        "prob_increase": None,
    }


def points(path):
    """Return the corners of a path of absolute moves and lines."""
    return np.array([[float(n) for n in pair.split()] for pair in re.split("[ML]", path) if pair])


def steps(path):
    """Return the corners of a path that starts with M and goes on in relative lines."""
    start, moves = path.rstrip("z")[1:].split("l")
    numbers = [int(n) for n in re.findall(r"-?\d+", moves)]
    origin = [int(n) for n in start.split()]
    return np.cumsum([origin, *np.reshape(numbers, (-1, 2))], axis=0)


# --- scales -----------------------------------------------------------------------------------


@pytest.mark.parametrize("high", [1.0, 0.999, 0.51, 0.5, 0.34, 0.1, 0.011, 0.0004])
def test_a_scale_covers_what_it_should_with_few_round_ticks(high):
    scale = Scale.covering(0.0, high)
    assert scale.low == 0.0
    assert high <= scale.high + 1e-12
    assert scale.high <= 1.0
    labels = [tick.label for tick in scale.ticks()]
    assert 2 <= len(labels) <= 6
    assert len(set(labels)) == len(labels)
    shares = [float(label.removesuffix(" %")) / 100 for label in labels]
    np.testing.assert_allclose([scale.at(s) for s in shares], [t.at for t in scale.ticks()])


def test_positions_grow_with_the_share_and_stay_inside():
    scale = Scale.covering(0.0, 1.0)
    assert [scale.at(share) for share in (0.0, 0.5, 1.0)] == [MARGIN, 50.0, 100.0 - MARGIN]
    assert scale.at(7.0) == 100.0 - MARGIN


# --- the forest -------------------------------------------------------------------------------


def test_marks_of_a_line_are_where_their_shares_are():
    picture = forest([entry(0.2, counted=0.3, reference=0.4)], [(0.18, 0.22)])
    at, strip = picture.scale.at, picture.strips[0]
    assert (strip.estimate, strip.counted, strip.reference) == (
        at(0.2),
        at(0.3),
        at(0.4),
    )
    assert strip.interval == pytest.approx((at(0.15), at(0.25) - at(0.15)))
    assert strip.middle == pytest.approx((at(0.18), at(0.22) - at(0.18)))


def test_shares_of_zero_and_one_have_a_place():
    picture = forest([entry(0.0, 0.0), entry(1.0, 0.0)])
    assert picture.strips[0].interval == (MARGIN, 0.0)
    assert picture.strips[1].estimate == 100.0 - MARGIN


# --- densities --------------------------------------------------------------------------------


def quantiles_of(draws):
    return np.quantile(draws, LEVELS, method="inverted_cdf").tolist()


def test_the_curve_is_the_density_of_the_draws():
    rng = np.random.default_rng(0)
    draws = rng.normal(0.4, 0.02, size=200_000)
    lower, upper = np.quantile(draws, [0.025, 0.975])
    shape = {**entry(0.4, reference=0.9), "lower": lower, "upper": upper}
    picture = density(shape, LEVELS, quantiles_of(draws), n=10**6)
    x, y = points(picture.curve).T
    share = picture.scale.low + x / 1000 * (picture.scale.high - picture.scale.low)
    height = 1 - y / 1000
    # Smoothing with a third of the standard deviation widens the curve by 6 %, and the ends
    # beyond the outermost quantiles are missing.
    expected = np.exp(-0.5 * ((share - 0.4) / 0.02) ** 2)
    np.testing.assert_allclose(height, expected, atol=0.07)
    assert picture.counted.side is None
    assert picture.reference.side == "right"


def test_what_is_shaded_ends_where_the_interval_ends():
    rng = np.random.default_rng(1)
    draws = rng.beta(20, 30, size=5000)
    picture = density(entry(0.4, 0.1), LEVELS, quantiles_of(draws), n=10**6)
    inside = points(picture.inside.split("V")[0])[:, 0]
    across = [(share - picture.scale.low) for share in (0.3, 0.5)]
    expected = 1000 * np.array(across) / (picture.scale.high - picture.scale.low)
    np.testing.assert_allclose([inside.min(), inside.max()], expected, atol=1.0)


def test_a_curve_at_the_edge_stays_within_the_shares():
    draws = np.random.default_rng(2).beta(1, 60, size=5000)
    picture = density(entry(0.016, 0.016), LEVELS, quantiles_of(draws), n=10**6)
    assert picture.scale.low == 0.0
    heights = 1000 - points(picture.curve)[:, 1]
    # The density falls from 0 on: the kernel does not take away what is next to the edge.
    assert heights[0] > 900


def test_few_possible_counts_are_bars_with_their_probabilities():
    draws = np.random.default_rng(3).binomial(1, 0.7, size=1000).astype(float)
    picture = density({**entry(0.7), "lower": 0, "upper": 1}, LEVELS, quantiles_of(draws), n=1)
    tops = [float(top) for top in re.findall(r"V(\d+)H", picture.area)]
    assert len(tops) == 2
    # Quantiles are five percentage points apart.
    assert (1000 - tops[0]) / (1000 - tops[1]) == pytest.approx(0.3 / 0.7, abs=0.12)
    assert picture.inside == picture.area


def test_a_share_that_is_certain_can_be_drawn():
    values = [0.0] * len(LEVELS)
    for n in (1, 100, 10**6):
        picture = density(entry(0.0, 0.0), LEVELS, values, n)
        assert picture.scale.high > picture.scale.low
        assert "nan" not in picture.area


# --- the triangle -----------------------------------------------------------------------------


def three(*shares):
    return [entry(share, counted=share, reference=share) for share in shares]


def test_corners_and_the_centre_are_where_they_belong():
    picture = ternary(three(1 / 3, 1 / 3, 1 / 3), np.eye(3).tolist())
    assert picture.whole
    assert picture.dots == picture.corners
    x, y = np.mean([[corner.x, corner.y] for corner in picture.corners], axis=0)
    assert (picture.estimate.x, picture.estimate.y) == pytest.approx((x, y), abs=0.1)


def test_a_zoom_holds_everything_and_its_labels_are_true():
    rng = np.random.default_rng(0)
    draws = rng.dirichlet([120, 300, 580], size=200)
    picture = ternary(three(0.12, 0.3, 0.58), draws.tolist())
    assert not picture.whole
    assert (np.array(picture.smallest) <= draws.min(axis=0)).all()
    left, right, top = picture.corners
    for dot in picture.dots:
        assert top.y <= dot.y <= left.y
        assert left.x <= dot.x <= right.x
    # On the line that is labelled with a share of the last class, all points have that share.
    size = 1 - sum(picture.smallest)
    line = picture.grid[-1]
    part = (left.y - line.start.y) / (left.y - top.y)
    share = float(line.label.removesuffix(" %")) / 100
    assert picture.smallest[2] + size * part == pytest.approx(share, abs=1e-3)
    assert line.start.y == line.end.y


# --- over time --------------------------------------------------------------------------------


def weeks(names, **changes):
    groups = {name: sampled([20, 30, 50], seed=i, **changes) for i, name in enumerate(names)}
    return summarize(EstimateSet(groups))["groups"]


def test_lines_and_bands_go_through_the_numbers():
    groups = weeks([f"W{i}" for i in range(5)])
    picture = timeline(groups, [0, 2])
    assert [panel.number for panel in picture.panels] == [0, 2]
    top = max(
        g["classes"][k][key]
        for g in groups
        for k in (0, 2)
        for key in ("upper", "classify_and_count")
    )
    labels = [float(tick.label.removesuffix(" %")) for tick in picture.rows]
    assert labels[-1] >= 100 * top
    panel = picture.panels[1]
    rise = labels[-1] / 100
    shares = [group["classes"][2]["share"] for group in groups]
    drawn = (1000 - steps(panel.line)[:, 1]) / 1000 * rise
    np.testing.assert_allclose(drawn, shares, atol=1e-3)
    np.testing.assert_allclose(
        [(100 - dot.y) / 100 * rise for dot in panel.dots], shares, atol=1e-4
    )
    band = (1000 - steps(panel.band)[:, 1]) / 1000 * rise
    bounds = [g["classes"][2]["upper"] for g in groups]
    bounds += [g["classes"][2]["lower"] for g in reversed(groups)]
    np.testing.assert_allclose(band, bounds, atol=1e-3)


@pytest.mark.parametrize(
    ("names", "even", "where"),
    [
        (["a1", "b2", "c3"], True, 50),
        ([1, 2, 11], False, 2 + 9.6),
        (["2024-01-01", "2024-01-11", "2024-02-10"], False, 26),
        # Two of them would be one on top of the other.
        ([1, 2, 1000], True, 50),
    ],
)
def test_distances_along_the_axis_are_true_where_they_mean_something(names, even, where):
    picture = timeline(weeks(names, n_draws=20), [0])
    assert picture.even is even
    assert picture.panels[0].dots[1].x == pytest.approx(where, abs=0.01)


@pytest.mark.parametrize("n_groups", [2, 3, 12, 200])
@pytest.mark.parametrize("length", [1, 8, 60])
def test_labels_of_groups_leave_each_other_room(n_groups, length):
    names = [f"{i:0{length}d}" if length > 3 else str(i % 10) for i in range(n_groups)]
    group = weeks(["W1"], n_draws=20)[0]
    ticks = timeline([{**group, "group": name} for name in names], [0]).columns
    assert len(ticks) >= 2
    assert ticks[0].anchor == "start"
    assert ticks[-1].anchor == "end"
    # Letters are about 6.5 wide in a panel of 270.
    widths = [2.4 * len(tick.label) for tick in ticks]
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}
    left = [t.at - shift[t.anchor] * w for t, w in zip(ticks, widths, strict=True)]
    for i in range(len(ticks) - 1):
        assert left[i] + widths[i] < left[i + 1]


def test_many_groups_have_a_mark_for_the_last_one_only():
    group = weeks(["W1"], n_draws=20)[0]
    picture = timeline([{**group, "group": i} for i in range(200)], [0, 1])
    assert all(len(panel.dots) == 1 and not panel.counted_dots for panel in picture.panels)


def test_what_is_missing_interrupts_lines_and_bands_and_keeps_its_place():
    groups = weeks([f"a{i}" for i in range(4)])
    slots = [groups[0], groups[1], None, None, groups[2], groups[3]]
    picture = timeline(slots, [0])
    [panel] = picture.panels
    for path in (panel.line, panel.counted, panel.band, panel.middle):
        assert path.count("M") == 2
    places = [dot.x for dot in panel.dots]
    np.testing.assert_allclose(np.diff(places), [19.2, 57.6, 19.2], atol=0.02)
    [(start, width)] = picture.missing
    assert places[1] < start < start + width < places[2]
    # A group between two gaps is still seen, on its line and on its band.
    alone = timeline([groups[0], None, groups[1], None, groups[2]], [0]).panels[0]
    assert alone.line.count("h0") == 3
    corners = steps("M" + alone.band.split("M")[2])
    assert corners[:, 0].max() - corners[:, 0].min() > 50


def test_groups_that_failed_a_check_are_marked_and_promise_no_interval():
    groups = weeks(["a1", "b2", "c3", "d4"])
    groups[1] = {**groups[1], "failed": ["It does not fit."]}
    bounds = [{"lower": 0.1, "upper": 0.6}] * 3
    groups[3] = {**groups[3], "failed": ["It does not fit."], "range": bounds}
    picture = timeline(groups, [0])
    [panel] = picture.panels
    assert [dot.x for dot in panel.dots] == [2.0, 66.0]
    assert len(panel.counted_dots) == 4
    assert panel.band.count("M") == 2
    plain, ranged = panel.doubts
    assert (plain.x, ranged.x) == (34.0, 98.0)
    assert plain.top == plain.y == plain.bottom
    high = float(picture.rows[-1].label.removesuffix(" %")) / 100
    ends = [100 - ranged.top, 100 - ranged.bottom]
    # Positions have two digits.
    np.testing.assert_allclose(ends, [60 / high, 10 / high], atol=0.01)
    # A wash behind each of them.
    np.testing.assert_allclose(picture.failed, [(18, 32), (82, 18)], atol=0.01)


def test_small_classes_have_an_axis_of_their_own():
    groups = {
        i: sampled([5.0, 60, 935], seed=i, train_prevalence=np.array([0.3, 0.3, 0.4]),
                   classify_and_count=np.array([0.01, 0.08, 0.91]), n_items=2000)
        for i in range(5)
    }  # fmt: skip
    picture = timeline(summarize(EstimateSet(groups))["groups"], [0, 1, 2])
    assert picture.switch
    assert picture.apart
    tops = [float(panel.own[-1].label.removesuffix(" %")) / 100 for panel in picture.panels]
    common = float(picture.rows[-1].label.removesuffix(" %")) / 100
    assert tops[0] <= 0.02
    for panel, top in zip(picture.panels, tops, strict=True):
        assert panel.factor == pytest.approx(common / top)
        highest = min(steps(panel.band)[:, 1].min(), *(10 * dot.y for dot in panel.counted_dots))
        # The highest mark is still on the axis, which is that many times as large.
        assert (1000 - highest) * panel.factor <= 1000 + panel.factor
    # The reference is far above the own axis of the first class.
    assert [panel.beyond for panel in picture.panels] == [True, True, False]
    even = timeline(weeks(["a1", "b2"]), [0, 1, 2])
    assert not even.apart


def test_spots_cover_the_axis_once_and_know_where_their_group_is():
    picture = timeline(weeks([1, 2, 5]), [0])
    ends = [(spot.start, spot.start + spot.width) for spot in picture.spots]
    assert ends[0][0] == 0
    assert ends[-1][1] == pytest.approx(100)
    assert [start for start, _ in ends[1:]] == pytest.approx([end for _, end in ends[:-1]])
    found = [spot.start + spot.width * spot.at / 100 for spot in picture.spots]
    np.testing.assert_allclose(found, [dot.x for dot in picture.panels[0].dots], atol=0.1)


def test_differences_are_drawn_around_zero():
    entries = [
        {"difference": -0.1, "lower": -0.2, "upper": 0.0},
        {"difference": 0.05, "lower": None, "upper": None},
    ]
    picture = differences(entries)
    assert picture.scale.low == pytest.approx(-0.2)
    at = picture.scale.at
    assert picture.lines[0].interval == pytest.approx((at(-0.2), at(0.0) - at(-0.2)))
    assert picture.lines[1].interval is None
    assert picture.zero == at(0.0)
    labels = [tick.label for tick in picture.scale.ticks()]
    assert "-20 %" in labels
    assert "0 %" in labels
    still = differences([{"difference": 0.0, "lower": 0.0, "upper": 0.0}])
    assert still.scale.low < 0 < still.scale.high


def test_a_range_is_drawn_where_it_is_and_within_the_axis():
    picture = forest([entry(0.2, reference=0.2)], ranges=[{"lower": 0.1, "upper": 0.9}])
    assert picture.scale.high >= 0.9
    at = picture.scale.at
    assert picture.strips[0].range == pytest.approx((at(0.1), at(0.9) - at(0.1)))
