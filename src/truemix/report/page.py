"""A summary as one page that needs nothing else: no script, no network, no other file."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from truemix.estimates.checks import COUNTING, point_method
from truemix.estimates.text import DASH, chance, percent, percent_level, shown_name
from truemix.report.change_sentences import direction, signed
from truemix.report.charts.sizes import size_chart
from truemix.report.content import mix_tables, posterior, settings_rows, shown_value, worst_classes
from truemix.report.content_answers import answers, performance_of
from truemix.report.content_changes import changes
from truemix.report.content_checks import checks
from truemix.report.content_groups import over_time, side_by_side
from truemix.report.csv_text import as_csv
from truemix.report.records import csv_records
from truemix.report.sentences import says_what, subject
from truemix.trust.backtest import backtest_table, points

_LONGEST_NAME = 80
# Records that a page offers as a file; more would make it large.
_MAX_RECORDS = 2000
_NO_BREAK = "\N{NO-BREAK SPACE}"
# A number and its sign stay on one line.
_NUMBER_PERCENT = re.compile(r"(?<=\d) (?=%)")
# So do the bounds of an interval.
_BOUNDS = re.compile(r"\(\S+ to \S+\)")


def render_page(summary: dict[str, Any]) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    summary : dict
        As :func:`truemix.report.summary.summarize` returns it, or as read back from its JSON.

    Returns
    -------
    str
        One page, without scripts and references to anything outside of it. Everything in it that
        comes from the data is escaped.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import Estimate
    >>> from truemix.report.summary import summarize
    >>> half = np.array([0.5, 0.5])
    >>> page = render_page(summarize(Estimate(np.array(["<hr>", "c"]), half, half, half, 10, "CC")))
    >>> "&lt;hr&gt;" in page, "<hr>" in page
    (True, False)
    """
    return _environment().get_template("page.html").render(_content(summary))


def render_backtest(tested: dict[str, Any]) -> str:
    """Return a backtest as HTML.

    Parameters
    ----------
    tested : dict
        What ``truemix backtest`` writes as JSON: the summary of a backtest, the ``reference`` and
        the version of ``truemix``.

    Returns
    -------
    str
        One page, as :func:`render_page` makes them.
    """
    runs, has_draws = tested["by_size"], tested["soft_coverage"] is not None
    content = {
        "tested": tested,
        "table": backtest_table(tested),
        "errors": size_chart(runs, ["mean_error", "counting_error"]),
        "widths": size_chart(runs, ["mean_width"]) if has_draws else None,
        "coverage": None,
        **worst_classes(tested),
    }
    if has_draws:
        held = ["soft_coverage", "hard_coverage"]
        content["coverage"] = size_chart(runs, held, level=tested["level"])
    return _environment().get_template("backtest_page.html").render(content)


def _content(summary: dict[str, Any]) -> dict[str, Any]:
    groups, whole, ordered = summary["groups"], summary["overall"], summary["ordered"]
    several = len(groups) > 1
    method = point_method(summary["method"], summary["settings"])
    # Of groups that follow each other the last is of interest; of others none more than another.
    last = groups[-1] if ordered or not several else None
    detail = last if whole is None else whole
    return {
        "summary": summary,
        "classes": groups[-1]["classes"],
        "detail": detail,
        "several": several,
        "before": groups[-2]["group"] if several and ordered else None,
        "mix": None if detail is None else mix_tables(detail, ordered=ordered),
        "last": last if several and whole is not None else None,
        "last_mix": None if last is None else mix_tables(last, ordered=ordered),
        "posterior": None if detail is None else posterior(detail),
        "changes": changes(summary["change"]),
        "over_time": over_time(groups, summary["gaps"]) if several and ordered else None,
        "side_by_side": side_by_side(groups) if several and not ordered else None,
        "answers": answers(groups, detail),
        "performance": performance_of(detail),
        "checks": checks(groups, whole),
        "backtest": None if summary["backtest"] is None else worst_classes(summary["backtest"]),
        "settings": settings_rows(summary["settings"]),
        "main": subject(groups[-1]["classes"]),
        "counting": method if method in COUNTING else None,
        "confidence": "confidence" if summary["method"] == "Bootstrap" else "probability",
        "csv": _as_link(summary),
    }


def _as_link(summary: dict[str, Any]) -> str | None:
    """Return the numbers as the address of a CSV file that is in the address itself."""
    if sum(len(group["classes"]) for group in summary["groups"]) > _MAX_RECORDS:
        return None
    text = as_csv(csv_records(summary), safe=True)
    return f"data:text/csv;charset=utf-8,{quote(text, safe=',')}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("truemix.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=lambda share, digits=1: percent(share, digits).replace(" ", _NO_BREAK),
        number=lambda share, digits=1: percent(share, digits, unit=""),
        level=lambda level: percent_level(level).removesuffix(" %"),
        chance=lambda share: chance(share).replace(" ", _NO_BREAK),
        name=lambda name, most=_LONGEST_NAME: shown_name(name, most),
        of=_of,
        value=shown_value,
        check=_shown_check,
        points=points,
        signed=lambda share: signed(share, sign="+"),
        bound=signed,
        direction=direction,
        plain_points=lambda label: label.removesuffix(" %").replace("-", "\N{MINUS SIGN}"),
        unbroken=_unbroken,
    )
    return environment


def _of(group: Any, by: str, most: int = _LONGEST_NAME) -> str:
    """Return a group with what it is of, unless its name says that."""
    name = shown_name(group, most)
    return name if says_what(group, by) else f"{shown_name(by, _LONGEST_NAME)} {name}"


def _unbroken(text: str) -> str:
    text = _NUMBER_PERCENT.sub(_NO_BREAK, text)
    return _BOUNDS.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)


def _shown_check(value: Any) -> str:
    """Return a diagnostic for a table: four digits are enough."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return DASH if value is None else shown_value(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
