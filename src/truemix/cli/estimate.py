"""``truemix estimate``: the mix of a target, or of each group of it."""

from __future__ import annotations

import shlex
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truemix.cli import _options as options
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.cli._labelled import TargetLabels
    from truemix.cli._progress import Progress
    from truemix.cli._summarizing import Summarized
    from truemix.cli._targets import Targets
    from truemix.cli._work import Fitted, Prepared
    from truemix.cli.tables.source import Source
    from truemix.estimates import Estimate, EstimateSet
    from truemix.summaries import Summary

ROBUST = "robust"

# The backtest of a report: what takes a second or two, and is enough for two digits. With many
# classes each bag takes longer, and says more.
_BAGS, _FEWER_BAGS = 50, 20
_MANY_CLASSES = 30
_LARGEST_BAG = 1000


@dataclass(frozen=True, kw_only=True)
class _Options(options.IntervalOptions, options.TargetOptions):
    by: list[str] | None = options.option(  # noqa: RUF009
        "COLUMN",
        False,
        "Column of TARGET, or KEY of its folders, with groups: one estimate for each and, if they "
        "follow each other (numbers, dates, weeks, months, versions), the probability that a share "
        "rose since the group before. Again for groups of several columns, as region and month.",
    )
    every: str | None = options.option("PERIOD", False, options.EVERY_HELP)
    check: bool | None = options.option(
        None,
        "check, where that is possible",
        "Check whether TARGET is a mix of the reference classes at all; if not, the exit code is "
        "3. See truemix check.",
        "--check/--no-check",
    )
    performance: bool = options.flag(
        "Estimate how good the classifier's decisions are in TARGET: accuracy, precision and "
        "recall of each class, and the confusion matrix; without labels of it.",
        "--performance",
    )
    labelled: str | None = options.option(
        "FILE",
        False,
        "Labels of some items of TARGET: the column of --label, that of --key (or row, the number "
        "of the item), and inclusion, the probability with which it was chosen, unless all have "
        "the same. truemix sample writes such a file. Or fill in some rows of the label column of "
        "TARGET itself.",
    )
    key: str | None = options.option(
        "COLUMN", False, "Column of TARGET and of the file of --labelled that names items."
    )
    assumption: str | None = options.option(
        "NAME",
        "robust",
        "With labels: robust relies on label shift as far as they agree with it, label-shift "
        "fully, none not at all.",
    )
    report: str | None = options.output_option(
        "FILE.html", False, "Write a report as one HTML page, with text and figures."
    )


@options.with_options
def estimate(method: options.MethodOptions, given: _Options) -> None:
    """Estimate the mix of classes in TARGET, learning from REFERENCE.

    REFERENCE may also be a quantifier saved by `truemix tune`; then --label is not needed.
    """
    from truemix.cli._methods import level_of
    from truemix.cli._output import (
        PAGES,
        check_ending,
        check_result_ending,
        end_with,
        reporting,
        show_result,
        write,
    )
    from truemix.cli._summarizing import learn_and_summarize
    from truemix.cli._tables import summary_table
    from truemix.cli._targets import open_inputs
    from truemix.cli.tables.source import unpacked
    from truemix.report.records import csv_records
    from truemix.report.summary import summarize

    files = {"--out": given.out, "--report": given.report}
    with ExitStack() as stack:
        source, targets = open_inputs(given.reference, given.targets, given.label, stack)
        inputs = [given.reference, *targets.paths, *filter(None, [given.labelled])]
        progress = stack.enter_context(reporting(given, files, inputs))
        check_result_ending("--out", given.out, given)
        check_ending("--report", given.report, PAGES)
        level = level_of(given.level, method.method)
        fitted: Fitted
        estimates: Estimate | EstimateSet
        overall: Estimate | None = None
        skipped: list[str] = []
        if _is_labelled(given, targets):
            sources = source, unpacked(targets.files[0].source, stack)
            fitted, known = _with_labels(given, method, progress, sources)
            why_not = _why_not_checked(fitted, given.check)
            with progress.step("quantify"), fitted.scoring():
                estimates = _quantify_labelled(fitted, known, given, check=why_not is None)
        else:
            fitted, found = learn_and_summarize(source, targets, given, method, progress)
            skipped = found.skipped
            why_not = _why_not_checked(fitted, given.check)
            with progress.step("quantify"):
                estimates = _quantify(fitted, found, given, check=why_not is None)
                overall = _overall(fitted, estimates, given)
            if not given.by and given.sample is None:
                _propose_sample(found.groups[None], estimates, level, progress)
        tested = None
        if given.report is not None:
            with progress.step("backtest"):
                tested = _backtest(fitted, estimates, method, level)
        summary = summarize(
            estimates,
            level=level,
            reference=fitted.name,
            n_reference=fitted.n_reference,
            target=targets.name,
            n_files=len(targets.files) if targets.listed else None,
            skipped=skipped,
            command=_command(given, method),
            why_not_checked=why_not,
            backtest=tested,
            performance=given.performance,
            overall=overall,
        )
        if given.report is not None:
            from truemix.report.page import render_page

            with progress.step("write report"):
                write(render_page(summary), given.report)
        show_result(summary, csv_records, summary_table, given, given.out)
    end_with(_failures(summary))


def _propose_sample(
    summary: Summary, estimate: Estimate | EstimateSet, level: float, progress: Progress
) -> None:
    """Note how few rows would have been enough, if there were many."""
    from truemix.cli._row_sample import MANY_ROWS, about_enough
    from truemix.estimates import Estimate

    if isinstance(estimate, Estimate) and summary.n_rows >= MANY_ROWS:
        with progress.step("compare with samples"):
            note = about_enough(estimate, level)
        if note is not None:
            progress.note(note)


def _why_not_checked(fitted: Fitted, wanted: bool | None) -> str | None:
    """Return why label shift is not checked, or None if it is.

    Where it cannot be checked that is an error only if it was asked for.
    """
    from truemix.checks import why_not
    from truemix.estimates.checks import COUNTING

    if wanted is False:
        return "--no-check was given."
    quantifier = fitted.quantifier
    point = getattr(quantifier, "quantifier", quantifier)
    if wanted is None and type(point).__name__ in COUNTING:
        return f"{type(point).__name__} does not assume it."
    reason = why_not(quantifier)
    if reason is not None and wanted:
        raise InputError(reason)
    return reason


def _quantify(
    fitted: Fitted, found: Summarized, given: _Options, *, check: bool
) -> Estimate | EstimateSet:
    """Return one estimate, or one for each group in the order of the groups."""
    from truemix.estimates import EstimateSet

    if given.by is None:
        estimate = fitted.quantifier.quantify(found.groups[None], check=check)
        return _named(estimate, fitted, given)
    # By their places: names that look alike are sorted as they are here.
    by_place = dict(enumerate(found.groups.values()))
    estimates = fitted.quantifier.quantify_by(by_place, check=check)
    named = {name: _named(estimates[k], fitted, given) for k, name in enumerate(found.groups)}
    return EstimateSet(named, by=given.by, every=given.every)


def _overall(fitted: Fitted, estimates: Estimate | EstimateSet, given: _Options) -> Estimate | None:
    """Return the mix of all groups together, if there are several."""
    from truemix.estimates import EstimateSet
    from truemix.report.overall import overall_of

    if not isinstance(estimates, EstimateSet):
        return None
    found = overall_of(estimates)
    return None if found is None else _named(found, fitted, given)


def _quantify_labelled(
    fitted: Prepared, known: TargetLabels, given: _Options, *, check: bool
) -> Estimate:
    """Return the estimate of a target with labels of some of its items."""
    estimate = fitted.quantifier.quantify(
        fitted.target.X,
        check=check,
        labels=known.labels,
        inclusion=known.inclusion,
        assumption=given.assumption or ROBUST,
    )
    return _named(estimate, fitted, given)


def _named(estimate: Estimate, fitted: Fitted, given: _Options) -> Estimate:
    """Return an estimate whose settings name the classifier as it was asked for."""
    if given.classifier is None:
        return estimate
    # The whole pipeline would be a page of its own.
    settings = {**estimate.settings, "classifier": given.classifier, **fitted.columns}
    if isinstance(settings.get("quantifier"), dict):
        settings["quantifier"] = {**settings["quantifier"], "classifier": given.classifier}
    return replace(estimate, settings=settings)


def _is_labelled(given: _Options, targets: Targets) -> bool:
    """Return whether labels of the target are given, in a file or in the target itself."""
    from truemix.cli._file_summaries import opened
    from truemix.cli._one_table import is_partly_labelled

    if given.labelled is None:
        if given.key is not None:
            raise InputError(
                "The option --key is about the file of --labelled; name that file too."
            )
        if len(targets.files) == 1 and given.by is None:
            # A bad file is met again when it is read.
            labelled = False
            with ExitStack() as stack, suppress(InputError):
                table = opened(targets.files[0], stack)
                labelled = table is not None and is_partly_labelled(table, given.label)
            if labelled:
                _refuse_sample(given)
                return True
        if given.assumption is not None:
            raise InputError(
                "The option --assumption is about labels of TARGET, but there are none; name a "
                "file of --labelled, or leave the option out."
            )
        return False
    _refuse_sample(given)
    if given.by is not None:
        raise InputError(
            "Labels are of the whole target, so that --labelled and --by do not go together; "
            "estimate each group by itself."
        )
    if len(targets.files) > 1 or targets.listed:
        raise InputError(
            "With --labelled TARGET must be one file, because its items are read at once; put "
            "them into one file."
        )
    return True


def _refuse_sample(given: _Options) -> None:
    if given.sample is not None:
        raise InputError(
            "With labels of TARGET all of its items are read at once, so that --sample has no "
            "meaning; leave it out."
        )


def _with_labels(
    given: _Options,
    method: options.MethodOptions,
    progress: Progress,
    sources: tuple[Source, Source],
) -> tuple[Prepared, TargetLabels]:
    """Return the fitted quantifier, the items of the target, and labels of some of them."""
    from truemix.cli._labelled import labels_of_file, labels_of_target
    from truemix.cli._work import prepare
    from truemix.validation import check_choice

    check_choice(given.assumption or ROBUST, "--assumption", options.ASSUMPTIONS)
    inputs = options.InputOptions(
        **options.reference_options(given),
        target=given.targets[0] if given.targets else None,
        keep=None if given.label is None or given.labelled else [given.label],
        key=given.key,
    )
    prepared = prepare(inputs, method, progress, sources)
    classes = prepared.quantifier.classes_
    if given.labelled is None:
        return prepared, labels_of_target(prepared.target, str(given.label), classes, progress)
    return prepared, labels_of_file(
        given.labelled, given.label, given.key, classes, prepared.target, progress
    )


def _backtest(
    fitted: Fitted, estimates: Estimate | EstimateSet, method: options.MethodOptions, level: float
) -> dict[str, Any] | None:
    """Return how the quantifier does on mixtures of its own references, if it has any."""
    import numpy as np

    from truemix.cli._methods import seed_of
    from truemix.estimates import Estimate
    from truemix.trust.backtesting import backtest_of

    groups = [estimates] if isinstance(estimates, Estimate) else list(estimates.values())
    size = min(_LARGEST_BAG, int(np.median([each.n_items for each in groups])))
    n_bags = _BAGS if len(groups[0].classes) < _MANY_CLASSES else _FEWER_BAGS
    tested = backtest_of(
        fitted.quantifier, bag_size=size, n_bags=n_bags, level=level, random_state=seed_of(method)
    )
    return None if tested is None else tested.summary()


def _command(given: _Options, method: options.MethodOptions) -> str:
    """Return the command that repeats the estimate, without what only says where it goes."""
    from truemix.cli._methods import arguments_of

    # Files as they were typed, but nothing of where they are on this machine.
    typed = [given.reference, *(given.targets or [])]
    files = [Path(each).name if Path(each).is_absolute() else each for each in typed]
    names = (
        "label",
        "by",
        "every",
        *options.COLUMN_OPTIONS,
        "level",
        "sample",
        "skip_bad_files",
        "performance",
        "key",
        "assumption",
    )
    named = {name: getattr(given, name) for name in names}
    if given.labelled is not None:
        named["labelled"] = Path(given.labelled).name
    checked = {"check": given.check, "no_check": given.check is False}
    arguments = arguments_of({**named, **vars(method), **checked})
    return shlex.join(["truemix", "estimate", *files, *arguments])


def _failures(summary: dict[str, Any]) -> list[str]:
    """Return what failed, and in which group."""
    by, whole = summary["grouping"], summary["overall"]
    parts = [] if whole is None else [("all items", whole)]
    parts += [("" if by is None else f"{by} {each['group']}", each) for each in summary["groups"]]
    return [
        f"{name}: {sentence}" if name else sentence
        for name, group in parts
        for sentence in group["failed"]
    ]
