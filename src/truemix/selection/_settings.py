"""Expand a grid of parameters into settings, and configure a quantifier by a setting."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from truemix.exceptions import InputError
from truemix.quantifiers import Quantifier
from truemix.validation import parameter_error, shown_list

Setting = dict[str, Any]


def check_quantifier(quantifier: Any) -> Quantifier:
    """Return the quantifier if it is one of ours."""
    if not isinstance(quantifier, Quantifier):
        raise parameter_error("quantifier", "a truemix quantifier, such as KDEy()", quantifier)
    return quantifier


def expand(grid: Any) -> list[Setting]:
    """Return every combination of values in a grid, or in each grid of a list.

    Examples
    --------
    >>> expand({"bandwidth": [0.1, 1.0], "shrinkage": [0.5]})
    [{'bandwidth': 0.1, 'shrinkage': 0.5}, {'bandwidth': 1.0, 'shrinkage': 0.5}]
    """
    grids = [grid] if isinstance(grid, Mapping) else grid
    expected = "a mapping from parameter to a list of values, or a list of such mappings"
    if isinstance(grids, str) or not isinstance(grids, Iterable):
        raise parameter_error("grid", expected, grid)
    settings = []
    for each in grids:
        if not isinstance(each, Mapping):
            raise parameter_error("grid", expected, grid)
        if not each:
            raise InputError("The grid is empty; expected at least one parameter with its values.")
        values = [_values(name, listed) for name, listed in each.items()]
        names = [str(name) for name in each]
        settings += [
            dict(zip(names, combination, strict=True)) for combination in itertools.product(*values)
        ]
    if not settings:
        raise InputError("The grid is empty; expected at least one parameter with its values.")
    return settings


def _values(name: object, listed: Any) -> list[Any]:
    if isinstance(listed, str | Mapping) or not isinstance(listed, Iterable):
        raise InputError(
            f"The grid has {listed!r} for {name!r}; expected a list of values. For a single value "
            f"pass [{listed!r}]."
        )
    values = [value.item() if isinstance(value, np.generic) else value for value in listed]
    if not values:
        raise InputError(
            f"The grid has no values for {name!r}; expected at least one. Leave the parameter out "
            "to keep it as it is."
        )
    return values


def configured(quantifier: Quantifier, setting: Setting) -> Quantifier:
    """Return an unfitted copy of the quantifier with the parameters of a setting, checked."""
    result: Quantifier = clone(quantifier)
    # From the outside in: a classifier is replaced before its own parameters are set.
    for name in sorted(setting, key=lambda name: name.count("__")):
        _check_known(result, name)
        # Copied, so that settings do not share a classifier that one of them changes.
        result.set_params(**{name: clone(setting[name], safe=False)})
    with naming(setting):
        result.checked_parts()
    return result


def _check_known(quantifier: Quantifier, name: str) -> None:
    known = quantifier.get_params(deep=True)
    if name in known:
        return
    owner, _, _ = name.rpartition("__")
    while owner and owner not in known:
        owner, _, _ = owner.rpartition("__")
    prefix = f"{owner}__" if owner else ""
    valid = [each for each in known if each.startswith(prefix) and "__" not in each[len(prefix) :]]
    whose = f"the {owner!r} of this {type(quantifier).__name__}" if owner else repr(quantifier)
    if owner and not valid:
        raise InputError(
            f"The grid has a parameter {name!r}, but {whose} is {known[owner]!r}, which has no "
            "parameters; set it first, or leave the parameter out."
        )
    raise InputError(
        f"The grid has a parameter {name!r}, which {whose} does not have; expected one of "
        f"{shown_list(valid, most=len(valid))}."
    )


@contextmanager
def naming(setting: Setting) -> Iterator[None]:
    """Add the setting to the message of an error raised in the block."""
    shown = ", ".join(f"{name}={value!r}" for name, value in setting.items())
    try:
        yield
    except ValueError as error:
        raise InputError(f"The setting {shown} cannot be used: {error}") from error
    except Exception as error:
        error.add_note(f"This happened with the setting {shown}.")
        raise
