"""Data that come in batches: iterables, datasets, lazy frames; one pass over any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from truemix.exceptions import InputError
from truemix.tables import column_names, pop_columns
from truemix.validation import shown, shown_list

# Rows of a batch that is read from a dataset or a lazy frame.
BATCH_ROWS = 1 << 16


def is_batched(X: Any) -> bool:
    """Return whether X is many batches rather than one.

    A list is one batch of rows unless its first element is a table itself.

    Examples
    --------
    >>> import numpy as np
    >>> is_batched([[0.9, 0.1], [0.2, 0.8]]), is_batched([np.array([[0.9, 0.1]])])
    (False, True)
    """
    if _library(X) in {"pyarrow", "polars"} and (_is_dataset(X) or _is_lazy(X) or _is_reader(X)):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and _is_table(X[0])
    return isinstance(X, Iterable) and not hasattr(X, "__len__") and not hasattr(X, "shape")


def batches_of(X: Any, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the batches of X, each as a table in memory; none of them is empty.

    Parameters
    ----------
    X
        For which :func:`is_batched` holds.
    columns : list of str, optional
        Only these are read, where that saves reading the others.
    """
    for batch in _each(X, columns):
        # A record batch has the columns of a table, but not its methods.
        table = batch if _library(batch) != "pyarrow" else _arrow_table(batch)
        n_rows = table.shape[0] if hasattr(table, "shape") else len(table)
        if n_rows:
            yield table


def _each(X: Any, columns: list[str] | None) -> Iterable[Any]:
    if _is_dataset(X):
        _check_columns(columns, X.schema.names)
        # Few batches ahead: these are in memory, too.
        return X.to_batches(  # type: ignore[no-any-return]
            columns=columns, batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1
        )
    if _is_lazy(X):
        _check_columns(columns, X.collect_schema().names())
        lazy = X if columns is None else X.select(columns)
        return lazy.collect_batches(chunk_size=BATCH_ROWS)  # type: ignore[no-any-return]
    return X  # type: ignore[no-any-return]


def _check_columns(columns: list[str] | None, found: list[str]) -> None:
    missing = [name for name in columns or [] if name not in found]
    if missing:
        raise InputError(
            f"X has no column {shown(missing[0])}; its columns are {shown_list(found)}. Name a "
            "column after each class, or each feature."
        )


def with_groups(X: Any, groups: Any) -> Iterator[tuple[Any, Any]]:
    """Yield batches of X with the groups of their items.

    Parameters
    ----------
    X
        Batches, or tables with rows.
    groups : str, tuple of str or iterable
        The column that holds the groups, or several, or the groups of each batch.
    """
    if isinstance(groups, str | tuple):
        for batch in X:
            yield pop_columns(batch, groups)
        return
    others = iter(groups)
    for number, batch in enumerate(X):
        try:
            yield batch, next(others)
        except StopIteration:
            raise InputError(
                f"X has more batches than groups has entries, {number}; expected the groups of "
                "each batch, or the name of a column."
            ) from None
    if next(others, None) is not None:
        raise InputError(
            "groups has more entries than X has batches; expected the groups of each batch, or "
            "the name of a column."
        )


def total_rows(X: Any) -> int | None:
    """Return how many rows there are, if that is known without reading them."""
    if not _is_dataset(X) or type(getattr(X, "format", None)).__name__ != "ParquetFileFormat":
        return None
    return int(X.count_rows())


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _is_dataset(X: Any) -> bool:
    return _library(X) == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "scanner")


def _is_reader(X: Any) -> bool:
    return _library(X) == "pyarrow" and hasattr(X, "read_next_batch")


def _is_lazy(X: Any) -> bool:
    return _library(X) == "polars" and hasattr(X, "collect_schema") and hasattr(X, "collect")


def _is_table(X: Any) -> bool:
    return len(getattr(X, "shape", ())) == 2 or column_names(X) is not None


def _arrow_table(batch: Any) -> Any:
    if not hasattr(batch, "to_batches"):
        import pyarrow as pa

        return pa.Table.from_batches([batch])
    return batch
