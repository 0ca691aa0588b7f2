"""What changed between groups: one with another, the last with the first, each with the next."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from truemix._optional import require
from truemix.estimates.comparison import Comparison, compare
from truemix.estimates.names import plain_name
from truemix.exceptions import InputError
from truemix.validation import shown, shown_list

if TYPE_CHECKING:
    import pandas as pd

    from truemix.estimates.estimate import Estimate
    from truemix.estimates.estimate_set import EstimateSet


def change_between(
    estimates: EstimateSet, groups: tuple[Hashable, ...], level: float
) -> Comparison:
    """Return what changed; see :meth:`truemix.EstimateSet.compare`."""
    if len(groups) not in (0, 2):
        raise InputError(
            f"compare got {len(groups)} group{'s' * (len(groups) != 1)}; expected two, the later "
            "one first, or none for the last against the first."
        )
    if not groups:
        check_sequential(estimates, "compare() without groups", whole=True)
        names = list(estimates)
        groups = names[-1], names[0]
    now, before = (group_of(estimates, group) for group in groups)
    return compare(now, before, level)


def changes_frame(estimates: EstimateSet, level: float) -> pd.DataFrame:
    """Return each step as rows of a table; see :meth:`truemix.EstimateSet.changes`."""
    require("pandas", "EstimateSet.changes()")
    import pandas as pd

    check_sequential(estimates, "changes()")
    parts, names = [], list(estimates)
    for place, last in enumerate(estimates.order.follows):
        if last is None:
            continue
        group, earlier = names[place], names[last]
        part = compare(estimates[group], estimates[earlier], level).frame().reset_index()
        part.insert(0, "before_group", [earlier] * len(part))
        part.insert(0, "group", [group] * len(part))
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def group_of(estimates: EstimateSet, group: Any) -> Estimate:
    """Return the estimate of a group, or raise with the groups that there are."""
    try:
        return estimates[group]
    except (KeyError, TypeError):
        names = [plain_name(each) for each in estimates]
        raise InputError(
            f"There is no group {shown(plain_name(group))}; the groups are {shown_list(names)}."
        ) from None


def check_sequential(estimates: EstimateSet, what: str, *, whole: bool = False) -> None:
    """Raise unless groups follow each other: some of them, or with ``whole`` all one by one."""
    if len(estimates) < 2:
        raise InputError(
            f"{what} needs at least two groups; this EstimateSet has {len(estimates)}."
        )
    order = estimates.order
    if not (order.ordered if whole else any(last is not None for last in order.follows)):
        names = [plain_name(each) for each in estimates]
        raise InputError(
            f"{what} needs groups that follow each other, such as weeks; {shown_list(names)} have "
            "no order. Name the two to be compared: compare(group, other)."
        )
