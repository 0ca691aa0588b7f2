"""The figures of the paper from our results; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from truemix.exceptions import InputError
from truemix.validation import check_choice
from truemix_experiments.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from truemix_experiments.results import Results

__all__ = ["ENDINGS", "FIGURES", "draw_figure", "write_figures"]

ENDINGS = ("png", "svg", "pdf")
# Names of files, and the modules that draw them.
FIGURES = {
    "shift-ranks": "shift",
    "error-violins": "violins",
    "coverage-amplitude": "coverage",
    "kernel-mismatch": "kernels",
    "shrinkage": "shrinkage",
}
# These show the method itself, and need no results.
WITHOUT_RESULTS = ("kernel-mismatch", "shrinkage")
DPI = 160


def draw_figure(name: str, results: Results | None = None) -> Figure:
    """Draw one figure.

    Parameters
    ----------
    name : str
        One of :data:`FIGURES`.
    results : Results, optional
        Needed by all figures but "kernel-mismatch" and "shrinkage".

    Returns
    -------
    matplotlib Figure
    """
    check_choice(name, "name", tuple(FIGURES))
    if results is None and name not in WITHOUT_RESULTS:
        raise InputError(f"The figure {name!r} shows results; pass what read_results returned.")
    draw: Callable[..., Figure] = import_module(f"{__name__}.{FIGURES[name]}").draw
    return draw() if name in WITHOUT_RESULTS else draw(results)


def write_figures(
    folder: str | Path,
    results: Results | None = None,
    *,
    names: Sequence[str] | None = None,
    endings: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw figures into files of a folder, and return these.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    results : Results, optional
        Without it only the figures that need none are drawn.
    names : sequence of str, optional
        Which of :data:`FIGURES`; by default all.
    endings : sequence of {"png", "svg", "pdf"}
    """
    for ending in endings:
        check_choice(ending, "endings", ENDINGS)
    if names is None:
        names = tuple(FIGURES) if results is not None else WITHOUT_RESULTS
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {str(folder)!r} ({error.strerror}).") from None
    paths = []
    for name in names:
        figure = draw_figure(name, results)
        for ending in endings:
            path = folder / f"{name}.{ending}"
            with atomic_write(path) as file:
                # No date in the file: the same results give the same bytes.
                metadata = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
                figure.savefig(file, format=ending, dpi=DPI, metadata=metadata[ending])
            paths.append(path)
    return paths
