"""Summaries in files: arrays and a header, sealed, without pickle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from truemix._archive import (
    UNREADABLE,
    ArchiveKind,
    archive_kind,
    damaged,
    read_archive,
    write_archive,
)
from truemix._saved_arrays import read_classes, read_floats, read_integers, read_text
from truemix._typing import AnyArray
from truemix.exceptions import InputError
from truemix.summaries._store import RowStore, canonical_order, counted
from truemix.summaries._strata import MOMENT_UNIT, decisions_of, n_strata

if TYPE_CHECKING:
    from truemix.summaries.summary import Scorer

KIND = ArchiveKind("summary", "Summary.save", format=1)
SOURCE = "[0-9a-f]{32}"
_NAMES = {"classes", "source", "rows", "counts", "totals", "decided", "moments", "sizes"}
# More items than this cannot be counted exactly as floats.
_MAX_ITEMS = 2**53
# How far the posteriors of a row may be from adding up to 1, as those of input.
_SUM_ERROR = 1e-6


def is_summary(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a saved summary, by how it begins; its contents may be damaged.

    Parameters
    ----------
    path : path
        The file.
    """
    return archive_kind(path) == KIND.name


def save_state(path: str | os.PathLike[str], scorer: Scorer, store: RowStore) -> None:
    """Write a summary."""
    write_archive(
        path,
        KIND,
        {},
        {
            "classes": np.asarray(scorer.classes.tolist()),
            "source": np.array(scorer.source),
            "rows": store.rows,
            "counts": store.counts,
            "totals": store.totals,
            "decided": store.decided,
            "moments": store.moments,
            "sizes": np.array(
                [scorer.n_layers, store.capacity, int(store.truncated), len(scorer.classes)]
            ),
        },
    )


def load_state(path: str | os.PathLike[str]) -> tuple[AnyArray, int, str, RowStore]:
    """Return classes, number of layers, source and rows of a saved summary, all validated."""
    _, arrays = read_archive(path, KIND)
    try:
        if set(arrays) != _NAMES:
            raise InputError("it does not hold the arrays of a summary")
        classes, source = read_classes(arrays), read_text(arrays, "source", SOURCE)
        sizes = read_integers(arrays, "sizes", (4,), below=_MAX_ITEMS)
        n_layers, capacity, truncated, n_of_quantifier = sizes.tolist()
        if n_layers < 1 or capacity < 1 or truncated > 1 or n_of_quantifier != len(classes):
            raise InputError("sizes are not those of a summary")
        # Of posteriors one column for each class, of decisions one for each of them.
        n_classes = np.shape(arrays["decided"])[0] if np.ndim(arrays["decided"]) else 0
        if n_classes < 2:
            raise InputError("decided has no columns")
        store = RowStore(n_classes, n_layers, capacity)
        store.rows = read_floats(
            arrays, "rows", (None, n_layers * n_classes), minimum=0.0, maximum=1.001
        )
        store.counts = read_integers(arrays, "counts", store.rows.shape[:1], below=_MAX_ITEMS)
        store.totals = read_integers(arrays, "totals", (n_strata(n_classes),), below=_MAX_ITEMS)
        store.decided = read_integers(arrays, "decided", (n_classes,), below=_MAX_ITEMS)
        moments = read_integers(arrays, "moments", (n_classes, 2 * n_classes), below=2**62)
        store.moments = moments
        store.truncated = bool(truncated)
        _check(store)
    except UNREADABLE as error:
        raise damaged(path, KIND, error) from None
    return classes, n_layers, source, store


def _check(store: RowStore) -> None:
    """Raise for rows that no batch could have left."""
    rows = store.rows
    if not len(rows) or not store.counts.all():
        raise InputError("a row stands for no items")
    sums = rows.reshape(len(rows), store.n_layers, -1).sum(axis=2)
    if (np.abs(sums - 1.0) > _SUM_ERROR).any():
        raise InputError("rows do not add up to 1")
    strata = store.strata()
    in_order = np.array_equal(canonical_order(rows, strata), np.arange(len(rows)))
    if not in_order or len(counted(rows, store.counts)[0]) != len(rows):
        raise InputError("rows are not distinct and in order")
    kept = np.bincount(strata, store.counts, len(store.totals))
    total = int(store.totals.sum())
    if (kept > store.totals).any() or ((kept == 0) & (store.totals > 0)).any():
        raise InputError("totals do not fit the rows")
    if total >= _MAX_ITEMS or int(store.decided.sum()) != total * store.n_layers:
        raise InputError("the decisions are not those of all items")
    of_decision = np.bincount(
        decisions_of(np.arange(len(store.totals)), store.n_classes), store.totals
    )
    # Each item has at most 1 of a class, and squares are at most as large.
    most = of_decision[:, None] / MOMENT_UNIT
    if (store.moments > most).any():
        raise InputError("moments are not those of the items")
    if not store.truncated and (len(rows) > store.capacity or kept.sum() != total):
        raise InputError("rows are missing")
    if store.truncated and len(rows) < store.n_sampled:
        raise InputError("there are fewer rows than in a sample")
