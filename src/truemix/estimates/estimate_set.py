"""Estimates of many groups, such as weeks or regions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from truemix._group_order import GroupOrder, group_order, key_columns
from truemix._optional import require
from truemix._typing import FloatArray
from truemix.estimates.comparison import prob_increase_since
from truemix.estimates.estimate import Estimate
from truemix.estimates.text import shown_name

if TYPE_CHECKING:
    import pandas as pd

# Columns of a frame beside those of each estimate.
_ADDED = ("n_items", "prob_increase")


class EstimateSet(Mapping[Hashable, Estimate]):
    """One :class:`Estimate` per group, in the order of the groups.

    Parameters
    ----------
    estimates : mapping
        Group → estimate, in order. A group that is told by several keys is a tuple of them.
    by : sequence of str, optional
        What each key of a group is called.
    every : str, optional
        Which periods groups are, if they were made from times.

    Examples
    --------
    >>> EstimateSet({}).frame().empty
    True
    """

    def __init__(
        self,
        estimates: Mapping[Hashable, Estimate],
        *,
        by: Sequence[str] | None = None,
        every: str | None = None,
    ) -> None:
        self._estimates = dict(estimates)
        self.by = None if by is None else tuple(by)
        self.every = every

    def __getitem__(self, group: Hashable) -> Estimate:
        return self._estimates[group]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    @cached_property
    def order(self) -> GroupOrder:
        """Which groups follow each other (``follows``), and which periods are empty (``gaps``)."""
        return group_order(self, self.every)

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a table with one row per group and class.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        DataFrame
            Columns: ``group`` (of groups with several keys, one column for each: as ``by`` names
            it, else ``group_1``, ``group_2``, …), ``class``, those of :meth:`Estimate.frame`,
            ``n_items`` and, with draws and if the groups follow each other, ``prob_increase``: the
            probability that the share of the class in the source (population view) is larger than
            it was in the group that this one follows; NaN where there is none. Periods without
            items have no row.

        Notes
        -----
        Groups follow each other if they ascend and are numbers, dates, parts of a year
        (``2024-W09``, ``Q1 2024``), numbered weeks, versions and the like (``week 9``, ``v1.10``),
        or English names of months or weekdays. Regions do not, nor do ``store 1`` and ``store 2``.
        Of regions and months, months follow each other in each region.
        """
        require("pandas", "EstimateSet.frame()")
        import pandas as pd

        order, estimates = self.order, list(self.values())
        parts = []
        for place, estimate in enumerate(estimates):
            part = estimate.frame(level).reset_index()
            names = key_columns(self.by, order.n_keys, [*part.columns, *_ADDED])
            for number, (name, key) in enumerate(zip(names, order.parts(place), strict=True)):
                part.insert(number, name, [key] * len(part))
            part["n_items"] = estimate.n_items
            if estimate.draws is not None and order.along is not None:
                last = order.follows[place]
                before = None if last is None else estimates[last]
                part["prob_increase"] = _prob_increase(estimate, before)
            parts.append(part)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def __repr__(self) -> str:
        if not self:
            return "EstimateSet: no groups"
        lines = [f"EstimateSet: {len(self)} groups"]
        for place, estimate in enumerate(self.values()):
            name = shown_name(", ".join(map(str, self.order.parts(place))))
            lines.append(f"[{name}] {estimate!r}")
        return "\n".join(lines)


def _prob_increase(now: Estimate, before: Estimate | None) -> FloatArray:
    probability = None if before is None else prob_increase_since(now, before)
    return np.full(len(now.classes), np.nan) if probability is None else probability
