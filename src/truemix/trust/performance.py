"""How good the classifier is on a batch, without labels of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from truemix._typing import AnyArray, FloatArray
from truemix.estimates.checks import COUNTING, point_method
from truemix.estimates.export import by_class
from truemix.estimates.intervals import check_level, interval_of
from truemix.estimates.text import DASH, Table, items, percent, percent_level, shown_name
from truemix.exceptions import InputError
from truemix.trust.joint_draws import joint_draws

if TYPE_CHECKING:
    import pandas as pd

    from truemix.estimates import Estimate
    from truemix.quantifiers.scored_batch import ScoredBatch

MAX_ROWS_SHOWN = 30


class Measure(NamedTuple):
    """A share with its interval; bounds are None without draws."""

    value: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Performance:
    """The expected performance of the classifier's decisions on one batch, under label shift.

    Decisions are the classes of the largest posterior; of a cross-fitted classifier, numbers are
    means over its fold models. With an unknown class, they are about items of the known classes.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Class labels; everything per class is in this order.
    level : float
        Level of the intervals.
    n_items : int
        Number of items in the batch.
    accuracy : Measure
        Share of the items that are decided correctly: ``value``, ``lower``, ``upper``.
    precision, recall : ndarray of shape (K, 3)
        Of each class: value, lower and upper bound; NaN where no item is decided for the class
        (precision) or where there is no interval.
    confusion : ndarray of shape (K, K)
        Share of the items by true class (row) and decision (column); adds up to one.
    confusion_bounds : ndarray of shape (K, K, 2) or None
        Their intervals.
    """

    classes: AnyArray
    level: float
    n_items: int
    accuracy: Measure
    precision: FloatArray
    recall: FloatArray
    confusion: FloatArray
    confusion_bounds: FloatArray | None

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per class.

        Returns
        -------
        DataFrame
            Columns: ``precision`` and ``recall``, each with ``_lower`` and ``_upper``.
        """
        columns = {
            f"{name}{end}": values[:, place]
            for name, values in (("precision", self.precision), ("recall", self.recall))
            for place, end in enumerate(("", "_lower", "_upper"))
        }
        return by_class(self.classes, columns, "Performance.frame()")

    def summary(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON; None where nothing is known.

        ``confusion[k][j]`` is the share of the items of class k that are decided for class j.
        """
        per_class = [
            {
                "class": name,
                **{
                    f"{measure}{end}": _plain(value)
                    for measure, row in (("precision", precision), ("recall", recall))
                    for end, value in zip(("", "_lower", "_upper"), row, strict=True)
                },
            }
            for name, precision, recall in zip(
                self.classes.tolist(), self.precision.tolist(), self.recall.tolist(), strict=True
            )
        ]
        bounds = self.confusion_bounds
        return {
            "level": float(self.level),
            "accuracy": self.accuracy._asdict(),
            "classes": per_class,
            "confusion": self.confusion.tolist(),
            "confusion_lower": None if bounds is None else bounds[..., 0].tolist(),
            "confusion_upper": None if bounds is None else bounds[..., 1].tolist(),
        }

    def __repr__(self) -> str:
        return performance_table(self.summary(), self.n_items).text()

    def _repr_html_(self) -> str:
        return performance_table(self.summary(), self.n_items).html()


def performance_of(batch: ScoredBatch, estimate: Estimate, level: float) -> Performance:
    """Return how good the classifier's decisions are on a batch, from draws of its mix.

    Parameters
    ----------
    batch : ScoredBatch
        The rows of the batch.
    estimate : Estimate
        Of this batch; without draws there are no intervals.
    level : float
        Level of the intervals.

    Returns
    -------
    Performance

    Raises
    ------
    InputError
        If the method only counts decisions, so that it says nothing about their errors.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import BayesianKDEy
    >>> rng = np.random.default_rng(0)
    >>> def scores(ham, spam):
    ...     p = np.concatenate([rng.beta(2, 4, ham), rng.beta(4, 2, spam)])
    ...     return np.column_stack([1 - p, p])
    >>> quantifier = BayesianKDEy(bandwidth=0.3, shrinkage=0.1, random_state=0)
    >>> quantifier = quantifier.fit(scores(500, 500), ["ham"] * 500 + ["spam"] * 500)
    >>> quantifier.quantify(scores(900, 100)).performance()
    The classifier on these 1,000 items: accuracy 81.1 % (77.8 – 84.5 %)
    class               precision                  recall
    ham    97.3 % (95.4 – 98.9 %)  81.1 % (77.4 – 84.9 %)
    spam   34.3 % (17.5 – 49.8 %)  81.6 % (73.5 – 88.8 %)
    95 % intervals; estimated without labels, from the mix, if label shift holds
    """
    level = check_level(level)
    method = point_method(estimate.method, estimate.settings)
    if method in COUNTING:
        raise InputError(
            f"{method} adds up what the classifier says and knows nothing of its errors; expected "
            "a method that does, such as BayesianKDEy."
        )
    draws = joint_draws(batch, estimate)
    n_draws, K = len(draws), len(draws[0])
    mean = draws.mean(axis=0)
    sure = estimate.draws is not None
    accuracy = _with_interval(mean.trace(), draws.trace(axis1=1, axis2=2)[:, None], level, sure)
    diagonal = np.einsum("dkk->dk", draws)
    bounds = None
    if sure:
        bounds = interval_of(draws.reshape(n_draws, -1), level).reshape(K, K, 2)
    value, lower, upper = accuracy[0].tolist()
    return Performance(
        classes=estimate.classes,
        level=level,
        n_items=estimate.n_items,
        accuracy=Measure(value, lower, upper) if sure else Measure(value, None, None),
        precision=_with_interval(
            _ratio(mean.diagonal(), mean.sum(axis=0)),
            _ratio(diagonal, draws.sum(axis=1)), level, sure,
        ),
        recall=_with_interval(
            _ratio(mean.diagonal(), mean.sum(axis=1)),
            _ratio(diagonal, draws.sum(axis=2)), level, sure,
        ),
        confusion=mean,
        confusion_bounds=bounds,
    )  # fmt: skip


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return parts of wholes; NaN where a whole is zero."""
    return np.where(whole > 0.0, part / np.where(whole > 0.0, whole, 1.0), np.nan)


def _with_interval(values: Any, draws: FloatArray, level: float, sure: bool) -> FloatArray:
    """Return values with the bounds of draws ``(draws, n)``, which hold them: ``(n, 3)``."""
    values = np.atleast_1d(values)
    found = np.full((len(values), 3), np.nan)
    found[:, 0] = values
    if not sure:
        return found
    for place, column in enumerate(draws.T):
        # A class that no draw has items of has no recall, and one without decisions no precision.
        known = column[~np.isnan(column)]
        if len(known) and not np.isnan(values[place]):
            lower, upper = interval_of(known[:, None], level)[0]
            found[place, 1:] = min(lower, values[place]), max(upper, values[place])
    return found


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value


def performance_table(found: dict[str, Any], n_items: int) -> Table:
    """Return the summary of a performance as a table."""
    classes = found["classes"]
    rows = [
        (
            shown_name(each["class"]),
            *(_shown(each, name) for name in ("precision", "recall")),
        )
        for each in classes[:MAX_ROWS_SHOWN]
    ]
    below = []
    if len(classes) > MAX_ROWS_SHOWN:
        below.append(f"… and {len(classes) - MAX_ROWS_SHOWN} more classes: see .frame()")
    accuracy = {f"accuracy{end}": found["accuracy"][key] for end, key in _ENDS.items()}
    title = f"The classifier on these {items(n_items)}: accuracy {_shown(accuracy, 'accuracy')}"
    sure = "" if found["accuracy"]["lower"] is None else f"{percent_level(found['level'])} "
    below.append(
        f"{sure}{'intervals; ' if sure else ''}estimated without labels, from the mix, if label "
        "shift holds"
    )
    return Table(title, ("class", "precision", "recall"), rows, below)


_ENDS = {"": "value", "_lower": "lower", "_upper": "upper"}


def _shown(entry: dict[str, Any], name: str) -> str:
    """Return a share with its interval as text."""
    value, lower, upper = (entry[f"{name}{end}"] for end in _ENDS)
    if value is None:
        return DASH
    if lower is None:
        return percent(value)
    return f"{percent(value)} ({percent(lower, unit='')} {DASH} {percent(upper)})"
