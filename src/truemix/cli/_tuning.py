"""The search behind ``truemix tune``: the grid, the score of each setting, and the best one."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from truemix._version import __version__
from truemix.cli import _methods as methods
from truemix.cli._classifiers import ClassifierChoice, check_parameters
from truemix.cli._features import training_columns
from truemix.cli._one_table import labelled_only
from truemix.cli._options import MethodOptions, ReferenceOptions
from truemix.cli._progress import Progress
from truemix.cli._reading import Reference, read_reference
from truemix.cli._work import fit, give_classifier, training
from truemix.cli.tables import open_table
from truemix.cli.tables.source import open_source
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

Grid = dict[str, list[Any]]
# Parameters of a classifier begin with this, on the command line and in the results; and how the
# quantifier calls them.
_PREFIX, _INSIDE = "classifier.", "classifier__model__"
_CLASSIFIER_GRIDS: dict[str, Grid] = {
    "logistic": {"C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]},
    "random-forest": {"min_samples_leaf": [1, 3, 10, 30]},
    "gradient-boosting": {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [7, 31]},
}


@dataclass(frozen=True)
class Choice:
    """A method and, if features are given, a classifier, each with its parameters."""

    method: MethodOptions
    classifier: ClassifierChoice | None

    def with_setting(self, setting: dict[str, Any]) -> Choice:
        """Return the choice with the parameters of one setting of a grid."""
        own: Any = {k: v for k, v in setting.items() if not k.startswith(_PREFIX)}
        # As it would have been typed.
        own |= {name: f"{own[name]}" for name in methods.READ_AS_TEXT & set(own)}
        own |= {"prior": [f"{own['prior']}"]} if "prior" in own else {}
        method = replace(self.method, **own)
        if self.classifier is None:
            return replace(self, method=method)
        inner = {k.removeprefix(_PREFIX): v for k, v in setting.items() if k not in own}
        parameters = {**self.classifier.parameters, **inner}
        return Choice(method, replace(self.classifier, parameters=parameters))

    def options(self) -> dict[str, Any]:
        """Return the options that give the choice again."""
        classifier = None if self.classifier is None else self.classifier.text
        return {"classifier": classifier, **vars(self.method)}


def _parse_grid(texts: list[str]) -> Grid:
    """Return the grid that the user typed, such as ``bandwidth=0.1,0.3``."""
    grid: Grid = {}
    for text in texts:
        name, sign, values = text.partition("=")
        if not sign or not name or not values:
            raise InputError(
                f"The option --grid is {text!r}; expected NAME=VALUE,VALUE,…, as in "
                "--grid bandwidth=0.1,0.3,1."
            )
        if name in grid:
            raise InputError(f"The option --grid names {name} twice; give all its values at once.")
        grid[name] = [methods.value_of(value) for value in values.split(",")]
    return grid


def _check_grid(grid: Grid, choice: Choice) -> None:
    """Refuse parameters that neither the method nor the classifier has."""
    known = [name for name in vars(choice.method) if name not in {"method", "seed"}]
    for name, values in grid.items():
        if name in known:
            for value in values:
                methods.quantifier_of(choice.with_setting({name: value}).method)
        elif not name.startswith(_PREFIX):
            raise InputError(
                f"The grid has a parameter {name!r}; expected one of {', '.join(known)}, or one of "
                f"a classifier, such as {_PREFIX}C."
            )
        elif choice.classifier is None:
            raise InputError(f"The grid has {name}, but there is no --classifier; name one.")
        else:
            check_parameters(choice.classifier.name, [name.removeprefix(_PREFIX)])


def _default_grid(choice: Choice) -> Grid:
    """Return the default grid of the parameters that the user has not set."""
    from truemix.models.bandwidth_selection import BANDWIDTHS, SHRINKAGES

    grid: Grid = {}
    if choice.classifier is not None:
        decided = choice.classifier.parameters
        own = _CLASSIFIER_GRIDS[choice.classifier.name]
        grid = {_PREFIX + k: v for k, v in own.items() if k not in decided}
    options, decided = choice.method, methods.given_parameters(choice.method)
    name, kernel = _point_method(options), options.kernel or "aitchison"
    own = {}
    if name == "kdey":
        own = {"bandwidth": BANDWIDTHS[kernel].tolist(), "shrinkage": [*SHRINKAGES[kernel]]}
    elif name == "emq":
        own = {"calibration": [None, "ts", "bcts", "vs", "nbvs"]}
    grid.update({k: v for k, v in own.items() if k not in decided})
    if not grid:
        name = methods.method_name(options.method)
        raise InputError(
            f"There is nothing to choose for the method {name} with these options; name parameters "
            "with --grid, or train a classifier with --classifier."
        )
    return grid


def _point_method(options: MethodOptions) -> str:
    """Return the point method with the same model."""
    return methods.method_name(options.method).rpartition("-")[2]


@dataclass(frozen=True)
class Found:
    """The result of a search as plain numbers and text, and whether all settings were tried."""

    content: dict[str, Any]
    complete: bool
    reference: Reference


def search(
    inputs: ReferenceOptions, choice: Choice, typed: list[str], metric: str, progress: Progress
) -> Found:
    """Try all settings of a grid on the labelled items of a file."""
    from truemix.selection import GridSearch
    from truemix.selection.scores import check_metric

    check_metric(metric)
    method = type(methods.quantifier_of(choice.method)).__name__
    grid = _parse_grid(typed) if typed else _default_grid(choice)
    _check_grid(grid, choice)
    candidate = _candidate(choice.method, grid)
    with progress.step("read reference"), ExitStack() as stack:
        source, note = labelled_only(open_source(inputs.reference, stack), inputs.label)
        if note is not None:
            progress.note(note)
        reference = read_reference(open_table(source), inputs, None, progress)
    # What depends on the data: a classifier, and a prior by class.
    give_classifier(candidate, choice.classifier, reference, choice.method)
    if choice.method.prior and "prior" in candidate.get_params() and "prior" not in grid:
        candidate.set_params(prior=methods.prior_of(choice.method.prior, reference.labels.classes))
    inside = {name.replace(_PREFIX, _INSIDE): values for name, values in grid.items()}
    searching = GridSearch(
        candidate, inside, metric=metric, refit=False, verbose=not progress.quiet
    )
    with progress.step("search"), training(reference):
        searching.fit(reference.X, reference.labels.items)
    settings = []
    for record in sorted(searching.records_, key=lambda record: record["rank"]):
        known = {_outside(name): value for name, value in record.items()}
        score, error = known.pop("score"), known.pop("standard_error")
        del known["rank"], known["seconds"]
        error = None if math.isnan(error) else error
        settings.append({**known, metric: score, "standard_error": error})
    content = {
        "truemix": __version__,
        "method": method,
        "reference": {"name": reference.name, "n_items": reference.n_items},
        **training_columns(reference.features),
        "metric": metric,
        "best": {_outside(name): value for name, value in searching.best_params_.items()},
        "settings": settings,
    }
    complete = len(settings) == math.prod(map(len, grid.values()))
    return Found(content, complete, reference)


def _candidate(options: MethodOptions, grid: Grid) -> Quantifier:
    """Return the quantifier to search with.

    Drawing from posteriors takes much longer than maximising, and the parameters of the model are
    the same: only a grid of other parameters, such as priors, needs the Bayesian method itself.
    """
    point = methods.quantifier_of(MethodOptions(method=_point_method(options)))
    own = point.get_params()
    if any(name not in own for name in grid if not name.startswith(_PREFIX)):
        return methods.quantifier_of(options)
    point.set_params(**{k: v for k, v in methods.given_parameters(options).items() if k in own})
    return point


def _outside(name: str) -> str:
    """Return a parameter's name as the user knows it."""
    return name.replace(_INSIDE, _PREFIX)


def save_chosen(found: Found, chosen: Choice, out: str, progress: Progress) -> None:
    """Fit the chosen quantifier on all labelled items and save it."""
    from truemix.persistence import save

    quantifier = methods.quantifier_of(chosen.method)
    with progress.step("fit"):
        fit(quantifier, chosen.method, found.reference)
    with progress.step("write"):
        save(quantifier, out)
