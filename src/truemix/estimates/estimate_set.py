"""Estimates of many groups, such as weeks or regions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from truemix._typing import FloatArray
from truemix.estimates.comparison import rose_since
from truemix.estimates.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd


class EstimateSet(Mapping[Hashable, Estimate]):
    """One :class:`Estimate` per group, in sorted order of the groups.

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
            draws, ``rose``: the probability that the share of the class in the source
            (population view) is larger than it was in the group before; NaN for the first group.
        """
        import pandas as pd

        parts = []
        before = None
        for group, estimate in self.items():
            part = estimate.frame(level).reset_index()
            part.insert(0, "group", [group] * len(part))
            part["n_items"] = estimate.n_items
            if estimate.draws is not None:
                part["rose"] = _rose(estimate, before)
            parts.append(part)
            before = estimate
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def __repr__(self) -> str:
        if not self:
            return "EstimateSet: no groups"
        lines = [f"EstimateSet: {len(self)} groups"]
        lines += [f"[{group}] {estimate!r}" for group, estimate in self.items()]
        return "\n".join(lines)


def _rose(now: Estimate, before: Estimate | None) -> FloatArray:
    rose = None if before is None else rose_since(now, before)
    return np.full(len(now.classes), np.nan) if rose is None else rose
