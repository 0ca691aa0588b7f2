"""The page of estimates that are at hand, as a file."""

from __future__ import annotations

import os

from truemix._files import atomic_write
from truemix.estimates import Estimate, EstimateSet
from truemix.estimates.checks import LABEL_SHIFT
from truemix.exceptions import InputError
from truemix.report.page import render_page
from truemix.report.summary import summarize


def write_page(
    estimates: Estimate | EstimateSet, path: str | os.PathLike[str], level: float = 0.95
) -> None:
    """Write the page that ``truemix estimate --report`` writes, of estimates in Python.

    Parameters
    ----------
    estimates : Estimate or EstimateSet
        The mix of a batch, or of each group of it.
    path : path
        The file to write; it appears whole or not at all.
    level : float
        Level of the intervals.
    """
    every = [estimates] if isinstance(estimates, Estimate) else list(estimates.values())
    for each in every:
        missing = [
            name
            for name in ("n_items", "train_prevalence", "classify_and_count")
            if getattr(each, name) is None or (name == "n_items" and not each.n_items)
        ]
        if missing:
            raise InputError(
                f"report needs {' and '.join(missing)}, which this estimate does not hold; pass "
                f"{'it' if len(missing) == 1 else 'them'} to Estimate.from_draws."
            )
    checked = any(LABEL_SHIFT in each.checks for each in every)
    why_not = None if checked else "quantify(X, check=True) does."
    page = render_page(summarize(estimates, level=level, why_not_checked=why_not))
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))
