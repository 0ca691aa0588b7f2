"""Numbers against the size of bags: lines on a logarithmic axis of items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.report.charts.lines import Dot, path
from truemix.report.charts.scale import MARGIN, Scale, Tick


@dataclass(frozen=True)
class SizeLine:
    """One number: a path on the sheet, and a mark for each size."""

    name: str
    line: str
    dots: list[Dot]


@dataclass(frozen=True)
class SizeChart:
    """Lines with the same axes, and where the level of intervals is, if that is shown."""

    lines: list[SizeLine]
    rows: list[Tick]
    columns: list[Tick]
    level: float | None


def size_chart(
    runs: Sequence[dict[str, Any]], names: Sequence[str], level: float | None = None
) -> SizeChart | None:
    """Return the lines of some numbers, or None if there are fewer than two sizes.

    Parameters
    ----------
    runs : list of dict
        ``by_size`` of a backtest's summary.
    names : sequence of str
        Which numbers, such as ``"mean_error"``.
    level : float, optional
        The level of intervals, for pictures of coverage; the axis then ends at 1.

    Examples
    --------
    >>> runs = [{"n_items": 10, "mean_error": 0.04}, {"n_items": 1000, "mean_error": 0.01}]
    >>> picture = size_chart(runs, ["mean_error"])
    >>> [tick.label for tick in picture.columns], picture.lines[0].line
    (['10', '1,000'], 'M20 0l960 750')
    """
    sizes = sorted({run["n_items"] for run in runs})
    if len(sizes) < 2:
        return None
    values = [run[name] for run in runs for name in names]
    if level is None:
        scale = Scale.covering(0.0, max(*values, 0.001), most=4, margin=0.0)
    else:
        scale = Scale.covering(min(*values, level), 1.0, most=4, margin=0.0)
    first, whole = math.log(sizes[0]), math.log(sizes[-1] / sizes[0])

    def across(size: int) -> float:
        return round(MARGIN + (100.0 - 2.0 * MARGIN) * (math.log(size) - first) / whole, 2)

    def down(value: float) -> float:
        return round(100.0 - scale.at(value), 2)

    places = [across(run["n_items"]) for run in runs]
    lines = []
    for name in names:
        along = [down(run[name]) for run in runs]
        dots = [Dot(x, y) for x, y in zip(places, along, strict=True)]
        lines.append(SizeLine(name, path(places, along), dots))
    anchors = {sizes[0]: "start", sizes[-1]: "end"}
    columns = [Tick(across(size), f"{size:,}", anchors.get(size, "middle")) for size in sizes]
    rows = [Tick(round(100.0 - tick.at, 2), tick.label) for tick in scale.ticks()]
    return SizeChart(lines, rows, columns, None if level is None else down(level))
