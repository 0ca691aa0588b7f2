"""What an estimate knows of the checks it went through, whoever made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Check(Protocol):
    """A check that was made, such as :class:`truemix.checks.ShiftCheck`."""

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
    """A check as it was written to a file: what it said, without the items behind it.

    Examples
    --------
    >>> check = RecordedCheck({"passed": True, "explanation": "All is well.", "p_value": 0.4})
    >>> check.passed, check.explanation, check.summary()["p_value"]
    (True, 'All is well.', 0.4)
    """

    numbers: Mapping[str, Any]

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
