"""A line per class (or per group): the estimate with its interval, the count, the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.report.charts.scale import Scale


@dataclass(frozen=True)
class Strip:
    """One line: positions and widths in percent of the width; None where there is nothing."""

    estimate: float
    counted: float
    reference: float | None
    interval: tuple[float, float] | None
    middle: tuple[float, float] | None
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Forest:
    """Lines on a common scale."""

    scale: Scale
    strips: list[Strip]


def forest(
    entries: Sequence[dict[str, Any]],
    middles: Sequence[tuple[float, float] | None] | None = None,
    ranges: Sequence[dict[str, Any] | None] | None = None,
) -> Forest:
    """Return the lines of a table.

    Parameters
    ----------
    entries : list of dict
        Classes of a summary: ``share``, ``lower``, ``upper``, ``classify_and_count`` and
        ``reference``.
    middles : list of (float, float) or None
        The interval that holds half of the probability, where it is known.
    ranges : list of dict or None
        The ``lower`` and ``upper`` bounds of answers under other assumptions, where a check failed.

    Returns
    -------
    Forest

    Examples
    --------
    >>> entry = {"share": 0.3, "lower": 0.2, "upper": 0.4}
    >>> entry |= {"classify_and_count": 0.1, "reference": 0.5}
    >>> picture = forest([entry])
    >>> picture.scale.high, picture.strips[0].counted
    (0.5, 21.2)
    """
    keys = ("share", "upper", "classify_and_count", "reference")
    values = [entry[key] for entry in entries for key in keys if entry.get(key) is not None]
    values += [bounds["upper"] for bounds in ranges or () if bounds is not None]
    scale = Scale.covering(0.0, max(*values, 0.001) if values else 1.0, most=6)
    missing = [None] * len(entries)
    parts = zip(entries, middles or missing, ranges or missing, strict=True)
    strips = [_strip(entry, middle, bounds, scale) for entry, middle, bounds in parts]
    return Forest(scale, strips)


def _strip(
    entry: dict[str, Any],
    middle: tuple[float, float] | None,
    bounds: dict[str, Any] | None,
    scale: Scale,
) -> Strip:
    reference = entry.get("reference")
    return Strip(
        estimate=scale.at(entry["share"]),
        counted=scale.at(entry["classify_and_count"]),
        reference=None if reference is None else scale.at(reference),
        interval=None if entry["lower"] is None else scale.span(entry["lower"], entry["upper"]),
        middle=None if middle is None else scale.span(*middle),
        range=None if bounds is None else scale.span(bounds["lower"], bounds["upper"]),
    )


def middle_half(group: dict[str, Any]) -> list[tuple[float, float] | None]:
    """Return for each class of a group where half of the probability is, if that is known."""
    shape = group["quantiles"]
    if shape is None:
        return [None] * len(group["classes"])
    lower, upper = shape["levels"].index(0.25), shape["levels"].index(0.75)
    return [(values[lower], values[upper]) for values in shape["values"]]
