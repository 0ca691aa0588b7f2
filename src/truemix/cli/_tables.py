"""Results as tables for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix.estimates import text
from truemix.estimates.answers import NEXT_STEP
from truemix.estimates.checks import CANNOT_TELL, FAILED, NOT_CHECKED, PASSED
from truemix.estimates.text import Table, percent, shown_name
from truemix.report.notes import about_sample
from truemix.report.records import summary_records
from truemix.report.sentences import called_keys

# Verdicts of a check, in a cell of a table.
FITS = {PASSED: "yes", FAILED: "no", CANNOT_TELL: "cannot tell", NOT_CHECKED: ""}
# Explanations of groups below the table; the JSON output has all.
_MAX_EXPLAINED = 5
# Classes with columns of their own in a forecast.
_MAX_FORECAST = 6


def summary_table(summary: dict[str, Any]) -> Table:
    """Return the summary of an estimate as a table, like the repr of an estimate."""
    by, groups, bounds = summary["by"], summary["groups"], summary["interval"] is not None
    title = f"{summary['method']}: the mix of {text.items(summary['target']['n_items'])}"
    title += _in_files(summary["target"])
    below = [text.about_intervals(summary["level"], summary["estimand"])] if bounds else []
    ranges = any(group["range"] for group in groups)
    beside = [*(["interval"] if bounds else []), *(["range"] if ranges else [])]
    columns = ["class", "estimate", *beside, "counted", "reference"]
    if by is None:
        (group,) = groups
        below += [] if group["unknown"] is None else [group["unknown"]["sentence"]]
        # Failures come apart.
        checks = group["checks"].values()
        below += [each["explanation"] for each in checks if each["verdict"] != FAILED]
        below += text.about_decisions(group["diagnostics"])
        below += about_sample(group["diagnostics"]) + text.about_labels(group["diagnostics"])
        if ranges:
            shares = np.array([each["share"] for each in group["classes"]])
            below += text.about_range(group, text.subject_of(shares))
        below += _performance_lines(group)
        return Table(title, columns, _summary_rows(summary, columns), below)
    compared = bounds and summary["along"] is not None
    shifts = [group["checks"]["label_shift"] for group in groups]
    checked = any(shift["checked"] for shift in shifts)
    performance = any(group["performance"] for group in groups)
    flags = {
        "accuracy": performance,
        text.HIGHER: compared,
        "fits": checked,
        "unknown": any(each["unknown"] for each in groups),
    }
    columns = [*columns, *(name for name, has in flags.items() if has), "items"]
    if not checked:
        below.append(shifts[-1]["explanation"])
    if compared and len(groups) > 1:
        where = "" if summary["ordered"] else ", within the same " + _others(summary)
        below.append(
            f"{text.HIGHER}: probability that the share is larger than in the group before{where}"
        )
    if ranges:
        below.append("range: from the lowest to the highest answer, depending on what is assumed")
        below.append(NEXT_STEP)
    judges = groups[0]["diagnostics"].get("decisions") or {"model": "single"}
    if judges["model"] != "single":
        # The same for all groups.
        below.append(judges["sentences"][0])
    if performance:
        below.append("accuracy: of the classifier's decisions, if label shift holds")
    n_sampled = sum(bool(about_sample(group["diagnostics"])) for group in groups)
    if n_sampled:
        below.append(f"{n_sampled:,} of {len(groups):,} groups were sampled; see --format json")
    called = called_keys(summary["keys"], summary["every"], summary["along"])
    return Table(
        f"{title} by {shown_name(summary['grouping'])}",
        [*map(shown_name, called), *columns],
        _with_gaps(_summary_rows(summary, columns), summary),
        below,
        left=len(called) + 1,
    )


def _others(summary: dict[str, Any]) -> str:
    """Return what groups have in common that follow each other."""
    keys = summary["keys"]
    return " and ".join(shown_name(key) for k, key in enumerate(keys) if k != summary["along"])


def _with_gaps(rows: list[list[str]], summary: dict[str, Any]) -> list[list[str]]:
    """Return rows with one for each run of periods without items, where they would be."""
    groups = summary["groups"]
    n_classes, behind = len(groups[0]["classes"]), {gap["after"]: gap for gap in summary["gaps"]}
    found = []
    for place, group in enumerate(groups):
        found += rows[place * n_classes : (place + 1) * n_classes]
        if gap := behind.get(place):
            names = [shown_name(key) for key in group["keys"]]
            one = gap["first"] == gap["last"]
            names[summary["along"]] = gap["first"] if one else f"{gap['first']} … {gap['last']}"
            cells = [*names, "no items"]
            found.append([*cells, *[""] * (len(rows[0]) - len(cells) - 1), "0"])
    return found


def _performance_lines(group: dict[str, Any]) -> list[str]:
    """Return how good the classifier is on a batch, as lines below a table."""
    from truemix.trust.performance import performance_table

    found = group["performance"]
    if found is None:
        return []
    return ["", *performance_table(found, group["n_items"]).text().splitlines()]


def _accuracy(group: dict[str, Any]) -> str:
    """Return the accuracy of the classifier on a batch as a cell, with its interval."""
    if group["performance"] is None:
        return ""
    value, lower, upper = (group["performance"]["accuracy"][k] for k in ("value", "lower", "upper"))
    bounds = "" if lower is None else f" ({percent(lower, unit='')} {text.DASH} {percent(upper)})"
    return f"{percent(value)}{bounds}"


def _in_files(target: dict[str, Any]) -> str:
    """Return how many files the items were in, if that was not said."""
    n_files = target.get("n_files")
    if n_files is None:
        return ""
    used = n_files - len(target["skipped_files"])
    part = "" if used == n_files else f"{used:,} of "
    return f" in {part}{n_files:,} file{'s' * (n_files != 1)}"


def _summary_rows(summary: dict[str, Any], columns: list[str]) -> list[list[str]]:
    records = summary_records(summary)
    accuracy = [_accuracy(group) for group in summary["groups"] for _ in group["classes"]]
    bounds = [""] * len(records)
    if summary["interval"] is not None:
        limits = np.array([[each["lower"], each["upper"]] for each in records])
        bounds = text.intervals(limits, text.DASH, " %")
    rows = []
    for each, interval, accurate in zip(records, bounds, accuracy, strict=True):
        unknown, increase = each["unknown"], each["prob_increase"]
        low, high = each["range_lower"], each["range_upper"]
        cells = {
            "class": shown_name(each["class"]),
            "estimate": percent(each["share"]),
            "interval": interval,
            "range": "" if low is None else f"{percent(low, unit='')} {text.DASH} {percent(high)}",
            "counted": percent(each["classify_and_count"]),
            "reference": percent(each["reference"]),
            "accuracy": accurate,
            text.HIGHER: "" if increase is None else text.chance(increase),
            "fits": FITS[each["check"]],
            "unknown": "" if unknown is None else percent(unknown),
            "items": f"{each['n_items']:,}",
        }
        rows.append([*map(shown_name, each["keys"]), *(cells[name] for name in columns)])
    return rows


def weight_table(content: dict[str, Any]) -> Table:
    """Return class weights as a table."""
    bounds = content["classes"][0]["lower"] is not None
    rows = []
    for each in content["classes"]:
        interval = [f"{each['lower']:.3f} {text.DASH} {each['upper']:.3f}"] if bounds else []
        shares = [percent(each["share"]), percent(each["reference"])]
        rows.append([shown_name(each["class"]), f"{each['weight']:.3f}", *interval, *shares])
    header = ["class", "weight", *(["interval"] if bounds else []), "estimate", "reference"]
    title = f"{content['method']}: class weights for {text.items(content['n_items'])}"
    below = [text.about_intervals(content["level"], content["estimand"])] if bounds else []
    below.append(content["checks"]["label_shift"]["explanation"])
    return Table(title, header, rows, below)


def forecast_table(content: dict[str, Any]) -> Table:
    """Return the widths of intervals that labels would lead to, as a table."""
    records = content["forecast"]
    names = list(dict.fromkeys(each["class"] for each in records))
    by_number: dict[int, list[dict[str, Any]]] = {}
    for each in records:
        by_number.setdefault(each["n"], []).append(each)
    relies = records[0]["width_if_holds"] is not None
    # Of many classes the mean is enough.
    shown = names if len(names) <= _MAX_FORECAST else []
    header = ["labels", *(["if label shift holds"] if relies else []), "if not"]
    header += [shown_name(name) for name in shown]
    rows = []
    for n, group in by_number.items():
        fails = [each["width_if_fails"] for each in group]
        cells = [f"{n:,}"]
        if relies:
            cells.append(percent(float(np.mean([each["width_if_holds"] for each in group]))))
        cells.append(percent(float(np.mean(fails))))
        rows.append([*cells, *(percent(width) for width in fails[: len(shown)])])
    title = (
        f"{text.items(content['n'])} of {content['target']['n_items']:,} to label, and the width "
        "of intervals that labels lead to"
    )
    below = [
        f"mean width of {text.percent_level(content['level'])} intervals over all classes"
        + ("; then of each class, if label shift does not hold" if shown else "")
    ]
    if content["needed"] is not None:
        width = percent(content["width"])
        below.append(f"{content['needed']:,} labels make intervals {width} wide in any case.")
    return Table(title, header, rows, below, left=0)


def check_table(content: dict[str, Any]) -> Table:
    """Return the check of label shift of one target as a table."""
    (group,) = content["groups"]
    header = ["class", "estimate", "without unusual", "beside unknown", "deviation"]
    rows = []
    for each, changed in zip(group["estimates"], group["classes"], strict=True):
        mark = " *" if changed["adjusted"] <= content["significance"] else "  "
        shares = [percent(each[k]) for k in ("estimate", "without_unusual", "with_unknown")]
        rows.append([shown_name(each["class"]), *shares, f"{changed['statistic']:+.1f}{mark}"])
    rows.append(["(unknown)", "", "", percent(group["unknown_share"]), ""])
    below = [
        "deviation: how untypical items of the class are, in standard deviations; * is more than "
        "chance",
        group["explanation"],
    ]
    return Table(_verdict(content), header, rows, below)


def group_check_table(content: dict[str, Any]) -> Table:
    """Return the checks of label shift of groups, one row each."""
    called = called_keys(content["keys"], content["every"], content["along"])
    header = [*map(shown_name, called), "fits", "p-value", "adjusted", "unusual", "items"]
    rows = []
    for group in content["groups"]:
        p_value, adjusted = group["p_value"], group["adjusted_p_value"]
        p_values = [f"{p_value:.2g}", f"{p_value if adjusted is None else adjusted:.2g}"]
        counts = [f"{group[name]:,}" for name in ("n_unusual", "n_items")]
        fits = "yes" if group["passed"] else "no"
        rows.append([*map(shown_name, group["keys"]), fits, *p_values, *counts])
    failed = [group for group in content["groups"] if not group["passed"]]
    below = [f"{shown_name(each['group'])}: {each['explanation']}" for each in failed]
    if len(failed) > _MAX_EXPLAINED:
        more = f"{len(failed) - _MAX_EXPLAINED} more fail; --format json explains them all."
        below[_MAX_EXPLAINED:] = [more]
    if not failed:
        below.append("Nothing speaks against any of them being a mix of the reference classes.")
    return Table(_verdict(content), header, rows, below, left=len(called))


def _verdict(content: dict[str, Any]) -> str:
    verdict = "passed" if content["passed"] else "failed"
    return f"Label shift: {verdict} at significance level {content['significance']:g}"
