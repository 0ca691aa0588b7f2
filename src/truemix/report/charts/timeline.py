"""Shares over groups that follow each other: one panel per class, all on the same axes."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from truemix.estimates.text import shown_name
from truemix.report.charts.forest import middle_half
from truemix.report.charts.scale import MARGIN, Scale, Tick

# Lines and bands are drawn on a sheet of this size, which is stretched to the panel.
SHEET = 1000
# More marks than this would touch each other on a phone, in a wide panel and in small ones.
MAX_DOTS = 40
FEWER_DOTS = 14
MANY = 60
_LONGEST_LABEL = 16
# About as many letters as fit under a panel.
_LETTERS = 40
# With gaps smaller than this part of the mean gap, groups are spaced evenly instead: they could
# not be told apart.
_SMALLEST_GAP = 1 / 20


@dataclass(frozen=True)
class Dot:
    """A mark, in percent of the width and of the height."""

    x: float
    y: float


@dataclass(frozen=True)
class Panel:
    """One class: paths on the sheet, and marks: all if they are few, else the last estimate."""

    number: int
    band: str
    middle: str
    line: str
    counted: str
    dots: list[Dot]
    counted_dots: list[Dot]
    reference: float


@dataclass(frozen=True)
class Timeline:
    """Panels with the same axes.

    ``even`` says that distances along the axis mean nothing, ``many`` that lines must be thin.
    """

    panels: list[Panel]
    rows: list[Tick]
    columns: list[Tick]
    even: bool
    many: bool


def timeline(groups: Sequence[dict[str, Any]], shown: Sequence[int]) -> Timeline:
    """Return the panels of some classes.

    Parameters
    ----------
    groups : list of dict
        Groups of a summary, in order; two at least.
    shown : list of int
        Which classes, as positions in ``classes``.

    Returns
    -------
    Timeline

    Examples
    --------
    >>> def week(number, share):
    ...     entry = {"share": share, "lower": None, "upper": None}
    ...     entry |= {"classify_and_count": 0.1, "reference": 0.2}
    ...     return {"group": number, "classes": [entry], "quantiles": None}
    >>> picture = timeline([week(1, 0.1), week(2, 0.2), week(4, 0.4)], [0])
    >>> [tick.label for tick in picture.columns], [round(dot.x) for dot in picture.panels[0].dots]
    (['1', '2', '4'], [2, 34, 98])
    """
    entries = [[group["classes"][number] for group in groups] for number in shown]
    keys = ("share", "upper", "classify_and_count", "reference")
    reach = max(e[k] for column in entries for e in column for k in keys if e[k] is not None)
    # From the top down, as pictures are measured; room for the highest mark.
    scale = Scale.covering(0.0, max(reach, 0.001), most=4, margin=0.0)
    names = [group["group"] for group in groups]
    # Periods without items take their room on the axis.
    positions = [group.get("position") for group in groups]
    places, even = _places(names if None in positions else positions)
    middles = [middle_half(group) for group in groups]
    marked = len(groups) <= (MAX_DOTS if len(shown) == 1 else FEWER_DOTS)
    panels = [
        _panel(number, column, [m[number] for m in middles], places, scale, marked=marked)
        for number, column in zip(shown, entries, strict=True)
    ]
    rows = [Tick(round(100 - tick.at, 2), tick.label) for tick in scale.ticks()]
    return Timeline(panels, rows, _labels(names, places), even, len(groups) > MANY)


def _panel(
    number: int,
    column: list[dict[str, Any]],
    middles: list[tuple[float, float] | None],
    places: list[float],
    scale: Scale,
    *,
    marked: bool,
) -> Panel:
    def down(share: float) -> float:
        return 100.0 - scale.at(share)

    def dots(key: str) -> list[Dot]:
        pairs = zip(places, column, strict=True)
        return [Dot(round(x, 2), round(down(e[key]), 2)) for x, e in pairs]

    def line(key: str) -> str:
        return path(places, [down(entry[key]) for entry in column])

    bounds = [None if e["lower"] is None else (e["lower"], e["upper"]) for e in column]
    return Panel(
        number=number,
        band=_band(places, bounds, down),
        middle=_band(places, middles, down),
        line=line("share"),
        counted=line("classify_and_count"),
        # The last one always: it is the one that is labelled.
        dots=dots("share") if marked else dots("share")[-1:],
        counted_dots=dots("classify_and_count") if marked else [],
        reference=round(down(column[-1]["reference"]), 2),
    )


def _band(
    places: list[float], bounds: list[tuple[float, float] | None], down: Callable[[float], float]
) -> str:
    """Return the area between lower and upper bounds, or nothing if one of them is not known."""
    known = [pair for pair in bounds if pair is not None]
    if len(known) < len(bounds):
        return ""
    across = [*places, *reversed(places)]
    along = [down(upper) for _, upper in known] + [down(lower) for lower, _ in reversed(known)]
    return path(across, along) + "z"


def path(across: Sequence[float], along: Sequence[float]) -> str:
    """Return a line through points in percent, on the sheet, in steps of whole numbers.

    Examples
    --------
    >>> path([0, 50, 100], [10, 10.04, 0])
    'M0 100l500 0 500-100'
    """
    x = [round(SHEET / 100 * value) for value in across]
    y = [round(SHEET / 100 * value) for value in along]
    steps = [
        f"{x[i] - x[i - 1]}{'' if y[i] < y[i - 1] else ' '}{y[i] - y[i - 1]}"
        for i in range(1, len(x))
    ]
    return f"M{x[0]} {y[0]}l" + " ".join(steps)


def _places(names: list[Any]) -> tuple[list[float], bool]:
    """Return positions in percent: true to numbers and dates, else evenly spaced."""
    values = _as_numbers(names)
    even = values is None
    if values is not None:
        total = values[-1] - values[0]
        gaps = [after - before for before, after in itertools.pairwise(values)]
        even = min(gaps) <= _SMALLEST_GAP * total / len(gaps)
    if values is None or even:
        values = [float(number) for number in range(len(names))]
    low, total = values[0], values[-1] - values[0]
    return [MARGIN + (100 - 2 * MARGIN) * (value - low) / total for value in values], even


def _as_numbers(names: list[Any]) -> list[float] | None:
    """Return numbers and ISO dates as numbers that can be measured with."""
    if all(isinstance(name, int | float) and not isinstance(name, bool) for name in names):
        return [float(name) for name in names]
    try:
        times = [datetime.datetime.fromisoformat(name).replace(tzinfo=None) for name in names]
    except (TypeError, ValueError):
        return None
    # Not timestamps: those depend on the time zone of the machine.
    return [(time - times[0]).total_seconds() for time in times]


def _labels(names: list[Any], places: list[float]) -> list[Tick]:
    """Return as many labels as fit, the first and the last among them."""
    texts = [shown_name(name, _LONGEST_LABEL) for name in names]
    room = 100.0 * (max(map(len, texts)) + 2) / _LETTERS
    last = len(names) - 1
    # The most labels that are spread evenly and leave each other room.
    choices = (_spread(places, most, room) for most in range(min(6, len(names)), 2, -1))
    between = next((chosen for chosen in choices if chosen), [])
    anchors = {0: "start", last: "end"}
    return [
        Tick(round(places[number], 2), texts[number], anchors.get(number, "middle"))
        for number in [0, *between, last]
    ]


def _spread(places: list[float], most: int, room: float) -> list[int]:
    """Return which places get a label between the first and the last; none if they do not fit."""
    targets = [MARGIN + (100 - 2 * MARGIN) * number / (most - 1) for number in range(1, most - 1)]
    last = len(places) - 1
    chosen = [min(range(1, last), key=lambda i: abs(places[i] - at)) for at in targets]
    # Labels at the ends stay inside, so they reach further into the axis than half of them.
    ends = [places[0] + 0.5 * room, *(places[i] for i in chosen), places[last] - 0.5 * room]
    fits = all(after - before >= room for before, after in itertools.pairwise(ends))
    return chosen if fits else []
