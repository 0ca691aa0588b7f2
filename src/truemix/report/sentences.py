"""The headline: sentences from the plain values of a summary."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from truemix.estimates.answers import NEXT_STEP
from truemix.estimates.text import percent, percent_level, shown_name
from truemix.report.trust import Trust

_LEFT_TO_RIGHT_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"


def headline(
    classes: Sequence[dict[str, Any]],
    level: float,
    trust: Trust,
    *,
    sure: str = "probability",
    ranges: Sequence[dict[str, Any]] | None = None,
    brief: bool = False,
) -> list[str]:
    """Return the estimate of one batch in a few sentences, the main one first.

    The probability of an interval is stated only if nothing failed; failures come first. If label
    shift failed and the range over other assumptions is known, that is the headline, and what to do
    comes last. If label shift was not checked, that comes last.

    Parameters
    ----------
    classes : list of dict
        As in a summary: ``class``, ``share``, ``lower``, ``upper``, ``classify_and_count``.
    level : float
        Level of the intervals.
    trust : Trust
        The method, and the results of its checks and diagnostics.
    sure : str
        What the level of the intervals is: a probability, or a confidence.
    ranges : list of dict, optional
        The range of each class over other assumptions: ``lower`` and ``upper``.
    brief : bool
        Whether to leave out for which class counting is furthest off.

    Returns
    -------
    list of str

    Examples
    --------
    >>> spam = {"class": "spam", "share": 0.31, "lower": 0.28, "upper": 0.34}
    >>> ham = {"class": "ham", "share": 0.69, "lower": 0.66, "upper": 0.72}
    >>> spam["classify_and_count"], ham["classify_and_count"] = 0.22, 0.78
    >>> headline([ham, spam], 0.95, Trust("BayesianKDEy", fits=True))
    ['About 31 % spam, between 28 % and 34 % with 95 % probability; the classifier alone would have
    said 22 %.']
    >>> headline([ham, spam], 0.95, Trust("BayesianKDEy", fits=False))
    ['This batch does not look like a mix of the reference classes.', 'The estimate holds only if it
    were one: about 31 % spam (95 % interval 28 % to 34 %); the classifier alone would have said
    22 %.']
    >>> ranges = [{"lower": 0.49, "upper": 0.72}, {"lower": 0.28, "upper": 0.51}]
    >>> headline([ham, spam], 0.95, Trust("BayesianKDEy", fits=False), ranges=ranges)[0]
    'Between 28 % and 51 % spam, depending on what is assumed: this batch does not look like a mix
    of the reference classes.'
    """
    main = subject(classes)
    if ranges is not None and trust.fits is False:
        return _depending(classes, ranges, trust)
    largest = f", the largest of {len(classes)} classes" if len(classes) > 2 else ""
    promised = None if trust.failed or trust.counting else sure
    text = f"About {_of(main, _digits(main))}{largest}{_between(main, level, promised)}"
    failures = []
    if trust.misfit:
        failures.append("This batch does not look like a mix of the reference classes.")
        if not trust.counting:
            text = f"The estimate holds only if it were one: {small(text)}"
    if not trust.computed:
        failures.append("A diagnostic failed, so do not rely on these numbers.")
    if trust.method == "CC":
        return [*failures, f"{text}; these are the classifier's own counts, not corrected."]
    text += f"; the classifier alone would have said {_counted(main)}."
    more = _furthest_off(classes, main) if len(classes) > 2 and not brief else []
    return [*failures, text, *more, *trust.condition()]


def _depending(
    classes: Sequence[dict[str, Any]], ranges: Sequence[dict[str, Any]], trust: Trust
) -> list[str]:
    """Return the headline of a batch that does not look like a mix of the reference classes."""
    main = subject(classes)
    number = next(k for k, entry in enumerate(classes) if entry is main)
    bounds = {**main, "lower": ranges[number]["lower"], "upper": ranges[number]["upper"]}
    digits = _digits(bounds)
    lower, upper = percent(bounds["lower"], digits), percent(bounds["upper"], digits)
    between = " " if isinstance(main["class"], str) else " of "
    largest = f", the largest of {len(classes)} classes" if len(classes) > 2 else ""
    text = (
        f"Between {lower} and {upper}{between}{class_name(main)}{largest}, depending on what is "
        "assumed: this batch does not look like a mix of the reference classes."
    )
    failures = [] if trust.computed else ["A diagnostic failed, so do not rely on these numbers."]
    alone = f"The classifier alone would have said {percent(main['classify_and_count'], digits)}."
    return [text, *failures, alone, NEXT_STEP]


def spread(groups: Sequence[dict[str, Any]], by: str | None, trusts: Sequence[Trust]) -> list[str]:
    """Return how far groups that have no order lie apart: the class that differs most.

    Examples
    --------
    >>> groups = [{"group": "east", "classes": [{"class": "a", "share": 0.1}]},
    ...           {"group": "west", "classes": [{"class": "a", "share": 0.3}]}]
    >>> spread(groups, "region", [Trust("KDEy", fits=True), Trust("KDEy", fits=False)])
    ['1 of 2 groups does not look like a mix of the reference classes.', 'Across 2 groups, a lies
    between 10.0 % (region east) and 30.0 % (region west).']
    """
    columns = list(zip(*(group["classes"] for group in groups), strict=True))
    column = columns[-1]
    if len(columns) > 2:
        column = max(columns, key=lambda c: max(map(_share, c)) - min(map(_share, c)))
    low, high = min(column, key=_share), max(column, key=_share)
    where = [group_name(groups[column.index(end)]["group"], by) for end in (low, high)]
    digits = max(_digits(low), _digits(high))
    n_groups = len(groups)
    failures = []
    if n_odd := sum(trust.misfit for trust in trusts):
        do = "does" if n_odd == 1 else "do"
        failures.append(
            f"{n_odd} of {n_groups} groups {do} not look like a mix of the reference classes."
        )
    if n_failed := sum(not trust.computed for trust in trusts):
        failures.append(f"For {n_failed} of {n_groups} groups a diagnostic failed.")
    text = (
        f"Across {n_groups} groups, {class_name(high)} lies between "
        f"{percent(low['share'], digits)} ({where[0]}) and {percent(high['share'], digits)} "
        f"({where[1]})."
    )
    number = next(k for k, each in enumerate(columns) if each is column)
    ranges = [group["range"][number] for group in groups if group.get("range")]
    if ranges and n_odd:
        ends = min(each["lower"] for each in ranges), max(each["upper"] for each in ranges)
        text += (
            f" Where the check failed, it is between {percent(ends[0], 0)} and "
            f"{percent(ends[1], 0)}, depending on what is assumed."
        )
    return [*failures, text, *([NEXT_STEP] if ranges else []), *trusts[-1].condition()]


def step_last(sentences: Iterable[str]) -> list[str]:
    """Return sentences with what to do next at the end, where a command can be copied.

    Examples
    --------
    >>> step_last([NEXT_STEP, "It has not changed."]) == ["It has not changed.", NEXT_STEP]
    True
    """
    return sorted(sentences, key=lambda sentence: sentence == NEXT_STEP)


def small(sentence: str) -> str:
    """Return a sentence with a lower-case first letter, as after a colon."""
    return sentence[0].lower() + sentence[1:]


def subject(classes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the class of the headline: the second of two (spam, True, 1), else the largest."""
    return classes[1] if len(classes) == 2 else max(classes, key=_share)


def called_keys(keys: Sequence[str], every: str | None, along: int | None) -> list[str]:
    """Return what groups are called, key by key: its column, or the period that times became.

    Examples
    --------
    >>> called_keys(["region", "sent_at"], "month", 1), called_keys(["week"], None, 0)
    (['region', 'month'], ['week'])
    """
    return [every if every and k == (along or 0) else key for k, key in enumerate(keys)]


def group_name(group: Any, by: str | None) -> str:
    """Return a group as a sentence names it: ``week 12``."""
    name = isolated(shown_name(group))
    if by is None or says_what(group, by):
        return name
    return f"{isolated(shown_name(by))} {name}"


def says_what(group: Any, by: str) -> bool:
    """Return whether a name says already what it is of: ``Week 12`` by week.

    Examples
    --------
    >>> says_what("Week 12", "week"), says_what("2025-W12", "week"), says_what(12, "week")
    (True, False, False)
    """
    return str(group).casefold().startswith(f"{by.casefold()} ")


def class_name(entry: dict[str, Any]) -> str:
    """Return a class as a sentence names it: a word unchanged, anything else in quotes."""
    name = entry["class"]
    if not isinstance(name, str):
        return f"class {name}"
    shown = shown_name(name).strip()
    if shown and all(letter.isalpha() or letter in "-_'" for letter in shown):
        return isolated(shown)
    return f"“{isolated(shown)}”"


def isolated(text: str) -> str:
    """Isolate a right-to-left name, which would reorder the text and numbers around it."""
    if any(unicodedata.bidirectional(letter) in {"R", "AL", "AN"} for letter in text):
        return f"{_LEFT_TO_RIGHT_ISOLATE}{text}{_POP_ISOLATE}"
    return text


def _share(entry: dict[str, Any]) -> float:
    return float(entry["share"])


def _of(entry: dict[str, Any], digits: int) -> str:
    between = " " if isinstance(entry["class"], str) else " of "
    return f"{percent(entry['share'], digits)}{between}{class_name(entry)}"


def _digits(entry: dict[str, Any]) -> int:
    """Return how many decimals of a percentage are meaningful, given the interval's width."""
    if entry.get("lower") is None:
        return 1
    # Whole percent while the interval spans four of them, one decimal while it spans four tenths.
    width = max(entry["upper"] - entry["lower"], 1e-6)
    by_width = math.ceil(math.log10(0.04 / width) - 1e-9)
    too_small = 0 < entry["share"] < 0.01
    return min(max(by_width, 1 if too_small else 0), 3)


def _between(entry: dict[str, Any], level: float, promised: str | None) -> str:
    if entry["lower"] is None:
        return ""
    digits = _digits(entry)
    lower, upper = percent(entry["lower"], digits), percent(entry["upper"], digits)
    if promised is None:
        return f" ({percent_level(level)} interval {lower} to {upper})"
    if lower == upper:
        return f", to the digits shown with {percent_level(level)} {promised}"
    return f", between {lower} and {upper} with {percent_level(level)} {promised}"


def _counted(entry: dict[str, Any]) -> str:
    digits = _digits(entry)
    counted = percent(entry["classify_and_count"], digits)
    return "the same" if counted == percent(entry["share"], digits) else counted


def _excess(entry: dict[str, Any]) -> float:
    """Return how far the count lies outside the interval, or from the estimate without one."""
    if entry["lower"] is None:
        return abs(float(entry["classify_and_count"] - entry["share"]))
    return max(
        float(entry["lower"] - entry["classify_and_count"]),
        float(entry["classify_and_count"] - entry["upper"]),
    )


def _furthest_off(classes: Sequence[dict[str, Any]], main: dict[str, Any]) -> list[str]:
    """Return the class for which counting decisions is furthest off, as a sentence."""
    worst = max(classes, key=_excess)
    if main["lower"] is None:
        if worst is main or _excess(worst) < 0.0005:
            return []
        return [
            f"Its count is furthest off for {class_name(worst)}: "
            f"{percent(worst['classify_and_count'])} instead of {percent(worst['share'])}."
        ]
    outside = sum(_excess(entry) > 0 for entry in classes)
    if not outside:
        return ["Its counts lie inside the intervals of all classes."]
    where = ""
    if worst is not main:
        bounds = f"{percent(worst['lower'])} to {percent(worst['upper'])}"
        counted = percent(worst["classify_and_count"])
        where = f", furthest for {class_name(worst)}: {counted} where the interval is {bounds}"
    of = f"of {outside} of the {len(classes)} classes"
    return [f"Its counts lie outside the intervals {of}{where}."]
