"""What the figures share: a look for each method, and axes without clutter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from truemix_experiments.published import BAYESIAN, OWN, shown_method

METHODS = (*BAYESIAN, BAYESIAN[-1] + OWN)
BLUE, ORANGE, GREY, PALE = "#0072b2", "#d55e00", "#777777", "#bbbbbb"
# A palette that is safe for any colour vision (Okabe and Ito), and a marker for each method.
LOOKS = {
    "Boots-CC": ("#999999", "v"),
    "Boots-PCC": ("#cc79a7", "^"),
    "Bayes-ACC": ("#e69f00", "D"),
    "Bayes-EMQ": ("#009e73", "s"),
    "Bayes-KDEy(Gau)": ("#56b4e9", "P"),
    "Bayes-KDEy(Ait-lambda)": ("#0072b2", "o"),
    "Bayes-KDEy(Ait-lambda)+": ("#d55e00", "*"),
}


def colour(method: str) -> str:
    """Return the colour of a method."""
    return LOOKS[method][0]


def marker(method: str) -> str:
    """Return the sign of a method."""
    return LOOKS[method][1]


def in_order(methods: Iterable[str]) -> list[str]:
    """Return those methods that have a look, in the order of the paper."""
    found = set(methods)
    return [method for method in METHODS if method in found]


def tidy(ax: Axes, grid: str = "y") -> None:
    """Take away what distracts, and add faint lines to read values from."""
    which: Any = grid
    ax.grid(axis=which, color=PALE, lw=0.5, alpha=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY)


def legend_below(figure: Figure, handles: list[Any], methods: list[str]) -> None:
    """Write one legend for all axes below them."""
    figure.legend(
        handles,
        [shown_method(method) for method in methods],
        loc="outside lower center",
        ncols=min(len(methods), 4),
        frameon=False,
        fontsize=9,
    )
