"""``truemix tune``: choose settings by the error on held-out bags."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truemix.cli import INTERRUPTED
from truemix.cli import _options as options
from truemix.cli._options import Format

if TYPE_CHECKING:
    from truemix.cli._grids import Choice
    from truemix.cli._progress import Progress
    from truemix.cli._search import Found

_ROWS_SHOWN = 15


def tune(
    context: typer.Context,
    reference: options.ReferenceArgument,
    label: options.Label = None,
    classifier: options.Classifier = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,…",
            show_default="one that suits the method",
            help="Values to try for a parameter; again for another one. Those of a classifier are "
            "called classifier.C and the like.",
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Error that counts: absolute_error, relative_absolute_error, squared_error, "
            "kl_divergence or weight_ratio_error.",
        ),
    ] = "absolute_error",
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
    seed: options.Seed = None,
    output_format: options.OutputFormat = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel="Output",
            help="Save the chosen quantifier, fitted on all of REFERENCE; `truemix estimate` takes "
            "it in place of REFERENCE.",
        ),
    ] = None,
    safe_csv: options.SafeCsv = False,
    quiet: options.Quiet = False,
    timings: options.Timings = False,
) -> None:
    """Choose settings of a method by the error on bags of held-out items.

    40 % of REFERENCE are held out, and 100 bags with all kinds of mixes are drawn from them.
    Bayesian methods are judged by the point estimate of the same model.
    """
    from truemix.cli._classifiers import classifier_choice
    from truemix.cli._grids import Choice
    from truemix.cli._methods import MethodOptions
    from truemix.cli._output import check_outputs
    from truemix.cli._progress import Progress
    from truemix.cli._search import search

    said = MethodOptions.from_parameters(context.params)
    check_outputs({"--out": out}, [reference])
    _check_can_save(out, classifier)
    choice = Choice(said, None if classifier is None else classifier_choice(classifier))
    say = Progress(quiet=quiet, timings=timings)
    with say.heeding_warnings():
        found = search(reference, label, choice, grid or [], metric, say)
        _show(found, output_format or Format.table, safe=safe_csv)
        if found.complete:
            _use(found, choice, reference, label, out, say)
    say.finish()
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


def _check_can_save(out: str | None, classifier: str | None) -> None:
    from truemix.exceptions import InputError

    if out is not None and classifier is not None:
        raise InputError(
            "With --classifier there is nothing for --out to save: loading a classifier would mean "
            "running code from a file. Leave --out out, and the command that uses the chosen "
            "settings will be shown."
        )


def _use(
    found: Found, choice: Choice, reference: str, label: str | None, out: str | None, say: Progress
) -> None:
    """Save the chosen quantifier, or say how to use what was chosen."""
    from truemix.cli._search import save_chosen

    chosen = choice.with_setting(found.best)
    if out is None:
        words = ["truemix", "estimate", reference, "TARGET"]
        words += [] if label is None else ["--label", label]
        say.say(f"To use the best: {shlex.join(words + chosen.arguments())}")
        return
    save_chosen(found, chosen, out, say)
    say.say(f"Wrote {out}")
    say.say(f"To use it: truemix estimate {shlex.quote(out)} TARGET")


def _show(found: Found, kind: Format, *, safe: bool) -> None:
    from truemix._version import __version__
    from truemix.cli._features import training_columns
    from truemix.cli._output import as_csv, as_json, write
    from truemix.cli._tables import Cells

    header = [*found.parameters, found.metric, "standard_error"]
    if kind is Format.csv:
        rows = [[row[name] for name in header] for row in found.settings]
        write(as_csv(header, rows, safe=safe), None)
    elif kind is Format.json:
        content = {
            "truemix": __version__,
            "method": found.method,
            "reference": {"name": found.reference.name, "n_items": found.reference.n_items},
            **training_columns(found.reference.features),
            "metric": found.metric,
            "best": found.best,
            "settings": found.settings,
        }
        write(as_json(content), None)
    else:
        shown = found.settings[:_ROWS_SHOWN]
        left = len(found.settings) - len(shown)
        title = (
            f"{found.method}: {len(found.settings)} settings on "
            f"{found.reference.n_items:,} items of {found.reference.name}, best first"
        )
        below = [f"… and {left} more: --format csv shows all"] if left else []
        Cells(
            title, header, [[_cell(row[name]) for name in header] for row in shown], below, left=0
        ).show()


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
