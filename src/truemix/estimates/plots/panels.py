"""Estimates of groups: one panel per class, over time or with the groups below each other."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import dates as _untyped_dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from truemix._typing import FloatArray
from truemix.estimates.checks import LABEL_SHIFT
from truemix.estimates.intervals import check_level
from truemix.estimates.plots.style import (
    AMBER,
    BLUE,
    GREY,
    LITERAL,
    MARKS,
    NAMES,
    ORANGE,
    PALE,
    RANGE,
    SHARES,
    SORTS,
    WIDE,
    ShownFigure,
    bare,
    checked_axes,
    legend,
    marks_of,
    order_of,
    share_axis,
    size_of,
    wrapped,
)
from truemix.estimates.text import group_name, items, percent_level, subject_of
from truemix.exceptions import InputError
from truemix.validation import check_choice, shown, shown_list

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate
    from truemix.estimates.estimate_set import EstimateSet

# matplotlib's dates have no types.
DATES: Any = _untyped_dates
KINDS = ("timeline", "forest")
FAILED = "check failed"
# Panels that are drawn unless classes are named, and rows of groups in all of them.
MAX_PANELS, MAX_ROWS = 24, 600
# Inches of a panel of one class, of a few, and of many.
WIDTHS, HEIGHTS = (7.2, 4.2, 3.3), (3.2, 2.5, 1.9)
ROW = 0.22
# Inches of a figure with panels beside each other, which a long legend fits into.
TWO_PANELS = 9.0
# Up to so many groups each has a mark; more are a line.
MARKED = 40
# A step of more than so many usual ones is a gap.
GAP = 1.5


@dataclass(frozen=True)
class Series:
    """The groups, where they are, and the estimate of each."""

    places: FloatArray
    names: list[str]
    estimates: list[Estimate]
    dates: bool

    def of(self, name: str, number: int) -> FloatArray:
        """Return a number per group for a class; NaN where it is not known."""
        found = [getattr(each, name) for each in self.estimates]
        return np.array([np.nan if each is None else each[number] for each in found])

    def intervals(self, number: int, level: float) -> FloatArray:
        """Return the bounds of the intervals of a class, NaN without draws."""
        return np.array(
            [
                (np.nan, np.nan) if each.draws is None else each.interval(level)[number]
                for each in self.estimates
            ]
        )

    def ranges(self, number: int) -> FloatArray:
        """Return the bounds of the ranges over other assumptions, NaN without any."""
        return np.array(
            [
                (np.nan, np.nan) if each.answers is None else each.answers.range()[number]
                for each in self.estimates
            ]
        )

    def failed(self) -> FloatArray:
        """Return which groups' check of label shift failed."""
        checks = [each.checks.get(LABEL_SHIFT) for each in self.estimates]
        return np.array([check is not None and not check.passed for check in checks])

    def runs(self) -> list[slice]:
        """Return the groups without a gap between them, which lines connect."""
        steps = np.diff(self.places)
        if len(steps) < 2:
            return [slice(0, len(self.places))]
        ends = np.flatnonzero(steps > GAP * np.median(steps)) + 1
        edges = [0, *ends.tolist(), len(self.places)]
        return [slice(start, stop) for start, stop in pairwise(edges)]


def draw_groups(
    estimates: EstimateSet,
    ax: Axes | None,
    *,
    kind: str | None,
    classes: Sequence[Any] | None,
    sort: str,
    level: float,
    reference: bool,
    counted: bool,
) -> Figure | SubFigure:
    """Draw the estimates of groups; see :meth:`truemix.EstimateSet.plot`."""
    level = check_level(level)
    check_choice(sort, "sort", SORTS)
    if kind is None:
        kind = "timeline" if estimates.order.ordered else "forest"
    check_choice(kind, "kind", KINDS)
    every = list(estimates.values())
    if not every:
        raise InputError("plot needs at least one group; this EstimateSet has none.")
    labels = every[0].classes.tolist()
    if any(each.classes.tolist() != labels for each in every):
        raise InputError("plot needs the same classes in the same order in all groups.")
    peaks = np.max([each.prevalence for each in every], axis=0)
    numbers, more = _shown_classes(every, classes, order_of(peaks, sort), peaks)
    if ax is not None and len(numbers) > 1:
        raise InputError(
            f"ax is one panel, but there are {len(numbers)} classes to draw; name one of them, as "
            f"in classes=[{every[0].classes.tolist()[numbers[0]]!r}], or leave ax out."
        )
    series = _series(estimates)
    if ax is None:
        axes, columns = _new_axes(series, kind, len(numbers))
    else:
        axes, columns = [checked_axes(ax)], 1
    wanted = marks_of(every[-1], reference=reference, counted=counted)
    panel = _timeline if kind == "timeline" else _rows
    for place, (each, number) in enumerate(zip(axes, numbers, strict=True)):
        panel(series, each, number, level, list(wanted))
        _frame(series, each, kind, first=place % columns == 0)
        name = wrapped(every[0].classes.tolist()[number], 40)
        if len(axes) > 1:
            each.set_title(name, loc="left", fontsize=10, **LITERAL)
    _about(axes, every, numbers, more, kind=kind, given=ax is not None)
    return axes[0].figure


def _shown_classes(
    every: list[Estimate], classes: Sequence[Any] | None, order: Any, peaks: FloatArray
) -> tuple[list[int], str]:
    """Return the numbers of the classes that have a panel, and a line about the others."""
    labels = every[0].classes.tolist()
    if classes is not None:
        wanted = [classes] if isinstance(classes, str) else list(classes)
        unknown = [label for label in wanted if label not in labels]
        if unknown or not wanted:
            what = f"names {shown(unknown[0])}" if unknown else "is empty"
            raise InputError(f"classes {what}; expected some of {shown_list(labels)}.")
        return [labels.index(label) for label in wanted], ""
    if len(labels) == 2:
        # The other one mirrors it.
        return [subject_of(every[-1].prevalence)], ""
    most = max(1, min(MAX_PANELS, MAX_ROWS // len(every)))
    largest = set(np.argsort(-peaks, kind="stable")[:most].tolist())
    left = len(labels) - len(largest)
    about = f"{left} smaller classes are not shown; classes=[…] draws any" if left else ""
    return [int(number) for number in order if int(number) in largest], about


def _series(estimates: EstimateSet) -> Series:
    groups = list(estimates)
    names = [group_name(group) for group in groups]
    places, dates = np.arange(len(groups), dtype=np.float64), False
    if estimates.order.ordered:
        periods = estimates.order.positions
        dates = all(isinstance(group, datetime.date | np.datetime64) for group in groups)
        if dates:
            places = np.asarray(DATES.date2num(groups), dtype=np.float64)
        elif all(position is not None for position in periods):
            places = np.array(periods, dtype=np.float64)
    return Series(places, names, list(estimates.values()), dates)


def _new_axes(series: Series, kind: str, n_panels: int) -> tuple[list[Axes], int]:
    """Return one panel per class, and how many are beside each other."""
    columns = min(n_panels, 1 if n_panels == 1 else 2 if n_panels <= 4 else 3)
    size = min(columns, 3) - 1
    rows = -(-n_panels // columns)
    width, height = WIDTHS[size], HEIGHTS[size]
    names = 0.0
    if kind == "forest":
        height = 0.75 + ROW * max(3, len(series.names))
        names = 0.075 * min(24, max(map(len, series.names)))
    figure = ShownFigure(
        figsize=(columns * width + names, rows * height + 0.9), layout="constrained"
    )
    axes = [figure.add_subplot(rows, columns, number + 1) for number in range(n_panels)]
    return axes, columns


def _timeline(series: Series, ax: Axes, number: int, level: float, marks: list[str]) -> None:
    """Draw the share of a class over the groups."""
    x, share = series.places, series.of("prevalence", number)
    few = len(x) <= MARKED
    _marks_over_time(series, ax, number, marks)
    bounds, ranges = series.intervals(number, level), series.ranges(number)
    known = ~np.isnan(ranges[:, 0])
    if known.any():
        ax.vlines(
            x[known], *ranges[known].T, color=AMBER, lw=_bar(series, ax), label=RANGE, zorder=1
        )
    label = "estimate"
    if not np.isnan(bounds).all():
        label = f"estimate, {percent_level(level)} interval"
    for run in series.runs():
        ax.fill_between(x[run], *bounds[run].T, color=BLUE, alpha=0.2, lw=0, zorder=2)
        ax.plot(x[run], share[run], color=BLUE, lw=1.4, zorder=4)
    if few:
        style: dict[str, Any] = {"color": BLUE, "markersize": 4.5, "label": label, "zorder": 5}
        ax.plot(x, share, "o", ls="", **style)
        ax.vlines(x, *bounds.T, color=BLUE, lw=1.2, zorder=3)
    else:
        ax.plot([], [], color=BLUE, lw=1.4, label=label)
    _failures(series, ax, x, share)


def _marks_over_time(series: Series, ax: Axes, number: int, marks: list[str]) -> None:
    x = series.places
    if "reference" in marks:
        ax.plot(x, series.of("train_prevalence", number), color=GREY, lw=1.0, ls=":",
                label=NAMES["reference"], zorder=1)  # fmt: skip
    if "counted" in marks:
        shares = series.of("classify_and_count", number)
        for run in series.runs():
            ax.plot(x[run], shares[run], color=ORANGE, lw=0.9, ls="--", zorder=1)
        ax.plot([], [], color=ORANGE, lw=0.9, ls="--", label=NAMES["counted"])


def _rows(series: Series, ax: Axes, number: int, level: float, marks: list[str]) -> None:
    """Draw the share of a class in each group, one below the other."""
    y, share = np.arange(len(series.names)), series.of("prevalence", number)
    bounds, ranges = series.intervals(number, level), series.ranges(number)
    known = ~np.isnan(ranges[:, 0])
    if known.any():
        ax.hlines(y[known], *ranges[known].T, color=AMBER, lw=6, label=RANGE, zorder=1)
    if "reference" in marks:
        where = series.of("train_prevalence", number)
        ax.plot(where, y, ls="", label=NAMES["reference"], markersize=9, **MARKS["reference"])
    if "counted" in marks:
        where = series.of("classify_and_count", number)
        ax.plot(where, y, ls="", label=NAMES["counted"], markersize=5, **MARKS["counted"])
    label = "estimate"
    if not np.isnan(bounds).all():
        label = f"estimate, {percent_level(level)} interval"
        ax.hlines(y, *bounds.T, color=BLUE, lw=1.8, zorder=3)
    ax.plot(share, y, "o", ls="", color=BLUE, markersize=5, label=label, zorder=4)
    _failures(series, ax, share, y)


def _failures(series: Series, ax: Axes, x: FloatArray, y: Any) -> None:
    """Mark the groups whose check failed."""
    failed = series.failed()
    if failed.any():
        style: dict[str, Any] = {"ls": "", "markersize": 5.5, "markeredgewidth": 1.4, "zorder": 6}
        ax.plot(x[failed], y[failed], "o", mec=ORANGE, mfc="white", label=FAILED, **style)


def _bar(series: Series, ax: Axes) -> float:
    """Return the width in points of a bar per group."""
    return float(np.clip(72 * size_of(ax)[0] / (2.5 * len(series.places)), 2.0, 9.0))


def _frame(series: Series, ax: Axes, kind: str, *, first: bool) -> None:
    """Set the ticks of a panel."""
    width, height = size_of(ax)
    if kind == "timeline":
        ax.set_ylim(bottom=min(0.0, -0.03 * ax.get_ylim()[1]))
        share_axis(ax.yaxis, 2.2 * height)
        ax.grid(axis="y", color=PALE, lw=0.5, alpha=0.6)
        bare(ax, "top", "right")
        _group_ticks(series, ax, width)
        return
    ax.set_xlim(left=min(0.0, -0.015 * ax.get_xlim()[1]))
    share_axis(ax.xaxis, width)
    ax.grid(axis="x", color=PALE, lw=0.5, alpha=0.6)
    bare(ax, "top", "right", "left")
    step = max(1, int(np.ceil(8.0 * len(series.names) / (72 * height))))
    names = series.names[::step] if first else []
    places = list(range(len(series.names))[::step]) if first else []
    ax.set_yticks(places, names, fontsize=9, **LITERAL)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(series.names) - 0.4, -0.6)


def _group_ticks(series: Series, ax: Axes, width: float) -> None:
    """Write as many names of groups as fit."""
    if series.dates:
        locator = DATES.AutoDateLocator(minticks=2, maxticks=max(3, int(width / 0.8)))
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(DATES.ConciseDateFormatter(locator))
        return
    inches = 0.085 * max(map(len, series.names)) + 0.15
    step = max(1, -(-len(series.names) // max(1, int(width / inches))))
    ax.set_xticks(series.places[::step], series.names[::step], fontsize=9, **LITERAL)


def _about(
    axes: list[Axes],
    every: list[Estimate],
    numbers: list[int],
    more: str,
    *,
    kind: str,
    given: bool,
) -> None:
    """Write the title, the legend, and what the shares are of."""
    last = every[-1]
    methods = " and ".join(dict.fromkeys(each.method for each in every))
    n_items = sum(each.n_items for each in every)
    groups = f"{len(every)} group{'s' * (len(every) != 1)}"
    title = f"{methods}: {groups}" + (f" of {items(n_items)} in all" if n_items else "")
    found: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    drawn = list(found.values()), list(found)
    if given or len(axes) == 1:
        ax = axes[0]
        share = SHARES[last.estimand]
        ax.set(**{"ylabel" if kind == "timeline" else "xlabel": share})
        columns = 3 if size_of(ax)[0] > WIDE else 1
        name = wrapped(last.classes.tolist()[numbers[0]], 60)
        above = 12 + 15 * -(-len(found) // columns)
        ax.set_title(f"{name}\n{title}", loc="left", pad=above, fontsize=11, **LITERAL)
        where: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0.0, 1.0),
            "borderaxespad": 0.2,
        }
        legend(ax, *drawn, ncols=columns, fontsize=9, **where)
        return
    figure = axes[0].figure
    columns = 5 if len(found) > 3 and figure.bbox.width / figure.dpi > TWO_PANELS else 3
    outside: dict[str, Any] = {"loc": "outside upper left", "title": title, "title_fontsize": 12}
    legend(figure, *drawn, ncols=columns, fontsize=9, alignment="left", **outside)
    below = ". ".join(filter(None, [SHARES[last.estimand], more]))
    figure.supxlabel(below, fontsize=9, **LITERAL)
