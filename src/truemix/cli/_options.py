"""Arguments and options that commands share, with their help; nothing heavy is loaded here."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

POINT_METHODS = ("kdey", "emq", "acc", "pcc", "cc")
BAYESIAN_METHODS = ("bayesian-kdey", "bayesian-emq", "bayesian-acc")
METHODS = (*BAYESIAN_METHODS, *POINT_METHODS, *(f"bootstrap-{name}" for name in POINT_METHODS))
DEFAULT_METHOD = "bayesian-kdey"
CLASSIFIERS = ("logistic", "random-forest", "gradient-boosting")

_METHOD = "Method"
_OUTPUT = "Output"
# Shown below the options.
FILES_HELP = (
    "Files are CSV or TSV (also .gz), Parquet, Arrow/Feather or NPZ; what is in them decides, not "
    "their name. An NPZ file has an array per column, or X with the names of its columns in "
    "classes or columns, and y for the labels.\n\n"
    "Exit codes: 0 done, 1 the input or a parameter is wrong, 2 usage, 3 done but a diagnostic "
    "failed."
)


class Format(StrEnum):
    """How results are written."""

    table = "table"
    json = "json"
    csv = "csv"


# --- input ------------------------------------------------------------------------------------

ReferenceArgument = Annotated[
    str,
    typer.Argument(
        metavar="REFERENCE",
        show_default=False,
        help="Labelled items: a label column, and a column of posteriors for each class (or "
        "features, with --classifier). - is stdin.",
    ),
]
TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        show_default=False,
        help="Items whose mix is wanted: the same columns without the label. - is stdin.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        show_default=False,
        help="Column of REFERENCE that holds the labels (NPZ: y by default).",
    ),
]
Classifier = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help=f"Train this on all other columns that are no keys (ids, texts, times that differ row "
        f"by row): {', '.join(CLASSIFIERS)}; parameters go behind a colon, as in logistic:C=0.1.",
    ),
]

# --- method -----------------------------------------------------------------------------------

Method = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=DEFAULT_METHOD,
        rich_help_panel=_METHOD,
        help=f"One of {', '.join(METHODS)}.",
    ),
]
Prior = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A",
        show_default="1",
        rich_help_panel=_METHOD,
        help="Dirichlet prior of the mix: a number for all classes, CLASS=NUMBER for each "
        "(separated by commas, or the option again), or mapls with bayesian-emq.",
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        metavar="T",
        show_default="1",
        rich_help_panel=_METHOD,
        help="Above 1 the target counts less and intervals widen.",
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="aitchison",
        rich_help_panel=_METHOD,
        help="Coordinates of the kernel densities: aitchison, ilr or gaussian.",
    ),
]
Bandwidth = Annotated[
    str | None,
    typer.Option(
        metavar="H",
        show_default="auto",
        rich_help_panel=_METHOD,
        help="Standard deviation of the kernel.",
    ),
]
Shrinkage = Annotated[
    str | None,
    typer.Option(
        metavar="S",
        show_default="auto",
        rich_help_panel=_METHOD,
        help="How far posteriors are moved to the centre first, from 0 to below 1.",
    ),
]
Calibration = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="auto",
        rich_help_panel=_METHOD,
        help="Map of the posteriors for emq and bayesian-emq, learned from REFERENCE: ts, bcts, vs "
        "or nbvs; auto is bcts, which also learns the mix that the classifier was trained for; "
        "none takes posteriors as calibrated for the mix of REFERENCE.",
    ),
]
Estimand = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        rich_help_panel=_METHOD,
        help="batch: the mix of these very items; population: of the source they come from. "
        "Bootstraps default to population, all others to batch.",
    ),
]
Draws = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        show_default="1000",
        rich_help_panel=_METHOD,
        help="Draws from the posterior of the mix.",
    ),
]
ReferenceUncertainty = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="bootstrap",
        rich_help_panel=_METHOD,
        help="Whether intervals allow for the references being few: bootstrap or none. none is "
        "much faster for large targets, and right only if references are many.",
    ),
]
Unknown = Annotated[
    bool | None,
    typer.Option(
        "--unknown",
        show_default=False,
        rich_help_panel=_METHOD,
        help="Allow for items of none of the classes, and estimate their share (kdey and "
        "bayesian-kdey).",
    ),
]
Level = Annotated[
    float | None,
    typer.Option(
        metavar="L", show_default="0.95", rich_help_panel=_METHOD, help="Level of the intervals."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        show_default="0",
        rich_help_panel=_METHOD,
        help="Seed of all random numbers: the same seed gives the same answer.",
    ),
]

# --- output -----------------------------------------------------------------------------------

OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        show_default="table, or what the extension of --out says",
        rich_help_panel=_OUTPUT,
        help="How the result is written.",
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        show_default="stdout",
        rich_help_panel=_OUTPUT,
        help="Write the result to this file.",
    ),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        rich_help_panel=_OUTPUT,
        help="In CSV and TSV, put ' before text that a spreadsheet would run as a formula (it "
        "begins with =, +, -, @ or a control character).",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", rich_help_panel=_OUTPUT, help="No notes and no progress on stderr."),
]
Timings = Annotated[
    bool,
    typer.Option(
        "--timings",
        rich_help_panel=_OUTPUT,
        help="Say how long each step took; in a terminal always.",
    ),
]
