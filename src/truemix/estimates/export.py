"""Estimates handed on: as data frames, to ArviZ, and as the page of the report."""

from __future__ import annotations

import inspect
import os
import warnings
from typing import TYPE_CHECKING, Any

from truemix._optional import require
from truemix._typing import AnyArray, FloatArray
from truemix.estimates.chains import rows_of_chains

if TYPE_CHECKING:
    import pandas as pd

    from truemix.estimates.estimate import Estimate
    from truemix.estimates.estimate_set import EstimateSet


def estimate_frame(estimate: Estimate, level: float) -> pd.DataFrame:
    """Return a table with one row per class."""
    columns = {"prevalence": estimate.prevalence}
    if estimate.draws is not None:
        columns["lower"], columns["upper"] = estimate.interval(level).T
    if estimate.classify_and_count is not None:
        columns["classify_and_count"] = estimate.classify_and_count
    if estimate.train_prevalence is not None:
        columns["reference"] = estimate.train_prevalence
    return by_class(estimate.classes, columns, "Estimate.frame()")


def by_class(classes: AnyArray, columns: dict[str, FloatArray], what: str) -> pd.DataFrame:
    """Return columns as a table indexed by class; ``what`` names the method that returns it."""
    require("pandas", what)
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(classes.tolist(), name="class"))


def arviz_data(estimate: Estimate) -> Any:
    """Return the draws of both views as the installed ArviZ holds them."""
    require("arviz", "Estimate.to_arviz()")
    names = {"population": "prevalence", "batch": "batch"}
    rows = rows_of_chains(estimate)
    variables = {
        name: draws[rows]
        for view, name in names.items()
        if (draws := estimate.draws_of(view)) is not None
    }
    with warnings.catch_warnings():
        # ArviZ 0.x announces its own refactoring on import, once a day; no user can act on it.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz

        labels: dict[str, Any] = {
            "coords": {"class": estimate.classes.tolist()},
            "dims": {name: ["class"] for name in variables},
        }
        # ArviZ 1 takes one mapping of groups where 0.x takes a keyword per group.
        if "posterior" in inspect.signature(arviz.from_dict).parameters:
            return arviz.from_dict(posterior=variables, **labels)
        return arviz.from_dict({"posterior": variables}, **labels)


def write_report(
    estimates: Estimate | EstimateSet, path: str | os.PathLike[str], level: float
) -> None:
    """Write the page of the report."""
    # The one step up: the report is made of estimates, and whoever has one may ask it for its page.
    from truemix.report.file import write_page

    write_page(estimates, path, level)
