"""The triangle of three classes: grids of mixes, and frames."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from truemix.simplex import TERNARY_HEIGHT, ternary_coordinates, ternary_inverse
from truemix_experiments._typing import FloatArray
from truemix_experiments.figures._style import GREY

WHOLE = np.eye(3)


def grid(margin: float, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a grid around the triangle: x, y, and the mix at each place (n, n, 3)."""
    x, y = np.meshgrid(
        np.linspace(-margin, 1.0 + margin, n), np.linspace(-margin, TERNARY_HEIGHT + margin, n)
    )
    return x, y, ternary_inverse(np.stack([x, y], axis=-1))


def frame(ax: Axes, corners: FloatArray = WHOLE, *, dashed: bool = False) -> None:
    """Draw the triangle with these mixes as corners, and nothing else of the axes."""
    style = "--" if dashed else "-"
    closed = ternary_coordinates(corners[[0, 1, 2, 0]])
    ax.plot(closed[:, 0], closed[:, 1], style, color=GREY, lw=0.9, zorder=3)
    ax.set_aspect("equal")
    ax.set_axis_off()
