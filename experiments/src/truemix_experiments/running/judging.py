"""What the test bags say about a method: one row of numbers per bag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix import metrics
from truemix.estimates.intervals import interval_of
from truemix_experiments._typing import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

    from truemix.quantifiers import Quantifier
    from truemix.quantifiers.base import Inference

# Bags whose draws are held at once.
BLOCK = 16


def inferences(
    quantifier: Quantifier, versions: FloatArray, bags: list[IntArray]
) -> Iterator[Inference]:
    """Yield what a fitted quantifier says about each bag, given the evidence of the pool."""
    from truemix.quantifiers.sampling import BayesianMixin

    seed = quantifier._seed()
    if isinstance(quantifier, BayesianMixin):
        yield from quantifier._infer_blocks(versions, bags, seed)
        return
    for start in range(0, len(bags), BLOCK):
        yield from quantifier._infer_bags(versions, bags[start : start + BLOCK], seed)


def separately(
    quantifier: Quantifier, scored: FloatArray, bags: list[IntArray]
) -> Iterator[Inference]:
    """Yield the same for bags without common items, whose evidence is too large to hold at once."""
    from truemix.quantifiers.base import gathered

    for start in range(0, len(bags), BLOCK):
        # Only these items: the evidence of the whole pool would be made anew for every block.
        part, own = gathered(scored, bags[start : start + BLOCK])
        yield from quantifier._infer_scored(part, own, quantifier._seed())


def judge(
    answers: Iterable[Inference], truth: FloatArray, train: FloatArray, level: float
) -> tuple[pd.DataFrame, int]:
    """Return a row for each bag as :class:`truemix_experiments.results.RunResult` wants it.

    Parameters
    ----------
    answers : iterable of Inference
        One for each bag.
    truth : ndarray of shape (n_bags, K)
    train : ndarray of shape (K,)
        The mix of the references.
    level : float
        Of the intervals.

    Returns
    -------
    frame : DataFrame
    n_failed : int
        Bags with an answer that had not converged, or draws that failed a diagnostic.
    """
    import pandas as pd

    mixes, single, joint, n_failed = [], [], [], 0
    for answer in answers:
        mixes.append(answer.prevalence)
        n_failed += _failed(answer.diagnostics)
        if answer.draws is not None:
            single.append(interval_of(answer.draws, level))
            joint.append(interval_of(answer.draws, level, simultaneous=True))
    estimated = np.array(mixes)
    columns: dict[str, Any] = {
        "bag": np.arange(len(truth)),
        "truth": list(truth),
        "prevalence": list(estimated),
        "ae": metrics.absolute_error(truth, estimated),
        "w": metrics.weight_ratio_error(truth, estimated, train),
        "shift": np.abs(truth - train).sum(axis=1),
    }
    if single:
        columns |= _about_intervals(truth, np.array(single), np.array(joint), level)
    return pd.DataFrame(columns), n_failed


def _about_intervals(
    truth: FloatArray, single: FloatArray, joint: FloatArray, level: float
) -> dict[str, Any]:
    return {
        "hard": metrics.hard_coverage(truth, joint).astype(bool),
        "soft": metrics.soft_coverage(truth, single),
        "amplitude": 100.0 * metrics.amplitude(single),
        "winkler": metrics.winkler_score(truth, single, level),
        "width": np.diff(single, axis=-1)[..., 0].mean(axis=1),
    }


def _failed(diagnostics: dict[str, Any]) -> bool:
    return bool(diagnostics.get("failed")) or diagnostics.get("converged") is False
