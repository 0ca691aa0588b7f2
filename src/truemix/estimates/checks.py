"""The checks of an estimate, independent of how they were made.

A check has one of four verdicts: passed, failed, cannot tell (the data could not have shown a
violation), not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

LABEL_SHIFT = "label_shift"
PASSED, FAILED, CANNOT_TELL, NOT_CHECKED = "passed", "failed", "cannot tell", "not checked"
# Methods that only aggregate the classifier's output: they do not assume label shift.
COUNTING = ("CC", "PCC")


class Check(Protocol):
    """A check that was made, such as :class:`truemix.checks.ShiftCheck`."""

    @property
    def verdict(self) -> str:
        """Passed, failed, or cannot tell."""
        ...

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against what was checked."""
        ...

    @property
    def explanation(self) -> str:
        """What was found, in plain words."""
        ...

    def summary(self) -> dict[str, Any]:
        """Return the main numbers as plain Python objects."""
        ...


@dataclass(frozen=True)
class RecordedCheck:
    """A check as read from a file: its numbers and its explanation, without the items.

    Examples
    --------
    >>> numbers = {"verdict": "passed", "passed": True, "explanation": "All is well."}
    >>> check = RecordedCheck({**numbers, "p_value": 0.4})
    >>> check.verdict, check.explanation, check.summary()["p_value"]
    ('passed', 'All is well.', 0.4)
    """

    numbers: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        """Passed, failed, or cannot tell."""
        return str(self.numbers["verdict"])

    @property
    def passed(self) -> bool:
        """Whether nothing spoke against what was checked."""
        return bool(self.numbers["passed"])

    @property
    def explanation(self) -> str:
        """What was found, in plain words."""
        return str(self.numbers["explanation"])

    def summary(self) -> dict[str, Any]:
        """Return the numbers."""
        return dict(self.numbers)

    def __repr__(self) -> str:
        return self.explanation


def point_method(method: str, settings: Mapping[str, Any]) -> str:
    """Return the method that estimates the shares: for a bootstrap, the quantifier inside.

    Examples
    --------
    >>> point_method("Bootstrap", {"quantifier": {"method": "PCC"}}), point_method("KDEy", {})
    ('PCC', 'KDEy')
    """
    inner = settings.get("quantifier")
    if method == "Bootstrap" and isinstance(inner, Mapping):
        return str(inner.get("method", method))
    return method


def not_checked(method: str, reason: str | None = None) -> dict[str, Any]:
    """Return the summary of label shift where it was not checked, as plain values.

    Examples
    --------
    >>> not_checked("KDEy", "--no-check was given.")["explanation"]
    'Label shift: not checked. --no-check was given.'
    """
    if method in COUNTING:
        reason = f"{method} does not assume it, and does not correct for it."
    text = "Label shift: not checked." if reason is None else f"Label shift: not checked. {reason}"
    return {"checked": False, "verdict": NOT_CHECKED, "explanation": text}
