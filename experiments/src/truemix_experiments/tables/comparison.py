"""Ours against published: the ratio of mean errors of each method on each data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truemix_experiments.published import ABLATION, BAYESIAN, published_values, shown_method
from truemix_experiments.statistics import geometric_mean, mean_values, modalities
from truemix_experiments.tables._cells import caption, count, number
from truemix_experiments.tables.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

# Relative difference from which a ratio is marked.
TOLERANCE = 0.2


def comparison(results: Results) -> Table:
    """Return our mean AE divided by the published one, and its geometric mean per method."""
    ours = mean_values(results, "ae", (*ABLATION, *BAYESIAN))
    datasets = list(ours.index)
    theirs = published_values("ae", datasets).reindex(columns=ours.columns)
    ratios = (ours / theirs.where(theirs > 0)).dropna(how="all").dropna(axis=1, how="all")
    kinds = modalities(results)
    rows = [
        Row((kinds[dataset], dataset), tuple(_ratio(value) for value in ratios.loc[dataset]))
        for dataset in ratios.index
    ]
    if rows:
        means = [number(geometric_mean(ratios[method]), 2) for method in ratios]
        known = theirs.reindex_like(ratios)
        of_means = [_of_means(ours[method], known[method]) for method in ratios]
        far = [_share_far(ratios[method].dropna().tolist()) for method in ratios]
        rows.append(Row(("", "geometric mean"), tuple(means), is_summary=True))
        rows.append(Row(("", "of the means"), tuple(of_means), is_summary=True))
        rows.append(Row(("", "off by more than 20 %"), tuple(far), is_summary=True))
    text = caption(
        "Below 1 our error is smaller. ↑ and ↓: it differs by more than 20 %. Of the means: our "
        "error, averaged over data sets, divided by the published average.",
        f"{count(len(ratios)).capitalize()}.",
    )
    columns = tuple(Column(shown_method(method)) for method in ratios.columns)
    title = "Mean AE, ours divided by published"
    return Table("comparison", title, text, ("modality", "data set"), columns, tuple(rows))


def _is_far(ratio: float) -> bool:
    return abs(ratio - 1.0) > TOLERANCE


def _ratio(value: float) -> Cell:
    if np.isnan(value):
        return Cell()
    arrow = "" if not _is_far(value) else " ↑" if value > 1.0 else " ↓"
    return Cell(f"{value:.2f}{arrow}", float(value), marked=_is_far(value))


def _of_means(ours: pd.Series[float], theirs: pd.Series[float]) -> Cell:
    both = ours.dropna().index.intersection(theirs.dropna().index)
    return number(ours[both].mean() / theirs[both].mean(), 2)


def _share_far(ratios: list[float]) -> Cell:
    n_far = sum(map(_is_far, ratios))
    return Cell(f"{n_far} of {len(ratios)}", float(n_far))
