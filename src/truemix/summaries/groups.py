"""Summaries of many groups at once, in bounded memory over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.summaries._store import RowStore
from truemix.summaries.summary import Scorer, Summary, merged

# Numbers in the rows of all groups together.
MAX_NUMBERS_OF_ALL = 5_000_000
# However many groups there are, each keeps so many rows: an estimate needs them.
MIN_CAPACITY = 500


class GroupStores:
    """The stores of groups that fill up in one pass; all shrink if together they grow too large.

    The capacity that they shrink to is the largest with which all fit. More items can only lower
    it, so that it depends on the groups and their contents alone.

    Parameters
    ----------
    capacity : int, optional
        Rows of each group at most.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self._capacity = capacity
        self._scorer: Scorer | None = None
        self._stores: dict[Any, RowStore] = {}

    def add(
        self, scorer: Scorer, scored: FloatArray, groups: Mapping[Any, IntArray | slice]
    ) -> None:
        """Add items ``(M, n, K)``, given the rows of each group."""
        self._scorer = self._scorer or scorer
        if scorer.n_layers != self._scorer.n_layers:
            raise InputError(
                f"A batch was scored by {scorer.n_layers} models, the first one by "
                f"{self._scorer.n_layers}; expected the same models for all of them."
            )
        for group, rows in groups.items():
            if group not in self._stores:
                self._stores[group] = scorer.store(self._capacity)
            self._stores[group].add_items(scored[:, rows])
        n_held = sum(store.n_held for store in self._stores.values())
        if n_held * scorer.n_numbers > 2 * MAX_NUMBERS_OF_ALL:
            self._settle(scorer)

    def _settle(self, scorer: Scorer) -> None:
        stores = list(self._stores.values())
        for store in stores:
            store.settle()
        level = _level(np.array([_size(store) for store in stores]), scorer.n_numbers)
        # A single group has the capacity that was asked for.
        if level is not None and len(stores) > 1:
            for store in stores:
                store.settle(level)

    def summaries(self) -> dict[Any, Summary]:
        """Return the summary of each group, in the order of first appearance."""
        if self._scorer is None:
            return {}
        self._settle(self._scorer)
        scorer = self._scorer
        return {group: Summary(scorer, store) for group, store in self._stores.items()}


def _size(store: RowStore | Summary) -> int:
    """Return how many rows a store would have within its capacity.

    One that was truncated has more rows than its capacity, whatever becomes of that.
    """
    return store.capacity if store.truncated else store.n_rows


def _level(sizes: IntArray, n_numbers: int) -> int | None:
    """Return the largest capacity with which rows of so many numbers fit, None if they do already.

    Examples
    --------
    >>> _level(np.array([100, 3000]), 10) is None
    True
    >>> _level(np.array([100_000, 900_000, 700_000]), 10)
    200000
    """
    most = MAX_NUMBERS_OF_ALL // n_numbers
    if sizes.sum() <= most:
        return None
    ascending = np.sort(sizes)
    below = np.cumsum(ascending) - ascending
    levels = (most - below) // np.arange(len(ascending), 0, -1)
    # The first size that is above the level that it would leave to itself and all larger ones.
    return max(int(levels[np.argmax(ascending > levels)]), MIN_CAPACITY)


def merge_groups(*parts: Mapping[Any, Summary]) -> dict[Any, Summary]:
    """Merge summaries group by group.

    Parameters
    ----------
    *parts : mapping of group to Summary
        Any number of them, of the same quantifier.

    Returns
    -------
    dict
        The summary of each group, in bounded memory over all groups; see ``docs/scale.md``.

    Examples
    --------
    >>> from truemix import PCC
    >>> quantifier = PCC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> monday = {"mail": quantifier.summarize([[0.9, 0.1]])}
    >>> tuesday = {"mail": quantifier.summarize([[0.4, 0.6]]), "chat": monday["mail"]}
    >>> {group: each.n_items for group, each in merge_groups(monday, tuesday).items()}
    {'mail': 2, 'chat': 1}
    """
    collected: dict[Any, list[Summary]] = {}
    for part in parts:
        for group, summary in part.items():
            collected.setdefault(group, []).append(summary)
    found = {
        group: each[0] if len(each) == 1 else merged(each) for group, each in collected.items()
    }
    sizes = np.array([_size(summary) for summary in found.values()], dtype=np.intp)
    # A single group has the capacity that was asked for.
    level = _level(sizes, next(iter(found.values())).rows.shape[1]) if len(found) > 1 else None
    if level is None:
        return found
    return {
        group: each if each.capacity <= level else each.limited(level)
        for group, each in found.items()
    }
