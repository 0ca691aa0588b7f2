"""Coverage and amplitude of the intervals on each data set, before and after calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from truemix_experiments.published import (
    BAYESIAN,
    BOOTSTRAP,
    OWN,
    calibrated,
    published_values,
    shown_method,
)
from truemix_experiments.statistics import mean_values, modalities
from truemix_experiments.tables._cells import PUBLISHED, caption, over, published_cells
from truemix_experiments.tables.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from truemix_experiments.results import Results

# Percent: coverages in this range are as they should be, amplitudes up to this are small.
WITHIN = (90.0, 100.0)
SMALL = 5.0
MEANING = {
    "hard": "Percentage of bags whose true shares all lie in their intervals at once "
    "(Bonferroni-corrected).",
    "soft": "Percentage of true shares that lie in their intervals (not corrected).",
    "amplitude": "Percentage of the simplex inside the intervals.",
}


def coverage(results: Results, kind: str) -> Table:
    """Return the coverage of each method on each data set, ``kind`` "hard" or "soft"."""
    title = f"{kind.capitalize()} coverage before and after calibration of the temperature"
    return _interval_table(results, kind, _percent, f"{kind}-coverage", title, "Marked: 95 ± 5 %.")


def amplitude(results: Results) -> Table:
    """Return the amplitude of each method on each data set."""
    title = "Amplitude before and after calibration of the temperature"
    return _interval_table(
        results, "amplitude", _amplitude, "amplitude", title, "Marked: up to 5 %."
    )


def _percent(value: float) -> Cell:
    if np.isnan(value):
        return Cell()
    return Cell(f"{value:.0f}", value, marked=WITHIN[0] <= value <= WITHIN[1])


def _amplitude(value: float) -> Cell:
    if np.isnan(value):
        return Cell()
    text = "<0.1" if value < 0.1 else f"{value:.1f}"
    return Cell(text, value, marked=value <= SMALL)


def _interval_table(
    results: Results,
    metric: str,
    make: Callable[[float], Cell],
    name: str,
    title: str,
    marks: str,
) -> Table:
    means = mean_values(results, metric, [m for m, _ in _methods()])
    datasets = list(means.index)
    published = published_cells(metric, datasets)
    chosen = [(m, group) for m, group in _methods() if m in means]
    kinds = modalities(results)
    rows = []
    for dataset in datasets:
        values = means.loc[dataset, [m for m, _ in chosen]].tolist()
        cells = [
            make(value).beside(published.get((dataset, method), Cell()))
            for value, (method, _) in zip(values, chosen, strict=True)
        ]
        rows.append(Row((kinds[dataset], dataset), tuple(cells)))
    complete = means.dropna()
    if len(complete):
        # NaN, and so nothing to show, where one of these data sets is not in the paper.
        theirs = published_values(metric, list(complete.index)).mean(skipna=False)
        cells = [
            make(float(complete[m].mean())).beside(make(float(theirs.get(m, np.nan))))
            for m, _ in chosen
        ]
        rows.append(Row(("", "mean"), tuple(cells), is_summary=True))
    text = caption(
        MEANING[metric],
        "Intervals at 95 %.",
        marks,
        PUBLISHED,
        over(len(complete), len(means), what="Means"),
    )
    columns = tuple(Column(shown_method(_plain(m)), group) for m, group in chosen)
    return Table(name, title, text, ("modality", "data set"), columns, tuple(rows))


def _methods() -> list[tuple[str, str]]:
    """Return all methods with intervals, and the group of columns each is in."""
    bayesian = [*(m for m in BAYESIAN if m not in BOOTSTRAP), BAYESIAN[-1] + OWN]
    return [
        *((m, "") for m in BOOTSTRAP),
        *((m, "T = 1") for m in bayesian),
        *((calibrated(m), "calibrated") for m in bayesian),
    ]


def _plain(method: str) -> str:
    return method.removesuffix("-cal")
