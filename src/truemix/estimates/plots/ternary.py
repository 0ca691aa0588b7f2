"""The triangle of all mixes of three classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from truemix._typing import FloatArray
from truemix.estimates.plots.style import (
    BLUE,
    GREY,
    LITERAL,
    MARKS,
    NAMES,
    PALE,
    SKY,
    ShownFigure,
    legend,
    size_of,
)
from truemix.estimates.text import ESTIMANDS, percent, percent_level, shown_name, title_of
from truemix.exceptions import InputError
from truemix.simplex import TERNARY_HEIGHT, ternary_coordinates, ternary_line

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate
    from truemix.estimates.regions import Region

MAX_POINTS = 4000
# Width in inches from which a triangle has room for ticks.
ROOMY = 3.6


def ternary_axes() -> Axes:
    """Return new axes for a triangle."""
    # A layout engine would measure the triangle before it is made equilateral.
    return ShownFigure(figsize=(5.6, 5.8)).add_axes((0.08, 0.16, 0.84, 0.70))


def draw_ternary(estimate: Estimate, ax: Axes, level: float, marks: dict[str, FloatArray]) -> None:
    """Draw an estimate of three classes: the draws, their region, and the marks."""
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
    ax.set_title(title_of(estimate), loc="left", pad=26, **LITERAL)
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
    legend(
        ax,
        *ax.get_legend_handles_labels(),
        loc="upper left",
        fontsize=9 if min(size_of(ax)) > ROOMY else 7,
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
    roomy = min(size_of(ax)) > ROOMY
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
