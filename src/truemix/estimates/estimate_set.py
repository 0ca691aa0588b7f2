"""Estimates of many groups, such as weeks or regions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from truemix._group_order import in_order
from truemix._optional import require
from truemix._typing import FloatArray
from truemix.estimates.comparison import prob_increase_since
from truemix.estimates.estimate import Estimate
from truemix.estimates.text import shown_name

if TYPE_CHECKING:
    import pandas as pd


class EstimateSet(Mapping[Hashable, Estimate]):
    """One :class:`Estimate` per group, in the order of the groups.

    Parameters
    ----------
    estimates : mapping
        Group → estimate, in order.

    Examples
    --------
    >>> EstimateSet({}).frame().empty
    True
    """

    def __init__(self, estimates: Mapping[Hashable, Estimate]) -> None:
        self._estimates = dict(estimates)

    def __getitem__(self, group: Hashable) -> Estimate:
        return self._estimates[group]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a table with one row per group and class.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        DataFrame
            Columns: ``group``, ``class``, those of :meth:`Estimate.frame`, ``n_items`` and, with
            draws and if the groups follow each other, ``prob_increase``: the probability that the
            share of the class in the source (population view) is larger than it was in the group
            before; NaN for the first group.

        Notes
        -----
        Groups follow each other if they ascend and are numbers, dates, parts of a year
        (``2024-W09``, ``Q1 2024``), numbered weeks, versions and the like (``week 9``, ``v1.10``),
        or English names of months or weekdays. Regions do not, nor do ``store 1`` and ``store 2``.
        """
        require("pandas", "EstimateSet.frame()")
        import pandas as pd

        parts = []
        before = None
        ordered = in_order(self)
        for group, estimate in self.items():
            part = estimate.frame(level).reset_index()
            part.insert(0, "group", [group] * len(part))
            part["n_items"] = estimate.n_items
            if estimate.draws is not None and ordered:
                part["prob_increase"] = _prob_increase(estimate, before)
            parts.append(part)
            before = estimate
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def __repr__(self) -> str:
        if not self:
            return "EstimateSet: no groups"
        lines = [f"EstimateSet: {len(self)} groups"]
        lines += [f"[{shown_name(group)}] {estimate!r}" for group, estimate in self.items()]
        return "\n".join(lines)


def _prob_increase(now: Estimate, before: Estimate | None) -> FloatArray:
    probability = None if before is None else prob_increase_since(now, before)
    return np.full(len(now.classes), np.nan) if probability is None else probability
