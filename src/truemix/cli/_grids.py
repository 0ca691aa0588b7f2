"""What ``truemix tune`` tries: the user's grid, or one that suits the method and classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from truemix.cli._classifiers import ClassifierChoice, check_parameters
from truemix.cli._methods import (
    READ_AS_TEXT,
    arguments_of,
    given_parameters,
    method_name,
    quantifier_of,
    value_of,
)
from truemix.cli._options import DEFAULT_METHOD, MethodOptions
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

Grid = dict[str, list[Any]]
# Parameters of a classifier begin with this, on the command line and in the results.
_PREFIX = "classifier."
_INSIDE = "classifier__model__"
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
        own = {k: v for k, v in setting.items() if not k.startswith(_PREFIX)}
        method = replace(self.method, **{k: _typed(k, v) for k, v in own.items()})
        if self.classifier is None:
            return replace(self, method=method)
        inner = {k.removeprefix(_PREFIX): v for k, v in setting.items() if k not in own}
        parameters = {**self.classifier.parameters, **inner}
        return Choice(method, replace(self.classifier, parameters=parameters))

    def arguments(self) -> list[str]:
        """Return the options that repeat the choice."""
        classifier = [] if self.classifier is None else ["--classifier", self.classifier.text]
        return classifier + arguments_of(self.method)


def _typed(name: str, value: Any) -> Any:
    """Return a value as it would have been typed."""
    if name == "prior":
        return [f"{value}"]
    return f"{value}" if name in READ_AS_TEXT else value


def parse_grid(texts: list[str]) -> Grid:
    """Return the grid that the user typed, such as ``bandwidth=0.1,0.3``.

    Examples
    --------
    >>> parse_grid(["bandwidth=0.1,0.3", "kernel=ilr"])
    {'bandwidth': [0.1, 0.3], 'kernel': ['ilr']}
    """
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
        grid[name] = [value_of(value) for value in values.split(",")]
    return grid


def check_grid(grid: Grid, choice: Choice) -> None:
    """Refuse parameters that neither the method nor the classifier has."""
    for name, values in grid.items():
        if not name.startswith(_PREFIX):
            for value in values:
                quantifier_of(choice.with_setting({name: _known(name, value)}).method)
        elif choice.classifier is None:
            raise InputError(f"The grid has {name}, but there is no --classifier; name one.")
        else:
            check_parameters(choice.classifier.name, [name.removeprefix(_PREFIX)])


def _known(name: str, value: Any) -> Any:
    known = [each for each in MethodOptions.__dataclass_fields__ if each not in {"method", "seed"}]
    if name not in known:
        raise InputError(
            f"The grid has a parameter {name!r}; expected one of {', '.join(known)}, or one of a "
            f"classifier, such as {_PREFIX}C."
        )
    return value


def default_grid(choice: Choice) -> Grid:
    """Return what is worth trying, beside what the user has decided."""
    grid: Grid = {}
    classifier, options = choice.classifier, choice.method
    if classifier is not None:
        own = _CLASSIFIER_GRIDS[classifier.name]
        grid = {_PREFIX + k: v for k, v in own.items() if k not in classifier.parameters}
    decided = given_parameters(options)
    grid.update({k: v for k, v in _method_grid(options).items() if k not in decided})
    if not grid:
        name = method_name(options.method or DEFAULT_METHOD)
        raise InputError(
            f"There is nothing to choose for the method {name} with these options; name "
            "parameters with --grid, or train a classifier with --classifier."
        )
    return grid


def _method_grid(options: MethodOptions) -> Grid:
    from truemix.quantifiers.automatic import BANDWIDTHS, SHRINKAGES

    name = _point_method(options.method)
    if name == "emq":
        return {"calibration": [None, "ts", "bcts", "vs", "nbvs"]}
    if name == "kdey":
        kernel = options.kernel or "aitchison"
        return {"bandwidth": BANDWIDTHS[kernel].tolist(), "shrinkage": list(SHRINKAGES[kernel])}
    return {}


def _point_method(method: str | None) -> str:
    """Return the point method with the same densities, calibration or confusions."""
    return method_name(method or DEFAULT_METHOD).rpartition("-")[2]


def candidate_of(options: MethodOptions, grid: Grid) -> Quantifier:
    """Return the quantifier to search with.

    Drawing from posteriors takes much longer than maximising, and the parameters of the model are
    the same: only a grid of other parameters, such as priors, needs the Bayesian method itself.
    """
    point = quantifier_of(MethodOptions(method=_point_method(options.method)))
    own = point.get_params()
    if any(name not in own for name in grid if not name.startswith(_PREFIX)):
        return quantifier_of(options)
    point.set_params(**{k: v for k, v in given_parameters(options).items() if k in own})
    return point


def inside(grid: Grid) -> Grid:
    """Return the grid with names as the quantifier knows them."""
    return {name.replace(_PREFIX, _INSIDE): values for name, values in grid.items()}


def outside(name: str) -> str:
    """Return a parameter's name as the user knows it."""
    return name.replace(_INSIDE, _PREFIX)
