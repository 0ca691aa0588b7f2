"""``truemix estimate``: the mix of a target, or of each group of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truemix.cli import _options as options
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.cli._work import Prepared
    from truemix.estimates import Estimate, EstimateSet

_COLUMNS = (
    "class", "share", "lower", "upper", "classify_and_count", "reference", "prob_increase",
    "n_items",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Inputs(options.InputOptions):
    by: str | None = options.option(
        "COLUMN",
        False,
        "Column of TARGET with groups: one estimate for each and, if they follow each other "
        "(numbers, dates, weeks, months, versions), the probability that a share rose since the "
        "group before.",
    )
    check: bool | None = options.option(
        None,
        "check, where that is possible",
        "Check whether TARGET is a mix of the reference classes at all; if not, the exit code is "
        "3. See truemix check.",
        "--check/--no-check",
    )


@dataclass(frozen=True, kw_only=True)
class _Output(options.IntervalOptions):
    report: str | None = options.output_option(
        "FILE.html", False, "Write a report as one HTML page, with text and figures."
    )


@options.with_options
def estimate(inputs: _Inputs, method: options.MethodOptions, output: _Output) -> None:
    """Estimate the mix of classes in TARGET, learning from REFERENCE.

    REFERENCE may also be a quantifier saved by `truemix tune`; then --label is not needed.
    """
    from truemix.cli._methods import level_of
    from truemix.cli._output import end_with, reporting, show_result, write
    from truemix.cli._tables import summary_table
    from truemix.cli._work import prepare
    from truemix.report.page import render_page
    from truemix.report.summary import summarize

    files = {"--out": output.out, "--report": output.report}
    with reporting(output, files, [inputs.reference, inputs.target]) as progress:
        level = level_of(output.level, method.method)
        prepared = prepare(inputs, method, progress)
        why_not = _why_not_checked(prepared, inputs.check)
        with progress.step("quantify"), prepared.scoring():
            estimates = _quantify(prepared, inputs.classifier, check=why_not is None)
        summary = summarize(
            estimates,
            level=level,
            reference=prepared.name,
            n_reference=prepared.n_reference,
            target=prepared.target.name,
            by=inputs.by,
            command=_command(inputs, method, output.level),
            why_not_checked=why_not,
        )
        if output.report is not None:
            with progress.step("write report"):
                write(render_page(summary), output.report)
        show_result(summary, _records, summary_table, output, output.out)
    end_with(
        f"{inputs.by} {group['group']}: {sentence}" if inputs.by else sentence
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


def _quantify(prepared: Prepared, classifier: str | None, *, check: bool) -> Estimate | EstimateSet:
    """Return one estimate, or one for each group in the order of the groups."""
    from truemix.cli._features import training_columns
    from truemix.estimates import EstimateSet

    def named(estimate: Estimate) -> Estimate:
        if classifier is None:
            return estimate
        # As it was asked for: the whole pipeline would be a page of its own.
        columns = training_columns(prepared.features)
        settings = {**estimate.settings, "classifier": classifier, **columns}
        if isinstance(settings.get("quantifier"), dict):
            settings["quantifier"] = {**settings["quantifier"], "classifier": classifier}
        return replace(estimate, settings=settings)

    target = prepared.target
    if target.groups is None:
        return named(prepared.quantifier.quantify(target.X, check=check))
    found = prepared.quantifier.quantify_by(target.X, target.groups.codes, check=check)
    return EstimateSet({name: named(found[k]) for k, name in enumerate(target.groups.names)})


def _command(inputs: _Inputs, method: options.MethodOptions, level: float | None) -> str:
    """Return the command that repeats the estimate, without what only says where it goes."""
    from truemix.cli._methods import arguments_of

    # Files as they were typed, but nothing of where they are on this machine.
    typed = inputs.reference, inputs.target
    files = [Path(each).name if Path(each).is_absolute() else each for each in typed]
    given = {
        "--label": inputs.label,
        "--by": inputs.by,
        "--classifier": inputs.classifier,
        "--level": level,
    }
    pairs = [text for o, v in given.items() if v is not None for text in (o, f"{v}")]
    checked = {True: ["--check"], False: ["--no-check"], None: []}[inputs.check]
    return shlex.join(["truemix", "estimate", *files, *pairs, *arguments_of(method), *checked])


def _records(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the numbers of a summary, one record for each class of each group."""
    from truemix.cli._tables import summary_records

    columns = [name for name in _COLUMNS if summary["ordered"] or name != "prob_increase"]
    if summary["by"] is not None:
        columns.insert(0, "group")
    # What was asked for in addition goes behind, the same for all classes of a group.
    if summary["groups"][0]["unknown"] is not None:
        columns += ["unknown", "unknown_lower", "unknown_upper"]
    columns += ["check", "check_p_value"]
    return [{name: each[name] for name in columns} for each in summary_records(summary)]
