"""What goes on the page: which classes and groups are shown, and notes about the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truemix.estimates.text import percent
from truemix.report.charts.density import Density, density
from truemix.report.charts.forest import Forest, Strip, forest, middle_half
from truemix.report.charts.ternary import Ternary, ternary
from truemix.report.plain import as_json
from truemix.report.sentences import subject

# Up to here classes stay in their own order, which may mean something; beyond, the largest first.
MAX_IN_ORDER = 12
# Rows of a table that are seen without opening it.
MAX_ROWS = 30
MAX_DENSITIES = 12
# Rows with a picture in them that keep the page small.
MAX_STRIPS = 1000
# Classes whose numbers reach less than this part of the largest have a scale of their own.
_SMALL = 1 / 8
_FEW = 1e-12


@dataclass(frozen=True)
class Row:
    """A row of a table with a picture: a class, or a group."""

    name: Any
    n_items: int | None
    entry: dict[str, Any]
    strip: Strip
    failed: bool = False


@dataclass(frozen=True)
class MixTable:
    """Rows that are visible, rows that are folded away, and a note about rows left out."""

    picture: Forest
    rows: list[Row]
    folded: list[Row]
    digits: int
    has_interval: bool
    has_increase: bool
    about: str


@dataclass(frozen=True)
class MixTables:
    """The tables of one group: of its classes, or of larger ones and of small ones."""

    parts: list[MixTable]
    about: str


def mix_tables(group: dict[str, Any], *, ordered: bool = False) -> MixTables:
    """Return the tables of one group: a row per class."""
    classes = group["classes"]
    order = list(range(len(classes)))
    about = ""
    if len(classes) > MAX_IN_ORDER:
        order.sort(key=lambda k: -classes[k]["share"])
        about = f"The {len(classes)} classes are sorted by their estimated share."
    left_out = order[MAX_STRIPS:]
    if left_out:
        rest = percent(sum(classes[k]["share"] for k in left_out))
        about += f" The smallest {len(left_out):,}, together {rest}, are left out."
    order = order[:MAX_STRIPS]
    middles = middle_half(group)
    reaches = {k: _reach(classes[k]) for k in order}
    small = [k for k in order if reaches[k] <= _SMALL * max(reaches.values())]
    parts = [[k for k in order if k not in set(small)], small] if len(order) > 2 else [order]
    tables = []
    for numbers in filter(None, parts):
        picture = forest(
            [classes[k] for k in numbers],
            [middles[k] for k in numbers],
            [group["range"][k] for k in numbers] if group["range"] else None,
        )
        rows = [
            Row(classes[k]["class"], None, classes[k], strip)
            for k, strip in zip(numbers, picture.strips, strict=True)
        ]
        tables.append(_table(picture, rows, has_increase=ordered, about=""))
    return MixTables(tables, about)


def _reach(entry: dict[str, Any]) -> float:
    """Return the largest number of a class."""
    keys = ("share", "upper", "classify_and_count", "reference")
    return max(float(entry[key]) for key in keys if entry[key] is not None)


def group_table(groups: Sequence[dict[str, Any]], number: int, most: int) -> MixTable:
    """Return the table of one class: a row per group."""
    shown = list(groups)
    about = ""
    if len(shown) > most:
        shown.sort(key=lambda group: -group["classes"][number]["share"])
        about = f"Shown are the {most} of {len(shown):,} groups with the largest share."
        shown = shown[:most]
    entries = [group["classes"][number] for group in shown]
    ranges = [group["range"][number] if group["range"] else None for group in shown]
    picture = forest(entries, [middle_half(group)[number] for group in shown], ranges)
    rows = [
        Row(group["group"], group["n_items"], entry, strip, failed=bool(group["failed"]))
        for group, entry, strip in zip(shown, entries, picture.strips, strict=True)
    ]
    return _table(picture, rows, has_increase=False, about=about)


def _table(picture: Forest, rows: list[Row], *, has_increase: bool, about: str) -> MixTable:
    entries = [row.entry for row in rows]
    # Five rows or fewer are not folded away.
    seen = MAX_ROWS if len(rows) > MAX_ROWS + 5 else len(rows)
    return MixTable(
        picture=picture,
        rows=rows[:seen],
        folded=rows[seen:],
        digits=digits_for(entries),
        has_interval=any(entry["lower"] is not None for entry in entries),
        has_increase=has_increase and any(entry["prob_increase"] is not None for entry in entries),
        about=about,
    )


def digits_for(entries: Sequence[dict[str, Any]]) -> int:
    """Return how many decimals of percentages to show: more if intervals are very narrow.

    Examples
    --------
    >>> digits_for([{"lower": 0.3, "upper": 0.4}]), digits_for([{"lower": 0.3, "upper": 0.3003}])
    (1, 3)
    """
    widths = sorted(e["upper"] - e["lower"] for e in entries if e["lower"] is not None)
    widths = [width for width in widths if width > _FEW]
    if not widths:
        return 1
    return min(3, max(1, math.ceil(math.log10(0.04 / widths[len(widths) // 2]) - 1e-9)))


@dataclass(frozen=True)
class Posterior:
    """The pictures of the posterior of one group."""

    densities: list[tuple[dict[str, Any], Density]]
    triangle: Ternary | None
    about: str


def posterior(group: dict[str, Any]) -> Posterior | None:
    """Return the pictures of the posterior, or None for a point estimate."""
    shape, classes = group["quantiles"], group["classes"]
    if shape is None:
        return None
    numbers, about = list(range(len(classes))), ""
    if len(classes) == 2:
        # The other one is its mirror image.
        numbers = [classes.index(subject(classes))]
    elif len(classes) > MAX_DENSITIES:
        numbers.sort(key=lambda k: -classes[k]["share"])
        numbers = numbers[:MAX_DENSITIES]
        about = f"Shown are the {MAX_DENSITIES} largest of {len(classes)} classes."
    densities = [
        (classes[k], density(classes[k], shape["levels"], shape["values"][k], group["n_items"]))
        for k in numbers
    ]
    draws = shape.get("draws")
    triangle = ternary(classes, draws) if draws and len(classes) == 3 else None
    return Posterior(densities, triangle, about)


def worst_classes(tested: dict[str, Any]) -> dict[str, Any]:
    """Return the classes of a backtest to be shown: all, or those with the largest errors."""
    classes = tested["classes"]
    if len(classes) > MAX_ROWS:
        classes = sorted(classes, key=lambda row: -row["mean_error"])[:MAX_ROWS]
    return {"worst": classes, "left_out": len(tested["classes"]) - len(classes)}


def settings_rows(settings: dict[str, Any]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return settings as name, text and, where it is a list of records, the records.

    Examples
    --------
    >>> settings_rows({"prior": 1.0, "quantifier": {"cv": 5}, "tried": [{"a": 1}, {"a": 2}]})
    [('prior', '1.0', []), ('quantifier: cv', '5', []), ('tried', '', [{'a': 1}, {'a': 2}])]
    """
    rows: list[tuple[str, str, list[dict[str, Any]]]] = []
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            rows += [
                (f"{name}: {inner}", text, table) for inner, text, table in settings_rows(value)
            ]
        elif _is_records(value):
            rows.append((name, "", value))
        else:
            rows.append((name, shown_value(value), []))
    return rows


def shown_value(value: Any) -> str:
    """Return a setting as text: strings unchanged, anything else as JSON."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else as_json(value)


def _is_records(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and item.keys() == value[0].keys() for item in value)
    )
