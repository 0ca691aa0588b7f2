"""What all pictures share: colours, marks, names that fit, axes that were given."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from truemix._typing import FloatArray, IntArray
from truemix.estimates.text import shown_name
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.estimates.estimate import Estimate

# A palette that is safe for any colour vision (Okabe and Ito).
BLUE, SKY, ORANGE, GREY, PALE = "#0072b2", "#56b4e9", "#d55e00", "#777777", "#bbbbbb"
AMBER = "#f2c27b"
MARKS: dict[str, dict[str, Any]] = {
    "reference": {"marker": "|", "color": GREY, "markeredgewidth": 1.8},
    "counted": {"marker": "D", "color": ORANGE, "fillstyle": "none", "markeredgewidth": 1.2},
}
NAMES = {"reference": "reference mix", "counted": "counted"}
RANGE = "range over other assumptions"
SHARES = {
    "batch": "share of these very items (batch)",
    "population": "share in the source of these items (population)",
}
LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
SORTS = ("class", "share")
# Width in inches from which a legend fits on one line.
WIDE = 4.6
# Letters of a line of a name, and of one that must do with a single line.
LINE, SINGLE_LINE = 26, 34
# So many letters more are better than a break within a word.
SLACK = 7


class ShownFigure(Figure):
    """A figure that notebooks show though pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


def checked_axes(ax: Any) -> Axes:
    """Return axes that were given, or raise for anything else."""
    if not isinstance(ax, Axes):
        raise InputError(
            f"ax is an object of type {type(ax).__name__!r}; expected matplotlib Axes, as "
            "plt.subplots() returns them."
        )
    return ax


def marks_of(estimate: Estimate, *, reference: bool, counted: bool) -> dict[str, FloatArray]:
    """Return the marks that are wanted and known, by their names."""
    marks = {
        "reference": estimate.train_prevalence if reference else None,
        "counted": estimate.classify_and_count if counted else None,
    }
    return {name: shares for name, shares in marks.items() if shares is not None}


def order_of(shares: FloatArray, sort: str) -> IntArray:
    """Return the order in which classes are drawn: their own, or the largest share first."""
    if sort == "class":
        return np.arange(len(shares))
    return np.argsort(-shares, kind="stable")


def size_of(ax: Axes) -> tuple[float, float]:
    """Return width and height in inches, before any layout engine has looked at the names."""
    place, whole = ax.get_position(), ax.figure.bbox
    dpi = ax.figure.dpi
    return float(place.width * whole.width / dpi), float(place.height * whole.height / dpi)


def wrapped(label: Any, width: int = LINE) -> str:
    r"""Return a name on at most two lines, broken at the word nearest to the middle.

    Examples
    --------
    >>> wrapped("questions about a delivery that is late")
    'questions about a\ndelivery that is late'
    """
    name = shown_name(label, most=2 * width)
    if len(name) <= width:
        return name
    middle = len(name) / 2
    spaces = [at for at, letter in enumerate(name) if letter == " "]
    at = min(spaces, key=lambda place: abs(place - middle), default=-1)
    if at < 0 or max(at, len(name) - at - 1) > width + SLACK:
        at = -(-len(name) // 2)
        return f"{name[:at]}\n{name[at:]}"
    return f"{name[:at]}\n{name[at + 1 :]}"


def share_axis(axis: Axis, inches: float) -> None:
    """Write round percentages, as many as there is room for."""
    steps = [1, 2, 2.5, 5, 10]
    axis.set_major_locator(MaxNLocator(nbins=max(2, int(inches / 0.7)), steps=steps))
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{round(100 * share, 6):g} %"))


def legend(owner: Any, handles: list[Any], labels: list[str], **where: Any) -> None:
    """Draw a legend of axes or of a figure; what was drawn last, and is on top, comes first."""
    found = owner.legend(handles[::-1], labels[::-1], frameon=False, **where)
    for text in found.get_texts():
        text.set(**LITERAL)


def bare(ax: Axes, *sides: str) -> None:
    """Leave out sides of the frame."""
    ax.spines[list(sides)].set_visible(False)
    ax.set_axisbelow(True)
