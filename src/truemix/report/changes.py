"""What changed between groups: from the first to the last of them, and the largest move of all.

Both compare posteriors in pairs, by replicate where that is possible, through
:meth:`truemix.Estimate.compare`. Groups that failed a check are not compared: their shares may be
wrong in ways that no interval shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates import Estimate
from truemix.estimates.comparison import Comparison
from truemix.report.plain import plain_name


class Named(NamedTuple):
    """A group: its name and its estimate."""

    name: Any
    estimate: Estimate


@dataclass(frozen=True)
class _Move:
    """A class and the two groups between which it moved."""

    number: int
    before: Named
    now: Named


def change_of(groups: Sequence[Named], level: float) -> dict[str, Any] | None:
    """Return what changed from the first to the last of some groups, class by class.

    Parameters
    ----------
    groups : sequence of Named
        In order, without those that failed a check.
    level : float
        Level of the intervals.

    Returns
    -------
    dict or None
        ``from`` and ``to`` are names of groups; ``classes`` has ``before``, ``now``,
        ``difference``, its interval (``lower``, ``upper``) and ``prob_increase`` of each class, all
        of the source of the items (population). None of fewer than two groups.
    """
    if len(groups) < 2:
        return None
    before, now = groups[0], groups[-1]
    found = compared(now, before, level)
    return {**_ends(before, now), "paired": found.paired, "classes": _by_class(found)}


def largest_move(groups: Sequence[Named], level: float, *, ordered: bool) -> dict[str, Any] | None:
    """Return where the shares of a class differ most between any two groups.

    Parameters
    ----------
    groups : sequence of Named
        Without those that failed a check.
    level : float
        Level of the interval.
    ordered : bool
        Whether groups follow each other; otherwise the move goes from the smaller share to the
        larger one.

    Returns
    -------
    dict or None
        ``from``, ``to`` and one class as in :func:`change_of`, with ``among``, the number of moves
        that it was chosen from, and ``chosen_lower`` and ``chosen_upper``, an interval that allows
        for the choice (Bonferroni). None of fewer than two groups.

    Notes
    -----
    With intervals, the move is the one whose intervals are farthest apart: the farthest shares
    alone would be those of the smallest groups.
    """
    if len(groups) < 2:
        return None
    move = _farthest(groups, level, ordered=ordered)
    n_classes, n_groups = len(move.now.estimate.classes), len(groups)
    # Of two classes one is the mirror image of the other.
    among = (1 if n_classes == 2 else n_classes) * n_groups * (n_groups - 1) // 2
    found = compared(move.now, move.before, level)
    allowing = compared(move.now, move.before, 1.0 - (1.0 - level) / among).interval
    chosen = (None, None) if allowing is None else allowing[move.number].tolist()
    return {
        **_ends(move.before, move.now),
        "paired": found.paired,
        **_by_class(found)[move.number],
        "among": among,
        "chosen_lower": chosen[0],
        "chosen_upper": chosen[1],
    }


def compared(now: Named, before: Named, level: float) -> Comparison:
    """Return the change between two groups; without draws of their sources, that of the shares."""
    new, old = now.estimate, before.estimate
    if new.draws_of("population") is None or old.draws_of("population") is None:
        new, old = _without_draws(new), _without_draws(old)
    return new.compare(old, level)


def _without_draws(estimate: Estimate) -> Estimate:
    return replace(estimate, draws=None, other_draws=None, origin=None)


def _farthest(groups: Sequence[Named], level: float, *, ordered: bool) -> _Move:
    """Return the move whose intervals (or, without draws, shares) are farthest apart."""
    bounds = np.array([_bounds(each.estimate, level) for each in groups])
    lower, upper = bounds[:, :, 0], bounds[:, :, 1]
    high, low = lower.argmax(axis=0), upper.argmin(axis=0)
    apart = lower.max(axis=0) - upper.min(axis=0)
    number = 1 if len(apart) == 2 else int(apart.argmax())
    ends = [int(low[number]), int(high[number])]
    if ends[0] == ends[1]:
        # One interval holds all others; any other group will do.
        ends[0] = int(upper[:, number].argsort()[1])
    if ordered:
        ends.sort()
    return _Move(number, groups[ends[0]], groups[ends[1]])


def _bounds(estimate: Estimate, level: float) -> FloatArray:
    if estimate.draws is None:
        return np.stack([estimate.prevalence, estimate.prevalence], axis=1)
    return estimate.interval(level)


def _ends(before: Named, now: Named) -> dict[str, Any]:
    return {"from": plain_name(before.name), "to": plain_name(now.name)}


def _by_class(found: Comparison) -> list[dict[str, Any]]:
    missing: list[None] = [None] * len(found.classes)
    increase = missing if found.prob_increase is None else found.prob_increase.tolist()
    bounds = [(None, None)] * len(missing) if found.interval is None else found.interval.tolist()
    columns = {
        "class": [plain_name(label) for label in found.classes.tolist()],
        "before": found.before.tolist(),
        "now": found.now.tolist(),
        "difference": found.difference.tolist(),
        "lower": [lower for lower, _ in bounds],
        "upper": [upper for _, upper in bounds],
        "prob_increase": increase,
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
