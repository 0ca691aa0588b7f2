"""Coverage of the intervals against their amplitude."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from truemix.exceptions import InputError
from truemix_experiments.figures._style import (
    GREY,
    METHODS,
    colour,
    in_order,
    legend_below,
    marker,
    tidy,
)
from truemix_experiments.published import CALIBRATED, calibrated
from truemix_experiments.statistics import mean_values

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

PANELS = {"T = 1": "", "calibrated temperature": CALIBRATED}
# Percent; with many classes the share of the simplex is far smaller than anyone can picture.
SMALLEST = 0.01


def coverage_points(results: Results) -> pd.DataFrame:
    """Return hard coverage and amplitude (percent) of each method on each data set.

    Returns
    -------
    DataFrame
        Columns ``dataset``, ``method`` (without "-cal"), ``panel``, ``hard``, ``amplitude``.
    """
    import pandas as pd

    frames = []
    for panel, ending in PANELS.items():
        names = [calibrated(m) if ending else m for m in METHODS]
        both = _long(results, "hard", names).merge(_long(results, "amplitude", names))
        both["method"] = both["method"].str.removesuffix(CALIBRATED)
        frames.append(both.assign(panel=panel))
    return pd.concat(frames, ignore_index=True)


def _long(results: Results, metric: str, methods: list[str]) -> pd.DataFrame:
    means = mean_values(results, metric, methods).reset_index()
    return means.melt(id_vars="dataset", var_name="method", value_name=metric).dropna()


def draw(results: Results) -> Figure:
    """Draw one point per data set and method, before and after calibration."""
    points = coverage_points(results)
    if points.empty:
        raise InputError(
            "There are no results with intervals and alpha 1; expected some for the figure of "
            "coverage. Run 'truemix bench run' first."
        )
    panels = [panel for panel in PANELS if panel in set(points["panel"])]
    methods = in_order(points["method"])
    figure = Figure(figsize=(1.0 + 4.0 * len(panels), 4.3), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, sharex=True, squeeze=False)[0]
    handles: list[Any] = []
    for ax, panel in zip(axes, panels, strict=True):
        ax.axhspan(90.0, 100.0, color=GREY, alpha=0.15, lw=0)
        ax.axhline(95.0, color=GREY, lw=0.9, ls="--")
        handles = []
        for method in methods:
            here = points[(points["panel"] == panel) & (points["method"] == method)]
            star = 1.8 if marker(method) == "*" else 1.0
            handles.append(
                ax.scatter(
                    here["amplitude"].clip(lower=SMALLEST),
                    here["hard"],
                    s=34 * star,
                    color=colour(method),
                    marker=marker(method),
                    alpha=0.85,
                    edgecolors="white",
                    linewidths=0.5,
                    clip_on=False,
                    zorder=3,
                )
            )
        ax.set_xscale("log")
        ax.set_xlim(SMALLEST, 100.0)
        ax.set_ylim(0.0, 100.0)
        ax.xaxis.set_major_formatter(FuncFormatter(_percent))
        ax.set_title(panel, fontsize=11)
        ax.set_xlabel("amplitude (% of the simplex)")
        tidy(ax, "both")
    axes[0].set_ylabel("hard coverage (% of bags)")
    last = axes[-1]
    last.annotate(
        "95 %",
        (1.0, 95.0),
        (4, 0),
        xycoords=last.get_yaxis_transform(),
        textcoords="offset points",
        va="center",
        fontsize=9,
        color=GREY,
    )
    legend_below(figure, handles, methods)
    return figure


def _percent(value: float, _: int) -> str:
    return f"≤ {SMALLEST:g}" if value <= SMALLEST else f"{value:g}"
