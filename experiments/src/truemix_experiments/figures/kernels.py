"""Two kernels near the border of the simplex: the Gaussian one leaks out, Aitchison's does not."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from truemix.densities import kde_log_likelihood
from truemix.simplex import TERNARY_HEIGHT, ternary_coordinates
from truemix_experiments._typing import FloatArray
from truemix_experiments.figures._simplex import frame, grid
from truemix_experiments.figures._style import BLUE, ORANGE

# Near a corner, near an edge, and farther inside.
CENTRES = np.array([[0.90, 0.06, 0.04], [0.04, 0.66, 0.30], [0.37, 0.13, 0.50]])
BANDWIDTHS = {"gaussian": 0.12, "aitchison": 0.55}
TITLES = {"gaussian": "Gaussian kernel", "aitchison": "Aitchison kernel: nothing outside"}
# Parts of a kernel's mass inside the lines.
MASSES = (0.5, 0.8, 0.95)
MARGIN, SIZE = 0.42, 421
SMALLER = 0.2


def log_kernels(mixes: FloatArray, kernel: str) -> FloatArray:
    """Return the log of the kernel around each centre, relative to its top, ``(..., 3)``.

    Outside the simplex Aitchison's kernel is 0. The Gaussian one goes on; it looks the same at any
    scale, so it is computed where the whole picture, made smaller, lies inside.
    """
    flat = mixes.reshape(-1, 3)
    scale = SMALLER if kernel == "gaussian" else 1.0
    inside = np.ones(len(flat), bool) if kernel == "gaussian" else (flat > 0).all(axis=1)
    references = _smaller(CENTRES, scale)
    points = np.vstack([references, _smaller(flat[inside], scale)])
    found = kde_log_likelihood(
        references, [0, 1, 2], points, kernel=kernel, bandwidth=scale * BANDWIDTHS[kernel]
    )
    logs = np.full(flat.shape, -np.inf)
    logs[inside] = found[3:] - np.diag(found[:3])
    return logs.reshape(mixes.shape)


def _smaller(mixes: FloatArray, scale: float) -> FloatArray:
    return scale * mixes + (1.0 - scale) / 3.0


def mass_outside() -> FloatArray:
    """Return the share of each Gaussian kernel's mass that lies outside the simplex."""
    _, _, mixes = grid(MARGIN, SIZE)
    kernels = np.exp(log_kernels(mixes, "gaussian"))
    outside = (mixes < 0).any(axis=-1)
    return np.asarray(kernels[outside].sum(axis=0) / kernels.sum(axis=(0, 1)))


def draw() -> Figure:
    """Draw both kernels around the same three mixes."""
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, kernel in zip(axes, TITLES, strict=True):
        _panel(ax, kernel)
        ax.set_title(TITLES[kernel], fontsize=12)
    for centre, share in zip(CENTRES, mass_outside(), strict=True):
        if share > 0.005:
            _label(axes[0], centre, f"{100 * share:.0f} % outside")
    handles = [
        Line2D([], [], color=BLUE, lw=width, label=f"{100 * mass:.0f} %")
        for mass, width in zip(MASSES, (1.8, 1.2, 0.7), strict=True)
    ]
    figure.legend(
        handles=[*handles, Line2D([], [], color=ORANGE, lw=6, alpha=0.5, label="outside")],
        title="part of a kernel's mass inside the line",
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
        title_fontsize=9,
    )
    return figure


def _panel(ax: Axes, kernel: str) -> None:
    x, y, mixes = grid(MARGIN, SIZE)
    logs = log_kernels(mixes, kernel)
    outside = (mixes < 0).any(axis=-1)
    shade = np.exp(logs).max(axis=-1)
    for colour, hidden in ((BLUE, outside), (ORANGE, ~outside)):
        cmap = LinearSegmentedColormap.from_list("shade", ["white", colour])
        values = np.ma.masked_array(shade, hidden | (shade < 0.01))
        ax.pcolormesh(x, y, values, cmap=cmap, vmin=0.0, vmax=1.3, shading="auto", rasterized=True)
    # In the kernel's own plane its mass is a normal one of two dimensions.
    levels = sorted(np.log1p(-mass) for mass in MASSES)
    for k in range(3):
        finite = np.maximum(logs[..., k], -50.0)
        ax.contour(x, y, finite, levels, colors=BLUE, linewidths=(0.7, 1.2, 1.8), linestyles="-")
    frame(ax)
    dots = ternary_coordinates(CENTRES)
    ax.plot(dots[:, 0], dots[:, 1], "o", color="white", markeredgecolor="#222222", markersize=5)
    ax.set_xlim(-0.22, 1.12)
    ax.set_ylim(-0.26, TERNARY_HEIGHT + 0.03)


def _label(ax: Axes, centre: FloatArray, text: str) -> None:
    """Write below the circle of a kernel."""
    x, y = ternary_coordinates(centre)
    # Distances between mixes are longer than in the picture, where edges have length 1.
    radius = BANDWIDTHS["gaussian"] * np.sqrt(-2.0 * np.log1p(-MASSES[-1])) / np.sqrt(2.0)
    where = (x, y - radius)
    ax.annotate(text, where, (0, -3), textcoords="offset points", ha="center", va="top", fontsize=9)
