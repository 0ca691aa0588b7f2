"""Who is best under how much shift: average ranks of AE in three groups of bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from truemix.exceptions import InputError
from truemix_experiments.figures._style import METHODS, colour, in_order, legend_below, tidy
from truemix_experiments.published import MODALITIES
from truemix_experiments.statistics import comparable_ranks

if TYPE_CHECKING:
    import pandas as pd

    from truemix_experiments.results import Results

GROUPS = ("low", "medium", "high")


def shift_ranks(results: Results) -> pd.DataFrame:
    """Return mean and standard deviation of the AE ranks of Bayesian methods, bag by bag.

    Bags are split into thirds by how far their mix is from the training mix, within each modality.
    Only bags that all methods have count; ranks are those of
    :func:`~truemix_experiments.statistics.comparable_ranks`.

    Returns
    -------
    DataFrame
        One row per ``modality``, ``shift`` ("low", "medium", "high") and ``method``, with
        ``mean``, ``sd`` and ``n_bags``.
    """
    import pandas as pd

    bags = results.bags
    bags = bags[bags["method"].isin(METHODS) & (bags["alpha"] == 1.0)]
    rows = []
    for modality, some in bags.groupby("modality", sort=False):
        wide = some.pivot(index=["dataset", "bag"], columns="method", values="ae").dropna()
        if wide.empty:
            continue
        shift = some.groupby(["dataset", "bag"])["shift"].first().loc[wide.index].to_numpy()
        group = np.searchsorted(np.quantile(shift, [1 / 3, 2 / 3]), shift, side="left")
        ranks = comparable_ranks(wide).to_numpy()
        for place, name in enumerate(GROUPS):
            chosen = ranks[group == place]
            if len(chosen) == 0:
                continue
            for method, mean, sd in zip(
                wide.columns, chosen.mean(axis=0), chosen.std(axis=0), strict=True
            ):
                rows.append((modality, name, method, mean, sd, len(chosen)))
    return pd.DataFrame(rows, columns=["modality", "shift", "method", "mean", "sd", "n_bags"])


def draw(results: Results) -> Figure:
    """Draw the average ranks as bars, one panel per modality."""
    ranks = shift_ranks(results)
    if ranks.empty:
        raise InputError(
            "No bag has results of all Bayesian methods with alpha 1; expected some for the figure "
            "of ranks by shift. Run 'truemix bench run' first."
        )
    found = ranks["modality"].unique().tolist()
    kinds = [m for m in MODALITIES if m in found] + [m for m in found if m not in MODALITIES]
    methods = in_order(ranks["method"])
    # The legend needs some width even below a single panel.
    figure = Figure(figsize=(max(1.2 + 3.0 * len(kinds), 7.2), 3.4), layout="constrained")
    axes = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    width = 0.84 / len(methods)
    handles: list[Any] = []
    for ax, kind in zip(axes, kinds, strict=True):
        here = ranks[ranks["modality"] == kind].set_index(["shift", "method"])
        handles = []
        for place, method in enumerate(methods):
            known = [g for g in GROUPS if (g, method) in here.index]
            values = here.loc[[(g, method) for g in known]]
            x = np.array([GROUPS.index(g) for g in known]) + (place + 0.5) * width - 0.42
            bars = ax.bar(x, values["mean"], 0.9 * width, color=colour(method))
            ax.errorbar(
                x, values["mean"], values["sd"], fmt="none", ecolor="#444444", elinewidth=0.8
            )
            handles.append(bars)
        ax.set_xticks(range(len(GROUPS)), GROUPS)
        ax.set_xlabel("shift (L1 distance to the training mix)", fontsize=9)
        ax.set_title(kind, fontsize=11)
        tidy(ax)
        ax.set_ylim(bottom=0.0)
    axes[0].set_ylabel("average rank of AE (1 is best)")
    legend_below(figure, handles, methods)
    return figure
