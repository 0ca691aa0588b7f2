"""``truemix adapt``: the target's posteriors, corrected for its mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from truemix.cli import _options as options

if TYPE_CHECKING:
    from truemix.estimates import Estimate


@dataclass(frozen=True, kw_only=True)
class _Options(options.IntervalOptions, options.InputOptions):
    keep: list[str] | None = options.option(  # noqa: RUF009
        "COLUMN", False, "Column of TARGET to pass through to --out; again for another one."
    )
    out: str | None = options.output_option(
        "FILE",
        False,
        "Write the corrected posteriors, one column per class, as .csv, .tsv, .parquet, .arrow, "
        ".feather or .npz.",
    )
    weights: str | None = options.output_option(
        "FILE", "stdout", "Write the class weights to this file."
    )


@options.with_options
def adapt(method: Annotated[options.MethodOptions, options.MODEL_OPTIONS], given: _Options) -> None:
    """Correct the posteriors of TARGET for its own mix, and show class weights.

    The weight of a class is its estimated share over its share in REFERENCE.
    """
    from truemix.cli._methods import level_of
    from truemix.cli._output import check_result_ending, end_with, reporting, show_result
    from truemix.cli._tables import weight_table
    from truemix.cli._work import prepare
    from truemix.cli._writing import check_kept, check_kind, write_posteriors

    out = given.out
    files = {"--out": out, "--weights": given.weights}
    with reporting(given, files, filter(None, [given.reference, given.target])) as progress:
        check_kind(out, given.keep)
        check_result_ending("--weights", given.weights, given)
        level = level_of(given.level, method.method)
        prepared = prepare(given, method, progress)
        kept = prepared.target.kept
        if out is not None and kept is not None:
            check_kept(kept, out)
        with progress.step("quantify"), prepared.scoring():
            found = prepared.quantifier.quantify(prepared.target.X)
        if out is not None:
            with progress.step("adapt"):
                adapted = found.adapt(prepared.posteriors())
            with progress.step("write"):
                write_posteriors(adapted, found.classes, kept, out, safe_csv=given.safe_csv)
        content = {**_content(found, level), **prepared.columns}
        show_result(content, lambda found: found["classes"], weight_table, given, given.weights)
    end_with(found.warnings(level))


def _content(estimate: Estimate, level: float) -> dict[str, Any]:
    """Return the class weights as plain numbers and text."""
    from truemix._version import __version__
    from truemix.estimates.checks import LABEL_SHIFT, not_checked, point_method
    from truemix.estimates.importance_weights import reference_shares, weight_columns
    from truemix.report.plain import plain_name

    reference = reference_shares(estimate).tolist()
    columns = {name: each.tolist() for name, each in weight_columns(estimate, level).items()}
    classes = [
        {
            "class": plain_name(label),
            "weight": columns["weight"][place],
            "lower": columns["lower"][place] if "lower" in columns else None,
            "upper": columns["upper"][place] if "upper" in columns else None,
            "share": float(estimate.prevalence[place]),
            "reference": reference[place],
        }
        for place, label in enumerate(estimate.classes.tolist())
    ]
    method = point_method(estimate.method, estimate.settings)
    return {
        "truemix": __version__,
        "method": estimate.method,
        "estimand": estimate.estimand,
        "level": level,
        "n_items": estimate.n_items,
        "classes": classes,
        "checks": {LABEL_SHIFT: not_checked(method, "truemix check tells.")},
    }
