"""Answers under other assumptions, and the range of all of them.

What an estimate assumes (label shift) may be wrong. These classes hold what other assumptions say
about the same batch; :mod:`truemix.trust.sensitivity` computes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._optional import require
from truemix._typing import AnyArray, FloatArray
from truemix.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

SHAPES = ("prevalence", "lower", "upper")
# What makes an assumption decidable; also the headline of a failed check ends with it.
NEXT_STEP = (
    "To find out, label 100 items: truemix sample REFERENCE TARGET --n 100 --out to-label.csv"
)


@dataclass(frozen=True, eq=False)
class Answer:
    """The mix of a batch under one assumption.

    Attributes
    ----------
    assumption : str
        ``"label shift"``, ``"partial label shift"``, ``"covariate shift"``, ``"unchanged mix"``,
        ``"unknown class"``, or of a method that counts ``"no correction"``.
    method : str
        What computed the answer.
    sentence : str
        What is assumed, in plain words.
    prevalence : ndarray of shape (K,)
        The shares, adding up to one.
    lower, upper : ndarray of shape (K,)
        Bounds of an interval for each share.
    """

    assumption: str
    method: str
    sentence: str
    prevalence: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """What different assumptions say about one batch.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Class labels; everything per class is in this order.
    level : float
        Level of the intervals.
    answers : tuple of Answer
        The first is that of the estimate itself.

    Examples
    --------
    >>> import numpy as np
    >>> half = np.array([0.5, 0.5])
    >>> first = Answer("label shift", "KDEy", "Only the mix changed.", half, half - 0.1, half + 0.1)
    >>> more = np.array([0.2, 0.8])
    >>> second = Answer("unchanged mix", "reference", "It did not change.", more, more, more)
    >>> found = Sensitivity(np.array(["ham", "spam"]), 0.95, (first, second))
    >>> found.range()
    array([[0.2, 0.6],
           [0.4, 0.8]])
    >>> found.frame().loc[3, ["assumption", "method", "class"]].tolist()
    ['unchanged mix', 'reference', 'spam']
    """

    classes: AnyArray
    level: float
    answers: tuple[Answer, ...]

    def __post_init__(self) -> None:
        if not self.answers:
            raise InputError("A sensitivity analysis needs at least one answer; got none.")
        for answer in self.answers:
            for name in SHAPES:
                if np.shape(getattr(answer, name)) != (len(self.classes),):
                    raise InputError(
                        f"{name} of the answer under {answer.assumption} has shape "
                        f"{np.shape(getattr(answer, name))}; expected one number for each of the "
                        f"{len(self.classes)} classes."
                    )

    def range(self) -> FloatArray:
        """Return the smallest lower and the largest upper bound of each class, ``(K, 2)``."""
        lower = np.min([answer.lower for answer in self.answers], axis=0)
        upper = np.max([answer.upper for answer in self.answers], axis=0)
        return np.stack([lower, upper], axis=1)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per answer and class.

        Returns
        -------
        DataFrame
            Columns: ``assumption``, ``method``, ``class``, ``share``, ``lower``, ``upper``.
        """
        require("pandas", "Estimate.sensitivity()")
        import pandas as pd

        K = len(self.classes)
        columns = {
            "assumption": [each.assumption for each in self.answers for _ in range(K)],
            "method": [each.method for each in self.answers for _ in range(K)],
            "class": self.classes.tolist() * len(self.answers),
            "share": np.concatenate([each.prevalence for each in self.answers]),
            "lower": np.concatenate([each.lower for each in self.answers]),
            "upper": np.concatenate([each.upper for each in self.answers]),
        }
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        names = self.classes.tolist()
        return {
            "level": float(self.level),
            "answers": [
                {
                    "assumption": each.assumption,
                    "method": each.method,
                    "sentence": each.sentence,
                    "classes": [
                        {"class": name, "share": share, "lower": lower, "upper": upper}
                        for name, share, lower, upper in zip(
                            names,
                            each.prevalence.tolist(),
                            each.lower.tolist(),
                            each.upper.tolist(),
                            strict=True,
                        )
                    ],
                }
                for each in self.answers
            ],
            "range": [
                {"class": name, "lower": lower, "upper": upper}
                for name, (lower, upper) in zip(names, self.range().tolist(), strict=True)
            ],
        }

    def __repr__(self) -> str:
        from truemix.estimates.text import sensitivity_table

        return sensitivity_table(self).text()

    def _repr_html_(self) -> str:
        from truemix.estimates.text import sensitivity_table

        return sensitivity_table(self).html()
