"""Estimates as one dict of plain values: the JSON output, and the content of the page."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from truemix._group_order import GroupOrder, key_columns
from truemix._typing import FloatArray
from truemix._version import __version__
from truemix.estimates import Estimate, EstimateSet
from truemix.estimates.checks import LABEL_SHIFT, not_checked
from truemix.estimates.comparison import prob_increase_since
from truemix.estimates.intervals import check_level
from truemix.exceptions import InputError
from truemix.report.change_sentences import (
    about_change,
    about_difference,
    about_largest,
    left_out,
)
from truemix.report.changes import Named, change_of, largest_move
from truemix.report.notes import notes_of
from truemix.report.overall import overall_of
from truemix.report.plain import plain, plain_name
from truemix.report.sentences import called_keys, group_name, headline, small, spread, step_last
from truemix.report.trust import Trust, trust_of
from truemix.validation import shown_list

# Enough to draw a density, and the usual ones.
LEVELS = (
    [0.005, 0.01, 0.025, 0.05]
    + [round(0.05 * step, 2) for step in range(2, 19)]
    + [0.95, 0.975, 0.99, 0.995]
)
# Rows of quantiles (groups times classes) that stay small; beyond, only the last group has them.
_MAX_QUANTILES = 1000
# Draws that show in a picture of three classes.
_DRAWS_SHOWN = 300
_DECIMALS = 6


def summarize(
    estimates: Estimate | EstimateSet,
    *,
    level: float = 0.95,
    reference: str | None = None,
    n_reference: int | None = None,
    target: str | None = None,
    n_files: int | None = None,
    skipped: Sequence[str] = (),
    by: str | None = None,
    command: str | None = None,
    why_not_checked: str | None = None,
    backtest: dict[str, Any] | None = None,
    performance: bool = False,
    overall: Estimate | None = None,
) -> dict[str, Any]:
    """Return the content of JSON output and report, as plain numbers and text.

    Only the estimates are needed: ``render_page(summarize(estimates))`` is their report. Everything
    else says where they come from.

    Parameters
    ----------
    estimates : Estimate or EstimateSet
        The mix of a batch, or of each group of it.
    level : float
        Level of the intervals.
    reference, target : str, optional
        Names of the data; of a path the last part is kept, so that the same data give the same
        summary wherever they are.
    n_reference : int, optional
        Number of reference items.
    n_files : int, optional
        Number of files that the target was found in, if it is not one.
    skipped : sequence of str
        Those of them that were left out because they are damaged.
    by : str, optional
        Name of the column that the groups come from, unless the estimates know.
    command : str, optional
        The command that repeats this.
    why_not_checked : str, optional
        A sentence why label shift was not checked, if it was not.
    backtest : dict, optional
        The summary of a backtest of the method on its references, if there was one.
    performance : bool
        Whether to estimate how good the classifier is on each batch, which the estimates must hold.
    overall : Estimate, optional
        The mix of all groups together. Where it is not given it is estimated, which takes as long
        as another group, if the items are still in memory.

    Returns
    -------
    dict
        ``headline`` is the result as text (``sentences``, one by one); ``groups`` holds one entry
        per group (without groups, one with the name None), with ``classes`` in the order of the
        estimate, ``quantiles`` (and for three classes some ``draws``) of the posterior, the share
        ``unknown``, the ``answers`` under other assumptions and their ``range`` where the check
        failed, the classifier's ``performance`` if it was asked for, the ``checks`` (with a
        ``verdict`` each: passed, failed, cannot tell or not checked), the ``diagnostics``, and
        sentences about those that ``failed`` and the others (``notes``). ``overall`` is an entry
        like these for all groups together, if there are several and it is known. ``change`` is what
        changed from the first group to the last one that passed their checks,
        ``largest_move`` where two groups differ most (see :mod:`truemix.report.changes`). ``ok`` is
        whether nothing failed, ``backtest`` what was given. All values can be written as JSON.

        What is known of the order of groups: ``ordered`` is whether all of them follow each other
        in one ``series``; with several keys (``keys``, the columns) there may be many, each a list
        of places in ``groups``, and ``along`` is the number of the key that they follow each other
        in (None without any order). A group has its ``keys``, the place of the group that it
        ``follows`` (the one that ``prob_increase`` is about) and, for periods, its ``position`` in
        periods since the first. ``gaps`` are the periods without items: ``first``, ``last``,
        ``n_periods``, and the place of the group ``after`` which they come. ``grouping`` is what
        groups are called: their column, or the period (``every``) that its times were put into.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import Estimate
    >>> estimate = Estimate(
    ...     classes=np.array(["ham", "spam"]),
    ...     prevalence=np.array([0.7, 0.3]),
    ...     classify_and_count=np.array([0.8, 0.2]),
    ...     train_prevalence=np.array([0.5, 0.5]),
    ...     n_items=100,
    ...     method="KDEy",
    ... )
    >>> summary = summarize(estimate, target="data/today.csv")
    >>> summary["headline"]
    'About 30.0 % spam; the classifier alone would have said 20.0 %. Assumed, not checked: items of
    a class look as they did in the reference.'
    >>> summary["target"]
    {'name': 'today.csv', 'n_items': 100}
    """
    level = check_level(level)
    named = _named(estimates)
    last = named[-1][1]
    many = sum(len(estimate.classes) for _, estimate in named) > _MAX_QUANTILES
    grouped = estimates if isinstance(estimates, EstimateSet) else None
    order = GroupOrder((None,), None, None) if grouped is None else grouped.order
    trusts = [trust_of(estimate) for _, estimate in named]
    if overall is None and isinstance(estimates, EstimateSet):
        overall = overall_of(estimates)

    def entry(name: Hashable, estimate: Estimate, trust: Trust, **options: Any) -> dict[str, Any]:
        group = _group(name, estimate, level, trust, **options)
        if LABEL_SHIFT not in group["checks"]:
            group["checks"][LABEL_SHIFT] = not_checked(trust.method, why_not_checked)
        group["performance"] = _performance(estimate, level) if performance else None
        return group

    ordered = order.ordered and grouped is not None

    groups = []
    for number, (name, estimate) in enumerate(named):
        follows = order.follows[number]
        before = None if follows is None else named[follows][1]
        shape = estimate is last or not many
        group = entry(name, estimate, trusts[number], before=before, quantiles=shape)
        group["keys"] = [] if grouped is None else list(map(plain_name, order.parts(number)))
        group["follows"], group["position"] = follows, order.positions[number]
        groups.append(group)
    whole = None
    if overall is not None and len(named) > 1:
        whole = entry(None, overall, trust_of(overall), brief=True)
    passed = [each for each, trust in zip(named, trusts, strict=True) if not trust.failed]
    change = change_of(passed, level) if ordered else None
    move = largest_move(passed, level, ordered=ordered)
    grouping = _grouping(grouped, by)
    called = grouping["grouping"] if order.n_keys == 1 else None
    sentences = _sentences(groups, whole, called, trusts, change, move, ordered=ordered)
    n_items = sum(estimate.n_items for _, estimate in named)
    files = {} if n_files is None else {"n_files": n_files, "skipped_files": list(skipped)}
    return {
        "truemix": __version__,
        "method": last.method,
        "estimand": last.estimand,
        "level": level,
        "interval": None if last.draws is None else "equal-tailed",
        "reference": {"name": _file_name(reference), "n_items": plain(n_reference)},
        "target": {"name": _file_name(target), "n_items": n_items, **files},
        **grouping,
        "command": command,
        "headline": " ".join(sentences),
        "sentences": sentences,
        "ok": not any(group["failed"] for group in [*groups, *([whole] if whole else [])]),
        "overall": whole,
        "change": change,
        "largest_move": move,
        "groups": groups,
        "backtest": None if backtest is None else plain(backtest),
        "settings": plain(last.settings),
    }


def _grouping(estimates: EstimateSet | None, by: str | None) -> dict[str, Any]:
    """Return what groups come from, which of them follow each other and what is between them."""
    if estimates is None:
        nothing: dict[str, Any] = {"by": by, "every": None, "keys": [], "grouping": by}
        return {**nothing, "ordered": False, "along": None, "series": [], "gaps": []}
    order, every = estimates.order, estimates.every
    known = estimates.by or ([] if by is None else [by])
    names = list(known) if len(known) == order.n_keys else []
    keys = names or key_columns(None, order.n_keys, [])
    called = keys if names or every else []
    return {
        "by": ", ".join(names) or None,
        "every": every,
        "keys": keys,
        "grouping": " and ".join(called_keys(called, every, order.along)) or None,
        "ordered": order.ordered,
        "along": order.along,
        "series": order.series,
        "gaps": [dict(vars(gap)) for gap in order.gaps],
    }


def _named(estimates: Estimate | EstimateSet) -> list[Named]:
    if isinstance(estimates, Estimate):
        return [Named(None, estimates)]
    if not isinstance(estimates, EstimateSet):
        raise InputError(
            f"summarize got an object of type {type(estimates).__name__!r}; expected an Estimate "
            "or an EstimateSet, as quantify and quantify_by return them."
        )
    if not estimates:
        raise InputError("The EstimateSet has no groups; at least one estimate is needed.")
    named = [Named(name, estimate) for name, estimate in estimates.items()]
    classes = named[0][1].classes.tolist()
    for name, estimate in named:
        if estimate.classes.tolist() != classes:
            raise InputError(
                f"Group {name!r} has the classes {shown_list(estimate.classes)}, the first group "
                f"has {shown_list(classes)}; expected the same classes in the same order."
            )
    return named


def _group(
    name: Hashable,
    estimate: Estimate,
    level: float,
    trust: Trust,
    *,
    before: Estimate | None = None,
    quantiles: bool = True,
    brief: bool = False,
) -> dict[str, Any]:
    classes = _classes(estimate, before, level)
    sure = "confidence" if estimate.method == "Bootstrap" else "probability"
    answers = _answers(estimate)
    sentences = headline(classes, level, trust, sure=sure, ranges=answers["range"], brief=brief)
    unknown = _unknown(estimate, level)
    if unknown is not None:
        sentences = step_last([*sentences, f"{unknown['sentence']}."])
    found = {key: v for key, v in estimate.diagnostics.items() if key not in {"failed", "notes"}}
    return {
        "group": None if name is None else plain_name(name),
        "n_items": int(estimate.n_items),
        "headline": " ".join(sentences),
        "sentences": sentences,
        "classes": classes,
        "quantiles": _quantiles(estimate) if quantiles else None,
        "unknown": unknown,
        **answers,
        "checks": {key: plain(check.summary()) for key, check in estimate.checks.items()},
        "diagnostics": plain(found),
        "failed": estimate.warnings(level),
        "notes": notes_of(estimate),
    }


def _answers(estimate: Estimate) -> dict[str, Any]:
    """Return the answers under other assumptions and their range, if the check failed."""
    if estimate.answers is None:
        return {"answers": [], "range": None, "range_level": None}
    found = estimate.answers.summary()
    for each in (*found["answers"], {"classes": found["range"]}):
        for entry in each["classes"]:
            entry["class"] = plain_name(entry["class"])
    return {
        "answers": found["answers"],
        "range": found["range"],
        "range_level": found["level"],
    }


def _performance(estimate: Estimate, level: float) -> dict[str, Any]:
    """Return how good the classifier is on a batch."""
    found: dict[str, Any] = estimate.performance(level).summary()
    for entry in found["classes"]:
        entry["class"] = plain_name(entry["class"])
    return found


def _unknown(estimate: Estimate, level: float) -> dict[str, Any] | None:
    """Return the share of items of no class, if such items were allowed for."""
    unknown = estimate.unknown
    if unknown is None:
        return None
    bounds = (None, None) if unknown.draws is None else unknown.interval(level).tolist()
    return {
        "share": unknown.share,
        "lower": bounds[0],
        "upper": bounds[1],
        "sentence": f"{unknown}",
    }


def _classes(estimate: Estimate, before: Estimate | None, level: float) -> list[dict[str, Any]]:
    missing = [None] * len(estimate.classes)
    bounds = None if estimate.draws is None else estimate.interval(level).tolist()
    lower, upper = zip(*bounds, strict=True) if bounds is not None else (missing, missing)
    increase = None if before is None else prob_increase_since(estimate, before)
    columns = {
        "class": [plain_name(label) for label in estimate.classes.tolist()],
        "share": estimate.prevalence.tolist(),
        "lower": lower,
        "upper": upper,
        "classify_and_count": _numbers(estimate.classify_and_count, missing),
        "reference": _numbers(estimate.train_prevalence, missing),
        "prob_increase": missing if increase is None else increase.tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _numbers(shares: FloatArray | None, missing: list[None]) -> list[Any]:
    return missing if shares is None else shares.tolist()


def _quantiles(estimate: Estimate) -> dict[str, Any] | None:
    """Return the shape of the posterior: quantiles that are draws, not interpolated."""
    if estimate.draws is None:
        return None
    values = np.quantile(estimate.draws, LEVELS, axis=0, method="inverted_cdf").T
    shape: dict[str, Any] = {"levels": LEVELS, "values": _rounded(values)}
    if len(estimate.classes) == 3:
        step = -(-len(estimate.draws) // _DRAWS_SHOWN)
        shape["draws"] = _rounded(estimate.draws[::step])
    return shape


def _rounded(values: FloatArray) -> list[list[float]]:
    rounded: list[list[float]] = values.round(_DECIMALS).tolist()
    return rounded


def _sentences(
    groups: list[dict[str, Any]],
    whole: dict[str, Any] | None,
    by: str | None,
    trusts: list[Trust],
    change: dict[str, Any] | None,
    move: dict[str, Any] | None,
    *,
    ordered: bool,
) -> list[str]:
    """Return the headline: for groups, the mix of all of them, then what changed between them."""
    last = groups[-1]
    first, *more = last["sentences"]
    if last["group"] is None:
        return [first, *more]
    name = group_name(last["group"], by)
    if len(groups) == 1:
        return [f"For {name}: {small(first)}", *more]
    lead = [f"For {name}, the last of {len(groups)}: {small(first)}", *more] if ordered else []
    if whole is not None:
        first, *more = whole["sentences"]
        lead = [f"Overall, {small(first)}", *more]
    story = (
        [*about_change(change, by), *about_largest(move, change, by)]
        if ordered
        else [*spread(groups, by, trusts), *about_difference(move, by)]
    )
    if ordered:
        story += left_out(sum(trust.failed for trust in trusts), len(groups))
    return step_last(dict.fromkeys([*lead, *story]))


def _file_name(name: str | None) -> str | None:
    """Return the last part of a path, whichever system it is from."""
    if name is None:
        return None
    return PurePosixPath(PureWindowsPath(name).name).name or name
