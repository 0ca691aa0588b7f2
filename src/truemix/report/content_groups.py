"""What goes on the page for many groups: panels over time or tables side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.estimates.text import percent
from truemix.report.charts.timeline import Timeline, timeline
from truemix.report.content import MAX_STRIPS, MixTable, digits_for, group_table
from truemix.report.sentences import subject

# Panels, and groups in them, that keep the page readable and small.
MAX_PANELS = 30
FEWER_PANELS = 12
MANY_GROUPS = 500
MAX_GROUPS = 1000
# Rows of numbers, over all classes.
MAX_ROWS = 6000
# Places on the axis for periods without items: more of them in a row are drawn as so many.
_LONGEST_GAP = 60
# Tables side by side that are seen without opening them.
_OPEN_ROWS = 60


@dataclass(frozen=True)
class Numbers:
    """The numbers behind one panel."""

    number: int
    rows: list[tuple[dict[str, Any], dict[str, Any]]]
    digits: int


@dataclass(frozen=True)
class OverTime:
    """Panels, their numbers, and notes about classes and groups that are left out."""

    picture: Timeline
    groups: list[dict[str, Any]]
    numbers: list[Numbers]
    has_interval: bool
    has_increase: bool
    about: list[str]
    has_failed: bool
    gaps: dict[int, dict[str, Any]]
    first: int


def over_time(groups: Sequence[dict[str, Any]], gaps: Sequence[dict[str, Any]] = ()) -> OverTime:
    """Return the panels of groups that follow each other.

    Parameters
    ----------
    groups : list of dict
        Groups of a summary.
    gaps : list of dict
        Periods without items: how many (``n_periods``), ``after`` which group (its number), and the
        names of the ``first`` and the ``last``.
    """
    about = []
    if gaps:
        about.append("Periods without items are left empty.")
    drawn = list(groups[-MAX_GROUPS:])
    if len(drawn) < len(groups):
        about.append(f"Drawn are the last {MAX_GROUPS:,} of {len(groups):,} groups.")
    shown, left_out = _classes_shown(drawn)
    about += left_out
    per_class = max(2, MAX_ROWS // len(shown))
    tabled = list(groups[-per_class:])
    if len(tabled) < len(groups):
        about.append(
            f"The tables hold the last {len(tabled):,} of {len(groups):,} groups; all of them are "
            "in the CSV and JSON output."
        )
    numbers = [
        Numbers(k, rows, digits_for([entry for _, entry in rows]))
        for k in shown
        for rows in [[(group, group["classes"][k]) for group in tabled]]
    ]
    entries = [entry for part in numbers for _, entry in part.rows]
    return OverTime(
        picture=timeline(_slots(drawn, gaps, len(groups) - len(drawn)), shown),
        groups=drawn,
        numbers=numbers,
        has_interval=any(entry["lower"] is not None for entry in entries),
        has_increase=any(entry["prob_increase"] is not None for entry in entries),
        about=about,
        has_failed=any(group["failed"] for group in drawn),
        gaps={gap["after"]: gap for gap in gaps},
        first=len(groups) - len(tabled),
    )


def _slots(
    groups: Sequence[dict[str, Any]], gaps: Sequence[dict[str, Any]], n_before: int
) -> list[dict[str, Any] | None]:
    """Return groups with None where the order says that some are missing."""
    missing = {gap["after"] - n_before: min(gap["n_periods"], _LONGEST_GAP) for gap in gaps}
    slots: list[dict[str, Any] | None] = []
    for number, group in enumerate(groups):
        slots += [group, *[None] * missing.get(number, 0)]
    return slots


def _classes_shown(groups: Sequence[dict[str, Any]]) -> tuple[list[int], list[str]]:
    """Return which classes get a panel, and a note about the others."""
    classes = groups[-1]["classes"]
    K = len(classes)
    if K == 2:
        main = classes.index(subject(classes))
        return [main], []
    most = MAX_PANELS if len(groups) <= MANY_GROUPS else FEWER_PANELS
    if most >= K:
        return list(range(K)), []
    peaks = [max(group["classes"][k]["share"] for group in groups) for k in range(K)]
    order = sorted(range(K), key=lambda k: -peaks[k])
    highest = percent(peaks[order[most]])
    return order[:most], [
        f"Shown are the {most} classes with the largest share in any group; the other "
        f"{K - most} never exceed {highest}."
    ]


@dataclass(frozen=True)
class SideBySide:
    """Tables of groups that have no order, one per class, the class that differs most first."""

    tables: list[tuple[int, MixTable]]
    n_open: int
    about: list[str]


def side_by_side(groups: Sequence[dict[str, Any]]) -> SideBySide:
    """Return the tables of groups without an order."""
    classes = groups[-1]["classes"]
    K = len(classes)

    def differs(k: int) -> float:
        shares = [group["classes"][k]["share"] for group in groups]
        return float(max(shares) - min(shares))

    order = [classes.index(subject(classes))] if K == 2 else sorted(range(K), key=differs)[::-1]
    most = max(1, MAX_STRIPS // min(len(groups), MAX_STRIPS))
    about = []
    if len(order) > most:
        about.append(f"Shown are the {most} of {K} classes that differ most between groups.")
        order = order[:most]
    tables = [(k, group_table(groups, k, MAX_STRIPS)) for k in order]
    n_open = max(1, _OPEN_ROWS // min(len(groups), _OPEN_ROWS))
    return SideBySide(tables, n_open, about)
