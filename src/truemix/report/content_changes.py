"""What goes on the page about changes: a table of all classes, and the largest move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.report.charts.differences import Difference, Differences, differences
from truemix.report.content import MAX_IN_ORDER, MAX_STRIPS

# Rows that are seen without opening the rest.
_MAX_ROWS = 12


@dataclass(frozen=True)
class Changes:
    """Rows of classes that are seen and folded away, and how many are left out."""

    picture: Differences
    rows: list[tuple[dict[str, Any], Difference]]
    folded: list[tuple[dict[str, Any], Difference]]
    has_interval: bool
    n_left_out: int


def changes(change: dict[str, Any] | None) -> Changes | None:
    """Return the table of what changed from the first group to the last, if that is known."""
    if change is None:
        return None
    entries: Sequence[dict[str, Any]] = change["classes"]
    if len(entries) == 2:
        # The other one is its mirror image.
        entries = entries[1:]
    elif len(entries) > MAX_IN_ORDER:
        entries = sorted(entries, key=lambda entry: -abs(entry["difference"]))
    shown = entries[:MAX_STRIPS]
    picture = differences(shown)
    rows = list(zip(shown, picture.lines, strict=True))
    seen = _MAX_ROWS if len(rows) > _MAX_ROWS + 3 else len(rows)
    return Changes(
        picture=picture,
        rows=rows[:seen],
        folded=rows[seen:],
        has_interval=entries[0]["lower"] is not None,
        n_left_out=len(entries) - len(shown),
    )
