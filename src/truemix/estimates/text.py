"""Tables as plain text and as HTML, from the same cells."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._escaping import visible
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.estimates.answers import NEXT_STEP
from truemix.estimates.checks import COUNTING, LABEL_SHIFT, point_method
from truemix.estimates.given_draws import GIVEN
from truemix.estimates.names import plain_name

if TYPE_CHECKING:
    from truemix.estimates.answers import Sensitivity
    from truemix.estimates.comparison import Comparison
    from truemix.estimates.estimate import Estimate

MAX_ROWS_SHOWN = 30
MAX_NAME = 40
# Classes beside each other in a table of groups.
MAX_COLUMNS = 8
LEVEL_SHOWN = 0.95
DASH = "\N{EN DASH}"
# The column of probabilities that a share is higher than before: never to be read as a growth.
HIGHER = "P(higher)"
ESTIMANDS = {
    "batch": "the mix of these very items (batch)",
    "population": "the mix of the source they come from (population)",
}


@dataclass(frozen=True)
class Table:
    """A title, cells with a header, and lines below; ``left`` columns are text, others numbers.

    Examples
    --------
    >>> print(Table("Shares", ("class", "share"), [("ham", "70 %"), ("spam", "30 %")]).text())
    Shares
    class  share
    ham     70 %
    spam    30 %
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: list[str] = field(default_factory=list)
    left: int = 1

    def text(self) -> str:
        """Return the table as plain text with aligned columns."""
        from rich.cells import cell_len

        # Letters of some scripts are two columns wide.
        columns = zip(self.header, *self.rows, strict=True)
        widths = [max(map(cell_len, column)) for column in columns]
        lines = [self.title]
        for cells in [self.header, *self.rows]:
            padded = []
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
                space = " " * (width - cell_len(cell))
                padded.append(cell + space if place < self.left else space + cell)
            lines.append("  ".join(padded).rstrip())
        return visible("\n".join(lines + self.below), lines=True)

    def html(self) -> str:
        """Return the table as HTML; every text in it is escaped."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        body = "".join(_html_row(cells) for cells in self.rows)
        below = "".join(f"<div>{html.escape(line)}</div>" for line in self.below)
        return (
            f"<div><strong>{html.escape(self.title)}</strong>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
        )


def _html_row(cells: Sequence[str]) -> str:
    name, *numbers = (html.escape(cell) for cell in cells)
    values = "".join(f'<td style="text-align: right">{cell}</td>' for cell in numbers)
    return f'<tr><th style="text-align: left">{name}</th>{values}</tr>'


def estimate_table(estimate: Estimate) -> Table:
    """Return what the repr of an estimate shows."""
    shown = largest(estimate.prevalence)
    columns = {"estimate": _column(percent, estimate.prevalence[shown])}
    if estimate.draws is not None:
        columns["interval"] = intervals(estimate.interval(LEVEL_SHOWN)[shown], DASH, " %")
    if estimate.answers is not None:
        columns["range"] = intervals(estimate.answers.range()[shown], DASH, " %")
    if estimate.classify_and_count is not None:
        columns["counted"] = _column(percent, estimate.classify_and_count[shown])
    if estimate.train_prevalence is not None:
        columns["reference"] = _column(percent, estimate.train_prevalence[shown])
    below = left_out(estimate.classes, shown, "smaller classes")
    if estimate.draws is not None:
        below.append(about_intervals(LEVEL_SHOWN, estimate.estimand))
    if estimate.unknown is not None:
        below.append(f"{estimate.unknown}")
    below += about_decisions(estimate.diagnostics) + about_labels(estimate.diagnostics)
    below += [check.explanation for check in estimate.checks.values() if check.passed]
    method = point_method(estimate.method, estimate.settings)
    given = estimate.diagnostics.get("sampler") == GIVEN
    if LABEL_SHIFT not in estimate.checks and method not in COUNTING and not given:
        below.append("Label shift: not checked; quantify(X, check=True) does.")
    below += [f"Note: {sentence}" for sentence in estimate.warnings()]
    if estimate.answers is not None:
        below += about_range(estimate.answers.summary(), subject_of(estimate.prevalence))
    return _table(title_of(estimate), estimate.classes[shown], columns, below)


def title_of(estimate: Estimate) -> str:
    """Return what an estimate is of, as the title of a table or a picture."""
    of = f" of {items(estimate.n_items)}" if estimate.n_items else ""
    return f"{estimate.method}: the mix{of}"


def subject_of(shares: FloatArray) -> int:
    """Return the class that is spoken of first: the second of two (spam, True, 1), or the largest.

    Examples
    --------
    >>> subject_of(np.array([0.7, 0.3])), subject_of(np.array([0.2, 0.5, 0.3]))
    (1, 1)
    """
    return 1 if len(shares) == 2 else int(np.argmax(shares))


def about_range(found: dict[str, Any], number: int) -> list[str]:
    """Return lines about the answers for one class, given the summary of a sensitivity analysis."""
    answers = found["answers"]
    name = shown_name(answers[0]["classes"][number]["class"])
    lines = [f"range: from the lowest to the highest of these answers, for {name}:"]
    for each in answers:
        entry = each["classes"][number]
        bounds = f"{percent(entry['lower'], unit='')} {DASH} {percent(entry['upper'])}"
        what = f"{each['assumption']} ({each['method']})"
        lines.append(f"  {percent(entry['share'])} ({bounds}) {what}: {each['sentence']}")
    return [*lines, NEXT_STEP]


def sensitivity_table(found: Sensitivity) -> Table:
    """Return what the repr of a sensitivity analysis shows: one row per answer."""
    shown = largest(found.answers[0].prevalence)
    names = [shown_name(label) for label in found.classes[shown].tolist()]
    rows = [
        (
            f"{each.assumption} ({each.method})",
            *intervals(np.stack([each.lower, each.upper], axis=1)[shown], DASH, " %"),
        )
        for each in found.answers
    ]
    rows.append(("range", *intervals(found.range()[shown], DASH, " %")))
    below = left_out(found.classes, shown, "smaller classes")
    below.append(f"{percent_level(found.level)} equal-tailed intervals")
    return Table("The mix under different assumptions", ("assumption", *names), rows, below)


def about_labels(diagnostics: Mapping[str, Any]) -> list[str]:
    """Return what labels of the batch say of the estimate, if there are any.

    Examples
    --------
    >>> about_labels({"labels": {"n_labels": 10, "n_items": 10, "sentence": "All are labelled."}})
    ['10 of 10 items are labelled. All are labelled.']
    """
    found = diagnostics.get("labels")
    if not isinstance(found, Mapping):
        return []
    n_labels, n_items = found["n_labels"], found["n_items"]
    verb = "is" if n_labels == 1 else "are"
    return [f"{n_labels:,} of {items(n_items)} {verb} labelled. {found['sentence']}"]


def about_decisions(diagnostics: Mapping[str, Any]) -> list[str]:
    """Return how the verdicts of judges were taken, if there is anything to say of it.

    Examples
    --------
    >>> about_decisions({"decisions": {"sentences": ["Two judges are one."]}}), about_decisions({})
    (['Two judges are one.'], [])
    """
    found = diagnostics.get("decisions")
    return list(found["sentences"]) if isinstance(found, Mapping) else []


def comparison_table(comparison: Comparison) -> Table:
    """Return what the repr of a comparison shows."""
    shown = largest(np.abs(comparison.difference))
    columns = {
        "before": _column(percent, comparison.before[shown]),
        "now": _column(percent, comparison.now[shown]),
        "change": [percent(x, sign="+", unit="") for x in comparison.difference[shown].tolist()],
    }
    below = left_out(comparison.classes, shown, "classes that changed less")
    if comparison.interval is not None and comparison.prob_increase is not None:
        columns["interval"] = intervals(comparison.interval[shown], "to", "", sign="+")
        columns[HIGHER] = _column(chance, comparison.prob_increase[shown])
        below.append(about_intervals(comparison.level, "population"))
    title = f"{comparison.method}: the change of the mix in percentage points"
    if comparison.n_items and comparison.n_items_before:
        title += f", {items(comparison.n_items)} after {items(comparison.n_items_before)}"
    return _table(title, comparison.classes[shown], columns, below)


def groups_table(estimates: Mapping[Any, Estimate]) -> Table:
    """Return groups as rows, with the shares of the largest classes and their intervals."""
    every = list(estimates.values())
    if not every:
        return Table("EstimateSet: no groups", ("group",), [])
    last = every[-1]
    names = {label: shown_name(label) for label in last.classes.tolist()}
    peaks = [max(_share(each, label) for each in every) for label in names]
    widest = np.argsort(-np.array(peaks), kind="stable")[:MAX_COLUMNS]
    shown = [list(names)[k] for k in sorted(widest.tolist())]
    failed = [not all(check.passed for check in each.checks.values()) for each in every]
    first = max(0, len(every) - MAX_ROWS_SHOWN)
    rows = []
    for (group, each), fails in list(zip(estimates.items(), failed, strict=True))[first:]:
        cells = [_share_cell(each, label) for label in shown]
        check = ["failed" if fails else ""] if any(failed) else []
        rows.append((group_name(group), f"{each.n_items:,}", *cells, *check))
    header = ("group", "items", *(names[label] for label in shown))
    below = [f"… and {first} groups before: see .frame()"] if first else []
    left = len(names) - len(shown)
    below += [f"… and {left} smaller classes: see .frame()"] if left else []
    if last.draws is not None:
        below.append(about_intervals(LEVEL_SHOWN, last.estimand))
    methods = " and ".join(dict.fromkeys(each.method for each in every))
    title = f"{methods}: {len(every)} group{'s' * (len(every) != 1)}"
    return Table(title, (*header, *(["check"] if any(failed) else [])), rows, below)


def _place(estimate: Estimate, label: Any) -> int | None:
    labels = estimate.classes.tolist()
    return labels.index(label) if label in labels else None


def _share(estimate: Estimate, label: Any) -> float:
    place = _place(estimate, label)
    return 0.0 if place is None else float(estimate.prevalence[place])


def _share_cell(estimate: Estimate, label: Any) -> str:
    """Return a share with its interval, ``31.8 % (27.8 – 36.1)``."""
    place = _place(estimate, label)
    if place is None:
        return DASH
    share = percent(estimate.prevalence[place])
    if estimate.draws is None:
        return share
    lower, upper = (percent(end, unit="") for end in estimate.interval(LEVEL_SHOWN)[place].tolist())
    return f"{share} ({lower} {DASH} {upper})"


def items(count: int) -> str:
    """Return a number of items as text."""
    return f"{count:,} item" if count == 1 else f"{count:,} items"


def percent(share: float, digits: int = 1, *, sign: str = "", unit: str = " %") -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.125), percent(-0.0001), percent(0.5, 0, sign="+", unit="")
    ('12.5 %', '0.0 %', '+50')
    """
    # Adding 0.0 turns the negative zero that rounding can leave into a positive one.
    return f"{round(100 * share, digits) + 0.0:{sign}.{digits}f}{unit}"


def percent_level(level: float) -> str:
    """Return the level of an interval as a percentage, with the digits that it has."""
    return f"{100 * level:.10g} %"


def chance(probability: float, *, less: str = "<", more: str = ">") -> str:
    """Return a probability from draws as text; draws cannot resolve values very near 0 and 1."""
    if probability < 0.001:
        return f"{less} {percent(0.001)}"
    return f"{more} {percent(0.999)}" if probability > 0.999 else percent(probability)


def shown_name(label: Any, most: int = MAX_NAME) -> str:
    """Return a class name on one line; a long one is cut in the middle, since ends differ most.

    Control characters are escaped: a name must not control a terminal.

    Examples
    --------
    >>> shown_name("a very long name", most=8)
    'a ver…me'
    """
    name = visible(str(label))
    if len(name) <= most:
        return name
    end = (most - 1) // 3
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def group_name(group: Any, most: int = MAX_NAME) -> str:
    """Return the name of a group on one line.

    Examples
    --------
    >>> import datetime
    >>> group_name(datetime.datetime(2026, 5, 1)), group_name(("north", 3))
    ('2026-05-01', 'north, 3')
    """
    return shown_name(plain_name(group), most)


def _table(title: str, classes: AnyArray, columns: dict[str, list[str]], below: list[str]) -> Table:
    names = [shown_name(label) for label in classes.tolist()]
    rows = list(zip(names, *columns.values(), strict=True))
    return Table(title, ("class", *columns), rows, below)


def largest(values: FloatArray) -> IntArray:
    """Return which rows a table shows: all, or of many the largest."""
    if len(values) <= MAX_ROWS_SHOWN:
        return np.arange(len(values))
    return np.argsort(-values, kind="stable")[:MAX_ROWS_SHOWN]


def left_out(classes: AnyArray, shown: IntArray, what: str) -> list[str]:
    """Return a line about the rows that a table does not show, if there are any."""
    left = len(classes) - len(shown)
    return [f"… and {left} {what}: see .frame()"] if left else []


def about_intervals(level: float, estimand: str) -> str:
    """Return the line below a table that describes its intervals."""
    return f"{percent_level(level)} equal-tailed intervals; {ESTIMANDS[estimand]}"


def _column(form: Callable[[float], str], values: FloatArray) -> list[str]:
    return [form(value) for value in values.tolist()]


def intervals(bounds: FloatArray, between: str, unit: str, *, sign: str = "") -> list[str]:
    """Return intervals in percent, with the bounds of all rows under each other."""
    cells = [[percent(bound, sign=sign, unit="") for bound in row] for row in bounds.tolist()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [f"{lower:>{widths[0]}} {between} {upper:>{widths[1]}}{unit}" for lower, upper in cells]
