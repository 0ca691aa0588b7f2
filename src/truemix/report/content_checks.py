"""What goes on the page about checks: what failed and where, and the numbers of all groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.estimates.checks import CANNOT_TELL, FAILED, LABEL_SHIFT, NOT_CHECKED, PASSED
from truemix.report.content import MAX_STRIPS

_MAX_CHECKS = 200
# Groups that are named where a check failed.
_MAX_NAMES = 24
_DIGITS = re.compile(r"\d[\d.,e-]*")
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
_MISFIT = "Label shift: the items do not look like a mix of the reference classes."


@dataclass(frozen=True)
class Failure:
    """A check that failed: what it says, and the groups in which it did (names and p-values)."""

    sentence: str
    groups: list[tuple[Any, float | None]]
    n_more: int


@dataclass(frozen=True)
class Checks:
    """What failed and where, what the diagnostics mean, and all of them as numbers."""

    failures: list[Failure]
    n_failed: int
    explained: list[tuple[Any, list[str]]]
    notes: list[str]
    verdict: str
    open: str | None
    header: list[str]
    rows: list[tuple[dict[str, Any], list[Any]]]
    about: str
    off: list[dict[str, Any]]


def checks(groups: Sequence[dict[str, Any]], whole: dict[str, Any] | None) -> Checks:
    """Return the content of the section on checks and diagnostics.

    Parameters
    ----------
    groups : list of dict
        All groups of a summary.
    whole : dict or None
        All of them together.
    """
    detail = groups[-1] if whole is None else whole
    entries = [*([] if whole is None else [whole]), *groups]
    failed = [group for group in groups if group["failed"]]
    header, rows = _diagnostics(groups)
    about = ""
    if len(groups) > _MAX_CHECKS:
        about = f"The first {_MAX_CHECKS} of {len(groups):,} groups, those that failed first."
    explained = [(group["group"], group["failed"]) for group in failed[:_MAX_CHECKS]]
    return Checks(
        failures=_failures(entries),
        n_failed=len(failed),
        explained=explained if len(failed) > 1 else [],
        notes=detail["notes"],
        verdict=_verdict(entries),
        open=_left_open(detail["checks"][LABEL_SHIFT]),
        header=header,
        rows=rows,
        about=about,
        off=_if_it_does_not_fit(detail),
    )


def _failures(entries: Sequence[dict[str, Any]]) -> list[Failure]:
    """Return what failed, each kind of it once."""
    kinds: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for group in entries:
        shift = group["checks"][LABEL_SHIFT]
        for sentence in group["failed"]:
            misfit = sentence == shift["explanation"]
            kind = LABEL_SHIFT if misfit else _DIGITS.sub("#", sentence)
            kinds.setdefault(kind, []).append((group, sentence))
    found = []
    for kind, each in kinds.items():
        sentence = _MISFIT if kind == LABEL_SHIFT and len(each) > 1 else each[0][1]
        if kind != LABEL_SHIFT and len({text for _, text in each}) > 1:
            sentence += " (And the like.)"
        shifts = [group["checks"][LABEL_SHIFT] if kind == LABEL_SHIFT else {} for group, _ in each]
        names = [
            (group["group"], _p_value(shift))
            for (group, _), shift in zip(each, shifts, strict=True)
        ]
        found.append(Failure(sentence, names[:_MAX_NAMES], len(names[_MAX_NAMES:])))
    return found


def _diagnostics(
    groups: Sequence[dict[str, Any]],
) -> tuple[list[str], list[tuple[dict[str, Any], list[Any]]]]:
    """Return the numbers of several groups as a table: its header and its rows."""
    names = [name for name in _CHECKS if any(name in group["diagnostics"] for group in groups)]
    checked = any(group["checks"][LABEL_SHIFT]["checked"] for group in groups)
    if len(groups) == 1 or not (names or checked):
        return [], []
    header = [_CHECKS[name] for name in names]
    # Failed groups first: readers look for them.
    ordered = sorted(groups, key=lambda group: not group["failed"])[:_MAX_CHECKS]
    rows = [(group, [group["diagnostics"].get(name) for name in names]) for group in ordered]
    if checked:
        header.append("Label shift (p)")
        for group, values in rows:
            values.append(_p_value(group["checks"][LABEL_SHIFT]))
    return header, rows


def _verdict(entries: Sequence[dict[str, Any]]) -> str:
    """Return the overall verdict: the worst of any group."""
    if any(group["failed"] for group in entries):
        return FAILED
    found = {group["checks"][LABEL_SHIFT]["verdict"] for group in entries}
    return next((each for each in (NOT_CHECKED, CANNOT_TELL) if each in found), PASSED)


def _left_open(check: dict[str, Any]) -> str | None:
    """Return the explanation where label shift was not checked, or the check was inconclusive."""
    left_open: str = check["explanation"]
    return left_open if check["verdict"] in {NOT_CHECKED, CANNOT_TELL} else None


def _p_value(check: dict[str, Any]) -> float | None:
    adjusted = check.get("adjusted_p_value")
    return check.get("p_value") if adjusted is None else adjusted


def _if_it_does_not_fit(group: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the estimates of a failed check with and without unusual items."""
    check = group["checks"][LABEL_SHIFT]
    if check["verdict"] != FAILED:
        return []
    rows: list[dict[str, Any]] = check["estimates"][:MAX_STRIPS]
    return [*rows, {"class": None, "with_unknown": check["unknown_share"]}]
