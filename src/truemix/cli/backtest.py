"""``truemix backtest``: how a method would have done on mixtures of the labelled items."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truemix.cli import _options as options
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.cli._progress import Progress
    from truemix.cli._work import Learner
    from truemix.trust.backtest import Backtest

# Of hundreds of estimates some fail a diagnostic by chance: that share does not spoil the means.
_TOLERATED = 0.05


@dataclass(frozen=True, kw_only=True)
class _Options(options.IntervalOptions, options.ReferenceOptions):
    bag_size: list[int] | None = options.option(  # noqa: RUF009
        "N",
        "30, 100, 300, … as far as half a fold allows",
        "Items in a mixture; repeat it for other sizes. The largest is that of the headline.",
    )
    n_bags: int = options.option("N", True, "Mixtures of each size.", default=100)
    n_references: list[int] | None = options.option(  # noqa: RUF009
        "N",
        "a quarter, a half and all",
        "References to learn from, of those that are not held out; repeat it for other numbers.",
    )
    folds: int = options.option(
        "N", True, "Parts of REFERENCE, each held out once; fewer if a class is small.", default=5
    )
    report: str | None = options.output_option(
        "FILE.html", False, "Write a report as one HTML page, with text and figures."
    )


@options.with_options
def backtest(method: options.MethodOptions, given: _Options) -> None:
    """Test a method on mixtures of the labelled items, whose mixes are known.

    REFERENCE is split into folds. For each, the method learns from the others and estimates
    mixtures of its items, of many mixes and sizes and without repeats. The table has errors beside
    those of counting, and how often intervals held the truth; CSV has a row for each mixture.
    """
    from truemix.cli._methods import level_of
    from truemix.cli._one_table import labelled_only
    from truemix.cli._output import (
        PAGES,
        check_ending,
        check_result_ending,
        end_with,
        reporting,
        show_result,
        write,
    )
    from truemix.cli._work import read_learner, unfitted
    from truemix.cli.tables.source import open_source
    from truemix.trust.backtest import backtest_table, failed_sentence

    files = {"--out": given.out, "--report": given.report}
    with ExitStack() as stack:
        source, note = labelled_only(open_source(given.reference, stack), given.label)
        progress = stack.enter_context(reporting(given, files, [given.reference]))
        check_result_ending("--out", given.out, given)
        check_ending("--report", given.report, PAGES)
        if note is not None:
            progress.note(note)
        level = level_of(given.level, method.method)
        quantifier = unfitted(source, method, given)
        if quantifier is None:
            raise InputError(
                f"{source.name} is a saved quantifier; a backtest needs the labelled items that "
                "it learned from. Give these as REFERENCE."
            )
        learner = read_learner(source, quantifier, given, method, progress)
        tested = _tested(learner, given, method, level, progress)
        content = _content(tested, learner)
        if given.report is not None:
            from truemix.report.page import render_backtest

            with progress.step("write report"):
                write(render_backtest(content), given.report)
        show_result(content, lambda _: _records(tested), backtest_table, given, given.out)
    failed = content["n_failed"] > _TOLERATED * len(tested.failed)
    end_with([failed_sentence(content)] if failed else [])


def _tested(
    learner: Learner,
    given: _Options,
    method: options.MethodOptions,
    level: float,
    progress: Progress,
) -> Backtest:
    from truemix.cli._methods import prior_of, seed_of
    from truemix.cli._work import training
    from truemix.trust.backtesting import backtest as backtest_method

    reference = learner.reference
    if reference is None:
        raise InputError(f"{learner.name} holds no labelled items.")
    if method.prior:
        learner.quantifier.set_params(prior=prior_of(method.prior, reference.labels.classes))
    with progress.step("backtest"), training(reference):
        return backtest_method(
            learner.quantifier,
            reference.X,
            reference.labels.items,
            bag_size=given.bag_size or None,
            n_bags=given.n_bags,
            n_references=given.n_references or None,
            n_folds=given.folds,
            level=level,
            random_state=seed_of(method),
            verbose=not progress.quiet,
        )


def _content(tested: Backtest, learner: Learner) -> dict[str, Any]:
    from truemix._version import __version__
    from truemix.cli._features import training_columns
    from truemix.report.plain import plain

    return {
        "truemix": __version__,
        "reference": {"name": learner.name, "n_items": tested.n_labelled},
        **training_columns(learner.features),
        **plain(tested.summary()),
    }


def _records(tested: Backtest) -> list[dict[str, Any]]:
    """Return one record for each mixture and number of references."""
    columns = tested.columns(fewer_references=True)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
