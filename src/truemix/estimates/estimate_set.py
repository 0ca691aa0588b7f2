"""Estimates of many groups, such as weeks or regions."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from truemix._group_order import GroupOrder, group_order, key_columns
from truemix._optional import require
from truemix._typing import FloatArray
from truemix.estimates.changes import change_between, changes_frame
from truemix.estimates.comparison import Comparison, prob_increase_since
from truemix.estimates.estimate import Estimate
from truemix.estimates.export import write_report
from truemix.estimates.group_files import load_estimates, save_estimates
from truemix.estimates.text import group_name, groups_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

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

    def compare(self, *groups: Hashable, level: float = 0.95) -> Comparison:
        """Return what changed between two groups: ``compare("week 12", "week 9")``.

        Parameters
        ----------
        *groups : hashable
            Two groups, the later one first, as in ``new.compare(old)``. Without any, the last group
            is compared with the first, which must follow each other.
        level : float
            Level of the intervals.

        Returns
        -------
        Comparison
            As :meth:`Estimate.compare` returns it.
        """
        return change_between(self, groups, level)

    def changes(self, level: float = 0.95) -> pd.DataFrame:
        """Return what changed from each group to the next.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        DataFrame
            One row per step and class: ``group``, ``before_group``, ``class`` and the columns of
            :meth:`Comparison.frame`: ``before``, ``now``, ``difference`` and, with draws,
            ``lower``, ``upper`` and ``prob_increase``. The groups must follow each other.
        """
        return changes_frame(self, level)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str | None = None,
        classes: Sequence[Any] | None = None,
        sort: str = "class",
        level: float = 0.95,
        reference: bool = True,
        counted: bool = True,
    ) -> Figure | SubFigure:
        """Draw the estimates of all groups, one panel per class.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw, if there is a single panel; a new figure by default.
        kind : {"timeline", "forest"}, optional
            The groups from left to right, joined by lines, or below each other. By default a
            timeline if they follow each other.
        classes : sequence, optional
            Which classes to draw. By default all, of many those that are largest in any group, of
            two the second.
        sort : {"class", "share"}
            Panels in the order of the classes, or the largest share first.
        level : float
            Level of the intervals.
        reference, counted : bool
            Whether to mark the mix of the reference, and the classify-and-count estimate.

        Returns
        -------
        Figure
            As of :meth:`Estimate.plot`. Each panel has its own scale, so that small classes can be
            read. Groups whose check of label shift failed are marked, with the range over other
            assumptions. Dates are where they are in time, and lines end at gaps.
        """
        require("matplotlib", "EstimateSet.plot()")
        from truemix.estimates.plots.panels import draw_groups

        return draw_groups(
            self,
            ax,
            kind=kind,
            classes=classes,
            sort=sort,
            level=level,
            reference=reference,
            counted=counted,
        )

    def report(self, path: str | os.PathLike[str], *, level: float = 0.95) -> None:
        """Write the page that ``truemix estimate --by … --report`` writes: one file, no script.

        Parameters
        ----------
        path : path
            The file to write; it appears whole or not at all.
        level : float
            Level of the intervals.
        """
        write_report(self, path, level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimates of all groups to one file of numbers and text, without pickle.

        Parameters
        ----------
        path : path
            The file to write, any name; it appears whole or not at all. Groups are text, numbers,
            dates, or tuples of them, estimates of the same classes.
        """
        save_estimates(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read estimates that :meth:`save` has written.

        Parameters
        ----------
        path : path
            The file; reading it cannot run code.

        Returns
        -------
        EstimateSet
        """
        estimates, by, every = load_estimates(Estimate, path)
        return cls(estimates, by=by, every=every)

    def __repr__(self) -> str:
        if not self:
            return "EstimateSet: no groups"
        lines = [f"EstimateSet: {len(self)} groups"]
        for place, estimate in enumerate(self.values()):
            name = group_name(self.order.parts(place))
            lines.append(f"[{name}] {estimate!r}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return groups_table(self).html()


def _prob_increase(now: Estimate, before: Estimate | None) -> FloatArray:
    probability = None if before is None else prob_increase_since(now, before)
    return np.full(len(now.classes), np.nan) if probability is None else probability
