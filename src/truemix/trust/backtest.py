"""The result of a backtest: errors, coverage and width on mixtures whose truth is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truemix import metrics
from truemix._optional import require
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.estimates.text import Table, items, percent, percent_level
from truemix.validation import check_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


@dataclass(frozen=True, eq=False, repr=False)
class Backtest:
    """What a quantifier would have said about mixtures of the user's own labelled items.

    Arrays have one entry per bag and run: all bag sizes in ascending order, with the most
    references, and behind them the largest size again, with fewer and fewer references.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Class labels; everything per class is in this order.
    method : str
        Name of the quantifier.
    estimand : {"batch", "population"}
        Which truth the estimates are compared with: the mix of the very items in a bag, or the mix
        that the bag was drawn with.
    level : float
        Level of the intervals.
    n_labelled, n_folds, random_state : int
        Labelled items, folds that they were split into, and the seed that repeats this.
    fold, bag_size, n_items, n_references : ndarray of int
        The fold that a bag was drawn from, the size that was asked for, the items it has, and the
        references that the quantifier learned from.
    reference_step : ndarray of int
        Counts the numbers of references, from 0 for the fewest.
    true, estimated, counted : ndarray of shape (n, K)
        True mix, estimate, and share of decisions of the classifier.
    interval, joint_interval : ndarray of shape (n, K, 2), optional
        Intervals of single classes, and those that are to hold for all at once; None for methods
        without draws.
    failed : ndarray of bool
        Whether a diagnostic failed.
    """

    classes: AnyArray
    method: str
    estimand: str
    level: float
    n_labelled: int
    n_folds: int
    random_state: int
    fold: IntArray
    bag_size: IntArray
    n_items: IntArray
    n_references: IntArray
    reference_step: IntArray
    true: FloatArray
    estimated: FloatArray
    counted: FloatArray
    interval: FloatArray | None
    joint_interval: FloatArray | None
    failed: npt.NDArray[np.bool_]

    # --- which bags ---------------------------------------------------------------------------

    @property
    def sizes(self) -> list[int]:
        """The bag sizes that were asked for; the largest is the one of the headline."""
        return sorted({int(size) for size in self.bag_size})

    def _run(self, size: int, step: int) -> IntArray:
        return np.flatnonzero((self.bag_size == size) & (self.reference_step == step))

    @property
    def _most_references(self) -> int:
        return int(self.reference_step.max())

    # --- numbers ------------------------------------------------------------------------------

    def columns(self, *, fewer_references: bool = False) -> dict[str, AnyArray]:
        """Return the columns of :meth:`frame` as arrays, for which pandas is not needed."""
        kept = self.reference_step == self._most_references
        rows = np.arange(len(kept)) if fewer_references else np.flatnonzero(kept)
        true = self.true[rows]
        found: dict[str, AnyArray] = {
            "fold": self.fold[rows],
            "bag_size": self.bag_size[rows],
            "n_items": self.n_items[rows],
            "n_references": self.n_references[rows],
            "absolute_error": metrics.absolute_error(true, self.estimated[rows]),
            "counting_error": metrics.absolute_error(true, self.counted[rows]),
        }
        names = [str(label) for label in self.classes.tolist()]
        mixes = {"true": true, "estimated": self.estimated[rows], "counted": self.counted[rows]}
        if self.interval is not None and self.joint_interval is not None:
            single = self.interval[rows]
            found["soft_coverage"] = metrics.soft_coverage(true, single)
            found["hard_coverage"] = metrics.hard_coverage(true, self.joint_interval[rows])
            found["mean_width"] = np.diff(single, axis=-1)[..., 0].mean(axis=1)
            mixes |= {"lower": single[..., 0], "upper": single[..., 1]}
        found["failed"] = self.failed[rows]
        for kind, shares in mixes.items():
            found |= {f"{kind}_{name}": shares[:, k] for k, name in enumerate(names)}
        return found

    def frame(self, *, fewer_references: bool = False) -> pd.DataFrame:
        """Return one row per bag.

        Parameters
        ----------
        fewer_references : bool
            With the rows of the same bags estimated from fewer references.

        Returns
        -------
        DataFrame
            ``fold``, ``bag_size`` (asked for), ``n_items``, ``n_references``, ``absolute_error``
            (mean over classes) beside ``counting_error``, ``soft_coverage`` (share of classes
            whose interval holds the truth), ``hard_coverage`` (whether all simultaneous intervals
            do), ``mean_width``, ``failed``, and for each class its ``true_…``, ``estimated_…`` and
            ``counted_…`` share with ``lower_…`` and ``upper_…``. Methods without draws have no
            columns about intervals.
        """
        require("pandas", "Backtest.frame()")
        import pandas as pd

        return pd.DataFrame(self.columns(fewer_references=fewer_references))

    def summary(self) -> dict[str, Any]:
        """Return the main numbers as plain Python objects, ready for JSON.

        Returns
        -------
        dict
            Of the largest bag size: ``mean_error``, ``counting_error``, ``soft_coverage``,
            ``hard_coverage`` and ``mean_width`` (the last three None for methods without draws),
            ``classes`` with the same per class, and the ``sentence`` that says it; ``by_size`` and
            ``by_references``, lists of such numbers.
        """
        most, largest = self._most_references, self.sizes[-1]
        headline = self._run(largest, most)
        by_references = [self._run(largest, step) for step in range(most + 1)]
        numbers = self._numbers(headline)
        return {
            "method": self.method,
            "estimand": self.estimand,
            "level": self.level,
            "n_labelled": self.n_labelled,
            "n_folds": self.n_folds,
            "random_state": self.random_state,
            **numbers,
            "n_failed": int(self.failed.sum()),
            "sentence": _sentence(numbers, self.level),
            "classes": self._by_class(headline),
            "by_size": [self._numbers(self._run(size, most)) for size in self.sizes],
            "by_references": [self._numbers(rows) for rows in by_references],
        }

    def _numbers(self, rows: IntArray) -> dict[str, Any]:
        """Return the means over some bags."""
        true = self.true[rows]
        found: dict[str, Any] = {
            "bag_size": int(self.bag_size[rows[0]]),
            "n_items": int(np.median(self.n_items[rows])),
            "n_references": round(float(self.n_references[rows].mean())),
            "n_bags": len(rows),
            "mean_error": float(metrics.absolute_error(true, self.estimated[rows]).mean()),
            "counting_error": float(metrics.absolute_error(true, self.counted[rows]).mean()),
            "soft_coverage": None,
            "hard_coverage": None,
            "mean_width": None,
        }
        if self.interval is not None and self.joint_interval is not None:
            single = self.interval[rows]
            found["soft_coverage"] = float(metrics.soft_coverage(true, single).mean())
            joint = metrics.hard_coverage(true, self.joint_interval[rows])
            found["hard_coverage"] = float(joint.mean())
            found["mean_width"] = float(np.diff(single, axis=-1).mean())
        return found

    def _by_class(self, rows: IntArray) -> list[dict[str, Any]]:
        """Return the mean error of each class, signed and unsigned, and how its intervals did."""
        true, estimated = self.true[rows], self.estimated[rows]
        columns: dict[str, list[Any]] = {
            "class": self.classes.tolist(),
            "mean_error": np.abs(estimated - true).mean(axis=0).tolist(),
            "counting_error": np.abs(self.counted[rows] - true).mean(axis=0).tolist(),
            "bias": (estimated - true).mean(axis=0).tolist(),
            "coverage": [None] * len(self.classes),
            "mean_width": [None] * len(self.classes),
        }
        if self.interval is not None:
            single = self.interval[rows]
            # As if each class were a bag of its own: slack at the bounds is decided in one place.
            pairs = np.stack([true, 1.0 - true], axis=-1)
            beside = np.broadcast_to([0.0, 1.0], single.shape)
            held = metrics.hard_coverage(pairs, np.stack([single, beside], axis=-2))
            columns["coverage"] = held.mean(axis=0).tolist()
            columns["mean_width"] = np.diff(single, axis=-1)[..., 0].mean(axis=0).tolist()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def how_many_items(self, error: float) -> int | None:
        """Return how many items a bag needs for a mean error, as far as it was tested.

        Parameters
        ----------
        error : float
            Mean absolute error of a share, such as 0.01 for one percentage point.

        Returns
        -------
        int or None
            Between tested sizes by interpolation on logarithmic scales; the smallest size if that
            is good enough already. None if the error at the largest size is above it.
        """
        wanted = check_number(error, "error", kind="share")
        runs = self.summary()["by_size"]
        for place, run in enumerate(runs):
            if run["mean_error"] > wanted:
                continue
            if place == 0:
                return int(run["n_items"])
            before = runs[place - 1]
            steps = math.log(before["mean_error"] / max(run["mean_error"], 1e-12))
            part = math.log(before["mean_error"] / wanted) / steps
            ratio = float(run["n_items"]) / before["n_items"]
            return math.ceil(float(before["n_items"]) * math.pow(ratio, part))
        return None

    # --- for people ---------------------------------------------------------------------------

    def plot(self, ax: Axes | None = None) -> Figure | SubFigure:
        """Draw error and width against the size of bags, and coverage beside it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw errors and widths alone; a new figure with both panels by default.

        Returns
        -------
        Figure
        """
        require("matplotlib", "Backtest.plot()")
        from truemix.trust._backtest_plot import draw

        return draw(self, ax)

    def _table(self) -> Table:
        return backtest_table(self.summary())

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


def points(share: float) -> str:
    """Return an error in percentage points; small ones with a digit more.

    Examples
    --------
    >>> points(0.0123), points(0.0004)
    ('1.2', '0.04')
    """
    return f"{100 * share:.1f}" if share >= 0.00995 else f"{100 * share:.2f}"


def _sentence(numbers: dict[str, Any], level: float) -> str:
    text = (
        f"On {numbers['n_bags']:,} mixture{'s' * (numbers['n_bags'] != 1)} of your own reference "
        f"items the mean error was {points(numbers['mean_error'])} points, counting's "
        f"{points(numbers['counting_error'])}"
    )
    if numbers["soft_coverage"] is None:
        return f"{text}."
    held = percent(numbers["soft_coverage"], 0)
    return f"{text}, and {percent_level(level)} intervals held the truth {held} of the time."


def backtest_table(summary: dict[str, Any]) -> Table:
    """Return the summary of a backtest as a table: a row per size and number of references."""
    # The last of them is the largest size with all references, which is among the sizes.
    runs = [*summary["by_size"], *reversed(summary["by_references"][:-1])]
    intervals = summary["soft_coverage"] is not None
    header = ["items", "references", "error", "counting's"]
    header += ["width", "held", "all held"] if intervals else []
    rows = []
    for run in runs:
        cells = [f"{run['n_items']:,}", f"{run['n_references']:,}"]
        cells += [points(run["mean_error"]), points(run["counting_error"])]
        if intervals:
            cells += [points(run["mean_width"])]
            cells += [percent(run["soft_coverage"], 0), percent(run["hard_coverage"], 0)]
        rows.append(cells)
    below = [summary["sentence"]]
    about = "Mean errors"
    if intervals:
        about += f" and widths of {percent_level(summary['level'])} intervals"
    about += " per class, in percentage points"
    if intervals:
        about += "; held: intervals that hold the truth, all held: mixtures where all do at once"
    below.append(f"{about}.")
    below += shrunk_sentences(runs)
    if summary["n_failed"]:
        below.append(f"Note: {failed_sentence(summary)}")
    title = (
        f"{summary['method']}: a backtest on mixtures of {items(summary['n_labelled'])} in "
        f"{summary['n_folds']} folds"
    )
    return Table(title, header, rows, below, left=0)


def shrunk_sentences(runs: list[dict[str, Any]]) -> list[str]:
    """Return a sentence if many bags are smaller than was asked for."""
    small = [run for run in runs if run["n_items"] < run["bag_size"]]
    if not small:
        return []
    sizes = ", ".join(f"{size:,}" for size in sorted({run["bag_size"] for run in small}))
    return [
        f"Most bags of size {sizes} have fewer items (shown is the median): none is used twice, "
        "and folds have too few of some classes."
    ]


def failed_sentence(summary: dict[str, Any]) -> str:
    """Return how many estimates of a backtest had a diagnostic that failed."""
    n_failed = summary["n_failed"]
    return f"A diagnostic failed in {n_failed:,} estimate{'s' * (n_failed != 1)} of the backtest."
