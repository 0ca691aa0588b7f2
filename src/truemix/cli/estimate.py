"""``truemix estimate``: the mix of a target, or of each group of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truemix.cli import _options as options
from truemix.cli._options import Format
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.cli._methods import MethodOptions
    from truemix.cli._work import Inputs, Prepared
    from truemix.estimates import Estimate, EstimateSet

_COLUMNS = ("class", "share", "lower", "upper", "counted", "reference", "prob_increase", "n_items")


def estimate(
    context: typer.Context,
    reference: options.ReferenceArgument,
    target: options.TargetArgument,
    label: options.Label = None,
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
    classifier: options.Classifier = None,
    method: options.Method = None,
    prior: options.Prior = None,
    temperature: options.Temperature = None,
    kernel: options.Kernel = None,
    bandwidth: options.Bandwidth = None,
    shrinkage: options.Shrinkage = None,
    calibration: options.Calibration = None,
    estimand: options.Estimand = None,
    draws: options.Draws = None,
    reference_uncertainty: options.ReferenceUncertainty = None,
    unknown: options.Unknown = None,
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
    seed: options.Seed = None,
    output_format: options.OutputFormat = None,
    out: options.Out = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html",
            show_default=False,
            rich_help_panel="Output",
            help="Write a page with words and pictures, to read and to send.",
        ),
    ] = None,
    safe_csv: options.SafeCsv = False,
    quiet: options.Quiet = False,
    timings: options.Timings = False,
) -> None:
    """Estimate the mix of classes in TARGET, learning from REFERENCE.

    REFERENCE may also be a quantifier saved by `truemix tune`; then --label is not needed.
    """
    from truemix.cli._methods import MethodOptions, level_of
    from truemix.cli._output import check_outputs, chosen_format, end_with
    from truemix.cli._progress import Progress
    from truemix.cli._work import Inputs, prepare
    from truemix.report.summary import summarize

    inputs = Inputs(reference, target, label, by, classifier)
    said = MethodOptions.from_parameters(context.params)
    check_outputs({"--out": out, "--report": report}, [reference, target])
    say = Progress(quiet=quiet, timings=timings)
    with say.heeding_warnings():
        level_used = level_of(level, method)
        prepared = prepare(inputs, said, say)
        why_not = _why_not_checked(prepared, check)
        with say.step("quantify"), prepared.scoring():
            estimates = quantify(prepared, classifier, check=why_not is None)
        summary = summarize(
            estimates,
            level=level_used,
            reference=prepared.name,
            n_reference=prepared.n_reference,
            target=prepared.target.name,
            by=by,
            command=command_of(inputs, said, level, check=check),
            why_not_checked=why_not,
        )
        if report is not None:
            with say.step("write report"):
                _write_report(summary, report)
        _show(summary, chosen_format(output_format, out), out, safe=safe_csv)
    for name in filter(None, (out, report)):
        say.say(f"Wrote {name}")
    say.finish()
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


def quantify(
    prepared: Prepared, classifier: str | None, *, check: bool = False
) -> Estimate | EstimateSet:
    """Return one estimate, or one for each group in the order of the groups."""
    from dataclasses import replace

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
    inputs: Inputs, said: MethodOptions, level: float | None, *, check: bool | None = None
) -> str:
    """Return the command that repeats the estimate, without what only says where it goes."""
    words = ["truemix", "estimate", _shown_path(inputs.reference), _shown_path(inputs.target)]
    pairs: list[tuple[str, Any]] = [
        ("--label", inputs.label),
        ("--by", inputs.by),
        ("--classifier", inputs.classifier),
        ("--level", level),
    ]
    for option, value in pairs:
        if value is not None:
            words += [option, f"{value}"]
    asked = {True: ["--check"], False: ["--no-check"], None: []}
    return shlex.join(words + said.arguments() + asked[check])


def _shown_path(argument: str) -> str:
    """Return a file as it was typed, but nothing of where it is on this machine."""
    path = Path(argument)
    return path.name if path.is_absolute() else argument


def _write_report(summary: dict[str, Any], report: str) -> None:
    from truemix.cli._output import write
    from truemix.report.page import render_page

    write(render_page(summary), report)


def _show(summary: dict[str, Any], kind: Format, out: str | None, *, safe: bool) -> None:
    from truemix.cli._output import as_csv, as_json, write
    from truemix.cli._tables import summary_cells

    if kind is Format.json:
        write(as_json(summary), out)
    elif kind is Format.csv:
        write(as_csv(*_flat(summary), safe=safe), out)
    else:
        summary_cells(summary).show(out)


def _flat(summary: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the numbers of a summary as a header and rows."""
    from truemix.cli._tables import classes_by_group

    grouped = summary["by"] is not None
    columns = [name for name in _COLUMNS if summary["ordered"] or name != "prob_increase"]
    # What was asked for in addition goes behind, the same for all classes of a group.
    if summary["groups"][0]["unknown"] is not None:
        columns += ["unknown", "unknown_lower", "unknown_upper"]
    columns += ["check", "check_p_value"]
    rows = []
    for group, each in classes_by_group(summary):
        cells = {**each, "n_items": group["n_items"], **_beside(group)}
        first = [group["group"]] if grouped else []
        rows.append(first + [cells[name] for name in columns])
    return (["group"] if grouped else []) + columns, rows


def _beside(group: dict[str, Any]) -> dict[str, Any]:
    """Return what belongs to a group rather than to a class."""
    unknown = group["unknown"] or {}
    shift = group["checks"]["label_shift"]
    adjusted = shift.get("adjusted_p_value")
    return {
        "unknown": unknown.get("share"),
        "unknown_lower": unknown.get("lower"),
        "unknown_upper": unknown.get("upper"),
        "check": shift["verdict"],
        "check_p_value": shift.get("p_value") if adjusted is None else adjusted,
    }
