"""Means over bags, ranks and tests: what the tables are made of.

Frames have one row per data set (or bag) and one column per method; smaller values are better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truemix.validation import check_choice
from truemix_experiments._result_schema import INTERVALS
from truemix_experiments._typing import FloatArray
from truemix_experiments.published import counterpart, paper_datasets

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

METRICS = ("ae", "w", *INTERVALS)
PERCENT = ("hard", "soft", "batch_hard", "batch_soft")
# Significance levels of the symbols.
LEVEL, STRONG = 0.05, 0.001
WORSE = {"<": ">", "≪": "≫", "≈": "≈"}


def bag_values(
    results: Results, metric: str, methods: Sequence[str], *, alpha: float = 1.0
) -> dict[str, pd.DataFrame]:
    """Return a metric of each bag, one frame per data set with the methods that were run there.

    Bags that not all of these methods have are left out, so that rows are pairs.
    """
    check_choice(metric, "metric", METRICS)
    frames = {}
    for dataset, bags in _selected(results, metric, methods, alpha).groupby("dataset"):
        wide = bags.pivot(index="bag", columns="method", values=metric).dropna()
        frames[str(dataset)] = _ordered(wide, methods)
    return frames


def mean_values(
    results: Results, metric: str, methods: Sequence[str], *, alpha: float = 1.0
) -> pd.DataFrame:
    """Return the mean of a metric over bags, NaN where a method was not run.

    Coverages (``hard``, ``soft``) and amplitude are percentages. Data sets are in the paper's
    order, others follow; methods without any result are left out.
    """
    check_choice(metric, "metric", METRICS)
    bags = _selected(results, metric, methods, alpha)
    frame = bags.pivot_table(index="dataset", columns="method", values=metric, aggfunc="mean")
    order = sorted_datasets(list(frame.index))
    scale = 100.0 if metric in PERCENT else 1.0
    return _ordered(frame.loc[order], methods) * scale


def _selected(results: Results, metric: str, methods: Sequence[str], alpha: float) -> pd.DataFrame:
    bags = results.bags
    if metric not in bags:
        # No method with intervals was run.
        bags = bags.assign(**{metric: np.nan})
    chosen = bags["method"].isin(list(methods)) & np.isclose(bags["alpha"], alpha)
    return bags[chosen & bags[metric].notna()]


def _ordered(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    return frame[[method for method in methods if method in frame.columns]]


def sorted_datasets(datasets: Sequence[str]) -> list[str]:
    """Return data sets in the paper's order, then others by name.

    Examples
    --------
    >>> sorted_datasets(["zoo", "wb", "yeast"])
    ['yeast', 'wb', 'zoo']
    """
    order = {name.casefold(): place for place, name in enumerate(paper_datasets())}
    return sorted(datasets, key=lambda name: (order.get(name.casefold(), len(order)), name))


def modalities(results: Results) -> dict[str, str]:
    """Return the modality of each data set."""
    runs = results.runs
    return dict(zip(runs["dataset"], runs["modality"], strict=True))


def row_ranks(values: npt.ArrayLike) -> FloatArray:
    """Rank the columns within each row, the smallest first; ties share their mean rank.

    Examples
    --------
    >>> row_ranks([[0.1, 0.3, 0.2], [0.5, 0.5, 0.9]])
    array([[1. , 3. , 2. ],
           [1.5, 1.5, 3. ]])
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.asarray(values, dtype=np.float64), axis=1))


def comparable_ranks(values: pd.DataFrame) -> pd.DataFrame:
    """Rank the paper's methods among themselves, and each of ours in the place of its counterpart.

    So the ranks of the paper's methods do not depend on whether ours were run, and can be compared
    with published ones.

    Examples
    --------
    >>> import pandas as pd
    >>> comparable_ranks(pd.DataFrame({"CC": [0.2], "ACC": [0.3], "ACC+": [0.1]}))
        CC  ACC  ACC+
    0  1.0  2.0   1.0
    """
    paper = [method for method in values.columns if counterpart(method) == method]
    ranks = values.astype("float64")
    ranks[paper] = row_ranks(values[paper])
    for own in values.columns.difference(paper):
        others = [method for method in paper if method != counterpart(own)]
        ranks[own] = row_ranks(values[[own, *others]])[:, 0]
    return ranks


def paired_p_value(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the p-value of Wilcoxon's signed-rank test of pairs, two-sided; 1 if all are equal.

    Examples
    --------
    >>> paired_p_value([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    >>> round(paired_p_value([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12]), 4)
    0.0312
    """
    from scipy.stats import wilcoxon

    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if len(first) == 0 or (first == second).all():
        return 1.0
    return float(wilcoxon(first, second).pvalue)


def tied_with_best(values: pd.DataFrame) -> tuple[str, set[str]]:
    """Return the method with the smallest mean, and those not significantly different from it.

    Each row is a bag; pairs are tested by Wilcoxon's test at level 0.05, without correction.
    """
    best = str(values.mean().idxmin())
    others = (str(method) for method in values.columns if method != best)
    return best, {m for m in others if paired_p_value(values[m], values[best]) >= LEVEL}


def symbol_matrix(values: npt.ArrayLike) -> list[list[str]]:
    """Compare all pairs of columns by Wilcoxon's test with Holm's correction.

    Parameters
    ----------
    values : array-like of shape (n, m)
        One row per data set, bags averaged; one column per method; smaller is better.

    Returns
    -------
    list of m lists of m symbols
        ``<`` and ``≪`` where the row is better than the column (corrected p below 0.05 and
        0.001), ``>`` and ``≫`` where it is worse, ``≈`` where neither, ``=`` on the diagonal.

    Examples
    --------
    >>> symbol_matrix([[0.1 * n, 0.2 * n + 1] for n in range(1, 9)])
    [['=', '<'], ['>', '=']]
    """
    array = np.asarray(values, dtype=np.float64)
    n_methods = array.shape[1]
    pairs = [(i, j) for i in range(n_methods) for j in range(i)]
    p_values = np.array([paired_p_value(array[:, i], array[:, j]) for i, j in pairs])
    matrix = [["="] * n_methods for _ in range(n_methods)]
    for (i, j), p_value in zip(pairs, holm(p_values), strict=True):
        symbol = "≪" if p_value < STRONG else "<" if p_value < LEVEL else "≈"
        ahead, behind = (i, j) if _is_ahead(array[:, i], array[:, j]) else (j, i)
        matrix[ahead][behind] = symbol
        matrix[behind][ahead] = WORSE[symbol]
    return matrix


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values corrected for their number by Holm's procedure.

    Examples
    --------
    >>> holm(np.array([0.04, 0.01, 0.5]))
    array([0.08, 0.03, 0.5 ])
    """
    ranks = p_values.argsort().argsort()
    corrected = np.minimum((len(p_values) - ranks) * p_values, 1.0)
    # None is smaller than that of a smaller p-value.
    return np.array([corrected[ranks <= rank].max() for rank in ranks])


def _is_ahead(a: FloatArray, b: FloatArray) -> bool:
    """Return the direction of the signed-rank test, by the larger sum of ranks."""
    from scipy.stats import rankdata

    difference = b - a
    difference = difference[difference != 0]
    return bool((np.sign(difference) * rankdata(np.abs(difference))).sum() >= 0)


def geometric_mean(ratios: npt.ArrayLike) -> float:
    """Return the geometric mean of the positive numbers among ratios, NaN if there is none.

    Examples
    --------
    >>> geometric_mean([0.5, 2.0, float("nan")])
    1.0
    """
    array = np.asarray(ratios, dtype=np.float64)
    array = array[array > 0]
    return float(np.exp(np.log(array).mean())) if array.size else float("nan")
