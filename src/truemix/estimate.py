"""What a quantifier answers: the mix, where it comes from, and how far to trust it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._typing import AnyArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS_SHOWN = 30


@dataclass(frozen=True, repr=False)
class Estimate:
    """The estimated mix of classes in one batch.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Class labels; everything per class is in this order.
    prevalence : ndarray of shape (K,)
        Estimated share of each class, summing to one.
    counted : ndarray of shape (K,)
        What the classifier alone would have said: the share of items it puts into each class.
    train_prevalence : ndarray of shape (K,)
        Shares in the reference.
    n_items : int
        Number of items in the batch.
    method : str
        Name of the quantifier.
    settings : dict
        Every resolved parameter, and the version.
    diagnostics : dict
        What the solver reports; ``"converged"`` and ``"gap"`` for maximum likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix.estimate import Estimate
    >>> Estimate(
    ...     classes=np.array(["ham", "spam"]),
    ...     prevalence=np.array([0.7, 0.3]),
    ...     counted=np.array([0.8, 0.2]),
    ...     train_prevalence=np.array([0.5, 0.5]),
    ...     n_items=100,
    ...     method="KDEy",
    ... )
    KDEy: the mix of 100 items
    class  estimate  counted  reference
    ham      70.0 %   80.0 %     50.0 %
    spam     30.0 %   20.0 %     50.0 %
    """

    classes: AnyArray
    prevalence: FloatArray
    counted: FloatArray
    train_prevalence: FloatArray
    n_items: int
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per class.

        Columns: ``prevalence``, ``counted`` (classify and count) and ``reference`` (the shares in
        the reference).
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "prevalence": self.prevalence,
                "counted": self.counted,
                "reference": self.train_prevalence,
            },
            index=pd.Index(self.classes.tolist(), name="class"),
        )

    def warnings(self) -> list[str]:
        """Return a sentence for each diagnostic that failed."""
        failed = []
        if self.diagnostics.get("converged") is False:
            failed.append(
                f"The solver stopped after {self.diagnostics['iterations']} iterations before it "
                f"converged (gap {self.diagnostics['gap']:.1e})."
            )
        failed.extend(self.diagnostics.get("notes", []))
        return failed

    def __repr__(self) -> str:
        noun = "item" if self.n_items == 1 else "items"
        lines = [f"{self.method}: the mix of {self.n_items:,} {noun}"]
        labels = [str(label) for label in self.classes.tolist()]
        order = np.arange(len(labels))
        if len(labels) > MOST_ROWS_SHOWN:
            order = np.argsort(-self.prevalence, kind="stable")[:MOST_ROWS_SHOWN]
        width = max(len("class"), *(len(labels[k]) for k in order))
        lines.append(f"{'class':<{width}}  estimate  counted  reference")
        lines.extend(
            f"{labels[k]:<{width}}  {_percent(self.prevalence[k]):>8}  "
            f"{_percent(self.counted[k]):>7}  {_percent(self.train_prevalence[k]):>9}"
            for k in order
        )
        if len(order) < len(labels):
            lines.append(f"… and {len(labels) - len(order)} smaller classes: see .frame()")
        lines.extend(f"Note: {sentence}" for sentence in self.warnings())
        return "\n".join(lines)


class EstimateSet(Mapping[Hashable, Estimate]):
    """One :class:`Estimate` per group, in sorted order of the groups.

    Examples
    --------
    >>> EstimateSet({}).frame().empty
    True
    """

    def __init__(self, estimates: Mapping[Hashable, Estimate]) -> None:
        self._estimates = dict(estimates)

    def __getitem__(self, group: Hashable) -> Estimate:
        return self._estimates[group]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per group and class, and the number of items."""
        import pandas as pd

        parts = []
        for group, estimate in self.items():
            part = estimate.frame().reset_index()
            part.insert(0, "group", [group] * len(part))
            part["n_items"] = estimate.n_items
            parts.append(part)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def __repr__(self) -> str:
        if not self:
            return "EstimateSet: no groups"
        lines = [f"EstimateSet: {len(self)} groups"]
        lines += [f"[{group}] {estimate!r}" for group, estimate in self.items()]
        return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
