"""Summaries of batches: score each one, and keep its rows in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from truemix._dask import is_dask_frame, merge_partitions
from truemix._group_order import sorted_groups
from truemix._progress import progress_rows
from truemix._typing import FloatArray, IntArray
from truemix.batches import batches_of, is_batched, total_rows, with_groups
from truemix.exceptions import InputError
from truemix.groups import group_labels
from truemix.quantifiers.pool import rows_of_items
from truemix.summaries.groups import GroupStores, merge_groups
from truemix.summaries.summary import Scorer, Summary, merged
from truemix.tables import groups_of, pop_columns

if TYPE_CHECKING:
    from truemix.quantifiers.base import Quantifier

NO_ROWS = "X has no rows in any of its batches; at least one item is needed."


def summarize(quantifier: Quantifier, X: Any, capacity: int | None) -> Summary:
    """Return the summary of a batch, or of many."""
    columns = wanted_columns(quantifier)
    if is_dask_frame(X):
        work = partial(_summarize_part, columns=columns, capacity=capacity)
        found = merge_partitions(X, quantifier, work, _merge_present)
        if found is None:
            raise InputError(NO_ROWS)
        return found
    batches = batches_of(X, columns) if is_batched(X) else iter([X])
    stores = GroupStores(capacity)
    for scored in _scored(quantifier, batches, total_rows(X), many=is_batched(X)):
        stores.add(_scorer(quantifier, scored), scored, {None: slice(None)})
    return stores.summaries()[None]


def summarize_by(
    quantifier: Quantifier, X: Any, groups: Any, every: str | None, capacity: int | None
) -> dict[Any, Summary]:
    """Return the summary of each group of a batch, or of many; sorted as people would."""
    columns = wanted_columns(quantifier)
    names = key_names(groups)
    if is_dask_frame(X):
        if names is None:
            raise InputError(
                "The groups of a Dask data frame must be one of its columns; expected its name."
            )
        work = partial(
            _summarize_part_by, groups=groups, every=every, columns=columns, capacity=capacity
        )
        return in_order(merge_partitions(X, quantifier, work, merge_groups))
    if is_batched(X):
        wanted = columns if names is None or columns is None else [*columns, *names]
        pairs = with_groups(batches_of(X, wanted), groups)
    else:
        pairs = iter([(X, groups) if names is None else pop_columns(X, groups)])
    stores = GroupStores(capacity)
    labels: list[Any] = []

    def tables() -> Iterator[Any]:
        for table, found in pairs:
            labels.append(group_labels(found, every))
            yield table

    for scored in _scored(quantifier, tables(), total_rows(X), many=is_batched(X)):
        keys, members = groups_of(labels.pop(), scored.shape[1])
        stores.add(_scorer(quantifier, scored), scored, dict(zip(keys, members, strict=True)))
    return in_order(stores.summaries())


def places_of(
    quantifier: Quantifier, summaries: Sequence[Summary], X: Any, groups: Any, every: str | None
) -> list[IntArray | None]:
    """Return for the summary of each group the row of each of its items.

    None for a summary that does not hold them all.
    """
    if key_names(groups) is not None:
        X, groups = pop_columns(X, groups)
    scored = quantifier.posteriors(X)
    members = groups_of(group_labels(groups, every), scored.shape[1])[1]
    return [
        rows_of_items(summary.scored(), scored[:, rows]) if summary.exact else None
        for summary, rows in zip(summaries, members, strict=True)
    ]


def key_names(groups: Any) -> tuple[str, ...] | None:
    """Return the columns that tell groups, None if groups were not given as names of columns."""
    if isinstance(groups, str):
        return (groups,)
    return groups if isinstance(groups, tuple) and all(map(_is_text, groups)) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def by_longer_periods(summaries: Mapping[Any, Summary], every: str | None) -> dict[Any, Summary]:
    """Return summaries of groups by longer periods: those of days by months, say."""
    if every is None:
        return dict(summaries)
    labels = group_labels(list(summaries), every)
    pairs = zip(labels, summaries.values(), strict=True)
    return merge_groups(*({label: summary} for label, summary in pairs))


def in_memory(X: Any) -> bool:
    """Return whether a batch was given as items that can be looked at again."""
    return not (isinstance(X, Summary) or is_dask_frame(X) or is_batched(X))


def in_order(summaries: dict[Any, Summary]) -> dict[Any, Summary]:
    """Return summaries with their groups sorted as people would."""
    return {group: summaries[group] for group in sorted_groups(summaries)}


def wanted_columns(quantifier: Quantifier) -> list[str] | None:
    """Return the columns that scoring needs, None if all may be needed."""
    if quantifier.given_decisions is not None:
        return list(quantifier.given_decisions.columns) or None
    if quantifier.classifier is None:
        return [str(label) for label in quantifier.classes_.tolist()]
    names = getattr(quantifier, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _scored(
    quantifier: Quantifier, tables: Iterator[Any], total: int | None, *, many: bool
) -> Iterator[FloatArray]:
    """Yield the posteriors of each table; an error says in which one it is, if there are many."""
    start = 0
    with progress_rows("summarize", total, shown=many) as advance:
        for number, table in enumerate(tables):
            try:
                scored = quantifier.posteriors(table)
            except InputError as error:
                if not many:
                    raise
                raise InputError(
                    f"In batch {number}, which begins at row {start:,}: {error}"
                ) from None
            start += scored.shape[1]
            yield scored
            advance(scored.shape[1])
    if not start:
        raise InputError(NO_ROWS)


def _scorer(quantifier: Quantifier, scored: FloatArray) -> Scorer:
    return Scorer(quantifier.classes_, len(scored), quantifier.scored_by_, scored.shape[2])


# --- partitions of a Dask data frame, which may be empty ----------------------------------------


def _summarize_part(
    quantifier: Quantifier, part: Any, columns: list[str] | None, capacity: int | None
) -> Summary | None:
    wanted = part if columns is None else part[columns]
    return summarize(quantifier, wanted, capacity) if len(part) else None


def _summarize_part_by(
    quantifier: Quantifier,
    part: Any,
    groups: str | tuple[str, ...],
    every: str | None,
    columns: list[str] | None,
    capacity: int | None,
) -> dict[Any, Summary]:
    wanted = part if columns is None else part[[*columns, *(key_names(groups) or ())]]
    return summarize_by(quantifier, wanted, groups, every, capacity) if len(part) else {}


def _merge_present(*parts: Summary | None) -> Summary | None:
    present = [part for part in parts if part is not None]
    return merged(present) if present else None
