"""Which methods differ: all pairs, tested over data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truemix_experiments.published import BAYESIAN, OWN, POINT, published_values, shown_method
from truemix_experiments.statistics import mean_values, symbol_matrix
from truemix_experiments.tables._cells import SAME_DATA, caption, over
from truemix_experiments.tables.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

SYMBOLS = (
    "< and ≪: the method of the row has smaller AE than that of the column, p < 0.05 and "
    "p < 0.001; > and ≫: larger AE; ≈: not significantly different. Paired Wilcoxon tests over "
    "data sets, bags averaged first, with Holm's correction."
)


def point_significance(results: Results) -> Table:
    """Return the pairwise comparison of point estimators."""
    return _matrix(results, POINT, "point-significance", "point estimators")


def bayesian_significance(results: Results) -> Table:
    """Return the pairwise comparison of Bayesian methods, at temperature 1."""
    methods = (*BAYESIAN, BAYESIAN[-1] + OWN)
    return _matrix(results, methods, "bayesian-significance", "Bayesian methods")


def _matrix(results: Results, methods: Sequence[str], name: str, what: str) -> Table:
    means = mean_values(results, "ae", methods)
    complete = means.dropna()
    ran = list(complete.columns)
    rows: list[Row] = []
    if len(complete) and len(ran) > 1:
        theirs = _published_symbols(complete)
        for method, symbols in zip(ran, symbol_matrix(complete), strict=True):
            cells = [
                Cell(symbol, symbol).beside(theirs.get((method, other), Cell()))
                for other, symbol in zip(ran, symbols, strict=True)
            ]
            rows.append(Row((shown_method(method),), tuple(cells)))
    text = caption(SYMBOLS, SAME_DATA, over(len(complete), len(means), what="Tests"))
    columns = tuple(Column(shown_method(method)) for method in ran)
    return Table(name, f"Pairwise comparison of {what}", text, ("method",), columns, tuple(rows))


def _published_symbols(means: pd.DataFrame) -> dict[tuple[str, str], Cell]:
    """Return the symbols of published values on the same data sets, if all of them are known."""
    values = published_values("ae", list(means.index))
    names = [m for m in means.columns if m in values and values[m].notna().any()]
    values = values[names].dropna()
    if len(values) < len(means) or len(names) < 2:
        return {}
    return {
        (row, column): Cell(symbol, symbol)
        for row, symbols in zip(names, symbol_matrix(values), strict=True)
        for column, symbol in zip(names, symbols, strict=True)
        if row != column
    }
