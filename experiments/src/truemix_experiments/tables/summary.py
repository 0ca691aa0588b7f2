"""The Bayesian methods at a glance: ranks of the errors, coverage and size of the intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truemix_experiments.published import (
    BAYESIAN,
    OWN,
    calibrated,
    published_values,
    shown_method,
)
from truemix_experiments.statistics import mean_values
from truemix_experiments.tables._cells import (
    SAME_DATA,
    best_in_bold,
    caption,
    count,
    mean_and_spread,
    over,
    own_ranks,
    rank_cells,
)
from truemix_experiments.tables.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

LEVEL = 95.0
MEASURES = {"hard": "hard gap", "soft": "soft gap", "amplitude": "amplitude"}
# The paper's text calls the gap an absolute deviation, but its numbers follow from its coverages
# only as shortfalls: more than 95 % counts 0.
GAP = "Gap: percentage points by which coverage falls short of 95 % (none where it is above)."


def bayesian_summary(results: Results) -> Table:
    """Return ranks at temperature 1, and coverage gaps and amplitudes before and after calibration.

    Gaps and amplitudes are mean ± standard deviation over data sets.
    """
    methods = (*BAYESIAN, BAYESIAN[-1] + OWN)
    means = mean_values(results, "ae", methods)
    ran = list(means.columns)
    complete = means.dropna()
    columns: list[Column] = []
    cells: list[list[Cell]] = []
    if len(complete):
        for metric, shown in (("ae", "AE rank"), ("w", "W rank")):
            frame = mean_values(results, metric, methods).dropna()
            columns.append(Column(shown))
            cells.append(rank_cells(frame, metric))
    n_calibrated = 0
    for group in ("T = 1", "calibrated"):
        names = {m: m if group == "T = 1" else calibrated(m) for m in ran}
        for metric, shown in MEASURES.items():
            frame = mean_values(results, metric, list(names.values())).dropna()
            if frame.empty:
                continue
            n_calibrated = len(frame) if group == "calibrated" else 0
            columns.append(Column(shown, group))
            cells.append(_measure_cells(frame, metric, list(names.values())))
    rows = tuple(
        Row((shown_method(method),), tuple(column[place] for column in cells))
        for place, method in enumerate(ran)
    )
    text = caption(
        GAP,
        "Amplitude: percentage of the simplex inside the intervals. Mean ± standard deviation "
        "over data sets; best in bold.",
        SAME_DATA,
        over(len(complete), len(means), what="Columns at T = 1"),
        f"Calibrated ones are over {count(n_calibrated)}." if n_calibrated else "",
        own_ranks(ran),
    )
    title = "Bayesian methods: errors, coverage and amplitude"
    return Table("bayesian-summary", title, text, ("method",), tuple(columns), rows)


def _measure_cells(frame: pd.DataFrame, metric: str, names: list[str]) -> list[Cell]:
    theirs = published_values(metric, list(frame.index))
    known = theirs[[m for m in names if m in theirs]].dropna(axis=1, how="all")
    comparable = known.notna().all(axis=None)
    cells = []
    for name in names:
        cell = mean_and_spread(_gap(frame[name], metric)) if name in frame else Cell()
        if name in known and comparable and cell.value is not None:
            cell = cell.beside(mean_and_spread(_gap(known[name], metric)))
        cells.append(cell)
    return best_in_bold(cells)


def _gap(values: pd.Series[float], metric: str) -> pd.Series[float]:
    return values if metric == "amplitude" else (LEVEL - values).clip(lower=0.0)
