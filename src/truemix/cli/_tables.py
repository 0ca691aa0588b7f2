"""Tables for people: with lines and colours in a terminal, as plain text everywhere else."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._escaping import visible
from truemix.cli._output import write
from truemix.estimates.checks import CANNOT_TELL, FAILED, NOT_CHECKED, PASSED
from truemix.estimates.text import (
    DASH,
    about_intervals,
    chance,
    intervals,
    items,
    percent,
    shown_name,
)

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# Verdicts of a check, in a cell of a table.
FITS = {PASSED: "yes", FAILED: "no", CANNOT_TELL: "cannot tell", NOT_CHECKED: ""}


@dataclass(frozen=True)
class Cells:
    """A title, cells with a header, and lines below.

    ``left`` is how many columns are text; the others are numbers. Rows whose first cell differs
    from the one above begin a new section, if there is more than one text column.

    Examples
    --------
    >>> print(Cells("Shares", ["class", "share"], [["ham", "70 %"], ["spam", "30 %"]]).text())
    Shares
    class  share
    ham     70 %
    spam    30 %
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    below: list[str] = field(default_factory=list)
    left: int = 1

    def text(self) -> str:
        """Return the table as plain text with aligned columns."""
        from rich.cells import cell_len

        # Letters of some scripts are two columns wide.
        widths = [
            max(map(cell_len, column)) for column in zip(self.header, *self.rows, strict=True)
        ]
        lines = [self.title]
        for cells in [self.header, *self.rows]:
            padded = []
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
                space = " " * (width - cell_len(cell))
                padded.append(cell + space if place < self.left else space + cell)
            lines.append("  ".join(padded).rstrip())
        return visible("\n".join(lines + self.below), lines=True)

    def show(self, out: str | None = None) -> None:
        """Write the table to a file or to stdout, in the form that suits it."""
        if out is not None or sys.stdout is None or not sys.stdout.isatty():
            write(self.text() + "\n", out)
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        console.print(Text(visible(self.title), style="bold"))
        console.print(self._rich())
        for line in self.below:
            console.print(Text(visible(line), style="dim"))

    def _rich(self) -> RichTable:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for place, name in enumerate(self.header):
            align: Any = "left" if place < self.left else "right"
            style = "bold" if name == "estimate" else None
            table.add_column(Text(name), justify=align, style=style, no_wrap=place >= self.left)
        for number, row in enumerate(self.rows):
            following = self.rows[number + 1 : number + 2]
            ends = self.left > 1 and bool(following) and following[0][0] != row[0]
            table.add_row(*map(Text, row), end_section=ends)
        return table


def summary_cells(summary: dict[str, Any]) -> Cells:
    """Return what the summary of an estimate says, as the repr of an estimate does."""
    by, bounds = summary["by"], summary["interval"] is not None
    columns = ["class", "estimate", "interval", "counted", "reference"]
    if by is not None:
        columns = ["group", *columns, *(["rose"] if summary["ordered"] else []), "items"]
    if not bounds:
        columns = [name for name in columns if name not in {"interval", "rose"}]
    title = f"{summary['method']}: the mix of {items(summary['target']['n_items'])}"
    below = [about_intervals(summary["level"], summary["estimand"])] if bounds else []
    shifts = [group["checks"]["label_shift"] for group in summary["groups"]]
    if by is not None:
        if any(shift["checked"] for shift in shifts):
            columns.insert(-1, "fits")
        else:
            below.append(shifts[-1]["explanation"])
    if any(group["unknown"] for group in summary["groups"]) and by is not None:
        columns.insert(-1, "unknown")
    header = columns.copy()
    if by is not None:
        header[0] = shown_name(by)
        title += f" by {header[0]}"
        if "rose" in columns and len(summary["groups"]) > 1:
            below.append("rose: probability that the share is larger than in the group before")
    if by is None:
        below += _about_checks(summary["groups"][0])
    rows = [[cell[name] for name in columns] for cell in _summary_rows(summary)]
    return Cells(title, header, rows, below, left=1 if by is None else 2)


def _about_checks(group: dict[str, Any]) -> list[str]:
    """Return lines about items of no class, and about checks that passed; failures come apart."""
    about = [] if group["unknown"] is None else [group["unknown"]["sentence"]]
    return about + [
        each["explanation"] for each in group["checks"].values() if each["verdict"] != FAILED
    ]


def _summary_rows(summary: dict[str, Any]) -> list[dict[str, str]]:
    rows = []
    for group, each in classes_by_group(summary):
        shift = group["checks"]["label_shift"]
        increase = each["prob_increase"]
        rows.append(
            {
                "group": shown_name(group["group"]),
                "class": shown_name(each["class"]),
                "estimate": percent(each["share"]),
                "counted": percent(each["counted"]),
                "reference": percent(each["reference"]),
                "rose": "" if increase is None else chance(increase),
                "items": f"{group['n_items']:,}",
                "unknown": "" if group["unknown"] is None else percent(group["unknown"]["share"]),
                "fits": FITS[shift["verdict"]],
            }
        )
    if summary["interval"] is not None:
        found = [each for _, each in classes_by_group(summary)]
        bounds = np.array([[each["lower"], each["upper"]] for each in found])
        cells = intervals(bounds, DASH, " %")
        for row, cell in zip(rows, cells, strict=True):
            row["interval"] = cell
    return rows


def weight_cells(content: dict[str, Any]) -> Cells:
    """Return class weights as a table."""
    classes = content["classes"]
    bounds = classes[0]["lower"] is not None
    header = ["class", "weight", *(["interval"] if bounds else []), "estimate", "reference"]
    rows = [[shown_name(each["class"]), f"{each['weight']:.3f}"] for each in classes]
    if bounds:
        for row, each in zip(rows, classes, strict=True):
            row.append(f"{each['lower']:.3f} {DASH} {each['upper']:.3f}")
    for row, each in zip(rows, classes, strict=True):
        row += [percent(each["share"]), percent(each["reference"])]
    title = f"{content['method']}: class weights for {items(content['n_items'])}"
    below = [about_intervals(content["level"], content["estimand"])] if bounds else []
    below.append(content["checks"]["label_shift"]["explanation"])
    return Cells(title, header, rows, below)


def check_cells(content: dict[str, Any]) -> Cells:
    """Return what a check of label shift says of one target."""
    (group,) = content["groups"]
    level = content["significance"]
    header = ["class", "estimate", "without unusual", "beside unknown", "deviation"]
    rows = [
        [
            shown_name(each["class"]),
            percent(each["estimate"]),
            percent(each["without_unusual"]),
            percent(each["with_unknown"]),
            f"{changed['statistic']:+.1f}{' *' if changed['adjusted'] <= level else '  '}",
        ]
        for each, changed in zip(group["estimates"], group["classes"], strict=True)
    ]
    unknown = ["(unknown)", "", "", percent(group["unknown_share"]), ""]
    below = [
        "deviation: how untypical items of the class are, in standard deviations; * is more than "
        "chance",
        group["explanation"],
    ]
    return Cells(f"Label shift: {_verdict(content)}", header, [*rows, unknown], below)


def group_check_cells(content: dict[str, Any], most_explained: int) -> Cells:
    """Return what checks of label shift say of groups, one row each."""
    groups = content["groups"]
    header = [shown_name(content["by"]), "fits", "p-value", "adjusted", "unusual", "items"]
    rows = [
        [
            shown_name(group["group"]),
            "yes" if group["passed"] else "no",
            f"{group['p_value']:.2g}",
            f"{_adjusted(group):.2g}",
            f"{group['n_unusual']:,}",
            f"{group['n_items']:,}",
        ]
        for group in groups
    ]
    failed = [group for group in groups if not group["passed"]]
    below = [
        f"{shown_name(group['group'])}: {group['explanation']}" for group in failed[:most_explained]
    ]
    if len(failed) > most_explained:
        below.append(f"{len(failed) - most_explained} more fail; --format json explains them all.")
    if not failed:
        below.append("Nothing speaks against any of them being a mix of the reference classes.")
    return Cells(f"Label shift: {_verdict(content)}", header, rows, below)


def _verdict(content: dict[str, Any]) -> str:
    verdict = "passed" if content["passed"] else "failed"
    return f"{verdict} at significance level {content['significance']:g}"


def _adjusted(group: dict[str, Any]) -> float:
    adjusted = group["adjusted_p_value"]
    return float(group["p_value"] if adjusted is None else adjusted)


def classes_by_group(summary: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each class of each group, with its group."""
    return [(group, each) for group in summary["groups"] for each in group["classes"]]
