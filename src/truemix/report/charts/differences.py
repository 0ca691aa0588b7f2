"""A line per class: how much its share changed, with an interval, around zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.report.charts.scale import Scale


@dataclass(frozen=True)
class Difference:
    """One line: positions and widths in percent of the width."""

    estimate: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Differences:
    """Lines on a common scale, and where zero is on it."""

    scale: Scale
    zero: float
    lines: list[Difference]


def differences(entries: Sequence[dict[str, Any]]) -> Differences:
    """Return the lines of some changes.

    Parameters
    ----------
    entries : list of dict
        With ``difference``, ``lower`` and ``upper``.

    Examples
    --------
    >>> picture = differences([{"difference": 0.1, "lower": -0.1, "upper": 0.3}])
    >>> picture.scale.low, round(picture.scale.high, 6), picture.zero
    (-0.1, 0.3, 26.0)
    """
    values = [entry[key] for entry in entries for key in ("difference", "lower", "upper")]
    known = [value for value in values if value is not None]
    scale = Scale.around_zero(min(known), max(known))
    lines = [
        Difference(
            scale.at(entry["difference"]),
            None if entry["lower"] is None else scale.span(entry["lower"], entry["upper"]),
        )
        for entry in entries
    ]
    return Differences(scale, scale.at(0.0), lines)
