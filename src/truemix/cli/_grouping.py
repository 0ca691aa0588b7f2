"""What ``--by`` and ``--every`` say, before anything is read; nothing heavy is loaded here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truemix._periods import PERIODS
from truemix.exceptions import InputError


@dataclass(frozen=True)
class Grouping:
    """The columns that tell the group of an item, and which periods the times among them become."""

    columns: tuple[str, ...]
    every: str | None = None


def grouping_of(by: Sequence[str] | None, every: str | None) -> Grouping | None:
    """Return how items are grouped, None if they are not; refuse options that do not fit."""
    if every is not None and every not in PERIODS:
        raise InputError(
            f"The option --every is {every[:40]!r}; expected one of {', '.join(PERIODS)}."
        )
    if not by:
        if every is not None:
            raise InputError(
                f"--every {every} needs the column of times that items are grouped by; add --by "
                "COLUMN, or leave it out."
            )
        return None
    twice = next((column for column in by if list(by).count(column) > 1), None)
    if twice is not None:
        raise InputError(
            f"--by names {twice[:80]!r} twice; expected different columns, to group by each "
            "combination of them. Leave one of them out."
        )
    return Grouping(tuple(by), every)
