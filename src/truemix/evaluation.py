"""Evaluate fitted quantifiers on many bags of labelled items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from truemix import metrics as measures
from truemix._optional import require
from truemix._progress import progress
from truemix._typing import FloatArray, IntArray
from truemix.estimates import Estimate
from truemix.estimates.estimate import ESTIMANDS
from truemix.estimates.intervals import check_level
from truemix.exceptions import InputError
from truemix.quantifiers import NotFittedError, Quantifier
from truemix.selection.bags import check_protocol, drawn_bags
from truemix.selection.scores import METRICS, errors
from truemix.validation import check_choice, parameter_error

if TYPE_CHECKING:
    import pandas as pd

# Metrics of intervals, for methods with draws.
INTERVAL_METRICS = ("winkler_score", "hard_coverage", "soft_coverage", "amplitude", "width")
DEFAULT = ("absolute_error", "relative_absolute_error", *INTERVAL_METRICS)


def evaluate(
    quantifiers: Any,
    X: Any,
    y: Any,
    *,
    protocol: Any,
    metrics: Sequence[Any] = DEFAULT,
    level: float = 0.95,
    also: str | None = None,
) -> pd.DataFrame:
    """Estimate the mix of many bags of labelled items, and compare with the truth.

    Parameters
    ----------
    quantifiers : Quantifier, or mapping from name to Quantifier
        Fitted, on the same classes.
    X, y
        Labelled items that they have not seen; X as for ``quantify``. The labels may be None if
        the protocol does not need them, because its bags and their mixes are known.
    protocol : protocol
        How bags are drawn, such as :class:`truemix.protocols.DirichletBags`; any object whose
        ``bags(y, classes)`` yields :class:`truemix.protocols.Bag`.
    metrics : sequence of str or functions
        Names from :mod:`truemix.metrics`, or functions of a true and an estimated mix. Those about
        intervals (``winkler_score``, ``soft_coverage``, ``amplitude`` and the mean ``width`` of
        each class's own interval, ``hard_coverage`` of simultaneous ones) are missing for methods
        without draws.
    level : float
        Level of the intervals.
    also : {"batch", "population"}, optional
        Score the intervals of this view of the same runs, too, in columns such as
        ``batch_soft_coverage``, beside those of the quantifier's own estimand.

    Returns
    -------
    DataFrame
        One row per bag and quantifier: ``quantifier``, ``bag``, ``n_items``, a column per metric,
        ``true`` and ``estimated`` (mixes), and ``failed``, whether a diagnostic did.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import CC, EMQ, evaluate
    >>> from truemix.protocols import DirichletBags
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 1000), rng.beta(4, 2, 1000)])
    >>> P, y = np.column_stack([1 - p, p]), np.repeat(["ham", "spam"], 1000)
    >>> half = np.arange(2000) % 2 == 0
    >>> fitted = {"counted": CC().fit(P[half], y[half]), "corrected": EMQ().fit(P[half], y[half])}
    >>> frame = evaluate(fitted, P[~half], y[~half], protocol=DirichletBags(n_bags=50))
    >>> frame.groupby("quantifier").absolute_error.mean().round(2).to_dict()
    {'corrected': 0.01, 'counted': 0.09}
    """
    require("pandas", "evaluate()")
    import pandas as pd

    level = check_level(level)
    if also is not None:
        check_choice(also, "also", ESTIMANDS)
    named = quantifiers if isinstance(quantifiers, Mapping) else {"": quantifiers}
    _check(named, metrics)
    classes = next(iter(named.values())).classes_
    check_protocol(protocol)
    bags = drawn_bags(protocol, y, classes, _n_items(X))
    rows = [bag.index for bag in bags]
    truth = np.array([bag.prevalence for bag in bags])
    frames = []
    with progress("evaluate", len(named), "quantifiers") as work:
        for name, quantifier in named.items():
            shown = name or type(quantifier).__name__
            columns = _columns(quantifier, X, rows, truth, metrics, level, also)
            columns = {"quantifier": shown, "bag": np.arange(len(bags)), **columns}
            frames.append(pd.DataFrame(columns))
            work.advance()
    return pd.concat(frames, ignore_index=True)


def _n_items(X: Any) -> int:
    # Posteriors by several models have the items in their second dimension.
    if isinstance(X, np.ndarray) and X.ndim == 3:
        return int(X.shape[1])
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _check(named: Mapping[str, Any], metrics: Sequence[Any]) -> None:
    if isinstance(metrics, str) or not metrics:
        raise parameter_error("metrics", "a list of metrics", metrics)
    for metric in metrics:
        if not callable(metric):
            check_choice(metric, "metrics", (*METRICS, *INTERVAL_METRICS))
    if not named:
        raise InputError("There are no quantifiers to evaluate; expected at least one.")
    for name, quantifier in named.items():
        if not isinstance(quantifier, Quantifier):
            raise parameter_error("quantifiers", "fitted truemix quantifiers", quantifier)
        if not hasattr(quantifier, "classes_"):
            raise NotFittedError(
                f"The quantifier {name or type(quantifier).__name__} is not fitted yet; call fit "
                "with labelled reference items before it is evaluated."
            )
    known = [quantifier.classes_.tolist() for quantifier in named.values()]
    if any(each != known[0] for each in known):
        raise InputError("The quantifiers were fitted on different classes; expected the same.")


def _columns(
    quantifier: Quantifier,
    X: Any,
    rows: list[IntArray],
    truth: FloatArray,
    metrics: Sequence[Any],
    level: float,
    also: str | None,
) -> dict[str, Any]:
    mixes, failed = [], []
    # What the columns of a view begin with, and its intervals; the quantifier's own comes first.
    views = {"": _Intervals([], [])} | ({f"{also}_": _Intervals([], [])} if also else {})
    for estimate in quantifier.quantify_bags(X, rows):
        mixes.append(estimate.prevalence)
        failed.append(_has_failed(estimate))
        if estimate.draws is not None:
            shown = [estimate, *([estimate.of(also)] if also else [])]
            for view, intervals in zip(shown, views.values(), strict=True):
                intervals.single.append(view.interval(level))
                intervals.joint.append(view.interval(level, simultaneous=True))
    estimated, sizes = np.array(mixes), np.array([len(each) for each in rows])
    columns: dict[str, Any] = {"n_items": sizes}
    for metric in metrics:
        if isinstance(metric, str) and metric in INTERVAL_METRICS:
            for prefix, intervals in views.items():
                if intervals.single:
                    columns[prefix + metric] = intervals.scores(metric, truth, level)
        else:
            name = metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))
            columns[name] = errors(
                metric, truth, estimated, sizes=sizes, train_prevalence=quantifier.train_prevalence_
            )
    return {**columns, "true": list(truth), "estimated": list(estimated), "failed": failed}


class _Intervals(NamedTuple):
    """Marginal and simultaneous intervals of each bag, in one view."""

    single: list[FloatArray]
    joint: list[FloatArray]

    def scores(self, metric: str, truth: FloatArray, level: float) -> FloatArray:
        chosen = np.array(self.joint if metric == "hard_coverage" else self.single)
        return _of_intervals(metric, truth, chosen, level)


def _of_intervals(
    metric: str, truth: FloatArray, intervals: FloatArray, level: float
) -> FloatArray:
    if metric == "amplitude":
        return measures.amplitude(intervals)
    if metric == "width":
        return np.asarray(np.diff(intervals, axis=-1)[..., 0].mean(axis=1))
    if metric == "winkler_score":
        return measures.winkler_score(truth, intervals, level)
    return np.asarray(getattr(measures, metric)(truth, intervals))


def _has_failed(estimate: Estimate) -> bool:
    diagnostics = estimate.diagnostics
    return bool(diagnostics.get("failed")) or diagnostics.get("converged") is False
