"""The picture of a backtest; imported only when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter, PercentFormatter

from truemix.estimates.plots.style import (
    BLUE,
    GREY,
    LITERAL,
    ORANGE,
    PALE,
    SKY,
    ShownFigure,
    checked_axes,
)
from truemix.estimates.text import percent_level

if TYPE_CHECKING:
    from truemix.trust.backtest import Backtest


def draw(tested: Backtest, ax: Axes | None) -> Figure | SubFigure:
    """Draw a backtest; see :meth:`truemix.trust.backtest.Backtest.plot`."""
    summary = tested.summary()
    if ax is not None:
        _errors(summary, checked_axes(ax))
        return ax.figure
    n_panels = 1 if summary["soft_coverage"] is None else 2
    figure = ShownFigure(figsize=(4.6 * n_panels, 3.6), layout="constrained")
    _errors(summary, figure.add_subplot(1, n_panels, 1))
    if n_panels > 1:
        _coverage(summary, figure.add_subplot(1, n_panels, 2))
    return figure


def _errors(summary: dict[str, Any], ax: Axes) -> None:
    lines = {
        "mean_error": ("error", {"color": BLUE, "marker": "o"}),
        "counting_error": ("counting's error", {"color": ORANGE, "marker": "D", "ls": "--"}),
    }
    if summary["mean_width"] is not None:
        width = f"width of {percent_level(summary['level'])} intervals"
        lines["mean_width"] = (width, {"color": SKY, "marker": "s"})
    _lines(summary, ax, lines)
    ax.set_ylim(bottom=0.0)
    ax.set_title(f"{summary['method']}: error of a share", loc="left", **LITERAL)
    ax.legend(frameon=False, fontsize=9)


def _coverage(summary: dict[str, Any], ax: Axes) -> None:
    lines = {
        "soft_coverage": ("single classes", {"color": BLUE, "marker": "o"}),
        "hard_coverage": ("all classes at once", {"color": ORANGE, "marker": "D", "ls": "--"}),
    }
    ax.axhline(summary["level"], color=GREY, lw=1.0, ls=":", label="level")
    _lines(summary, ax, lines)
    lowest = min(run[name] for run in summary["by_size"] for name in lines)
    ax.set_ylim(max(0.0, min(0.8, lowest - 0.05)), 1.02)
    ax.set_title("Intervals that hold the truth", loc="left", **LITERAL)
    ax.legend(frameon=False, fontsize=9, loc="lower right")


def _lines(summary: dict[str, Any], ax: Axes, lines: dict[str, tuple[str, dict[str, Any]]]) -> None:
    runs = summary["by_size"]
    sizes = [run["n_items"] for run in runs]
    for name, (label, style) in lines.items():
        ax.plot(sizes, [run[name] for run in runs], label=label, markersize=5, **style)
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.set_xlabel("items in a bag")
    ax.grid(axis="y", color=PALE, lw=0.5, alpha=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
