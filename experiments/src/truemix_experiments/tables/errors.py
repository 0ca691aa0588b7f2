"""The errors of each method on each data set: AE and W, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from truemix_experiments.published import (
    ABLATION,
    BAYESIAN,
    OWN,
    POINT,
    VARIANTS,
    shown_method,
)
from truemix_experiments.statistics import bag_values, mean_values, modalities, tied_with_best
from truemix_experiments.tables._cells import (
    PUBLISHED,
    caption,
    number,
    over,
    own_ranks,
    published_cells,
    rank_cells,
)
from truemix_experiments.tables.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

ERRORS = {"ae": "AE", "w": "W"}
CONVENTIONS = (
    "Means over bags; best in bold; † not significantly different from the best (paired Wilcoxon "
    "test over bags, level 0.05)."
)
SHRUNK = "KDEy(Ait-lambda)"


def point_errors(results: Results) -> Table:
    """Return AE and W of the point estimators."""
    methods = (*POINT, *VARIANTS)
    return _error_table(results, methods, "point-errors", "Errors of point estimators")


def bayesian_errors(results: Results) -> Table:
    """Return AE and W of the posterior means (and bootstrap means), at temperature 1."""
    methods = (*BAYESIAN, BAYESIAN[-1] + OWN)
    return _error_table(results, methods, "bayesian-errors", "Errors of Bayesian methods")


def ablation(results: Results) -> Table:
    """Return AE and W of all point estimators, KDEy without shrinkage among them, and the λ."""
    title = "Ablation: KDEy without shrinkage"
    if "KDEy(Ait)" not in set(results.runs["method"]):
        return Table("ablation", title, "", (), (), ())
    table = _error_table(results, ABLATION, "ablation", title)
    chosen = _chosen_shrinkage(results)
    if not chosen:
        return table
    rows = tuple(
        replace(row, cells=(*row.cells, Cell() if row.is_summary else _shrinkage(row, chosen)))
        for row in table.rows
    )
    return replace(table, columns=(*table.columns, Column("λ")), rows=rows)


def _error_table(results: Results, methods: Sequence[str], name: str, title: str) -> Table:
    means = {metric: mean_values(results, metric, methods) for metric in ERRORS}
    ae = means["ae"]
    ran = list(ae.columns)
    cells = {metric: _metric_cells(results, metric, frame) for metric, frame in means.items()}
    kinds = modalities(results)
    rows = [
        Row((kinds[dataset], dataset), tuple(cell for m in ERRORS for cell in cells[m][dataset]))
        for dataset in ae.index
    ]
    complete = {metric: frame.dropna() for metric, frame in means.items()}
    n_complete = len(complete["ae"])
    if n_complete and len(ran) > 1:
        ranks = [cell for metric in ERRORS for cell in rank_cells(complete[metric], metric)]
        rows.append(Row(("", "average rank"), tuple(ranks), is_summary=True))
    text = caption(
        "Test bags from Dirichlet(1).",
        CONVENTIONS,
        PUBLISHED,
        over(n_complete, len(ae), what="Ranks"),
        own_ranks(ran),
    )
    columns = tuple(Column(shown_method(m), shown) for shown in ERRORS.values() for m in ran)
    return Table(name, title, text, ("modality", "data set"), columns, tuple(rows))


def _metric_cells(results: Results, metric: str, means: pd.DataFrame) -> dict[str, list[Cell]]:
    """Return each data set's cells, the best in bold, those like it marked, published beside."""
    methods, datasets = list(means.columns), list(means.index)
    published = published_cells(metric, datasets)
    bags = bag_values(results, metric, methods)
    found = {}
    for dataset, row in zip(datasets, means.to_numpy(), strict=True):
        cells = {m: number(mean, 4) for m, mean in zip(methods, row, strict=True)}
        values = bags[dataset]
        if len(values) and len(values.columns) > 1:
            best, tied = tied_with_best(values)
            cells[best] = replace(cells[best], bold=True)
            cells |= {m: replace(cells[m], dagger=True) for m in tied}
        found[dataset] = [
            cell.beside(published.get((dataset, m), Cell())) for m, cell in cells.items()
        ]
    return found


def _chosen_shrinkage(results: Results) -> dict[str, float]:
    runs = results.runs
    runs = runs[(runs["method"] == SHRUNK) & (runs["alpha"] == 1.0)]
    pairs = zip(runs["dataset"], runs["settings"], strict=True)
    return {d: s["shrinkage"] for d, s in pairs if s.get("shrinkage") is not None}


def _shrinkage(row: Row, chosen: dict[str, float]) -> Cell:
    dataset = row.labels[-1]
    theirs = published_cells("shrinkage", [dataset])[dataset, SHRUNK]
    return number(chosen.get(dataset, float("nan")), 3).beside(theirs)
