"""The result of a check: numbers, tables, and an explanation as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._optional import require
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.checks._multiple import discoveries
from truemix.estimates.intervals import check_level
from truemix.estimates.text import Table, largest, left_out, percent, shown_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# False discovery rate of the items listed as unusual.
FDR = 0.05
# A check that would not detect even this share of unusual items is inconclusive.
BLIND = 0.3


@dataclass(frozen=True, eq=False, repr=False)
class ShiftCheck:
    """Whether some mix of the reference classes explains a target.

    Attributes
    ----------
    p_value : float
        How often a bag of reference items, drawn with the mix that fits the target best, would
        fit as badly as the target does.
    statistic : float
        The larger of ``scores``.
    null : ndarray
        The same for the bags of reference items.
    level : float
        Significance level: the check fails if the p-value is at most this.
    parts, scores : dict
        The two statistics, ``"tail"`` (positive: items are less typical than references of that
        mix; negative: more) and ``"energy"`` (distance between the two sets), and by how many
        standard deviations they differ from their means over the null distribution.
    labels : ndarray of shape (K,)
        The classes.
    prevalence : ndarray of shape (K,)
        The mix that fits best.
    class_scores, class_p_values, class_adjusted : ndarray of shape (K,)
        Per class, see :attr:`classes`.
    item_p_values : ndarray of shape (n,)
        Conformal p-value of each item: how likely a density this small is under the mix. Of a
        summary, of groups of equal items.
    item_classes : ndarray of int of shape (n,)
        The most probable class of each item, as a number.
    item_counts : ndarray of shape (n,) or None
        Of a summary: how many items are in each group.
    without_unusual : ndarray of shape (K,)
        The mix of the items that are not unusual.
    with_unknown : ndarray of shape (K + 1,)
        The mix if items of an unknown class are possible; its share is the last number.
    detectable : float
        The share of unusual items (such as the most unusual 5 % of the references) that the check
        detects with a power of 80 %, for targets of this size and mix, by simulation; fewer may go
        unnoticed. 1 if it would detect nothing, as with decisions instead of posteriors (one-hot
        rows).
    decisions_only : bool
        Whether there are no more distinct posteriors than classes, so that nothing can be detected.
    n_compared, n_references : int
        How many items were compared, and with how many references.
    lonely : ndarray
        Classes with a single reference item, which has no out-of-fold density of its class.
    random_state : int
        The seed that repeats this check.
    cause : str or None
        A likely cause, if the check does not pass and one was recognised: references scored by a
        model that was trained on them.
    adjusted_p_value : float or None
        For one of many groups: the p-value adjusted for their number.
    """

    p_value: float
    statistic: float
    null: FloatArray
    level: float
    parts: dict[str, float]
    scores: dict[str, float]
    labels: AnyArray
    prevalence: FloatArray
    class_scores: FloatArray
    class_p_values: FloatArray
    class_adjusted: FloatArray
    item_p_values: FloatArray
    item_classes: IntArray
    without_unusual: FloatArray
    with_unknown: FloatArray
    detectable: float
    decisions_only: bool
    n_compared: int
    n_references: int
    lonely: AnyArray
    random_state: int
    cause: str | None = None
    adjusted_p_value: float | None = None
    item_counts: FloatArray | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the assumption, at this level; see :attr:`verdict`."""
        p_value = self.p_value if self.adjusted_p_value is None else self.adjusted_p_value
        return p_value > self.level

    @property
    def conclusive(self) -> bool:
        """Whether a violation was found, or a large one would have been."""
        return not self.passed or self.detectable < BLIND

    @property
    def verdict(self) -> str:
        """``"passed"``, ``"failed"`` or, without enough power, ``"cannot tell"``."""
        if not self.passed:
            return "failed"
        return "passed" if self.conclusive else "cannot tell"

    @property
    def n_items(self) -> int:
        """How many items the target has."""
        if self.item_counts is None:
            return len(self.item_p_values)
        return round(float(self.item_counts.sum()))

    @property
    def n_unusual(self) -> int:
        """How many items are unlike the references, at a false discovery rate of 5 %."""
        unusual = self.unusual_items()
        if self.item_counts is None:
            return len(unusual)
        return round(float(self.item_counts[unusual].sum()))

    @property
    def unknown_share(self) -> float:
        """The share of an unknown class, if one is possible."""
        return float(self.with_unknown[-1])

    @property
    def known_prevalence(self) -> FloatArray:
        """The mix of the known classes with an unknown one set aside, adding up to one."""
        known = self.with_unknown[:-1]
        return np.asarray(known / known.sum()) if known.sum() > 0 else self.prevalence

    @property
    def shift(self) -> float:
        """The largest change of a share if unusual items are left out."""
        others = np.array([self.without_unusual, self.known_prevalence])
        return float(np.abs(others - self.prevalence).max())

    @property
    def explanation(self) -> str:
        """The result as text."""
        from truemix.checks._sentences import explained

        return explained(self)

    @property
    def classes(self) -> pd.DataFrame:
        """Which class has changed: one row per class.

        ``statistic``: how untypical the items attributed to the class are, in standard deviations
        of the null distribution (positive: less typical than its references); its ``p_value``, and
        ``adjusted`` for the number of classes.
        """
        require("pandas", "ShiftCheck.classes")
        import pandas as pd

        return pd.DataFrame(self._class_columns())

    @property
    def estimates(self) -> pd.DataFrame:
        """The mix of all items, without unusual items, and with an unknown class."""
        require("pandas", "ShiftCheck.estimates")
        import pandas as pd

        return pd.DataFrame(self._estimate_columns())

    def unusual_items(self, fdr: float = FDR) -> IntArray:
        """Return the numbers of items that are unlike the references, the most unusual first.

        Parameters
        ----------
        fdr : float
            False discovery rate (Benjamini and Hochberg).

        Returns
        -------
        ndarray of int
            Of a summary, the numbers of groups of equal items.

        Notes
        -----
        With m references the smallest p-value is about 1 / m. Among as many items, a few unusual
        ones cannot be distinguished from chance extremes; ``items()`` lists them first all the
        same.
        """
        return discoveries(self.item_p_values, check_level(fdr, "fdr"), self.item_counts)

    def items(self, fdr: float = FDR) -> pd.DataFrame:
        """Return one row per item, the most unusual first.

        Parameters
        ----------
        fdr : float
            As for :meth:`unusual_items`.

        Returns
        -------
        DataFrame
            ``item`` (its row number), ``p_value``, ``resembles`` (a class), ``unusual``. Of a
            summary, one row per group of equal items, with their number (``n_items``).
        """
        require("pandas", "ShiftCheck.items()")
        import pandas as pd

        return pd.DataFrame(self.item_columns(fdr))

    def item_columns(self, fdr: float = FDR) -> dict[str, AnyArray]:
        """Return the columns of :meth:`items` as arrays, for which pandas is not needed."""
        order = np.argsort(self.item_p_values, kind="stable")
        unusual = np.zeros(len(order), dtype=bool)
        unusual[self.unusual_items(fdr)] = True
        counts = {} if self.item_counts is None else {"n_items": self.item_counts[order]}
        return {
            "item": order,
            "p_value": self.item_p_values[order],
            "resembles": self.labels[self.item_classes[order]],
            "unusual": unusual[order],
            **counts,
        }

    def summary(self) -> dict[str, Any]:
        """Return the main numbers as plain Python objects, ready for JSON."""
        return {
            "checked": True,
            "verdict": self.verdict,
            "passed": self.passed,
            "conclusive": self.conclusive,
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "significance": self.level,
            "statistic": self.statistic,
            "scores": dict(self.scores),
            "explanation": self.explanation,
            "cause": self.cause,
            "n_items": self.n_items,
            "n_compared": self.n_compared,
            "n_references": self.n_references,
            "n_unusual": self.n_unusual,
            "unknown_share": self.unknown_share,
            "detectable": self.detectable,
            "shift": self.shift,
            "classes": _records(self._class_columns()),
            "estimates": _records(self._estimate_columns()),
            "random_state": self.random_state,
        }

    def plot(self, ax: Axes | None = None) -> Figure | SubFigure:
        """Draw the statistic and its null distribution.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Figure
        """
        require("matplotlib", "ShiftCheck.plot()")
        from truemix.checks._plots import draw

        return draw(self, ax)

    def _class_columns(self) -> dict[str, AnyArray]:
        return {
            "class": self.labels,
            "prevalence": self.prevalence,
            "statistic": self.class_scores,
            "p_value": self.class_p_values,
            "adjusted": self.class_adjusted,
        }

    def _estimate_columns(self) -> dict[str, AnyArray]:
        return {
            "class": self.labels,
            "estimate": self.prevalence,
            "without_unusual": self.without_unusual,
            "with_unknown": self.with_unknown[:-1],
        }

    def __repr__(self) -> str:
        return f"Label shift: {self.verdict} at level {self.level:g}\n{self.explanation}"

    def _repr_html_(self) -> str:
        shown = largest(np.abs(self.class_scores))
        rows = [
            (
                shown_name(self.labels.tolist()[k]),
                percent(float(self.prevalence[k])),
                f"{self.class_scores[k]:+.1f}",
                f"{self.class_adjusted[k]:.3g}",
            )
            for k in shown.tolist()
        ]
        header = ("class", "best mix", "deviation", "p (all classes)")
        title = f"Label shift: {self.verdict} at level {self.level:g} (p = {self.p_value:.2g})"
        below = [self.explanation, *left_out(self.labels, shown, "classes that deviate less")]
        return Table(title, header, rows, below).html()


def _records(columns: dict[str, AnyArray]) -> list[dict[str, Any]]:
    """Return one dict of plain Python objects per row."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
