"""What goes on the page for many groups: panels over time or tables side by side, and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.estimates.checks import CANNOT_TELL, FAILED, LABEL_SHIFT, NOT_CHECKED, PASSED
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
# Tables side by side that are seen without opening them.
_OPEN_ROWS = 60
_MAX_CHECKS = 200
_MAX_FAILURES = 12
# Diagnostics that fit a column: what they are called there.
_CHECKS = {
    "ess": "Effective draws",
    "rhat": "R-hat",
    "divergences": "Divergences",
    "gap": "Duality gap",
    "iterations": "Iterations",
    "residual": "Residual",
    "condition": "Condition",
}


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


def over_time(groups: Sequence[dict[str, Any]]) -> OverTime:
    """Return the panels of groups that follow each other."""
    about = []
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
        picture=timeline(drawn, shown),
        groups=drawn,
        numbers=numbers,
        has_interval=any(entry["lower"] is not None for entry in entries),
        has_increase=any(entry["prob_increase"] is not None for entry in entries),
        about=about,
    )


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


@dataclass(frozen=True)
class Checks:
    """What failed and where, what the last group's diagnostics mean, and all of them as numbers."""

    failed: list[tuple[Any, list[str]]]
    more_failed: int
    notes: list[str]
    verdict: str
    open: str | None
    header: list[str]
    rows: list[tuple[dict[str, Any], list[Any]]]
    about: str
    off: list[dict[str, Any]]


def checks(groups: Sequence[dict[str, Any]]) -> Checks:
    """Return the content of the section on checks and diagnostics."""
    failed = [(group["group"], group["failed"]) for group in groups if group["failed"]]
    names = [name for name in _CHECKS if any(name in group["diagnostics"] for group in groups)]
    header = [_CHECKS[name] for name in names]
    rows, about = [], ""
    if len(groups) > 1 and names:
        # Failed groups first: readers look for them.
        ordered = sorted(groups, key=lambda group: not group["failed"])[:_MAX_CHECKS]
        rows = [(group, [group["diagnostics"].get(name) for name in names]) for group in ordered]
        if any(group["checks"][LABEL_SHIFT]["checked"] for group in groups):
            header.append("Label shift (p)")
            for group, values in rows:
                values.append(_p_value(group["checks"][LABEL_SHIFT]))
        if len(groups) > _MAX_CHECKS:
            about = f"The first {_MAX_CHECKS} of {len(groups):,} groups, those that failed first."
    return Checks(
        failed=failed[:_MAX_FAILURES],
        more_failed=max(0, len(failed) - _MAX_FAILURES),
        notes=groups[-1]["notes"],
        verdict=_verdict(groups),
        open=_left_open(groups[-1]["checks"][LABEL_SHIFT]),
        header=header,
        rows=rows,
        about=about,
        off=_if_it_does_not_fit(groups),
    )


def _verdict(groups: Sequence[dict[str, Any]]) -> str:
    """Return the overall verdict: the worst of any group."""
    if any(group["failed"] for group in groups):
        return FAILED
    found = {group["checks"][LABEL_SHIFT]["verdict"] for group in groups}
    return next((each for each in (NOT_CHECKED, CANNOT_TELL) if each in found), PASSED)


def _left_open(check: dict[str, Any]) -> str | None:
    """Return the explanation where label shift was not checked, or the check was inconclusive."""
    left_open: str = check["explanation"]
    return left_open if check["verdict"] in {NOT_CHECKED, CANNOT_TELL} else None


def _p_value(check: dict[str, Any]) -> float | None:
    adjusted = check.get("adjusted_p_value")
    return check.get("p_value") if adjusted is None else adjusted


def _if_it_does_not_fit(groups: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the estimates of a failed check with and without unusual items, for one batch."""
    check = groups[-1]["checks"][LABEL_SHIFT]
    if len(groups) > 1 or check["verdict"] != FAILED:
        return []
    rows: list[dict[str, Any]] = check["estimates"][:MAX_STRIPS]
    return [*rows, {"class": None, "with_unknown": check["unknown_share"]}]
