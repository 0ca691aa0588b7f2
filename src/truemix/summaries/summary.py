"""A batch in bounded memory: distinct rows with counts, or a sample of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from truemix._typing import AnyArray, FloatArray
from truemix.exceptions import InputError
from truemix.inference.bags import Bag
from truemix.summaries._store import RowStore
from truemix.summaries.files import load_state, save_state
from truemix.validation import check_integer

# Rows that a summary keeps, and numbers in them: with many classes it keeps fewer.
MAX_ROWS = 200_000
MAX_NUMBERS = 4_000_000


def default_capacity(n_classes: int, n_layers: int) -> int:
    """Return how many rows a summary keeps unless it is told otherwise.

    Examples
    --------
    >>> default_capacity(10, 1), default_capacity(100, 1), default_capacity(10, 5)
    (200000, 40000, 80000)
    """
    return min(MAX_ROWS, MAX_NUMBERS // (n_classes * n_layers))


class Scorer(NamedTuple):
    """Who scored the items of a summary: classes, number of models, and a fingerprint of all."""

    classes: AnyArray
    n_layers: int
    source: str
    # Of each model: one for each class, or for each decision.
    n_columns: int

    @property
    def n_numbers(self) -> int:
        """How many numbers a row has."""
        return self.n_columns * self.n_layers

    def store(self, capacity: int | None = None) -> RowStore:
        """Return an empty store for items that were scored so."""
        if capacity is None:
            capacity = default_capacity(self.n_columns, self.n_layers)
        return RowStore(self.n_columns, self.n_layers, check_integer(capacity, "capacity"))


class Summary:
    """A batch of scored items in bounded memory, made by :meth:`truemix.KDEy.summarize`.

    Up to its capacity a summary holds every distinct row of posteriors with the number of items
    that are equal to it: nothing is lost. Beyond it holds a sample of the rows, stratified by
    decision and confidence, with the exact number of items in each stratum; estimates then carry
    the error of that sample in their intervals.

    ``a + b`` is the summary of both batches. It does not depend on the order in which batches are
    merged, nor on how the items were split into them, on any machine.

    Attributes
    ----------
    n_items : int
        How many items were summarised.
    n_rows : int
        How many rows are kept.
    exact : bool
        Whether every distinct row is kept.
    capacity : int
        How many rows are kept at most (and a few of each stratum); the smaller one in a sum.

    Examples
    --------
    >>> from truemix import KDEy
    >>> quantifier = KDEy(bandwidth=0.3, shrinkage=0.1)
    >>> quantifier = quantifier.fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> monday = quantifier.summarize([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7]])
    >>> tuesday = quantifier.summarize([[0.9, 0.1]])
    >>> monday + tuesday
    Summary of 4 items: 2 distinct rows, exact
    >>> quantifier.quantify(monday + tuesday).n_items
    4
    """

    def __init__(self, scorer: Scorer, store: RowStore) -> None:
        store.settle()
        self._scorer, self._store = scorer, store

    @property
    def classes(self) -> AnyArray:
        """The classes of the quantifier that scored the items."""
        return self._scorer.classes

    @property
    def n_items(self) -> int:
        """How many items were summarised."""
        return int(self._store.totals.sum())

    @property
    def n_rows(self) -> int:
        """How many rows are kept."""
        return len(self._store.rows)

    @property
    def exact(self) -> bool:
        """Whether every distinct row is kept."""
        return int(self._store.counts.sum()) == self.n_items

    @property
    def capacity(self) -> int:
        """How many rows are kept at most."""
        return self._store.capacity

    @property
    def truncated(self) -> bool:
        """Whether there were more distinct rows than the capacity."""
        return self._store.truncated

    @property
    def classify_and_count(self) -> FloatArray:
        """The share of items that the classifier assigns to each class; exact at any size.

        Of decisions that were given, the share of each.
        """
        return np.asarray(self._store.decided / self._store.decided.sum())

    @property
    def rows(self) -> FloatArray:
        """The posteriors of the rows that are kept, ``(n_rows, M * K)``."""
        return self._store.rows

    @property
    def source(self) -> str:
        """Fingerprint of the quantifier that scored the items."""
        return self._scorer.source

    def scored(self) -> FloatArray:
        """Return the posteriors (or decisions) of the rows by each model, ``(M, n_rows, K)``."""
        rows = self.rows.reshape(self.n_rows, self._scorer.n_layers, -1)
        return np.ascontiguousarray(np.moveaxis(rows, 1, 0))

    def bag(self) -> Bag:
        """Return the items as a bag of these rows, with the number of items of each."""
        rows, counts = np.arange(self.n_rows), self._store.counts.astype(np.float64)
        if self.exact:
            return Bag(rows, None if (counts == 1.0).all() else counts)
        sample = self._store.sample()
        return Bag(rows, sample.counts(), sample)

    def __add__(self, other: object) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        return merged([self, other])

    def limited(self, capacity: int) -> Summary:
        """Return the same summary with a smaller capacity."""
        store = self._scorer.store(min(capacity, self.capacity))
        store.add_store(self._store)
        return Summary(self._scorer, store)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to a file; equal summaries make equal files.

        Parameters
        ----------
        path : path
            The file. It is an archive of NumPy arrays, which no code runs on loading.
        """
        save_state(path, self._scorer, self._store)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summary:
        """Read a summary that :meth:`save` has written.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Summary
        """
        classes, n_layers, source, store = load_state(path)
        return cls(Scorer(classes, n_layers, source, store.n_classes), store)

    def __repr__(self) -> str:
        kept = "distinct rows, exact" if self.exact else "sampled rows"
        return f"Summary of {self.n_items:,} items: {self.n_rows:,} {kept}"


def merged(summaries: Iterable[Summary]) -> Summary:
    """Return the summary of several batches.

    Raises
    ------
    InputError
        If they were scored by different quantifiers.
    """
    parts = list(summaries)
    first = parts[0]
    for other in parts[1:]:
        if other.source != first.source:
            raise InputError(
                "These summaries were made by different quantifiers, whose posteriors cannot be "
                "mixed; expected the same references, classes and classifier. Summarise the "
                "batches again with one of them."
            )
    store = first._scorer.store(min(part.capacity for part in parts))
    for part in parts:
        store.add_store(part._store)
    return Summary(first._scorer, store)
