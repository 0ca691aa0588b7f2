"""Estimates from draws that another sampler made."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._typing import AnyArray, FloatArray
from truemix.exceptions import InputError
from truemix.validation import check_classes, check_integer, check_one_class_is_not_enough

# The sampler in the diagnostics of such an estimate.
GIVEN = "given"
_MIN_DRAWS = 2


def fields_of_draws(
    classes: Any,
    draws: Any,
    *,
    n_items: int | None,
    train_prevalence: Any,
    classify_and_count: Any,
    method: Any,
) -> dict[str, Any]:
    """Return the checked fields of an estimate; see :meth:`truemix.Estimate.from_draws`."""
    order = check_classes(classes)
    check_one_class_is_not_enough(order)
    if not isinstance(method, str) or not method.strip():
        raise InputError(f"method is {method!r:.80}; expected the name of the method as text.")
    rows, n_chains = _rows(draws, order)
    if len(rows) < _MIN_DRAWS * n_chains:
        raise InputError(
            f"draws has {len(rows) // n_chains} row in each of {n_chains} chains; expected at "
            f"least {_MIN_DRAWS}."
            if n_chains > 1
            else f"draws has {len(rows)} row; expected at least {_MIN_DRAWS} draws of the mix."
        )
    diagnostics: dict[str, Any] = {"sampler": GIVEN}
    if n_chains > 1:
        diagnostics["chains"] = n_chains
    return {
        "classes": order,
        "prevalence": rows.mean(axis=0),
        "draws": rows,
        "n_items": 0 if n_items is None else check_integer(n_items, "n_items"),
        "train_prevalence": _shares(train_prevalence, order, "train_prevalence"),
        "classify_and_count": _shares(classify_and_count, order, "classify_and_count"),
        "method": method,
        "diagnostics": diagnostics,
    }


def _rows(draws: Any, classes: AnyArray) -> tuple[FloatArray, int]:
    """Return draws as rows, one chain after the other, and the number of chains."""
    # Imported here because reading data frames needs a library of its own.
    from truemix.tables import posteriors_of

    shape = np.shape(draws)
    n_chains = 1
    if len(shape) == 3:
        n_chains, draws = shape[0], np.reshape(draws, (-1, shape[2]))
    # A copy: the user's array may change.
    return posteriors_of(draws, classes, "draws").copy(), n_chains


def _shares(given: Any, classes: AnyArray, name: str) -> FloatArray | None:
    """Return one share per class, given in the order of the classes or by class; None stays."""
    from truemix.tables import posteriors_of

    if given is None:
        return None
    if isinstance(given, dict):
        missing = [label for label in classes.tolist() if label not in given]
        if missing or len(given) != len(classes):
            raise InputError(
                f"{name} has shares of {list(given)[:8]!r}; expected one share for each of the "
                f"classes {classes.tolist()[:8]!r}."
            )
        given = [given[label] for label in classes.tolist()]
    if np.shape(given) != (len(classes),):
        raise InputError(
            f"{name} has shape {np.shape(given)}; expected one share for each of the "
            f"{len(classes)} classes."
        )
    shares: FloatArray = posteriors_of(np.asarray([given]), classes, name)[0].copy()
    return shares
