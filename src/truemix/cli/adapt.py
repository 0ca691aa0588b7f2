"""``truemix adapt``: the target's posteriors, corrected for its mix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truemix.cli import _options as options

if TYPE_CHECKING:
    from truemix.estimates import Estimate


@options.with_options
def adapt(
    inputs: options.InputOptions,
    method: Annotated[options.MethodOptions, options.MODEL_OPTIONS],
    output: options.OutputOptions,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column of TARGET to pass through to --out; again for another one.",
        ),
    ] = None,
    level: options.Level = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=options.OUTPUT,
            help="Write the corrected posteriors, one column per class, as .csv, .tsv, .parquet, "
            ".arrow, .feather or .npz.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default="stdout",
            rich_help_panel=options.OUTPUT,
            help="Write the class weights to this file.",
        ),
    ] = None,
) -> None:
    """Correct the posteriors of TARGET for its own mix, and show class weights.

    The weight of a class is its estimated share over its share in REFERENCE.
    """
    from truemix.cli._features import training_columns
    from truemix.cli._methods import level_of
    from truemix.cli._output import end_with, reporting, show_result
    from truemix.cli._tables import weight_table
    from truemix.cli._work import prepare
    from truemix.cli._writing import check_kept, check_kind, write_posteriors

    files = {"--out": out, "--weights": weights}
    with reporting(output, files, [inputs.reference, inputs.target]) as progress:
        check_kind(out, keep)
        level_used = level_of(level, method.method)
        prepared = prepare(replace(inputs, keep=tuple(keep or ())), method, progress)
        kept = prepared.target.kept
        if out is not None and kept is not None:
            check_kept(kept, out)
        with progress.step("quantify"), prepared.scoring():
            found = prepared.quantifier.quantify(prepared.target.X)
        if out is not None:
            with progress.step("adapt"):
                adapted = found.adapt(prepared.posteriors())
            with progress.step("write"):
                write_posteriors(adapted, found.classes, kept, out, safe_csv=output.safe_csv)
        content = {**_content(found, level_used), **training_columns(prepared.features)}
        show_result(content, lambda found: found["classes"], weight_table, output, weights)
    end_with(found.warnings(level_used))


def _content(estimate: Estimate, level: float) -> dict[str, Any]:
    """Return the class weights as plain numbers and text."""
    from truemix._version import __version__
    from truemix.estimates.checks import LABEL_SHIFT, not_checked, point_method
    from truemix.estimates.importance_weights import weight_columns
    from truemix.report.plain import plain_name

    columns = {name: each.tolist() for name, each in weight_columns(estimate, level).items()}
    classes = [
        {
            "class": plain_name(label),
            "weight": columns["weight"][place],
            "lower": columns["lower"][place] if "lower" in columns else None,
            "upper": columns["upper"][place] if "upper" in columns else None,
            "share": float(estimate.prevalence[place]),
            "reference": float(estimate.train_prevalence[place]),
        }
        for place, label in enumerate(estimate.classes.tolist())
    ]
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
