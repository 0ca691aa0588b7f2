"""Where groups that follow each other are on an axis, what stands below, and where they begin."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix.estimates.text import shown_name
from truemix.report.charts.lines import runs
from truemix.report.charts.scale import MARGIN, Tick

_LONGEST_LABEL = 16
# About as many letters as fit under a panel.
_LETTERS = 40
# With gaps smaller than this part of the mean gap, groups are spaced evenly instead: they could
# not be told apart.
_SMALLEST_GAP = 1 / 20


@dataclass(frozen=True)
class Spot:
    """Where a group is chosen: the part of the width that is its own, and its place in that."""

    number: int
    start: float
    width: float
    at: float
    side: str


def places_of(names: Sequence[Any]) -> tuple[list[float], bool]:
    """Return positions in percent: true to numbers and dates, else evenly spaced.

    Parameters
    ----------
    names : sequence
        Names of groups, None for those that are missing.

    Returns
    -------
    places : list of float
        Missing groups are evenly between their neighbours.
    even : bool
        Whether distances mean nothing.

    Examples
    --------
    >>> places_of([1, None, 4, 5]), places_of(["a", "b"])[1]
    (([2.0, 38.0, 74.0, 98.0], False), True)
    """
    known = [slot for slot, name in enumerate(names) if name is not None]
    values = _as_numbers([names[slot] for slot in known])
    even = values is None or len(values) < 2
    if values is not None and not even:
        gaps = np.diff(values)
        even = bool(gaps.min() <= _SMALLEST_GAP * gaps.mean())
    if values is None or even:
        values = [float(slot) for slot in known]
    along = np.interp(np.arange(len(names)), known, values)
    total = along[-1] - along[0]
    part = (along - along[0]) / (total if total > 0 else 1.0)
    places: list[float] = (MARGIN + (100.0 - 2.0 * MARGIN) * part).tolist()
    return places, even


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


def _edges(places: list[float]) -> list[float]:
    """Return the borders between neighbours, and the ends of the axis."""
    return [0.0, *((a + b) / 2 for a, b in itertools.pairwise(places)), 100.0]


def spots(places: list[float]) -> list[Spot]:
    """Return the parts of the width at which groups are chosen."""
    edges = _edges(places)
    spots = []
    for number, (at, start, end) in enumerate(zip(places, edges, edges[1:], strict=False)):
        side = "l" if at < 35 else "r" if at > 65 else "m"
        within = round(100 * (at - start) / (end - start), 1)
        spots.append(Spot(number, round(start, 2), round(end - start, 2), within, side))
    return spots


def columns_of(places: list[float], chosen: Sequence[bool]) -> list[tuple[float, float]]:
    """Return start and width of the parts of the axis that belong to the chosen slots."""
    edges = _edges(places)
    ends = [(edges[run[0]], edges[run[-1] + 1]) for run in runs([each or None for each in chosen])]
    return [(round(start, 2), round(end - start, 2)) for start, end in ends]


def labels(names: list[Any], places: list[float]) -> list[Tick]:
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
