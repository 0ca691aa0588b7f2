"""``truemix adapt``: the target's posteriors, corrected for its mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from truemix.cli import _options as options
from truemix.cli._options import Format

if TYPE_CHECKING:
    from truemix.estimates import Estimate


def adapt(
    context: typer.Context,
    reference: options.ReferenceArgument,
    target: options.TargetArgument,
    label: options.Label = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column of TARGET to pass through to --out; again for another one.",
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
    level: options.Level = None,
    seed: options.Seed = None,
    output_format: options.OutputFormat = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel="Output",
            help="Write the corrected posteriors, one column per class, as .csv, .tsv, .parquet, "
            ".arrow, .feather or .npz.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default="stdout",
            rich_help_panel="Output",
            help="Write the class weights to this file.",
        ),
    ] = None,
    safe_csv: options.SafeCsv = False,
    quiet: options.Quiet = False,
    timings: options.Timings = False,
) -> None:
    """Correct the posteriors of TARGET for its own mix, and show class weights.

    The weight of a class is its estimated share over its share in REFERENCE.
    """
    from truemix.cli._features import training_columns
    from truemix.cli._methods import MethodOptions, level_of
    from truemix.cli._output import check_outputs, chosen_format, end_with
    from truemix.cli._progress import Progress
    from truemix.cli._work import Inputs, prepare
    from truemix.cli._writing import check_kind, write_posteriors

    inputs = Inputs(reference, target, label, None, classifier, tuple(keep or ()))
    said = MethodOptions.from_parameters(context.params)
    check_outputs({"--out": out, "--weights": weights}, [reference, target])
    check_kind(out, keep)
    say = Progress(quiet=quiet, timings=timings)
    with say.heeding_warnings():
        level_used = level_of(level, method)
        prepared = prepare(inputs, said, say)
        with say.step("quantify"), prepared.scoring():
            found = prepared.quantifier.quantify(prepared.target.X)
        if out is not None:
            with say.step("adapt"):
                adapted = found.adapt(prepared.posteriors())
            with say.step("write"):
                kept = prepared.target.kept
                write_posteriors(adapted, found.classes, kept, out, safe_csv=safe_csv)
        content = {**_content(found, level_used), **training_columns(prepared.features)}
        _show(content, chosen_format(output_format, weights), weights, safe=safe_csv)
    for name in filter(None, (out, weights)):
        say.say(f"Wrote {name}")
    say.finish()
    end_with(found.warnings(level_used))


def _content(estimate: Estimate, level: float) -> dict[str, Any]:
    """Return the class weights as plain numbers and text."""
    from truemix._version import __version__
    from truemix.estimates.checks import LABEL_SHIFT, not_checked, point_method
    from truemix.report.plain import plain_name

    classes = []
    for place, (label, row) in enumerate(estimate.weights(level).iterrows()):
        classes.append(
            {
                "class": plain_name(label),
                "weight": float(row["weight"]),
                "lower": float(row["lower"]) if "lower" in row else None,
                "upper": float(row["upper"]) if "upper" in row else None,
                "share": float(estimate.prevalence[place]),
                "reference": float(estimate.train_prevalence[place]),
            }
        )
    return {
        "truemix": __version__,
        "method": estimate.method,
        "estimand": estimate.estimand,
        "level": level,
        "n_items": estimate.n_items,
        "classes": classes,
        "checks": {
            LABEL_SHIFT: not_checked(
                point_method(estimate.method, estimate.settings), "truemix check tells."
            )
        },
    }


def _show(content: dict[str, Any], kind: Format, out: str | None, *, safe: bool) -> None:
    from truemix.cli._output import as_csv, as_json, write
    from truemix.cli._tables import weight_cells

    classes = content["classes"]
    if kind is Format.json:
        write(as_json(content), out)
    elif kind is Format.csv:
        rows = [list(each.values()) for each in classes]
        write(as_csv(list(classes[0]), rows, safe=safe), out)
    else:
        weight_cells(content).show(out)
