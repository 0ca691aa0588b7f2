"""Cells from numbers, and the sentences that captions share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from truemix_experiments.published import (
    as_number,
    counterpart,
    published_text,
    published_values,
    shown_method,
)
from truemix_experiments.statistics import comparable_ranks
from truemix_experiments.tables.table import Cell

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED = "In parentheses: the published value."
SAME_DATA = "In parentheses: the same from published values on the same data sets."


def number(value: float, digits: int) -> Cell:
    """Return a cell with a given number of decimals, empty for NaN.

    Examples
    --------
    >>> number(0.04501, 4).text, number(float("nan"), 4).text
    ('0.0450', '—')
    """
    value = float(value)
    return Cell() if np.isnan(value) else Cell(f"{value:.{digits}f}", value)


def published_cells(metric: str, datasets: Sequence[str]) -> dict[tuple[str, str], Cell]:
    """Return what was published for each data set and method, as it was printed.

    Examples
    --------
    >>> published_cells("amplitude", ["abalone"])["abalone", "Bayes-ACC"].text
    '<0.1'
    """
    texts = published_text(metric, datasets)
    return {
        (dataset, method): Cell(text, as_number(text)) if text else Cell()
        for method in texts.columns
        for dataset, text in zip(datasets, texts[method].tolist(), strict=True)
    }


def mean_and_spread(values: Iterable[float], digits: int = 1) -> Cell:
    """Return "mean ± standard deviation" over data sets (divided by n, as the paper does).

    Examples
    --------
    >>> mean_and_spread([1.0, 3.0]).text
    '2.0 ± 1.0'
    """
    array = np.asarray(list(values), dtype=np.float64)
    array = array[~np.isnan(array)]
    if array.size == 0:
        return Cell()
    mean, spread = float(array.mean()), float(array.std())
    return Cell(f"{mean:.{digits}f} ± {spread:.{digits}f}", mean, spread)


def best_in_bold(cells: Sequence[Cell]) -> list[Cell]:
    """Make the cells with the smallest number bold, and all that are printed like it.

    Examples
    --------
    >>> [cell.bold for cell in best_in_bold([number(2.04, 1), number(1.96, 1), Cell()])]
    [True, True, False]
    """
    least = min((c.value for c in cells if isinstance(c.value, float)), default=float("nan"))
    texts = {c.text.split(" ± ")[0] for c in cells if c.value == least}
    return [replace(c, bold=c.value is not None and c.text.split(" ± ")[0] in texts) for c in cells]


def rank_cells(values: pd.DataFrame, metric: str) -> list[Cell]:
    """Return the average rank of each method, with the one from published values beside it.

    ``values`` has a row per data set, and a column per method.
    """
    ours = comparable_ranks(values).mean()
    paper = [m for m in values.columns if counterpart(m) == m]
    theirs = published_values(metric, list(values.index)).reindex(columns=paper).dropna()
    if len(theirs) < len(values):
        # Ranks over other data sets would not be comparable.
        return best_in_bold([number(rank, 1) for rank in ours])
    published = comparable_ranks(theirs).mean().reindex(values.columns)
    return best_in_bold(
        [number(ours[m], 1).beside(number(published[m], 1)) for m in values.columns]
    )


def over(n_complete: int, n_all: int, *, what: str) -> str:
    """Return over how many data sets a number is computed, as text.

    Examples
    --------
    >>> over(2, 3, what="Ranks")
    'Ranks are over the 2 of 3 data sets that have all methods.'
    >>> over(1, 1, what="Means")
    'Means are over 1 data set.'
    """
    if n_complete < n_all:
        return f"{what} are over the {n_complete} of {n_all} data sets that have all methods."
    return f"{what} are over {count(n_all)}."


def count(n_datasets: int) -> str:
    """Return "1 data set" or "n data sets"."""
    return f"{n_datasets} data set{'' if n_datasets == 1 else 's'}"


def own_ranks(methods: Iterable[str]) -> str:
    """Return a sentence on how methods that are not in the paper are ranked, if there are any.

    Examples
    --------
    >>> own_ranks(["CC", "ACC", "PACC"])
    'PACC is not in the paper; it is ranked in place of ACC.'
    """
    own = [method for method in methods if counterpart(method) != method]
    return " ".join(
        f"{shown_method(method)} is not in the paper; it is ranked in place of "
        f"{shown_method(counterpart(method))}."
        for method in own
    )


def caption(*sentences: str) -> str:
    """Join the sentences that are not empty."""
    return " ".join(sentence for sentence in sentences if sentence)
