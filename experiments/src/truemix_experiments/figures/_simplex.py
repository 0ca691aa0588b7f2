"""The triangle of three classes: grids of mixes, and frames."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from truemix_experiments._typing import FloatArray
from truemix_experiments.figures._style import GREY

HEIGHT = np.sqrt(3.0) / 2.0
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])
_INVERSE = np.linalg.inv(np.column_stack([CORNERS, np.ones(3)]))


def mixes_at(points: FloatArray) -> FloatArray:
    """Return the mixes at points of the plane; outside the triangle some shares are negative.

    Examples
    --------
    >>> mixes_at(np.array([[0.5, 0.0]])).round(6)
    array([[0.5, 0.5, 0. ]])
    """
    return np.asarray(np.column_stack([points, np.ones(len(points))]) @ _INVERSE)


def grid(margin: float, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a grid around the triangle: x, y, and the mix at each place (n, n, 3)."""
    x, y = np.meshgrid(
        np.linspace(-margin, 1.0 + margin, n), np.linspace(-margin, HEIGHT + margin, n)
    )
    points = np.column_stack([x.ravel(), y.ravel()])
    return x, y, mixes_at(points).reshape(n, n, 3)


def frame(ax: Axes, corners: FloatArray = CORNERS, *, dashed: bool = False) -> None:
    """Draw a triangle and nothing else of the axes."""
    style = "--" if dashed else "-"
    closed = corners[[0, 1, 2, 0]]
    ax.plot(closed[:, 0], closed[:, 1], style, color=GREY, lw=0.9, zorder=3)
    ax.set_aspect("equal")
    ax.set_axis_off()
