"""``truemix tune``: choose settings by the error on held-out bags."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truemix.cli import INTERRUPTED
from truemix.cli import _options as options
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.estimates.text import Table

_MAX_ROWS = 15


@dataclass(frozen=True, kw_only=True)
class _Options(options.OutputOptions, options.ReferenceOptions):
    grid: list[str] | None = options.option(  # noqa: RUF009
        "NAME=VALUE,…",
        "one that suits the method",
        "Values to try for a parameter; repeat it for another one. Parameters of a classifier have "
        "the prefix classifier., such as classifier.C.",
    )
    metric: str = options.option(
        "NAME",
        True,
        "Error to minimise: absolute_error, relative_absolute_error, squared_error, kl_divergence "
        "or weight_ratio_error.",
        default="absolute_error",
    )
    out: str | None = options.output_option(
        "FILE",
        False,
        "Save the chosen quantifier, fitted on all of REFERENCE; `truemix estimate` takes it in "
        "place of REFERENCE.",
    )


@options.with_options
def tune(method: Annotated[options.MethodOptions, options.MODEL_OPTIONS], given: _Options) -> None:
    """Choose settings of a method by the error on bags of held-out items.

    40 % of REFERENCE are held out, and 100 bags with all kinds of mixes are drawn from them.
    Bayesian methods are compared by the point estimate of the same model.
    """
    from truemix.cli._classifiers import classifier_choice
    from truemix.cli._methods import arguments_of
    from truemix.cli._output import check_archive_ending, check_outputs, reporting, show_result
    from truemix.cli._tuning import Choice, save_chosen, search

    if given.decision:
        raise InputError(
            "Methods for decisions have no settings to choose, so that there is nothing to tune; "
            "use truemix estimate with --decision, and truemix backtest to compare methods."
        )
    out = given.out
    check_outputs({"--out": out}, [given.reference])
    check_archive_ending("--out", out)
    if out is not None and given.classifier is not None:
        raise InputError(
            "With --classifier there is nothing for --out to save: loading a classifier would mean "
            "running code from a file. Leave --out out, and the command that uses the chosen "
            "settings will be shown."
        )
    classifier = None if given.classifier is None else classifier_choice(given.classifier)
    choice = Choice(method, classifier)
    with reporting(given, {}, []) as progress:
        found = search(given, choice, given.grid or [], given.metric, progress)
        show_result(found.content, lambda content: content["settings"], _table, given, None)
        chosen = choice.with_setting(found.content["best"])
        if found.complete and out is None:
            words = ["truemix", "estimate", given.reference, "TARGET"]
            columns = {name: getattr(given, name) for name in options.COLUMN_OPTIONS}
            words += arguments_of({"label": given.label, **columns, **chosen.options()})
            progress.show(f"To use the best: {shlex.join(words)}")
        elif found.complete and out is not None:
            save_chosen(found, chosen, out, progress)
            progress.show(f"Wrote {out}")
            words = ["truemix", "estimate", out, "TARGET"]
            words += arguments_of({name: getattr(given, name) for name in options.COLUMN_OPTIONS})
            progress.show(f"To use it: {shlex.join(words)}")
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


def _table(content: dict[str, Any]) -> Table:
    from truemix.estimates.text import Table

    settings, reference = content["settings"], content["reference"]
    rows = [[_cell(value) for value in each.values()] for each in settings[:_MAX_ROWS]]
    left = len(settings) - len(rows)
    title = (
        f"{content['method']}: {len(settings)} settings on {reference['n_items']:,} items of "
        f"{reference['name']}, best first"
    )
    below = [f"… and {left} more: --format csv shows all"] if left else []
    return Table(title, list(settings[0]), rows, below, left=0)


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
