"""One estimate: a line per class, or the triangle of three classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from truemix._typing import FloatArray, IntArray
from truemix.estimates.intervals import check_level
from truemix.estimates.plots.style import (
    AMBER,
    BLUE,
    LITERAL,
    MARKS,
    NAMES,
    PALE,
    RANGE,
    SHARES,
    SINGLE_LINE,
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
from truemix.estimates.plots.ternary import draw_ternary, ternary_axes
from truemix.estimates.text import percent_level, shown_name, title_of
from truemix.exceptions import InputError
from truemix.validation import check_choice

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate

KINDS = ("forest", "ternary")
# Up to so many classes their names may take two lines; from so many on ticks are at the top, too.
TWO_LINES, TALL = 30, 40
# Width in inches of what is beside the names, and per letter of the longest name.
PLOT_WIDTH, LETTER = 5.4, 0.075


def draw(
    estimate: Estimate,
    ax: Axes | None,
    *,
    kind: str,
    sort: str,
    level: float,
    reference: bool,
    counted: bool,
) -> Figure | SubFigure:
    """Draw an estimate; see :meth:`truemix.Estimate.plot`."""
    level = check_level(level)
    check_choice(kind, "kind", KINDS)
    check_choice(sort, "sort", SORTS)
    K = len(estimate.classes)
    if kind == "ternary" and K != 3:
        raise InputError(
            f"A ternary plot is a triangle of three classes, but there are {K}; use kind='forest'."
        )
    marks = marks_of(estimate, reference=reference, counted=counted)
    if kind == "ternary":
        ax = ternary_axes() if ax is None else checked_axes(ax)
        draw_ternary(estimate, ax, level, marks)
        return ax.figure
    order = order_of(estimate.prevalence, sort)
    names = _names(estimate, order)
    ax = _new_axes(names) if ax is None else checked_axes(ax)
    _forest(estimate, ax, level, marks, order)
    _forest_axes(estimate, ax, names)
    return ax.figure


def _names(estimate: Estimate, order: IntArray) -> list[str]:
    labels = estimate.classes[order].tolist()
    if len(labels) <= TWO_LINES:
        return [wrapped(label) for label in labels]
    return [shown_name(label, most=SINGLE_LINE) for label in labels]


def _new_axes(names: list[str]) -> Axes:
    K = len(names)
    longest = max(len(line) for name in names for line in name.split("\n"))
    two_lines = any("\n" in name for name in names)
    # Generous for few classes, dense for many.
    row = float(np.clip(8.0 / K, 0.36 if two_lines else 0.17, 0.42 if two_lines else 0.36))
    size = (PLOT_WIDTH + LETTER * longest, 1.6 + K * row)
    return ShownFigure(figsize=size, layout="constrained").add_subplot()


def _forest(
    estimate: Estimate, ax: Axes, level: float, marks: dict[str, FloatArray], order: IntArray
) -> None:
    place = np.arange(len(order))
    size = float(np.clip(0.45 * _points_per_row(len(order), ax), 2.5, 7.0))
    if estimate.answers is not None:
        lower, upper = estimate.answers.range()[order].T
        ax.hlines(place, lower, upper, color=AMBER, lw=1.3 * size, label=RANGE, zorder=1)
    for name, shares in marks.items():
        longer = 1.9 if name == "reference" else 1.0
        style = {**MARKS[name], "markersize": longer * size, "label": NAMES[name]}
        ax.plot(shares[order], place, ls="", zorder=2, **style)
    label = "estimate"
    if estimate.draws is not None:
        label = f"estimate, {percent_level(level)} interval"
        lower, upper = estimate.interval(level)[order].T
        ax.hlines(place, lower, upper, color=BLUE, lw=max(1.0, size / 2.5), zorder=3)
    estimated = estimate.prevalence[order]
    ax.plot(estimated, place, "o", ls="", color=BLUE, markersize=size, label=label, zorder=4)


def _points_per_row(n_rows: int, ax: Axes) -> float:
    return 72 * size_of(ax)[1] / n_rows


def _forest_axes(estimate: Estimate, ax: Axes, names: list[str]) -> None:
    K = len(names)
    points = _points_per_row(K, ax)
    # On axes that are too small for all names, every second or third is written.
    step = max(1, int(np.ceil(6.0 / points)))
    n_lines = 2 if any("\n" in name for name in names) else 1
    font = float(np.clip(0.8 * points * step / n_lines, 4.0, 10.0))
    ax.set_yticks(np.arange(K)[::step], names[::step], fontsize=font, **LITERAL)
    ax.set_ylim(K - 0.4, -0.6)
    ax.set_xlim(left=min(0.0, -0.015 * ax.get_xlim()[1]))
    width = size_of(ax)[0]
    share_axis(ax.xaxis, width)
    ax.set_xlabel(SHARES[estimate.estimand], **LITERAL)
    ax.grid(axis="x", color=PALE, lw=0.5, alpha=0.6)
    if K >= TALL:
        # Far from the ticks lines lead the eye to the names.
        ax.grid(axis="y", color=PALE, lw=0.4, alpha=0.5)
        ax.tick_params(axis="x", top=True, labeltop=True)
    bare(ax, "top", "right", "left")
    ax.tick_params(axis="y", length=0)
    handles, labels = ax.get_legend_handles_labels()
    # Legend and title above the axes, at distances in points: right for any height.
    columns = (3 if len(labels) < 4 else 2) if width > WIDE else 1
    above = 15 * -(-len(labels) // columns) + (16 if K >= TALL else 0)
    ax.set_title(title_of(estimate), loc="left", pad=11 + above, **LITERAL)
    _above(ax, handles, labels, columns, 16 if K >= TALL else 0)


def _above(ax: Axes, handles: list[Any], labels: list[str], columns: int, lift: float) -> None:
    legend(
        ax,
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0 + lift / (72 * size_of(ax)[1])),
        ncols=columns,
        fontsize=9,
        borderaxespad=0.2,
        borderpad=0.2,
        handletextpad=0.4,
        columnspacing=1.4,
    )
