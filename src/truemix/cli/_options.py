"""Arguments and options, declared once for all commands; nothing heavy is loaded here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial, wraps
from importlib import import_module
from typing import Annotated, Any, get_args, get_type_hints

import typer

from truemix._periods import PERIODS
from truemix.cli._deferred import loaded_on_first_use
from truemix.cli._grouping import Grouping, grouping_of

POINT_METHODS = ("kdey", "emq", "acc", "pacc", "pcc", "cc")
BAYESIAN_METHODS = ("bayesian-kdey", "bayesian-emq", "bayesian-acc", "pq")
METHODS = (*BAYESIAN_METHODS, *POINT_METHODS, *(f"bootstrap-{name}" for name in POINT_METHODS))
DEFAULT_METHOD = "bayesian-kdey"
ASSUMPTIONS = ("robust", "label-shift", "none")
CLASSIFIERS = ("logistic", "random-forest", "gradient-boosting")

METHOD, OUTPUT = "Method", "Output"
_TYPER = "typer"
# Shown below the options.
FILES_HELP = (
    "Files are CSV, TSV or JSON Lines (also .gz), Parquet, Arrow/Feather or NPZ; what is in them "
    "decides, not their name. Posteriors may be rounded or percentages. An NPZ file has an array "
    "per column, or X with the names of its columns in classes or columns, and y for the labels."
    "\n\n"
    "Exit codes: 0 done, 1 the input or a parameter is wrong, 2 usage, 3 done but a diagnostic "
    "failed."
)
FOLDERS_HELP = (
    "In folders, files are found by their extensions (names with . or _ in front are left out). "
    "Folders named KEY=VALUE, as partitioned data sets have them, make KEY a column for --by.\n\n"
    f"{FILES_HELP}"
)


class Format(StrEnum):
    """How results are written."""

    table = "table"
    json = "json"
    csv = "csv"


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take options as dataclasses: typer sees each of their fields as an option.

    Fields without the metadata of ``option`` and ``flag`` are none; a parameter of type
    ``Annotated[SomeOptions, names]`` has only those with these names.
    """
    parameters: list[inspect.Parameter] = []
    classes: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind, *names = get_args(parameter.annotation) or (parameter.annotation,)
        hints = get_type_hints(kind)
        own = {each.name: each.metadata[_TYPER] for each in fields(kind) if each.metadata}
        own = {name: shown for name, shown in own.items() if not names or name in names[0]}
        classes[parameter.name] = kind, list(own)
        for name, shown in own.items():
            only = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, only, default=shown, annotation=hints[name]))

    @wraps(command)
    def expanded(**values: Any) -> None:
        _load(quiet=values.get("quiet", False))
        command(
            **{
                name: kind(**{each: values[each] for each in own})
                for name, (kind, own) in classes.items()
            }
        )

    # typer looks at both, and these are of the dataclasses.
    expanded.__annotations__ = {}
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return expanded


def _load(*, quiet: bool) -> None:
    """Load what all these commands need, which takes a second, with a sign of life before."""
    from truemix._progress import progress_spinner

    with progress_spinner("start", shown=not quiet), loaded_on_first_use():
        import_module("truemix.cli._work")
        import_module("truemix.quantifiers")


def _argument(metavar: str, text: str, default: Any = ...) -> Any:
    shown = typer.Argument(default, metavar=metavar, show_default=False, help=text)
    metadata = {_TYPER: shown}
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


def option(
    metavar: str | None, shown: str | bool, text: str, *names: str, default: Any = None, **more: Any
) -> Any:
    """Return a field that is an option; ``shown`` is what help says is used without it."""
    made = typer.Option(default, *names, metavar=metavar, show_default=shown, help=text, **more)
    return field(default=default, metadata={_TYPER: made})


def flag(text: str, *names: str, default: bool | None = False, **more: Any) -> Any:
    """Return a field that is an option without a value."""
    return option(None, False, text, *names, default=default, **more)


method_option = partial(option, rich_help_panel=METHOD)
output_option = partial(option, rich_help_panel=OUTPUT)
_output_flag = partial(flag, rich_help_panel=OUTPUT)


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions:
    """The labelled items, and what is known about them."""

    reference: str = _argument(
        "REFERENCE",
        "Labelled items: a label column, and a column of posteriors for each class (or features, "
        "with --classifier; or decisions, with --decision). - is stdin.",
    )
    label: str | None = option(
        "COLUMN",
        False,
        "Column of REFERENCE that holds the labels (NPZ: y by default).",
    )
    decision: list[str] | None = option(  # noqa: RUF009
        "COLUMN",
        False,
        "Column of both files with decisions by a judge (a model, a rule, a person), in place of "
        "posteriors; they need not be classes. Again for another judge.",
    )
    classifier: str | None = option(
        "NAME",
        False,
        f"Train this on all other columns that are no keys (ids, texts, times that differ row by "
        f"row): {', '.join(CLASSIFIERS)}; parameters go behind a colon, as in logistic:C=0.1.",
    )
    features: list[str] | None = option(  # noqa: RUF009
        "COLUMN", False, "With --classifier: train on this column; again for another one."
    )
    drop: list[str] | None = option(  # noqa: RUF009
        "COLUMN", False, "With --classifier: do not train on this column; again for another one."
    )
    columns: str | None = option(
        "PATTERN",
        "classes, or what fits them",
        "How columns of posteriors are named, with {} for the class, as in 'proba_{}'.",
    )
    score: str | None = option(
        "COLUMN",
        False,
        "Column with the posterior of one of two classes, in place of a column for each.",
    )
    positive: str | None = option("CLASS", False, "The class that --score is the posterior of.")
    logits: bool = flag(
        "Columns hold logits (or logarithms of posteriors); their softmax is taken.", "--logits"
    )


# What says which columns are read and how, in the order of a command that repeats it.
COLUMN_OPTIONS = tuple(
    each.name for each in fields(ReferenceOptions) if each.name not in {"reference", "label"}
)


def reference_options(given: ReferenceOptions) -> dict[str, Any]:
    """Return the options about REFERENCE by name, as another set of options takes them."""
    return {each.name: getattr(given, each.name) for each in fields(ReferenceOptions)}


EVERY_HELP = (
    f"With --by: the column holds times, and items of the same {', '.join(PERIODS[:-1])} or "
    f"{PERIODS[-1]} are a group. Times keep their time zone."
)


@dataclass(frozen=True, kw_only=True)
class GroupedOptions(ReferenceOptions):
    """Labelled items, and how those of a target are grouped."""

    by: list[str] | None = None
    every: str | None = None

    @property
    def grouping(self) -> Grouping | None:
        """How items are grouped, None if they are not; raises for options that do not fit."""
        return grouping_of(self.by, self.every)


@dataclass(frozen=True, kw_only=True)
class InputOptions(GroupedOptions):
    """Both files; columns in ``keep`` and ``key`` are passed through."""

    target: str | None = _argument(
        "[TARGET]",
        "Items whose mix is wanted: the same columns without the label. - is stdin. Without TARGET "
        "it is the rows of REFERENCE that have no label.",
        default=None,
    )
    keep: list[str] | None = None
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class TargetOptions(GroupedOptions):
    """Both sides, where a target may be of any size."""

    targets: list[str] | None = _argument(  # noqa: RUF009
        "[TARGET...]",
        "Items whose mix is wanted: the same columns without the label. One or more files, folders "
        "or quoted patterns such as 'data/*.parquet'; also summaries written by truemix summarize. "
        "- is stdin. Without TARGET it is the rows of REFERENCE that have no label.",
        default=None,
    )
    sample: int | None = option(
        "N",
        "200000",
        "Keep a random sample of N distinct rows of TARGET, of each group; it does not depend on "
        "their order. Intervals are about all of TARGET and include the error of the sample.",
    )
    skip_bad_files: bool = flag(
        "Go on without files of TARGET that are damaged or wrong; how many is said.",
        "--skip-bad-files",
    )
    workers: int | None = option(
        "N", False, "Read TARGET in N processes (needs the extra dask); the answer is the same."
    )
    scheduler: str | None = option(
        "ADDRESS",
        False,
        "Read TARGET on the Dask cluster with this scheduler, such as tcp://host:8786. Its workers "
        "must see the files under the same names.",
    )


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """The method and its parameters; None where nothing was given."""

    method: str | None = method_option("NAME", DEFAULT_METHOD, f"One of {', '.join(METHODS)}.")
    prior: list[str] | None = method_option(  # noqa: RUF009
        "A",
        "1",
        "Dirichlet prior of the mix: a number for all classes, CLASS=NUMBER for each (separated by "
        "commas, or the option again), or mapls with bayesian-emq.",
    )
    temperature: float | None = method_option(
        "T", "1", "Above 1 the target counts less and intervals widen."
    )
    kernel: str | None = method_option(
        "NAME", "aitchison", "Coordinates of the kernel densities: aitchison, ilr or gaussian."
    )
    bandwidth: str | None = method_option("H", "auto", "Standard deviation of the kernel.")
    shrinkage: str | None = method_option(
        "S", "auto", "How far posteriors are moved to the centre first, from 0 to below 1."
    )
    calibration: str | None = method_option(
        "NAME",
        "auto",
        "Map of the posteriors for emq and bayesian-emq, learned from REFERENCE: ts, bcts, vs or "
        "nbvs; auto is bcts, which also learns the mix that the classifier was trained for; none "
        "takes posteriors as calibrated for the mix of REFERENCE.",
    )
    estimand: str | None = method_option(
        "NAME",
        False,
        "batch: the mix of these very items; population: of the source they come from. Bootstraps "
        "default to population, all others to batch.",
    )
    draws: int | None = method_option("N", "1000", "Draws from the posterior of the mix.")
    reference_uncertainty: str | None = method_option(
        "NAME",
        "bootstrap",
        "Whether intervals allow for the references being few: bootstrap or none. none is much "
        "faster for large targets, and right only if references are many.",
    )
    unknown: bool | None = flag(
        "Allow for items of none of the classes, and estimate their share (kdey and "
        "bayesian-kdey).",
        "--unknown",
        default=None,
        rich_help_panel=METHOD,
    )
    seed: int | None = method_option(
        "N", "0", "Seed of all random numbers: the same seed gives the same answer."
    )


MODEL_OPTIONS = frozenset(each.name for each in fields(MethodOptions)) - {"unknown"}
_QUIET = "No notes and no progress on stderr."
Quiet = Annotated[bool, typer.Option("--quiet", rich_help_panel=OUTPUT, help=_QUIET)]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How results are written, where to, and what goes to stderr beside them."""

    output_format: Format | None = output_option(  # noqa: RUF009
        None,
        "table, or what the extension of --out says",
        "How the result is written.",
        "--format",
    )
    safe_csv: bool = _output_flag(
        "In CSV and TSV, put ' before text that a spreadsheet would run as a formula (it begins "
        "with =, +, -, @ or a control character).",
        "--safe-csv",
    )
    quiet: bool = _output_flag(_QUIET, "--quiet")
    timings: bool = _output_flag("Say how long each step took; in a terminal always.", "--timings")
    out: str | None = output_option("FILE", "stdout", "Write the result to this file.")


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(OutputOptions):
    """The output of a command that gives intervals."""

    level: float | None = method_option("L", "0.95", "Level of the intervals.")
