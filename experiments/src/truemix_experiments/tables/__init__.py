"""The tables of the paper from our results, with the published values beside ours.

Each table is made by a function from :class:`~truemix_experiments.results.Results` to a plain
:class:`Table`, which renderers turn into Markdown, CSV, LaTeX or text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truemix.exceptions import InputError
from truemix.validation import check_choice
from truemix_experiments.files import atomic_write
from truemix_experiments.tables.alphas import alphas
from truemix_experiments.tables.comma_separated import to_csv
from truemix_experiments.tables.comparison import comparison
from truemix_experiments.tables.coverage import amplitude, coverage
from truemix_experiments.tables.errors import ablation, bayesian_errors, point_errors
from truemix_experiments.tables.estimands import estimands
from truemix_experiments.tables.latex import to_latex
from truemix_experiments.tables.markdown import to_markdown
from truemix_experiments.tables.plain import text_of, to_text
from truemix_experiments.tables.ranks import point_ranks
from truemix_experiments.tables.significance import bayesian_significance, point_significance
from truemix_experiments.tables.summary import bayesian_summary
from truemix_experiments.tables.table import Cell, Column, Row, Table
from truemix_experiments.tables.times import times

if TYPE_CHECKING:
    from truemix_experiments.results import Results

__all__ = [
    "FORMATS",
    "Cell",
    "Column",
    "Row",
    "Table",
    "ablation",
    "all_tables",
    "alphas",
    "amplitude",
    "bayesian_errors",
    "bayesian_significance",
    "bayesian_summary",
    "comparison",
    "coverage",
    "estimands",
    "point_errors",
    "point_ranks",
    "point_significance",
    "text_of",
    "times",
    "to_csv",
    "to_latex",
    "to_markdown",
    "to_text",
    "write_tables",
]

# Endings of files, and what writes them.
FORMATS: dict[str, Callable[[Table], str]] = {"md": to_markdown, "csv": to_csv, "tex": to_latex}


def all_tables(results: Results) -> list[Table]:
    """Return all tables that have anything to show.

    Where a table does not say otherwise, bags are those with mixes from Dirichlet(1).
    """
    tables = [
        point_ranks(results),
        bayesian_summary(results),
        comparison(results),
        point_errors(results),
        point_significance(results),
        bayesian_errors(results),
        bayesian_significance(results),
        coverage(results, "hard"),
        coverage(results, "soft"),
        estimands(results),
        amplitude(results),
        ablation(results),
        alphas(results),
        times(results),
    ]
    return [table for table in tables if not table.is_empty]


def write_tables(
    tables: Sequence[Table], folder: str | Path, formats: Sequence[str] = ("md", "csv", "tex")
) -> list[Path]:
    """Write each table to a file of its own in each format, and return the files.

    Parameters
    ----------
    tables : sequence of Table
    folder : path
        Made if it is missing.
    formats : sequence of {"md", "csv", "tex"}
    """
    for name in formats:
        check_choice(name, "formats", tuple(FORMATS))
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {str(folder)!r} ({error.strerror}).") from None
    paths = []
    for table in tables:
        for name in formats:
            path = folder / f"{table.name}.{name}"
            with atomic_write(path) as file:
                file.write(FORMATS[name](table).encode())
            paths.append(path)
    return paths
