"""Pictures of an estimate: a forest of intervals, or the triangle of three classes.

The only module that imports matplotlib, and itself imported only when something is drawn. Figures
are made without pyplot, so that there is no global list they stay in, and nothing here touches
``rcParams``. Class names are data, not markup: dollar signs do not start a formula.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import PercentFormatter

from truemix._typing import FloatArray
from truemix.estimates.intervals import check_level
from truemix.estimates.text import ESTIMANDS, items, percent, percent_level, shown_name
from truemix.exceptions import InputError
from truemix.simplex import TERNARY_HEIGHT, ternary_coordinates, ternary_line
from truemix.validation import check_choice

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate
    from truemix.estimates.regions import Region

KINDS = ("forest", "ternary")
# A palette that is safe for any colour vision (Okabe and Ito).
BLUE, SKY, ORANGE, GREY, PALE = "#0072b2", "#56b4e9", "#d55e00", "#777777", "#bbbbbb"
MARKS = {
    "reference": {"marker": "|", "color": GREY, "markeredgewidth": 1.8},
    "counted": {"marker": "D", "color": ORANGE, "fillstyle": "none", "markeredgewidth": 1.2},
}
NAMES = {"reference": "reference mix", "counted": "counted"}
SHARES = {
    "batch": "share of these very items (batch)",
    "population": "share in the source of these items (population)",
}
LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
MAX_POINTS = 4000
# Width in inches from which a triangle has room for ticks.
ROOMY = 3.6


class ShownFigure(Figure):
    """A figure that notebooks show though pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


def draw(
    estimate: Estimate,
    ax: Axes | None,
    *,
    kind: str | None,
    level: float,
    reference: bool,
    counted: bool,
) -> Figure | SubFigure:
    """Draw an estimate; see :meth:`truemix.Estimate.plot`."""
    level = check_level(level)
    K = len(estimate.classes)
    if kind is None:
        kind = "ternary" if K == 3 and estimate.draws is not None else "forest"
    check_choice(kind, "kind", KINDS)
    if kind == "ternary" and K != 3:
        raise InputError(
            f"A ternary plot is a triangle of three classes, but there are {K}; use kind='forest'."
        )
    if ax is None:
        ax = _new_axes(estimate, kind)
    elif not isinstance(ax, Axes):
        raise InputError(
            f"ax is an object of type {type(ax).__name__!r}; expected matplotlib Axes, as "
            "plt.subplots() returns them."
        )
    marks = {}
    if reference:
        marks["reference"] = estimate.train_prevalence
    if counted:
        marks["counted"] = estimate.classify_and_count
    if kind == "ternary":
        _ternary(estimate, ax, level, marks)
    else:
        _forest(estimate, ax, level, marks)
        _forest_axes(estimate, ax)
    return ax.figure


def _new_axes(estimate: Estimate, kind: str) -> Axes:
    if kind == "ternary":
        # A layout engine would measure the triangle before it is made equilateral.
        figure = ShownFigure(figsize=(5.6, 5.8))
        return figure.add_axes((0.08, 0.16, 0.84, 0.70))
    K = len(estimate.classes)
    longest = max(len(shown_name(label)) for label in estimate.classes.tolist())
    size = (5.4 + 0.085 * longest, 1.5 + K * _row_height(K))
    return ShownFigure(figsize=size, layout="constrained").add_subplot()


def _row_height(K: int) -> float:
    """Return inches per class: generous for few, dense for many."""
    return float(np.clip(8.0 / K, 0.15, 0.36))


def _title(estimate: Estimate) -> str:
    return f"{estimate.method}: the mix of {items(estimate.n_items)}"


def _legend(ax: Axes, **where: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    # What was drawn last, and is on top, is the estimate.
    legend = ax.legend(handles[::-1], labels[::-1], frameon=False, **where)
    for text in legend.get_texts():
        text.set(**LITERAL)


# --- forest -----------------------------------------------------------------------------------


def _forest(estimate: Estimate, ax: Axes, level: float, marks: dict[str, FloatArray]) -> None:
    place = np.arange(len(estimate.classes))
    size = float(np.clip(0.45 * _points_per_row(estimate, ax), 2.5, 7.0))
    for name, shares in marks.items():
        style: dict[str, Any] = MARKS[name]
        longer = 1.9 if name == "reference" else 1.0
        ax.plot(shares, place, ls="", markersize=longer * size, label=NAMES[name], **style)
    label = "estimate"
    if estimate.draws is not None:
        label = f"estimate, {percent_level(level)} interval"
        lower, upper = estimate.interval(level).T
        ax.hlines(place, lower, upper, color=BLUE, lw=max(1.0, size / 2.5), zorder=3)
    ax.plot(
        estimate.prevalence, place, "o", ls="", color=BLUE, markersize=size, label=label, zorder=4
    )


def _points_per_row(estimate: Estimate, ax: Axes) -> float:
    return 72 * _size(ax)[1] / len(estimate.classes)


def _size(ax: Axes) -> tuple[float, float]:
    """Return width and height in inches, before any layout engine has looked at the names."""
    place, whole = ax.get_position(), ax.figure.bbox
    dpi = ax.figure.dpi
    return float(place.width * whole.width / dpi), float(place.height * whole.height / dpi)


def _forest_axes(estimate: Estimate, ax: Axes) -> None:
    K = len(estimate.classes)
    points = _points_per_row(estimate, ax)
    # On axes that are too small for all names, every second or third is written.
    step = max(1, int(np.ceil(6.0 / points)))
    names = [shown_name(label) for label in estimate.classes.tolist()[::step]]
    font = float(np.clip(0.8 * points * step, 4.0, 10.0))
    ax.set_yticks(np.arange(K)[::step], names, fontsize=font, **LITERAL)
    ax.set_ylim(K - 0.4, -0.6)
    ax.set_xlim(left=min(0.0, -0.015 * ax.get_xlim()[1]))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.set_xlabel(SHARES[estimate.estimand], **LITERAL)
    ax.grid(axis="x", color=PALE, lw=0.5, alpha=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    # Legend and title above the axes, at distances in points: right for any height.
    wide = _size(ax)[0] > 4.6
    ax.set_title(_title(estimate), loc="left", pad=26 if wide else 52, **LITERAL)
    _legend(
        ax,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=3 if wide else 1,
        fontsize=9,
        borderaxespad=0.2,
        borderpad=0.2,
        handletextpad=0.4,
        columnspacing=1.4,
    )


# --- ternary ----------------------------------------------------------------------------------


def _ternary(estimate: Estimate, ax: Axes, level: float, marks: dict[str, FloatArray]) -> None:
    _triangle(estimate, ax)
    if estimate.draws is not None:
        step = -(-len(estimate.draws) // MAX_POINTS)
        cloud = ternary_coordinates(estimate.draws[::step])
        alpha = float(np.clip(200.0 / len(cloud), 0.1, 0.6))
        ax.scatter(cloud[:, 0], cloud[:, 1], s=7, color=SKY, alpha=alpha, linewidths=0, zorder=2)
    about = ESTIMANDS[estimate.estimand]
    region = _region(estimate, level)
    if region is not None:
        ax.plot(*ternary_coordinates(region.boundary()).T, color=BLUE, lw=1.4, zorder=3)
        about = f"draws and their {percent_level(level)} region (CLR ellipse)\n{about}"
    for name, shares in marks.items():
        style: dict[str, Any] = {**MARKS[name], "markersize": 8}
        if name == "reference":
            style["marker"] = "+"
        place = ternary_coordinates(shares)
        ax.plot(*place, ls="", label=NAMES[name], zorder=4, clip_on=False, **style)
    ax.plot(
        *ternary_coordinates(estimate.prevalence),
        "o",
        color=BLUE,
        markeredgecolor="white",
        markersize=7,
        label="estimate",
        zorder=5,
        clip_on=False,
    )
    ax.set_title(_title(estimate), loc="left", pad=26, **LITERAL)
    ax.annotate(
        about,
        (0.5, 0.0),
        (0, -44),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=9,
        **LITERAL,
    )
    _legend(
        ax,
        loc="upper left",
        fontsize=9 if min(_size(ax)) > ROOMY else 7,
        borderaxespad=0.0,
    )


def _region(estimate: Estimate, level: float) -> Region | None:
    """Return the region to draw, if the draws are enough for one."""
    if estimate.draws is None:
        return None
    try:
        region = estimate.region("ellipse-clr", level)
    except InputError:
        return None
    return region if np.isfinite(region.radius) else None


def _triangle(estimate: Estimate, ax: Axes) -> None:
    """Draw the frame: grid lines each 20 %, ticks where a class's lines start, names at corners."""
    corners = ternary_coordinates(np.eye(3))
    ax.plot(*corners[[0, 1, 2, 0]].T, color=GREY, lw=1.0, zorder=1)
    shifts = [(-8, 3, "right"), (0, -11, "center"), (8, 3, "left")]
    roomy = min(_size(ax)) > ROOMY
    for share in (0.2, 0.4, 0.6, 0.8):
        for k in range(3):
            line = ternary_coordinates(ternary_line(k, share))
            ax.plot(*line.T, color=PALE, lw=0.5, zorder=0)
            if not roomy:
                continue
            right, up, side = shifts[k]
            ax.annotate(
                percent(share, 0, unit=""),
                tuple(line[0]),
                (right, up),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=7,
                color=GREY,
            )
    names = [shown_name(label, most=24) for label in estimate.classes.tolist()]
    sides = [("left", "top", -22), ("right", "top", -22), ("center", "bottom", 5)]
    for name, corner, (across, along, up) in zip(names, corners, sides, strict=True):
        ax.annotate(
            name,
            tuple(corner),
            (0, up),
            textcoords="offset points",
            ha=across,
            va=along,
            **LITERAL,
        )
    ax.set_aspect("equal")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, TERNARY_HEIGHT + 0.02)
    ax.set_axis_off()
