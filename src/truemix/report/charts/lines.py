"""Lines on a sheet: marks, paths, and which of them belong together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Lines and bands are drawn on a sheet of this size, which is stretched to the panel.
SHEET = 1000


@dataclass(frozen=True)
class Dot:
    """A mark, in percent of the width and of the height."""

    x: float
    y: float


def path(across: Sequence[float], along: Sequence[float]) -> str:
    """Return a line through points in percent, on the sheet, in steps of whole numbers.

    Examples
    --------
    >>> path([0, 50, 100], [10, 10.04, 0])
    'M0 100l500 0 500-100'
    >>> path([50], [10])
    'M500 100h0'
    """
    x = [round(SHEET / 100 * value) for value in across]
    y = [round(SHEET / 100 * value) for value in along]
    if len(x) == 1:
        # Of no length, it is drawn as a dot.
        return f"M{x[0]} {y[0]}h0"
    steps = [
        f"{x[i] - x[i - 1]}{'' if y[i] < y[i - 1] else ' '}{y[i] - y[i - 1]}"
        for i in range(1, len(x))
    ]
    return f"M{x[0]} {y[0]}l" + " ".join(steps)


def runs(column: Sequence[Any]) -> list[list[int]]:
    """Return the places of what is there, neighbours together.

    Examples
    --------
    >>> runs(["a", None, "b", "c"])
    [[0], [2, 3]]
    """
    runs = itertools.groupby(range(len(column)), key=lambda slot: column[slot] is not None)
    return [list(slots) for is_there, slots in runs if is_there]
