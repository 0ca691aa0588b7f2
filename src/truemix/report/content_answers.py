"""What goes on the page about trust: answers under other assumptions, and the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.report.charts.forest import Forest, forest
from truemix.report.content import Row, digits_for
from truemix.report.sentences import subject

# Classes whose answers are drawn: those with the widest range. The JSON output has all.
MAX_CLASSES = 6
# Rows of a table that keep the page small.
MAX_ROWS = 200


@dataclass(frozen=True)
class AnswerTable:
    """The answers for one class, on a common scale."""

    entry: dict[str, Any]
    bounds: dict[str, Any]
    picture: Forest
    rows: list[Row]
    digits: int


@dataclass(frozen=True)
class Answers:
    """Tables of the answers of one group, and ranges of all groups that failed."""

    tables: list[AnswerTable]
    sentences: list[dict[str, Any]]
    ranges: list[tuple[dict[str, Any], dict[str, Any]]]
    about: str


def answers(groups: Sequence[dict[str, Any]], detail: dict[str, Any] | None) -> Answers | None:
    """Return what is shown of answers under other assumptions; None if no check failed."""
    failed = [group for group in groups if group["range"]]
    if not failed:
        return None
    tables: list[AnswerTable] = []
    sentences: list[dict[str, Any]] = []
    about = ""
    if detail is not None and detail["range"]:
        sentences = detail["answers"]
        numbers, about = _classes_shown(detail)
        tables = [_table(detail, k) for k in numbers]
    ranges = []
    if len(groups) > 1:
        main = subject(groups[-1]["classes"])
        number = next(k for k, each in enumerate(groups[-1]["classes"]) if each is main)
        ranges = [(group, group["range"][number]) for group in failed[:MAX_ROWS]]
    return Answers(tables, sentences, ranges, about)


def _classes_shown(group: dict[str, Any]) -> tuple[list[int], str]:
    classes, ranges = group["classes"], group["range"]
    if len(classes) == 2:
        return [classes.index(subject(classes))], ""
    numbers = list(range(len(classes)))
    if len(classes) <= MAX_CLASSES:
        return numbers, ""
    numbers.sort(key=lambda k: ranges[k]["lower"] - ranges[k]["upper"])
    about = f"Shown are the {MAX_CLASSES} of {len(classes)} classes with the widest range."
    return numbers[:MAX_CLASSES], about


def _table(group: dict[str, Any], number: int) -> AnswerTable:
    entry = group["classes"][number]
    beside = {name: entry[name] for name in ("classify_and_count", "reference")}
    entries = [{**each["classes"][number], **beside} for each in group["answers"]]
    picture = forest(entries)
    rows = [
        Row(f"{each['assumption']} ({each['method']})", None, values, strip)
        for each, values, strip in zip(group["answers"], entries, picture.strips, strict=True)
    ]
    return AnswerTable(entry, group["range"][number], picture, rows, digits_for(entries))


def performance_of(detail: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the classifier's performance in one group, with as many classes as are shown."""
    if detail is None or detail["performance"] is None:
        return None
    found: dict[str, Any] = detail["performance"]
    return {**found, "classes": found["classes"][:MAX_ROWS], "n_classes": len(found["classes"])}
