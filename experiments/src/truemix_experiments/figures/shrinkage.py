"""What shrinkage does to a kernel: it rounds as the simplex contracts, until it is Euclidean."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from truemix.densities import kde_log_likelihood
from truemix.simplex import TERNARY_HEIGHT, shrink
from truemix_experiments._typing import FloatArray
from truemix_experiments.figures._simplex import frame, grid

SHRINKAGES = (0.0, 0.25, 0.5, 0.75, 0.9)
BANDWIDTH = 0.75
CENTRE = np.full(3, 1 / 3)
SIZE = 301
LEVELS = np.array([0.05, 0.2, 0.4, 0.6, 0.8, 0.95])


def kernel_values(mixes: FloatArray, bandwidth: float, shrinkage: float) -> FloatArray:
    """Return the kernel around the barycentre, relative to its top, at each mix ``(n, 3)``.

    Examples
    --------
    >>> kernel_values(np.full((1, 3), 1 / 3), 0.75, 0.5)
    array([1.])
    """
    points = np.vstack([CENTRE, mixes])
    # One reference per class, all at the barycentre: every column is the same kernel.
    logs = kde_log_likelihood(
        np.tile(CENTRE, (3, 1)), [0, 1, 2], points, bandwidth=bandwidth, shrinkage=shrinkage
    )[:, 0]
    return np.asarray(np.exp(logs[1:] - logs[0]))


def draw() -> Figure:
    """Draw two rows: on the simplex, and zoomed into the shrunk simplex; λ grows to the right."""
    n = len(SHRINKAGES)
    figure = Figure(figsize=(2.0 * n + 0.9, 4.3), layout="constrained")
    axes = figure.subplots(2, n)
    for lam, above, below in zip(SHRINKAGES, axes[0], axes[1], strict=True):
        # Above, the effective bandwidth is that of the simplex itself.
        _panel(above, (1.0 - lam) * BANDWIDTH, 0.0)
        if lam > 0:
            frame(above, shrink(np.eye(3), lam), dashed=True)
        above.set_title(f"λ = {lam:g}", fontsize=11)
        _panel(below, BANDWIDTH, lam)
    for ax, text in ((axes[0, 0], "on the simplex"), (axes[1, 0], "in the shrunk region")):
        ax.annotate(
            text,
            (-0.06, 0.5),
            xycoords="axes fraction",
            rotation=90,
            ha="right",
            va="center",
            fontsize=10,
        )
    figure.supxlabel(
        f"h = {BANDWIDTH:g}; dashed: the shrunk simplex, where the bandwidth is (1 - λ) h",
        fontsize=9,
    )
    return figure


def _panel(ax: Axes, bandwidth: float, shrinkage: float) -> None:
    x, y, mixes = grid(0.01, SIZE)
    inside = (mixes >= 0).all(axis=-1)
    values = np.full(inside.shape, np.nan)
    values[inside] = kernel_values(mixes[inside], bandwidth, shrinkage)
    masked = np.ma.masked_invalid(values)
    ax.pcolormesh(x, y, masked, cmap="Blues", vmin=0.0, vmax=1.2, shading="auto", rasterized=True)
    ax.contour(x, y, masked, LEVELS, colors="#0b3c5d", linewidths=0.7)
    frame(ax)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, TERNARY_HEIGHT + 0.02)
