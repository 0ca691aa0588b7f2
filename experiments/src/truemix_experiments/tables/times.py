"""The time that runs took, as it was recorded in the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truemix_experiments.methods import METHODS
from truemix_experiments.statistics import sorted_datasets
from truemix_experiments.tables._cells import caption, number
from truemix_experiments.tables.table import Column, Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

PARTS = ("seconds_choosing", "seconds_testing")


def times(results: Results) -> Table:
    """Return the seconds of each data set: choosing settings and temperatures, testing by α."""
    runs = results.runs
    if not {*PARTS, "settings"} <= set(runs.columns):
        return Table("times", "", "", (), (), ())
    runs = runs[runs["method"].isin(list(METHODS)) & runs[list(PARTS)].notna().all(axis=1)]
    found = sorted(runs["alpha"].unique())
    columns = [
        Column("settings", "choosing"),
        Column("temperatures", "choosing"),
        *(Column(f"Dirichlet({alpha:g})", "testing") for alpha in found),
        Column("all"),
    ]
    of_each = {str(name): _seconds(own, found) for name, own in runs.groupby("dataset")}
    kind = dict(zip(runs["dataset"], runs["modality"], strict=True))
    names = sorted_datasets(list(of_each))
    rows = [_row((kind[name], name), of_each[name]) for name in names]
    for modality in dict.fromkeys(kind[name] for name in names):
        own = [of_each[name] for name in names if kind[name] == modality]
        label = f"all {len(own)}"
        rows.append(_row((modality, label), [sum(each) for each in zip(*own, strict=True)], True))
    text = caption(
        "Seconds of one core, as recorded while they ran; what methods have in common counts "
        "once. Without the training of classifiers. Machine: "
        + "; ".join(sorted(set(runs["machine"])))
        + "."
    )
    title = "Time of each data set"
    return Table("times", title, text, ("modality", "data set"), tuple(columns), tuple(rows))


def _seconds(runs: pd.DataFrame, alphas: list[float]) -> list[float]:
    """Return the seconds of choosing settings and temperatures, and of testing by α."""
    settings: dict[str, float] = {}
    with_temperature: dict[str, float] = {}
    testing = dict.fromkeys(alphas, 0.0)
    tested = set(zip(runs["method"], runs["alpha"], strict=True))
    for _, run in runs.iterrows():
        method = METHODS[run["method"]]
        if not method.calibrated:
            settings[method.point] = run["seconds_choosing"]
        else:
            with_temperature[method.name] = run["seconds_choosing"]
        # At temperature 1 the calibrated method is the other one, and was not run.
        adopted = method.calibrated and run["settings"].get("temperature") == 1.0
        if not (adopted and (method.base, run["alpha"]) in tested):
            testing[run["alpha"]] += run["seconds_testing"]
    temperatures = sum(
        seconds - settings.get(METHODS[name].point, 0.0)
        for name, seconds in with_temperature.items()
    )
    return [sum(settings.values()), temperatures, *testing.values()]


def _row(labels: tuple[str, str], seconds: list[float], is_summary: bool = False) -> Row:
    cells = tuple(number(value, 0) for value in (*seconds, sum(seconds)))
    return Row(labels, cells, is_summary)
