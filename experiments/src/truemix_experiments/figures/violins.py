"""How errors are distributed, for bags near the border, all over and near the centre."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from truemix.exceptions import InputError
from truemix_experiments.figures._style import METHODS, colour, in_order, tidy
from truemix_experiments.published import shown_method

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

PLACES = {0.1: "near the border", 1.0: "all over", 10.0: "near the centre"}
# Errors that are zero have no logarithm.
SMALLEST = 1e-6


def errors_by_alpha(results: Results) -> pd.DataFrame:
    """Return the AE of each bag for the α of the figure, on data sets that have all of them.

    Data sets whose test bags are fixed have but one α, and would tilt the comparison.

    Returns
    -------
    DataFrame
        Columns ``dataset``, ``method``, ``alpha``, ``ae``.
    """
    bags = results.bags
    bags = bags[bags["method"].isin(METHODS) & bags["alpha"].isin(list(PLACES))]
    n_alphas = bags["alpha"].nunique()
    has_all = bags.groupby("dataset")["alpha"].transform("nunique") == n_alphas
    return bags.loc[has_all, ["dataset", "method", "alpha", "ae"]]


def draw(results: Results) -> Figure:
    """Draw violins of AE on a log scale, one panel per α, with the median of each."""
    errors = errors_by_alpha(results)
    if errors.empty:
        raise InputError(
            "There are no results of Bayesian methods with alpha 0.1, 1 or 10; expected some for "
            "the figure of violins. Run 'truemix bench run' first."
        )
    alphas = [alpha for alpha in PLACES if alpha in set(errors["alpha"])]
    methods = in_order(errors["method"])
    figure = Figure(figsize=(1.6 + 2.6 * len(alphas), 4.2), layout="constrained")
    axes = figure.subplots(1, len(alphas), sharey=True, squeeze=False)[0]
    for ax, alpha in zip(axes, alphas, strict=True):
        here = errors[errors["alpha"] == alpha]
        for place, method in enumerate(methods):
            values = here.loc[here["method"] == method, "ae"].to_numpy()
            if len(values) < 2:
                continue
            logs = np.log10(np.maximum(values, SMALLEST))
            # A density needs values that differ.
            if np.ptp(logs) > 0:
                parts = ax.violinplot(logs, [place], widths=0.85, showextrema=False)
                for body in parts["bodies"]:
                    body.set(facecolor=colour(method), alpha=0.75, edgecolor="none")
            low, middle, high = np.quantile(logs, [0.25, 0.5, 0.75])
            ax.vlines(place, low, high, color="#222222", lw=2.0)
            ax.plot(place, middle, "o", color="white", markeredgecolor="#222222", markersize=4.5)
        ax.set_xticks(
            range(len(methods)),
            [shown_method(m) for m in methods],
            rotation=40,
            ha="right",
            rotation_mode="anchor",
            fontsize=8.5,
        )
        ax.set_title(f"Dirichlet({alpha:g})\n{PLACES[alpha]}", fontsize=10)
        tidy(ax)
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda log, _: f"{10.0**log:.3g}"))
    axes[0].set_ylabel("AE (log scale)")
    n_datasets = errors["dataset"].nunique()
    figure.supxlabel(
        f"bags of {n_datasets} data set{'' if n_datasets == 1 else 's'}; "
        "dot and line: median and quartiles",
        fontsize=9,
    )
    return figure
