"""Shares over groups that follow each other: one panel per class, on common axes or its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from truemix.report.charts.forest import middle_half
from truemix.report.charts.lines import Dot, path, runs
from truemix.report.charts.scale import Scale, Tick
from truemix.report.charts.time_axis import Spot, columns_of, labels, places_of, spots

# More marks than this would touch each other on a phone, in a wide panel and in small ones.
MAX_DOTS = 40
FEWER_DOTS = 14
MANY = 60
# Where readers choose a group to see its numbers: more would make the page large.
MAX_SPOTS = 1200
# A panel whose values reach less than this part of the common axis has a switch to its own; far
# below it, that is how panels are drawn at first.
_SMALL, _TINY = 0.4, 0.12
# Half the width of a band around a single group, as part of the mean distance of groups.
_HALF_BAND = 0.18

# A group of a summary, or None where the order of groups says that one is missing.
Slots: TypeAlias = Sequence[dict[str, Any] | None]


@dataclass(frozen=True)
class Doubt:
    """A group that failed a check: where its estimate is, and the range of other answers."""

    x: float
    y: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Panel:
    """One class: paths on the sheet, and marks: all if they are few, else the last estimate.

    ``own`` are the rows of its own axis, which is ``factor`` times as large as the common one;
    ``beyond`` says that the reference is beyond its end.
    """

    number: int
    band: str
    middle: str
    line: str
    counted: str
    dots: list[Dot]
    counted_dots: list[Dot]
    doubts: list[Doubt]
    reference: float
    own: list[Tick]
    factor: float
    beyond: bool


@dataclass(frozen=True)
class Timeline:
    """Panels with the same axes.

    ``even`` says that distances along the axis mean nothing, ``many`` that lines must be thin,
    ``failed`` which parts of the width belong to groups that failed a check and ``missing`` which
    to groups that are missing. ``switch`` says whether panels can be drawn on axes of their own,
    and ``apart`` whether they are at first.
    """

    panels: list[Panel]
    rows: list[Tick]
    columns: list[Tick]
    spots: list[Spot]
    failed: list[tuple[float, float]]
    missing: list[tuple[float, float]]
    even: bool
    many: bool
    switch: bool
    apart: bool


def timeline(slots: Slots, shown: Sequence[int]) -> Timeline:
    """Return the panels of some classes.

    Parameters
    ----------
    slots : list of dict or None
        Groups of a summary, in order, the first and the last of which are there; None stands for
        one that is missing.
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
    ...     return {"group": number, "classes": [entry], "quantiles": None, "failed": [],
    ...             "range": None}
    >>> picture = timeline([week(1, 0.1), week(2, 0.2), None, week(4, 0.4)], [0])
    >>> [tick.label for tick in picture.columns], [round(dot.x) for dot in picture.panels[0].dots]
    (['1', '2', '4'], [2, 34, 98])
    >>> picture.missing
    [(50.0, 32.0)]
    """
    groups = [group for group in slots if group is not None]
    found = [slot for slot, group in enumerate(slots) if group is not None]
    places, even = places_of([None if group is None else group["group"] for group in slots])
    scales = [_own_scale(groups, number) for number in shown]
    common = _scale(groups, shown)
    marked = len(groups) <= (MAX_DOTS if len(shown) == 1 else FEWER_DOTS)
    frame = _Frame(slots, places, common, marked)
    panels = [frame.panel(number, own) for number, own in zip(shown, scales, strict=True)]
    reach = min(scale.high for scale in scales) / common.high
    across = [places[slot] for slot in found]
    return Timeline(
        panels=panels,
        rows=_rows(common),
        columns=labels([group["group"] for group in groups], across),
        spots=spots(across) if len(groups) * len(shown) <= MAX_SPOTS else [],
        failed=columns_of(places, [bool(group and group["failed"]) for group in slots]),
        missing=columns_of(places, [group is None for group in slots]),
        even=even,
        many=len(groups) > MANY,
        switch=len(shown) > 1 and reach <= _SMALL,
        apart=len(shown) > 1 and reach <= _TINY,
    )


def _scale(groups: Sequence[dict[str, Any]], shown: Sequence[int]) -> Scale:
    """Return an axis that holds all numbers of some classes, from the bottom up."""
    keys = ("share", "upper", "classify_and_count", "reference")
    entries = [group["classes"][number] for group in groups for number in shown]
    values = [entry[key] for entry in entries for key in keys]
    ranges = [group["range"] for group in groups if group["range"]]
    values += [bounds[number]["upper"] for bounds in ranges for number in shown]
    reach = max(value for value in values if value is not None)
    return Scale.covering(0.0, max(reach, 0.001), most=4, margin=0.0)


def _own_scale(groups: Sequence[dict[str, Any]], number: int) -> Scale:
    """Return an axis for the estimates and counts of one class; all else may be beyond it."""
    entries = [(group["classes"][number], group["failed"]) for group in groups]
    values = [entry[key] for entry, _ in entries for key in ("share", "classify_and_count")]
    values += [entry["upper"] for entry, failed in entries if entry["upper"] and not failed]
    return Scale.covering(0.0, max(*values, 0.001), most=4, margin=0.0)


def _rows(scale: Scale) -> list[Tick]:
    """Return the ticks of an axis from the top down, as pictures are measured."""
    return [Tick(round(100 - tick.at, 2), tick.label) for tick in scale.ticks()]


@dataclass(frozen=True)
class _Frame:
    """What all panels have in common."""

    slots: Slots
    places: list[float]
    scale: Scale
    marked: bool

    def down(self, share: float) -> float:
        """Return where a share is, in percent of the height."""
        return 100.0 - self.scale.at(share)

    def panel(self, number: int, own: Scale) -> Panel:
        """Return the panel of one class."""
        column = [None if group is None else group["classes"][number] for group in self.slots]
        # A band would promise what a failed check denies.
        sound = [None if group is None or group["failed"] else group for group in self.slots]
        bounds = [
            None if group is None or group["classes"][number]["lower"] is None
            else (group["classes"][number]["lower"], group["classes"][number]["upper"])
            for group in sound
        ]  # fmt: skip
        middles = [None if group is None else middle_half(group)[number] for group in sound]
        kept = [entry if group else None for entry, group in zip(column, sound, strict=True)]
        known = [entry for entry in column if entry is not None]
        shown = kept if self.marked else [None] * (len(kept) - 1) + kept[-1:]
        return Panel(
            number=number,
            band=self.band(bounds),
            middle=self.band(middles),
            line=self.line(kept, "share"),
            counted=self.line(column, "classify_and_count"),
            # The last one always: it is the one that is labelled.
            dots=self.dots(shown, "share"),
            counted_dots=self.dots(column, "classify_and_count") if self.marked else [],
            doubts=self.doubts(number),
            reference=round(self.down(known[-1]["reference"]), 2),
            beyond=known[-1]["reference"] > own.high,
            own=_rows(own),
            factor=round(self.scale.high / own.high, 6),
        )

    def dots(self, column: Slots, key: str) -> list[Dot]:
        """Return marks."""
        return [
            Dot(round(x, 2), round(self.down(entry[key]), 2))
            for x, entry in zip(self.places, column, strict=True)
            if entry is not None
        ]

    def doubts(self, number: int) -> list[Doubt]:
        """Return the marks of groups that failed a check."""
        marks = []
        for x, group in zip(self.places, self.slots, strict=True):
            if group is None or not group["failed"]:
                continue
            bounds = group["range"][number] if group["range"] else None
            y = round(self.down(group["classes"][number]["share"]), 2)
            # Without a range, its ends are the estimate.
            top, bottom = (
                y if bounds is None else round(self.down(bounds[key]), 2)
                for key in ("upper", "lower")
            )
            marks.append(Doubt(round(x, 2), y, top, bottom))
        return marks

    def line(self, column: Slots, key: str) -> str:
        """Return a line through the groups that are there."""
        return "".join(
            path(
                [self.places[slot] for slot in run],
                [self.down(entry[key]) for slot in run if (entry := column[slot]) is not None],
            )
            for run in runs(column)
        )

    def band(self, bounds: Sequence[tuple[float, float] | None]) -> str:
        """Return the areas between lower and upper bounds, where these are known."""
        return "".join(self._area(run, bounds) for run in runs(bounds))

    def _area(self, run: list[int], bounds: Sequence[tuple[float, float] | None]) -> str:
        pairs = [pair for slot in run if (pair := bounds[slot]) is not None]
        across = [self.places[slot] for slot in run]
        if len(run) == 1:
            half = _HALF_BAND * (self.places[-1] - self.places[0]) / (len(self.places) - 1)
            across, pairs = [across[0] - half, across[0] + half], pairs * 2
        along = [self.down(upper) for _, upper in pairs]
        along += [self.down(lower) for lower, _ in reversed(pairs)]
        return path([*across, *reversed(across)], along) + "z"
