"""The picture of a check; imported only when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from truemix.estimates.plots.style import BLUE, GREY, ORANGE, ShownFigure, checked_axes
from truemix.estimates.text import items

if TYPE_CHECKING:
    from truemix.checks.shift_check import ShiftCheck


def draw(check: ShiftCheck, ax: Axes | None) -> Figure | SubFigure:
    """Draw the null distribution and the statistic; see :meth:`ShiftCheck.plot`."""
    if ax is None:
        figure = ShownFigure(figsize=(5.5, 3.2), layout="constrained")
        ax = figure.add_subplot()
    else:
        ax = checked_axes(ax)
    limit = float(np.quantile(check.null, 1.0 - check.level))
    ax.hist(check.null, bins=40, color=BLUE, alpha=0.5, label="mixes of references")
    ax.axvline(limit, color=GREY, linestyle="--", label=f"level {check.level:g}")
    ax.axvline(check.statistic, color=ORANGE, linewidth=2.5, label="this target")
    ax.set_xlabel("deviation from the best mix (standard deviations)")
    ax.set_yticks([])
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    verdict = {"passed": "fits", "failed": "does not fit", "cannot tell": "cannot be told"}[
        check.verdict
    ]
    ax.set_title(f"{items(check.n_items)}: {verdict} (p = {check.p_value:.2g})", fontsize=11)
    ax.legend(frameon=False, fontsize=9)
    return ax.figure
