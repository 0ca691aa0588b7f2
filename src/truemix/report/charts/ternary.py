"""All mixes of three classes as a triangle, or the part of it where something is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates.text import percent
from truemix.report.charts.scale import digits_of, round_step
from truemix.simplex import TERNARY_HEIGHT, ternary_coordinates, ternary_line

WIDTH = 360
_SIDE = 260.0
_LEFT, _TOP = 50.0, 34.0
_HIGH = _SIDE * TERNARY_HEIGHT


@dataclass(frozen=True)
class Point:
    """A place in the picture."""

    x: float
    y: float


@dataclass(frozen=True)
class GridLine:
    """A line of equal share of one class, and its label beside the triangle."""

    start: Point
    end: Point
    label: str
    at: Point
    anchor: str


@dataclass(frozen=True)
class Ternary:
    """Corners (left, right, top), lines, draws, and the three mixes.

    ``smallest`` are the least shares in the picture, with as many ``digits`` as they need.
    """

    corners: list[Point]
    grid: list[GridLine]
    dots: list[Point]
    estimate: Point
    counted: Point
    reference: Point
    whole: bool
    smallest: list[float]
    digits: int


def ternary(classes: Sequence[dict[str, Any]], draws: list[list[float]]) -> Ternary:
    """Return the triangle of three classes: the first on the left, then right, then top.

    Parameters
    ----------
    classes : list of dict
        Three classes of a summary.
    draws : list of three floats each
        Mixes drawn from the posterior.

    Returns
    -------
    Ternary
        Zoomed to the smallest triangle with sides along the grid that holds all of it.

    Examples
    --------
    >>> classes = [{"share": s, "classify_and_count": s, "reference": s} for s in (0.2, 0.2, 0.6)]
    >>> picture = ternary(classes, [[0.2, 0.2, 0.6]])
    >>> picture.estimate.x == WIDTH / 2
    True
    """
    marks = np.array(
        [[entry[key] for entry in classes] for key in ("share", "classify_and_count", "reference")]
    )
    shown = np.concatenate([marks, np.array(draws, dtype=float).reshape(-1, 3)])
    step, smallest = _zoom(shown)
    size = 1.0 - smallest.sum()
    local = (shown - smallest) / size
    places = [_place(row) for row in local]
    grid = [line for k in range(3) for line in _grid_lines(k, float(smallest[k]), size, step)]
    return Ternary(
        corners=[_place(row) for row in np.eye(3)],
        grid=grid,
        dots=places[3:],
        estimate=places[0],
        counted=places[1],
        reference=places[2],
        whole=not smallest.any(),
        smallest=smallest.round(6).tolist(),
        digits=digits_of(step),
    )


def _zoom(shown: FloatArray) -> tuple[float, FloatArray]:
    """Return the grid's step and the smallest share of each class in the picture."""
    size = max(1.0 - float(shown.min(axis=0).sum()), 0.01)
    step = 0.25 if size > 0.6 else round_step(1.15 * size, 5)
    if size > 0.6:
        return step, np.zeros(3)
    # A little below the smallest value, so that no mark is on the edge.
    low = np.maximum(shown.min(axis=0) - 0.05 * size, 0.0)
    return step, np.floor(low / step + 1e-9) * step


def _place(local: FloatArray) -> Point:
    x, y = (_SIDE * ternary_coordinates(local)).tolist()
    return Point(round(_LEFT + x, 1), round(_TOP + _HIGH - y, 1))


def _grid_lines(k: int, low: float, size: float, step: float) -> list[GridLine]:
    """Return the lines on which class ``k`` has a round share, with labels at their starts."""
    digits = digits_of(step)
    lines = []
    for count in range(1, round(size / step)):
        start, end = (_place(row) for row in ternary_line(k, count * step / size))
        dx, dy, anchor = ((-7, 4, "end"), (0, 17, "middle"), (7, 4, "start"))[k]
        label = percent(low + count * step, digits)
        lines.append(GridLine(start, end, label, Point(start.x + dx, start.y + dy), anchor))
    return lines
