"""``truemix estimate``: the mix of a target, or of each group of it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truemix.cli import _options as options
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.cli._work import Prepared
    from truemix.estimates import Estimate, EstimateSet

_COLUMNS = (
    "class",
    "share",
    "lower",
    "upper",
    "classify_and_count",
    "reference",
    "prob_increase",
    "n_items",
)


@options.with_options
def estimate(
    inputs: options.InputOptions,
    method: options.MethodOptions,
    output: options.OutputOptions,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column of TARGET with groups: one estimate for each and, if they follow each "
            "other (numbers, dates, weeks, months, versions), the probability that a share rose "
            "since the group before.",
        ),
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            show_default="check, where that is possible",
            help="Check whether TARGET is a mix of the reference classes at all; if not, the exit "
            "code is 3. See truemix check.",
        ),
    ] = None,
    level: options.Level = None,
    out: options.Out = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html",
            show_default=False,
            rich_help_panel=options.OUTPUT,
            help="Write a report as one HTML page, with text and figures.",
        ),
    ] = None,
) -> None:
    """Estimate the mix of classes in TARGET, learning from REFERENCE.

    REFERENCE may also be a quantifier saved by `truemix tune`; then --label is not needed.
    """
    from truemix.cli._methods import level_of
    from truemix.cli._output import end_with, reporting, show_result, write
    from truemix.cli._tables import summary_table
    from truemix.cli._work import prepare
    from truemix.report.summary import summarize

    inputs = replace(inputs, by=by)
    files = {"--out": out, "--report": report}
    with reporting(output, files, [inputs.reference, inputs.target]) as progress:
        level_used = level_of(level, method.method)
        prepared = prepare(inputs, method, progress)
        why_not = _why_not_checked(prepared, check)
        with progress.step("quantify"), prepared.scoring():
            estimates = quantify(prepared, inputs.classifier, check=why_not is None)
        summary = summarize(
            estimates,
            level=level_used,
            reference=prepared.name,
            n_reference=prepared.n_reference,
            target=prepared.target.name,
            by=by,
            command=command_of(inputs, method, level, check=check),
            why_not_checked=why_not,
        )
        if report is not None:
            from truemix.report.page import render_page

            with progress.step("write report"):
                write(render_page(summary), report)
        show_result(summary, _records, summary_table, output, out)
    end_with(
        f"{by} {group['group']}: {sentence}" if by else sentence
        for group in summary["groups"]
        for sentence in group["failed"]
    )


def _why_not_checked(prepared: Prepared, wanted: bool | None) -> str | None:
    """Return why label shift is not checked, or None if it is.

    Where it cannot be checked that is an error only if it was asked for.
    """
    from truemix.checks import why_not
    from truemix.estimates.checks import COUNTING

    if wanted is False:
        return "--no-check was given."
    quantifier = prepared.quantifier
    point = getattr(quantifier, "quantifier", quantifier)
    if wanted is None and type(point).__name__ in COUNTING:
        return f"{type(point).__name__} does not assume it."
    reason = why_not(quantifier)
    if reason is not None and wanted:
        raise InputError(reason)
    return reason


def quantify(prepared: Prepared, classifier: str | None, *, check: bool) -> Estimate | EstimateSet:
    """Return one estimate, or one for each group in the order of the groups."""
    from truemix.cli._features import training_columns
    from truemix.estimates import EstimateSet

    columns = training_columns(prepared.features)

    def named(estimate: Estimate) -> Estimate:
        if classifier is None:
            return estimate
        # As it was asked for: the whole pipeline would be a page of its own.
        settings = {**estimate.settings, "classifier": classifier, **columns}
        if isinstance(settings.get("quantifier"), dict):
            settings["quantifier"] = {**settings["quantifier"], "classifier": classifier}
        return replace(estimate, settings=settings)

    target = prepared.target
    if target.groups is None:
        return named(prepared.quantifier.quantify(target.X, check=check))
    found = prepared.quantifier.quantify_by(target.X, target.groups.codes, check=check)
    names = target.groups.names
    return EstimateSet({names[code]: named(found[code]) for code in range(len(names))})


def command_of(
    inputs: options.InputOptions,
    method: options.MethodOptions,
    level: float | None,
    *,
    check: bool | None,
) -> str:
    """Return the command that repeats the estimate, without what only says where it goes."""
    from truemix.cli._methods import arguments_of

    arguments = ["truemix", "estimate", _shown_path(inputs.reference), _shown_path(inputs.target)]
    pairs: dict[str, Any] = {
        "--label": inputs.label,
        "--by": inputs.by,
        "--classifier": inputs.classifier,
        "--level": level,
    }
    for option, value in pairs.items():
        if value is not None:
            arguments += [option, f"{value}"]
    checked = {True: ["--check"], False: ["--no-check"], None: []}
    return shlex.join(arguments + arguments_of(method) + checked[check])


def _shown_path(argument: str) -> str:
    """Return a file as it was typed, but nothing of where it is on this machine."""
    path = Path(argument)
    return path.name if path.is_absolute() else argument


def _records(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the numbers of a summary, one record for each class of each group."""
    from truemix.cli._tables import classes_by_group

    columns = [name for name in _COLUMNS if summary["ordered"] or name != "prob_increase"]
    if summary["by"] is not None:
        columns.insert(0, "group")
    # What was asked for in addition goes behind, the same for all classes of a group.
    if summary["groups"][0]["unknown"] is not None:
        columns += ["unknown", "unknown_lower", "unknown_upper"]
    columns += ["check", "check_p_value"]
    records = []
    for group, each in classes_by_group(summary):
        cells = {**each, **_group_cells(group)}
        records.append({name: cells[name] for name in columns})
    return records


def _group_cells(group: dict[str, Any]) -> dict[str, Any]:
    """Return what belongs to a group rather than to a class."""
    unknown = group["unknown"] or {}
    shift = group["checks"]["label_shift"]
    adjusted = shift.get("adjusted_p_value")
    return {
        "group": group["group"],
        "n_items": group["n_items"],
        "unknown": unknown.get("share"),
        "unknown_lower": unknown.get("lower"),
        "unknown_upper": unknown.get("upper"),
        "check": shift["verdict"],
        "check_p_value": shift.get("p_value") if adjusted is None else adjusted,
    }
