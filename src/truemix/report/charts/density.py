"""The posterior of one share from its quantiles: a curve, or bars if few counts are possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix._typing import FloatArray
from truemix.report.charts.scale import Scale

# The curve is drawn on a sheet of this size, which is stretched to the width of the picture.
SHEET = 1000
_POINTS = 96
_SAMPLE = 400
# With more possible counts of items than this, bars would be as thin as a curve is smooth.
_MAX_BARS = 8
_BAR = 0.7
_WIDEST = 0.08
# Quantiles are rounded to six digits; beyond this many items that hides whether they are counts.
_MAX_ITEMS = 10_000


@dataclass(frozen=True)
class Pointer:
    """A mark on the axis; ``side`` says at which end it would be if it does not fit."""

    at: float
    side: str | None


@dataclass(frozen=True)
class Density:
    """A curve or bars: paths on the sheet, marks in percent of the width."""

    scale: Scale
    curve: str
    area: str
    inside: str
    estimate: float
    counted: Pointer
    reference: Pointer


def density(entry: dict[str, Any], levels: list[float], values: list[float], n: int) -> Density:
    """Return the picture of one share.

    Parameters
    ----------
    entry : dict
        A class of a summary, with an interval.
    levels, values : list of float
        Quantiles of its posterior.
    n : int
        Number of items. Where the shares are few different counts of them there are bars.

    Returns
    -------
    Density

    Notes
    -----
    The quantiles give back a sample without noise, which a narrow kernel smooths; what it would
    move below 0 or above 1 is folded back.

    Examples
    --------
    >>> entry = {"share": 0.5, "lower": 0.41, "upper": 0.59}
    >>> entry |= {"classify_and_count": 0.2, "reference": 0.5}
    >>> picture = density(entry, [0.0, 1.0], [0.4, 0.6], 1000)
    >>> picture.estimate, picture.counted.side
    (50.0, 'left')
    """
    few = _are_few_counts(values, n)
    middle = (np.arange(_SAMPLE) + 0.5) / _SAMPLE
    if few:
        # Quantiles are draws: each stands for the levels up to its own.
        sample = np.asarray(values)[np.minimum(np.searchsorted(levels, middle), len(values) - 1)]
        width = 0.5 / n
    else:
        sample = np.interp(middle, levels, values)
        width = max(0.35 * float(sample.std()), 0.5 / n, 1e-5)
    scale = _limits(entry, values, width, room=0.6 / n if few else 0.0)
    interval = (entry["lower"], entry["upper"])
    paths = _bars(sample, n, scale, interval) if few else _curve(sample, width, scale, interval)
    return Density(
        scale,
        *paths,
        estimate=scale.at(entry["share"]),
        counted=_pointer(entry["classify_and_count"], scale),
        reference=_pointer(entry["reference"], scale),
    )


def _are_few_counts(values: list[float], n: int) -> bool:
    """Return whether the shares are counts of items, with few possible values."""
    items = n * np.asarray(values)
    if n > _MAX_ITEMS or np.abs(items - items.round()).max() > 0.02:
        return False
    return bool(items[-1] - items[0] < _MAX_BARS)


def _curve(
    sample: FloatArray, width: float, scale: Scale, interval: tuple[float, float]
) -> tuple[str, str, str]:
    """Return the outline, the area under it and the part of that inside the interval."""
    # The ends of the interval are points of the curve, so that what is shaded ends on it.
    ends = np.clip(interval, scale.low, scale.high)
    x = np.union1d(np.linspace(scale.low, scale.high, _POINTS), ends)
    height = _folded(x, sample, width)
    height /= height.max()
    across = SHEET * (x - scale.low) / (scale.high - scale.low)
    inside = (x >= ends[0]) & (x <= ends[1])
    outline = _line(across, height)
    return outline, _area(across, height), _area(across[inside], height[inside])


def _bars(
    sample: FloatArray, n: int, scale: Scale, interval: tuple[float, float]
) -> tuple[str, str, str]:
    """Return bars around each count: outlines, all of them, and those inside the interval."""
    shares, weights = np.unique(np.round(sample * n) / n, return_counts=True)
    half = min(_BAR / n, _WIDEST * (scale.high - scale.low)) / 2
    bars = []
    for share, weight in zip(shares, weights / weights.max(), strict=True):
        ends = np.array([share - half, share + half])
        left, right = SHEET * (ends - scale.low) / (scale.high - scale.low)
        bars.append(f"M{left:.0f} {SHEET}V{SHEET * (1 - weight):.0f}H{right:.0f}V{SHEET}")
    slack = 0.01 / n
    inside = (shares >= interval[0] - slack) & (shares <= interval[1] + slack)
    held = "".join(bar for bar, is_inside in zip(bars, inside, strict=True) if is_inside)
    return "".join(bars), "".join(bars), held


def _limits(entry: dict[str, Any], values: list[float], width: float, room: float) -> Scale:
    """Return a scale for the curve and what is near it; bars need room beyond 0 and 1."""
    low, high = min(values[0], entry["lower"]), max(values[-1], entry["upper"])
    reach = max(high - low, 6.0 * width)
    # What is near enough to be shown without squeezing the curve is shown; else an arrow points.
    near = [
        entry[key]
        for key in ("classify_and_count", "reference")
        if low - reach < entry[key] < high + reach
    ]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.12 * (high - low) + 3.0 * width
    return Scale.over(max(-room, low - margin), min(1.0 + room, high + margin), most=5)


def _folded(x: FloatArray, sample: FloatArray, width: float) -> FloatArray:
    mirrored = np.concatenate([sample, -sample, 2.0 - sample])
    z = (x[:, None] - mirrored) / width
    heights: FloatArray = np.exp(-0.5 * z**2).sum(axis=1)
    return heights


def _pointer(share: float, scale: Scale) -> Pointer:
    side = "left" if share < scale.low else "right" if share > scale.high else None
    return Pointer(scale.at(share), side)


def _line(across: FloatArray, height: FloatArray) -> str:
    points = [f"{x:.0f} {SHEET * (1 - y):.0f}" for x, y in zip(across, height, strict=True)]
    return "M" + "L".join(points)


def _area(across: FloatArray, height: FloatArray) -> str:
    return f"{_line(across, height)}V{SHEET}H{across[0]:.0f}Z"
