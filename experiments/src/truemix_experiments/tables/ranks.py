"""Average ranks of the point estimators, by modality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truemix_experiments.published import MODALITIES, POINT, VARIANTS, shown_method
from truemix_experiments.statistics import mean_values, modalities
from truemix_experiments.tables._cells import SAME_DATA, caption, over, own_ranks, rank_cells
from truemix_experiments.tables.table import Column, Row, Table

if TYPE_CHECKING:
    from truemix_experiments.results import Results

OVERALL = "all"


def point_ranks(results: Results) -> Table:
    """Return the average rank of each point estimator for AE and W, by modality and overall."""
    columns, cells = [], []
    n_all, complete, methods = 0, 0, []
    kinds = modalities(results)
    for metric, shown in (("ae", "AE rank"), ("w", "W rank")):
        means = mean_values(results, metric, (*POINT, *VARIANTS))
        n_all, methods = len(means), list(means.columns)
        means = means.dropna()
        complete = len(means)
        if complete == 0:
            continue
        kind = [kinds[dataset] for dataset in means.index]
        known = [m for m in MODALITIES if m in kind] + sorted(set(kind) - set(MODALITIES))
        for name in (*known, OVERALL):
            chosen = [name in {OVERALL, found} for found in kind]
            columns.append(Column(name, shown))
            cells.append(rank_cells(means[chosen], metric))
    rows = tuple(
        Row((shown_method(method),), tuple(column[place] for column in cells))
        for place, method in enumerate(methods)
    )
    text = caption(
        "Rank 1 is best; test bags from Dirichlet(1), averaged before ranking.",
        SAME_DATA,
        over(complete, n_all, what="Ranks"),
        own_ranks(methods),
    )
    title = "Average ranks of point estimators by modality"
    return Table("point-ranks", title, text, ("method",), tuple(columns), rows)
