"""Intervals of both estimands: the mix of the population, as in the paper, and of the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truemix_experiments.published import BAYESIAN, BOOTSTRAP, OWN, published_values, shown_method
from truemix_experiments.statistics import mean_values
from truemix_experiments.tables._cells import SAME_DATA, caption, number, over
from truemix_experiments.tables.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from truemix_experiments.results import Results

VIEWS = {"": "population", "batch_": "batch"}
MEASURES = {"hard": ("hard", 1), "soft": ("soft", 1), "width": ("width", 3)}


def estimands(results: Results) -> Table:
    """Return coverage and width of the intervals of each Bayesian method, in both views."""
    methods = (*BAYESIAN, BAYESIAN[-1] + OWN)
    columns: list[Column] = []
    cells: list[list[Cell]] = []
    n_complete, n_all, ran = 0, 0, []
    for prefix, view in VIEWS.items():
        for metric, (shown, digits) in MEASURES.items():
            means = mean_values(results, prefix + metric, methods)
            complete = means.dropna()
            n_complete, n_all, ran = len(complete), len(means), list(means.columns)
            if complete.empty:
                continue
            found = [
                Cell() if prefix and m in BOOTSTRAP else number(complete[m].mean(), digits)
                for m in ran
            ]
            if not prefix and metric != "width":
                theirs = published_values(metric, list(complete.index)).mean(skipna=False)
                beside = [number(theirs.get(m, float("nan")), digits) for m in ran]
                found = [a.beside(b) for a, b in zip(found, beside, strict=True)]
            columns.append(Column(shown, view))
            cells.append(found)
    rows = tuple(
        Row((shown_method(method),), tuple(column[place] for column in cells))
        for place, method in enumerate(ran if cells else [])
    )
    text = caption(
        "Hard: percentage of bags whose true shares all lie in their 95 % intervals at once; soft: "
        "percentage of shares; width: mean, as a share. Temperature 1. The truth is the mix of the "
        "bag's items; resampled batches say nothing of these, so bootstraps have no interval for "
        "the batch.",
        SAME_DATA,
        over(n_complete, n_all, what="Means"),
    )
    title = "Intervals of the population and of the batch"
    return Table("estimands", title, text, ("method",), tuple(columns), rows)
