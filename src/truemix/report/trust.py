"""How far an estimate can be relied on: what it assumes, and what was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truemix.estimates import Estimate

# Methods that add up what the classifier says.
COUNTING = ("CC", "PCC")


@dataclass(frozen=True)
class Trust:
    """What is known about how far an estimate can be relied on.

    Attributes
    ----------
    method : str
        What estimates the shares; of a bootstrap the quantifier inside.
    fits : bool or None
        Whether the batch passed the checks of what the method assumes; None if none was made.
    computed : bool
        Whether the sampler or the solver passed its diagnostics.
    """

    method: str
    fits: bool | None = None
    computed: bool = True

    @property
    def counting(self) -> bool:
        """Whether the method only adds up what the classifier says, without a correction."""
        return self.method in COUNTING

    @property
    def failed(self) -> bool:
        """Whether anything failed, so that no probability can be promised."""
        return self.fits is False or not self.computed

    def condition(self) -> list[str]:
        """Return a sentence about what the numbers rest on, if that was not checked."""
        if self.counting:
            return [f"{self.method} does not correct for a mix that differs from the reference."]
        if self.fits is None:
            return ["Assumed, not checked: items of a class look as they did in the reference."]
        return []


def trust_of(estimate: Estimate) -> Trust:
    """Return what the checks and the diagnostics of an estimate say."""
    passed = [check.passed for check in estimate.checks.values()]
    return Trust(
        method=point_method(estimate.method, estimate.settings),
        fits=all(passed) if passed else None,
        # Whatever else is warned of comes from the sampler or the solver.
        computed=len(estimate.warnings()) == passed.count(False),
    )


def point_method(method: str, settings: Mapping[str, Any]) -> str:
    """Return the method that estimates the shares: of a bootstrap the quantifier inside.

    Examples
    --------
    >>> point_method("Bootstrap", {"quantifier": {"method": "PCC"}}), point_method("KDEy", {})
    ('PCC', 'KDEy')
    """
    inner = settings.get("quantifier")
    if method == "Bootstrap" and isinstance(inner, Mapping):
        return str(inner.get("method", method))
    return method
