"""``truemix bench``: methods on data sets under the paper's protocol, beside published numbers."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from truemix.cli.plugins import Quiet, write, write_message
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix_experiments.bench import Outcome, Plan

INCOMPLETE = 3
RUN = "run"
EXIT_CODES = (
    "Exit codes: 0 done, 1 the input or a parameter is wrong, 2 usage, 3 done but a data set could "
    "not be had or something failed."
)


class _RunByDefault(TyperGroup):
    """A group whose first command is the default: ``bench yeast`` is ``bench run yeast``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first not in self.commands and first not in {"--help", "-h"}:
            args = [RUN, *args]
        found: list[str] = super().parse_args(ctx, args)
        return found


app = typer.Typer(cls=_RunByDefault, pretty_exceptions_enable=False, epilog=EXIT_CODES)

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAMES]...",
        show_default="embedded",
        help="Data sets or suites: embedded (needs nothing), tabular, text, image, paper (all of "
        "the paper). truemix bench list shows them.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", show_default=False, help="Folder with the files of the data sets."),
]
Download = Annotated[
    bool, typer.Option("--download", help="Download sets of the UCI repository that are not here.")
]
Results = Annotated[
    Path,
    typer.Option(
        "--out", metavar="FOLDER", help="Folder with the results of runs, or a file of bench pack."
    ),
]
RESULTS = Path("bench-results")


@app.callback()
def bench() -> None:
    """Run methods on data sets as the paper does, and compare with what it reports.

    `truemix bench NAMES` is short for `truemix bench run NAMES`, and without names it runs on four
    small sets that need no files. See `truemix bench run --help` for its options.
    """


@app.command(RUN, epilog=EXIT_CODES)
def run(
    names: Names = None,
    data: Data = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,…",
            show_default="all",
            help="Methods by their names in the paper, or groups of them: point, bootstrap, "
            "bayesian, calibrated, all.",
        ),
    ] = None,
    alpha: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,…",
            show_default="1",
            help="Mixes of test bags are drawn from Dirichlet(A). For 0.1 and 10 the prior of "
            "Bayesian methods is 0.3 and 3.",
        ),
    ] = None,
    bags: Annotated[int, typer.Option(metavar="N", help="Test bags of each data set.")] = 500,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Folder for results, one file per data set, method and A. What is there already "
            "is not run again.",
        ),
    ] = RESULTS,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Data sets to work on at the same time.")
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default=False,
            help="Run on the Dask cluster with this scheduler, such as tcp://host:8786; its "
            "workers must see the same folders.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of bags and samplers.")] = 0,
    download: Download = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Choose from fewer settings, for a first look: not the paper's grids."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run methods on data sets: choose settings, evaluate on test bags, keep the results.

    An interrupted run is resumed by the same command.
    """
    from truemix_experiments import bench as running
    from truemix_experiments.cli.output import checked_jobs, listed, numbers, show_results
    from truemix_experiments.cli.progress import bench_progress
    from truemix_experiments.protocol import BenchSettings

    settings = BenchSettings(n_bags=bags, seed=seed)
    asked = running.plan(
        names or ["embedded"],
        listed(methods) or ["all"],
        numbers(alpha) or [1.0],
        settings=settings.quick() if quick else settings,
        out=out,
        data=data,
        download=download,
    )
    n_jobs = checked_jobs(jobs, scheduler)
    try:
        with bench_progress(quiet=quiet) as show:
            outcome = running.run(asked, n_jobs=n_jobs, scheduler=scheduler, tell=show)
    except KeyboardInterrupt:
        write_message("The same command again goes on where this stops.")
        raise
    show_results(asked)
    _end(asked, outcome, quiet=quiet)


def _end(asked: Plan, outcome: Outcome, *, quiet: bool) -> None:
    """Print notes and failures, and end with an exit code if something is missing."""
    if not quiet:
        for note in outcome.notes:
            write_message(f"Note: {note}")
        write_message(
            f"The results are in {asked.out}; truemix bench tables and truemix bench figures "
            "show more."
        )
    for sentence in outcome.unavailable.values():
        write_message(f"Not run: {sentence}")
    for sentence in outcome.failures:
        write_message(f"Failed: {sentence}")
    if outcome.unavailable or outcome.failures:
        raise typer.Exit(INCOMPLETE)


@app.command(epilog=EXIT_CODES)
def tables(
    out: Results = RESULTS,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", show_default="tables in that folder", help="Where files are written."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Show the paper's tables made from results, with the published values beside ours.

    Each is also written as Markdown, CSV and LaTeX.
    """
    from truemix_experiments.results import read_results
    from truemix_experiments.tables import all_tables, to_text, write_tables

    found = all_tables(read_results(out))
    write("\n\n".join(to_text(table).rstrip("\n") for table in found) + "\n")
    folder = _beside(out) / "tables" if to is None else to
    paths = write_tables(found, folder)
    if not quiet:
        write_message(f"Wrote {len(paths)} files to {folder}.")


def _beside(out: Path) -> Path:
    """Return the folder of results, or the one that a file of them is in."""
    return out.parent if out.is_file() else out


@app.command(epilog=EXIT_CODES)
def figures(
    out: Results = RESULTS,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", show_default="figures in that folder", help="Where files are written."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw the paper's figures from results, as PNG and SVG."""
    from truemix_experiments.figures import FIGURES, write_figures
    from truemix_experiments.results import read_results

    results, folder = read_results(out), _beside(out) / "figures" if to is None else to
    for name in FIGURES:
        try:
            told = [f"Wrote {path}" for path in write_figures(folder, results, names=[name])]
        except InputError as error:
            # Not every figure can be drawn from every choice of methods.
            told = [f"Not drawn: {error}"]
        for each in [] if quiet else told:
            write_message(each)


@app.command(epilog=EXIT_CODES)
def pack(
    out: Results = RESULTS,
    to: Annotated[Path, typer.Option(metavar="FILE.parquet", help="The file to write.")] = Path(
        "results.parquet"
    ),
    also: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            show_default=False,
            help="More results, a folder or such a file, of another machine or time: runs that "
            "those before it lack are added. May be repeated.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write all results to one small file, from which tables and figures can be made again.

    It holds the errors of each bag and the means of intervals, but no mixes.
    """
    from truemix_experiments.packed import write_packed
    from truemix_experiments.results import read_results, with_missing

    sources = [out, *(also or [])]
    for source in sources:
        if source.is_dir() and to.resolve().is_relative_to(source.resolve()):
            raise InputError(
                f"The file {str(to)!r} would be among the results in {str(source)!r}, where it "
                "would be read as one of them; choose a place outside with --to."
            )
    found = [read_results(source) for source in sources]
    results = reduce(with_missing, found)
    path = write_packed(results, to)
    if not quiet:
        added = len(results.runs) - len(found[0].runs)
        write_message(
            f"Wrote {len(results.runs)} runs to {path}"
            + (f", of which {added} are not in {out}." if also else ".")
        )


@app.command("list", epilog=EXIT_CODES)
def list_datasets(names: Names = None, data: Data = None, download: Download = False) -> None:
    """Show all data sets, and which of them are available."""
    from truemix_experiments.cli.output import show_datasets

    show_datasets(names or ["paper", "embedded"], data, download=download)
