"""Estimates in the terms of other libraries: pandas and ArviZ."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

from truemix._typing import FloatArray
from truemix.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from truemix.estimates.estimate import Estimate


def estimate_frame(estimate: Estimate, level: float) -> pd.DataFrame:
    """Return a table with one row per class."""
    columns = {"prevalence": estimate.prevalence}
    if estimate.draws is not None:
        columns["lower"], columns["upper"] = estimate.interval(level).T
    columns["classify_and_count"] = estimate.classify_and_count
    columns["reference"] = estimate.train_prevalence
    return by_class(estimate, columns)


def by_class(estimate: Estimate, columns: dict[str, FloatArray]) -> pd.DataFrame:
    """Return columns as a table indexed by class."""
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(estimate.classes.tolist(), name="class"))


def arviz_data(estimate: Estimate) -> Any:
    """Return the draws of both views as the installed ArviZ holds them."""
    names = {"population": "prevalence", "batch": "batch"}
    variables = {
        name: draws[None]
        for view, name in names.items()
        if (draws := estimate.draws_of(view)) is not None
    }
    with warnings.catch_warnings():
        # ArviZ 0.x announces its own refactoring on import, once a day; no user can act on it.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            import arviz
        except ImportError as error:
            raise InputError(
                f"to_arviz needs ArviZ, which cannot be imported ({error}); install it with "
                "`pip install arviz`."
            ) from None
        labels: dict[str, Any] = {
            "coords": {"class": estimate.classes.tolist()},
            "dims": {name: ["class"] for name in variables},
        }
        # ArviZ 1 takes one mapping of groups where 0.x takes a keyword per group.
        if "posterior" in inspect.signature(arviz.from_dict).parameters:
            return arviz.from_dict(posterior=variables, **labels)
        return arviz.from_dict({"posterior": variables}, **labels)
