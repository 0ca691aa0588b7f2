"""How far an estimate can be relied on: what it assumes, and what was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truemix.estimates.checks import CANNOT_TELL, COUNTING, point_method

if TYPE_CHECKING:
    from truemix.estimates import Estimate


@dataclass(frozen=True)
class Trust:
    """What is known about how far an estimate can be relied on.

    Attributes
    ----------
    method : str
        The method that estimates the shares; for a bootstrap, the quantifier inside.
    fits : bool or None
        Whether the batch passed the checks of the method's assumptions; None if there was no
        check, or an inconclusive one.
    blind : bool
        Whether a check had too little power to detect a violation.
    computed : bool
        Whether the sampler or the solver passed its diagnostics.
    labelled : str or None
        What labels of the batch say, if the estimate does not rest on the assumption alone.
    """

    method: str
    fits: bool | None = None
    blind: bool = False
    computed: bool = True
    labelled: str | None = None

    @property
    def counting(self) -> bool:
        """Whether the method only aggregates the classifier's output, without a correction."""
        return self.method in COUNTING

    @property
    def failed(self) -> bool:
        """Whether anything failed, so that no probability can be promised."""
        return self.misfit or not self.computed

    @property
    def misfit(self) -> bool:
        """Whether the estimate rests on an assumption that the batch does not fit."""
        return self.fits is False and self.labelled is None

    def condition(self) -> list[str]:
        """Return a sentence about the assumption, if it was not checked."""
        if self.labelled is not None:
            return [self.labelled]
        if self.counting:
            return [f"{self.method} does not correct for a mix that differs from the reference."]
        if self.blind:
            return [
                "Assumed, and these data cannot show it: items of a class look as they did in the "
                "reference."
            ]
        if self.fits is None:
            return ["Assumed, not checked: items of a class look as they did in the reference."]
        return []


def trust_of(estimate: Estimate) -> Trust:
    """Return the results of the checks and the diagnostics of an estimate."""
    passed = [check.passed for check in estimate.checks.values()]
    blind = any(check.verdict == CANNOT_TELL for check in estimate.checks.values())
    return Trust(
        method=point_method(estimate.method, estimate.settings),
        fits=all(passed) if passed and not (blind and all(passed)) else None,
        blind=blind,
        # All other warnings come from the sampler or the solver.
        computed=len(estimate.warnings()) == passed.count(False),
        labelled=_labelled(estimate),
    )


def _labelled(estimate: Estimate) -> str | None:
    found = estimate.diagnostics.get("labels")
    if not isinstance(found, Mapping) or found.get("assumption") == "label-shift":
        return None
    return str(found["sentence"])
