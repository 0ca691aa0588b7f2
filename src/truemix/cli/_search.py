"""The search behind ``truemix tune``."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truemix.cli._classifiers import pipeline
from truemix.cli._grids import (
    Choice,
    Grid,
    candidate_of,
    check_grid,
    default_grid,
    inside,
    outside,
    parse_grid,
)
from truemix.cli._methods import prior_of, quantifier_of, seed_of
from truemix.cli._options import ReferenceOptions
from truemix.cli._progress import Progress
from truemix.cli._reading import Reference, read_reference
from truemix.cli._work import fit, give_classifier, training
from truemix.cli.tables import open_table
from truemix.cli.tables.source import open_source

if TYPE_CHECKING:
    import pandas as pd

    from truemix.quantifiers import Quantifier


@dataclass(frozen=True)
class Found:
    """What a search has found.

    Attributes
    ----------
    settings : list of dict
        Each setting with its mean error and the error's standard error, best first.
    best : dict
        Parameters of the best one.
    complete : bool
        Whether all settings were tried.
    reference : Reference
        The labelled items.
    """

    method: str
    metric: str
    parameters: list[str]
    settings: list[dict[str, Any]]
    best: dict[str, Any]
    complete: bool
    reference: Reference


def search(
    inputs: ReferenceOptions, choice: Choice, typed: list[str], metric: str, progress: Progress
) -> Found:
    """Try all settings of a grid on the labelled items of a file."""
    from truemix.selection import GridSearch
    from truemix.selection._scores import check_metric

    check_metric(metric)
    quantifier_of(choice.method)
    grid = parse_grid(typed) if typed else default_grid(choice)
    check_grid(grid, choice)
    candidate = candidate_of(choice.method, grid)
    with progress.step("read reference"), ExitStack() as stack:
        table = open_table(open_source(inputs.reference, stack))
        features = choice.classifier is not None
        reference = read_reference(table, inputs.label, None, progress, features=features)
    _complete(candidate, choice, grid, reference)
    searching = GridSearch(
        candidate, inside(grid), metric=metric, refit=False, verbose=not progress.quiet
    )
    with progress.step("search", spinner=False), training(reference):
        searching.fit(reference.X, reference.labels.items)
    settings = _settings(searching.results_, metric)
    return Found(
        type(quantifier_of(choice.method)).__name__,
        metric,
        list(grid),
        settings,
        {outside(name): value for name, value in searching.best_params_.items()},
        len(settings) == math.prod(map(len, grid.values())),
        reference,
    )


def _complete(candidate: Quantifier, choice: Choice, grid: Grid, reference: Reference) -> None:
    """Give the candidate what depends on the data: a classifier, and a prior by class."""
    if choice.classifier is not None and reference.features is not None:
        model = pipeline(choice.classifier, reference.features, seed_of(choice.method))
        give_classifier(candidate, model)
    if choice.method.prior and "prior" in candidate.get_params() and "prior" not in grid:
        candidate.set_params(prior=prior_of(choice.method.prior, reference.labels.classes))


def _settings(results: pd.DataFrame, metric: str) -> list[dict[str, Any]]:
    """Return the settings of a search as plain rows, best first."""
    rows = []
    for row in results.sort_values("rank", kind="stable").to_dict("records"):
        known = {outside(str(name)): value for name, value in row.items()}
        score, error = known.pop("score"), known.pop("standard_error")
        del known["rank"], known["seconds"]
        rows.append(
            {**known, metric: score, "standard_error": None if math.isnan(error) else error}
        )
    return rows


def save_chosen(found: Found, chosen: Choice, out: str, progress: Progress) -> None:
    """Fit the chosen quantifier on all labelled items and save it."""
    from truemix.persistence import save

    quantifier = quantifier_of(chosen.method)
    with progress.step("fit"):
        fit(quantifier, chosen.method, found.reference)
    with progress.step("write"):
        save(quantifier, out)
