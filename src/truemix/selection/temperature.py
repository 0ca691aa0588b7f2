"""Choose the temperature of a Bayesian quantifier by the score of its intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from truemix._optional import require
from truemix._progress import Advance, progress_bar
from truemix._seeds import resolved_seed
from truemix._typing import FloatArray
from truemix.estimates.intervals import check_level, interval_of
from truemix.estimates.text import Table
from truemix.exceptions import InputError
from truemix.metrics import hard_coverage, soft_coverage, winkler_score
from truemix.quantifiers import Quantifier
from truemix.quantifiers.estimating import self_calibrated
from truemix.quantifiers.pool import Pool
from truemix.quantifiers.shares import split_result
from truemix.quantifiers.wiring import replicates_in_parts
from truemix.selection._settings import check_quantifier, configured
from truemix.selection._validation import hold_out
from truemix.validation import check_number, parameter_error

if TYPE_CHECKING:
    import pandas as pd

# The grid of the paper.
TEMPERATURES = (0.5, 1.0, 1.5, 2.0, 5.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True, eq=False, repr=False)
class TemperatureCalibration:
    """The selected temperature, and the scores of all candidates.

    Attributes
    ----------
    temperature : float
        The one with the smallest mean Winkler score.
    level : float
        Level of the intervals.
    records : list of dict
        One per temperature, means over the bags: ``winkler_score`` with its
        ``standard_error``, ``width`` of the intervals, ``soft_coverage`` (share of the classes
        inside) and ``hard_coverage`` (all classes inside simultaneous intervals).
    results : pandas.DataFrame
        The same as a table.
    quantifier : Quantifier
        A copy with that temperature, fitted on everything.
    """

    temperature: float
    level: float
    records: list[dict[str, float]]
    quantifier: Quantifier

    @property
    def results(self) -> pd.DataFrame:
        """The records as a table."""
        require("pandas", "TemperatureCalibration.results")
        import pandas as pd

        return pd.DataFrame(self.records)

    def __repr__(self) -> str:
        title = (
            f"Temperature {self.temperature:g} for {type(self.quantifier).__name__}: the best "
            f"{100 * self.level:g} % intervals"
        )
        rows = [[f"{value:.4g}" for value in record.values()] for record in self.records]
        return Table(title, list(self.records[0]), rows, left=0).text()


def calibrate_temperature(
    quantifier: Any,
    X: Any,
    y: Any,
    *,
    protocol: Any = None,
    grid: Any = TEMPERATURES,
    level: float = 0.95,
    validation: Any = 0.4,
    classes: Any = None,
    verbose: bool = True,
) -> TemperatureCalibration:
    """Find the temperature at which a Bayesian quantifier's intervals are best.

    A posterior that ignores the uncertainty of its model is overconfident; a temperature above 1
    widens it. As in Moreo, González and del Coz, part of the items are held out, bags with mixes
    from all over the simplex are drawn from them, and the temperature with the smallest mean
    Winkler score of the intervals (width, plus a penalty for missing the truth) is selected.
    Densities are computed once for all bags and temperatures.

    Parameters
    ----------
    quantifier : BayesianKDEy, BayesianEMQ or BayesianACC
        What to calibrate; it is cloned. Its ``estimand`` determines which intervals are scored.
    X, y, classes
        Labelled items, as for ``fit``.
    protocol : protocol, optional
        How bags are drawn. Default: ``DirichletBags(alpha=1, n_bags=100, bag_size=1000,
        random_state=0)``.
    grid : sequence of float
        The temperatures to try.
    level : float
        Level of the intervals.
    validation : float or (X, y)
        Share of each class that is held out, or items to draw bags from instead, as for
        :class:`truemix.selection.GridSearch`.
    verbose : bool
        Show a progress bar, if stderr is a terminal.

    Returns
    -------
    TemperatureCalibration
        With the quantifier, fitted on everything at the chosen temperature.

    Notes
    -----
    The true mix of a bag is that of its items. With ``estimand="population"`` the intervals are for
    the population instead, and a temperature below 1 may be best where classes separate well.

    Examples
    --------
    Overconfident posteriors make intervals that are far too narrow:

    >>> import numpy as np
    >>> from truemix import BayesianEMQ
    >>> from truemix.protocols import DirichletBags
    >>> from truemix.selection import calibrate_temperature
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 500), rng.beta(4, 2, 500)])
    >>> P = np.column_stack([1 - p, p]) ** 3
    >>> calibrated = calibrate_temperature(
    ...     BayesianEMQ(calibration=None, random_state=0),
    ...     P / P.sum(axis=1, keepdims=True),
    ...     np.repeat(["ham", "spam"], 500),
    ...     protocol=DirichletBags(n_bags=20, bag_size=200),
    ...     grid=[1, 5, 20],
    ... )
    >>> calibrated.temperature
    5.0
    """
    temperatures = _check_grid(grid)
    level = check_level(level)
    inference = check_quantifier(quantifier).parts().inference
    if not hasattr(inference, "temperature"):
        raise parameter_error(
            "quantifier",
            "a Bayesian quantifier (BayesianKDEy, BayesianEMQ or BayesianACC)",
            quantifier,
            "Others have no temperature.",
        )
    # Presets have the parameter themselves, a MixtureQuantifier in its inference.
    parameters = quantifier.get_params(deep=False)
    prefix = "" if "temperature" in parameters else "inference__"
    candidates = [configured(quantifier, {f"{prefix}temperature": t}) for t in temperatures]
    parts = hold_out(
        X, y, classes, share=validation, protocol=protocol, given=quantifier.classifier is None
    )
    fitted: Quantifier = clone(quantifier)
    # Common random numbers: differences are due to the temperature alone.
    fitted.set_params(**{f"{prefix}random_state": resolved_seed(inference.random_state)})
    scored = parts.score(fitted.scoring())
    parts.fit(fitted, scored)
    with progress_bar("bags", len(parts.bags) * len(temperatures), shown=verbose) as advance:
        intervals = _intervals(fitted, scored.pool, temperatures, level, advance)
    records = [
        {"temperature": t, **_scores(parts.truth, *pair, level)}
        for t, pair in zip(temperatures, intervals, strict=True)
    ]
    best = int(np.argmin([record["winkler_score"] for record in records]))
    chosen: Any = candidates[best]
    chosen.fit(X, y, classes=classes)
    return TemperatureCalibration(temperatures[best], level, records, chosen)


def _intervals(
    fitted: Quantifier,
    pool: Pool,
    temperatures: list[float],
    level: float,
    advance: Advance,
) -> list[tuple[FloatArray, FloatArray]]:
    """Return marginal and simultaneous intervals of each bag, per temperature.

    Matrices are computed once for all temperatures.
    """
    single: list[list[FloatArray]] = [[] for _ in temperatures]
    joint: list[list[FloatArray]] = [[] for _ in temperatures]
    inference = fitted.inference_
    for replicates, rows in replicates_in_parts(fitted.model_, inference, *pool):
        for place, temperature in enumerate(temperatures):
            inference.set_params(temperature=temperature)
            infer = getattr(inference, "infer_in_turn", inference.infer)
            for bag, result in zip(rows, infer(replicates, rows), strict=True):
                shares = split_result(result, fitted.train_prevalence_)
                draws = np.asarray(self_calibrated(fitted, bag.n_items, shares, {}).draws)
                single[place].append(interval_of(draws, level))
                joint[place].append(interval_of(draws, level, simultaneous=True))
                advance(f"temperature {temperature:g}")
    return [(np.array(s), np.array(j)) for s, j in zip(single, joint, strict=True)]


def _scores(
    truth: FloatArray, single: FloatArray, joint: FloatArray, level: float
) -> dict[str, float]:
    """Return the mean scores of the intervals at one temperature, over the bags."""
    scores = winkler_score(truth, single, level)
    error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
    return {
        "winkler_score": float(scores.mean()),
        "standard_error": float(error),
        "width": float(np.diff(single, axis=-1).mean()),
        "soft_coverage": float(soft_coverage(truth, single).mean()),
        "hard_coverage": float(hard_coverage(truth, joint).mean()),
    }


def _check_grid(grid: Any) -> list[float]:
    one = isinstance(grid, str | bytes) or (isinstance(grid, np.ndarray) and grid.ndim == 0)
    if one or not isinstance(grid, Iterable):
        raise parameter_error("grid", "a sequence of positive numbers", grid)
    temperatures = [
        check_number(value, f"grid[{place}]", kind="temperature")
        for place, value in enumerate(grid)
    ]
    if not temperatures:
        raise InputError("The grid is empty; expected at least one temperature.")
    return temperatures
