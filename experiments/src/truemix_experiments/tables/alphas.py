"""Errors and coverage for bags with mixes from each Dirichlet(α) that was run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truemix_experiments.published import (
    BAYESIAN,
    BOOTSTRAP,
    OWN,
    POINT,
    VARIANTS,
    calibrated,
    shown_method,
)
from truemix_experiments.statistics import mean_values
from truemix_experiments.tables._cells import best_in_bold, caption, number, over
from truemix_experiments.tables.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from truemix_experiments.results import Results

METHODS = (
    *POINT,
    *VARIANTS,
    *BAYESIAN,
    BAYESIAN[-1] + OWN,
    *(calibrated(method) for method in BAYESIAN if method not in BOOTSTRAP),
)
MEASURES = {"ae": ("AE", 4), "hard": ("hard", 1), "soft": ("soft", 1)}


def alphas(results: Results) -> Table:
    """Return the mean AE and coverage of each method by α, if more than one α was run.

    Means are over the data sets that have all methods and every α, so that columns can be compared.
    """
    found = sorted(results.bags["alpha"].unique())
    frames = [mean_values(results, "ae", METHODS, alpha=alpha) for alpha in found]
    ran = [m for m in METHODS if any(m in frame for frame in frames)]
    complete = [set(frame.reindex(columns=ran).dropna().index) for frame in frames]
    datasets = sorted(set.intersection(*complete))
    n_all = len(set().union(*(frame.index for frame in frames)))
    columns: list[Column] = []
    cells: list[list[Cell]] = []
    for alpha in found if datasets and len(found) > 1 else []:
        for metric, (shown, digits) in MEASURES.items():
            means = mean_values(results, metric, ran, alpha=alpha).reindex(datasets).mean()
            values = [number(means.get(method, float("nan")), digits) for method in ran]
            columns.append(Column(shown, f"Dirichlet({alpha:g})"))
            cells.append(best_in_bold(values) if metric == "ae" else values)
    rows = tuple(
        Row((shown_method(method),), tuple(column[place] for column in cells))
        for place, method in enumerate(ran if cells else [])
    )
    text = caption(
        "Where the mixes of test bags come from: Dirichlet(0.1) is near the border, where most "
        "classes are almost absent, Dirichlet(10) near the centre. AE: mean, best in bold; hard: "
        "percentage of bags whose true shares all lie in their 95 % intervals at once; soft: "
        "percentage of shares.",
        over(len(datasets), n_all, what="Means"),
    )
    title = "Errors and coverage by how far mixes are from the centre"
    return Table("alphas", title, text, ("method",), tuple(columns), rows)
