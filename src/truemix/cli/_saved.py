"""Quantifiers that ``truemix tune`` has saved, in place of a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truemix._archive import is_archive
from truemix.cli._methods import given_parameters, method_name, option_of, prior_of, seed_of
from truemix.cli._options import MethodOptions
from truemix.cli.tables.source import Source
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

# Parameters that can be changed without fitting again.
_CHANGEABLE = ("temperature", "estimand", "draws")


def is_saved(source: Source) -> bool:
    """Return whether a file is one of truemix's own archives, by its contents."""
    return source.kind() == "NPZ" and is_archive(source.path)


def load_saved(source: Source, options: MethodOptions, classifier: str | None) -> Quantifier:
    """Return a saved quantifier with the parameters that the user changes."""
    from truemix.persistence import load

    quantifier = load(source.path)
    changes = _changes(quantifier, options, source.name, classifier)
    if options.seed is not None and "random_state" in quantifier.get_params():
        changes["random_state"] = seed_of(options)
    if not changes:
        return quantifier
    changed = type(quantifier)(**{**quantifier.get_params(deep=False), **changes})
    # As if it had been saved with these parameters: what follows from them is made again.
    changed.restore(quantifier.state())
    return changed


def n_references(quantifier: Quantifier) -> int | None:
    """Return the number of items that a quantifier was fitted on, if it remembers."""
    if quantifier.references_ is not None:
        return len(quantifier.references_[1])
    counts = getattr(quantifier.model_, "counts_", None)
    return None if counts is None else round(counts.sum())


def _changes(
    quantifier: Quantifier, options: MethodOptions, name: str, classifier: str | None
) -> dict[str, Any]:
    kind = type(quantifier).__name__
    known = quantifier.get_params()
    if options.method is not None:
        wanted = method_name(options.method).replace("-", "")
        inner = getattr(quantifier, "quantifier", None)
        own = f"{kind}{type(inner).__name__}" if inner is not None else kind
        if wanted != own.lower():
            raise InputError(
                f"{name} is a saved quantifier of the method {own}, but --method is "
                f"{options.method}; leave the option out, or give labelled items as REFERENCE."
            )
    given = given_parameters(options)
    if options.prior:
        given["prior"] = options.prior
    if classifier is not None:
        given["classifier"] = classifier
    changes: dict[str, Any] = {}
    for parameter, value in given.items():
        if parameter not in (*_CHANGEABLE, "prior"):
            raise InputError(
                f"{name} is a saved quantifier, whose {parameter} is already decided; leave "
                f"{option_of(parameter)} out, or give labelled items as REFERENCE."
            )
        if parameter not in known:
            raise InputError(
                f"{name} is a saved quantifier of the method {kind}, which has no {parameter}; "
                f"leave {option_of(parameter)} out."
            )
        changes[parameter] = prior_of(value, quantifier.classes_) if parameter == "prior" else value
    return changes
