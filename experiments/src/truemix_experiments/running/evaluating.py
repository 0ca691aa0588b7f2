"""Evaluation of a method on test bags: one row of metrics per bag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from truemix import evaluate
from truemix_experiments._typing import FloatArray
from truemix_experiments.running.stages import Bags

if TYPE_CHECKING:
    import pandas as pd

    from truemix.quantifiers import Quantifier

# Published bags whose items are worked on at once.
BLOCK = 16
# Columns of results, and what they are in truemix.
METRICS = {
    "ae": "absolute_error",
    "w": "weight_ratio_error",
    "hard": "hard_coverage",
    "soft": "soft_coverage",
    "amplitude": "amplitude",
    "winkler": "winkler_score",
    "width": "width",
}
# The paper's estimand is the mix of the population; intervals of the batch are scored beside.
OTHER_VIEW = "batch"
METRICS |= {
    f"{OTHER_VIEW}_{name}": f"{OTHER_VIEW}_{METRICS[name]}"
    for name in ("hard", "soft", "winkler", "width")
}


def evaluate_bags(
    quantifier: Quantifier, pool: FloatArray, bags: Bags, level: float, *, apart: bool = False
) -> tuple[pd.DataFrame, int]:
    """Return a row for each bag as :class:`truemix_experiments.results.RunResult` wants it.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted on posteriors.
    pool : ndarray of shape (models, n, K)
        Posteriors of the items that bags consist of.
    bags : Bags
    level : float
        Of the intervals.
    apart : bool
        Whether bags have no items in common, as published ones. Then a few bags are processed at
        a time, because the likelihoods of all items may not fit into memory.

    Returns
    -------
    frame : DataFrame
    n_failed : int
        Bags with an answer that had not converged, or draws that failed a diagnostic.
    """
    import pandas as pd

    parts = _in_blocks(pool, bags) if apart else [(pool, bags)]
    metrics = [metric for metric in METRICS.values() if not metric.startswith(OTHER_VIEW)]
    found = pd.concat(
        [
            evaluate(
                quantifier, items, None, protocol=own, metrics=metrics, level=level, also=OTHER_VIEW
            )
            for items, own in parts
        ],
        ignore_index=True,
    )
    rows = pd.DataFrame({"bag": np.arange(len(bags)), "truth": list(bags.truth)})
    rows["prevalence"] = found["estimated"]
    for name, metric in METRICS.items():
        # Methods without draws have no intervals.
        if metric in found:
            rows[name] = found[metric]
    rows.insert(5, "shift", np.abs(bags.truth - quantifier.train_prevalence_).sum(axis=1))
    if "hard" in rows:
        for name in ("hard", f"{OTHER_VIEW}_hard"):
            rows[name] = rows[name].astype(bool)
        rows["amplitude"] *= 100.0
    return rows, int(found["failed"].sum())


def _in_blocks(pool: FloatArray, bags: Bags) -> Iterator[tuple[FloatArray, Bags]]:
    """Yield the items of a few bags, and these bags."""
    for start in range(0, len(bags), BLOCK):
        rows = bags.rows[start : start + BLOCK]
        ends = np.cumsum([len(each) for each in rows])
        own = np.split(np.arange(ends[-1]), ends[:-1])
        yield pool[:, np.concatenate(rows)], Bags(own, bags.truth[start : start + BLOCK])
