"""Results on disk: one Parquet file per finished run, written whole or not at all.

A run is one method on one data set at one concentration α of the bags. Its file has a row per test
bag, and what the run was (settings, versions, time) as JSON in the file's metadata. A file that is
there is finished, so that interrupted work goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from truemix._files import atomic_write
from truemix.exceptions import InputError
from truemix.experiments._result_schema import (
    ERRORS,
    FORMAT,
    INTERVALS,
    META,
    MIXES,
    checked_table,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class RunKey:
    """Which run: a method on a data set, with test mixes from Dirichlet(α)."""

    dataset: str
    method: str
    alpha: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("dataset", self.dataset), ("method", self.method)):
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"The {name} of a run is {value!r}; expected a name.")
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise InputError(f"The alpha of a run is {self.alpha!r}; expected a positive number.")


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Attributes
    ----------
    key : RunKey
    rows : DataFrame
        One row per test bag. ``bag`` (number), ``truth`` and ``prevalence`` (lists of shares),
        ``ae``, ``w``, ``shift`` (L1 distance of the truth to the training mix); for methods with
        intervals also ``hard`` (bool), ``soft`` (share of classes covered), ``amplitude``
        (percent), ``winkler`` and ``width``.
    about : mapping
        ``modality``, ``seed``, ``settings`` (chosen hyperparameters), ``versions``, ``machine``,
        ``seconds``, ``n_classes``, ``train_prevalence``; more is kept.
    """

    key: RunKey
    rows: pd.DataFrame
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """The results in a folder.

    Attributes
    ----------
    bags : DataFrame
        One row per run and bag: ``dataset``, ``modality``, ``method``, ``alpha``, ``bag`` and
        the numbers of the bag, NaN for intervals a method does not have.
    runs : DataFrame
        One row per run: ``dataset``, ``modality``, ``method``, ``alpha`` and what the run was.
    """

    bags: pd.DataFrame
    runs: pd.DataFrame


def result_path(folder: str | Path, key: RunKey) -> Path:
    """Return where the result of a run is.

    Examples
    --------
    >>> result_path("results", RunKey("yeast", "KDEy(Gau)", 0.1)).as_posix()
    'results/yeast/KDEy(Gau)-alpha0.1.parquet'
    >>> result_path("results", RunKey("a/b", "best: mine?")).name
    'best%3A%20mine%3F-alpha1.parquet'
    """
    alpha = repr(float(key.alpha)).removesuffix(".0")
    return Path(folder) / _slug(key.dataset) / f"{_slug(key.method)}-alpha{alpha}.parquet"


def _slug(name: str) -> str:
    """Return a file name for any name: another one for another name, without signs of paths."""
    slug = quote(name, safe="()+")
    # A leading dot would hide the file, or leave the folder.
    return "%2E" + slug[1:] if slug.startswith(".") else slug


def write_result(folder: str | Path, result: RunResult) -> Path:
    """Write the result of a finished run, in place of an earlier one.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    result : RunResult

    Returns
    -------
    Path
        The file that was written.
    """
    import pyarrow.parquet as pq

    table = checked_table(result)
    path = result_path(folder, result.key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot make the folder {str(path.parent)!r} ({error.strerror}); expected a place "
            "that can be written to."
        ) from None
    with atomic_write(path) as file:
        pq.write_table(table, file, compression="zstd")
    return path


def is_done(folder: str | Path, key: RunKey) -> bool:
    """Tell whether a run has a result that can be read; a damaged file is as good as none."""
    path = result_path(folder, key)
    try:
        return path.is_file() and _key(_about(path)) == key
    except InputError:
        return False


def read_results(folder: str | Path, *, mixes: bool = False) -> Results:
    """Read all results in a folder.

    Parameters
    ----------
    folder : path
        Where :func:`write_result` wrote.
    mixes : bool, default False
        Read also true and estimated mixes (``truth``, ``prevalence``), which tables and figures
        do not need and which take most of the memory.

    Returns
    -------
    Results
    """
    import pandas as pd
    import pyarrow as pa

    folder = Path(folder)
    # Files that begin with a dot are being written.
    paths = sorted(p for p in folder.rglob("*.parquet") if not p.name.startswith("."))
    if not paths:
        raise InputError(
            f"There are no results in {str(folder)!r}; expected a folder with Parquet files as "
            "'truemix bench run' writes them."
        )
    tables: list[pa.Table] = []
    runs: list[dict[str, Any]] = []
    seen: dict[RunKey, Path] = {}
    for path in paths:
        about = _about(path)
        key = _key(about)
        if key in seen:
            raise InputError(
                f"{str(path)!r} and {str(seen[key])!r} hold the same run ({key.method} on "
                f"{key.dataset}, alpha {key.alpha:g}); expected one file per run. Delete one."
            )
        seen[key] = path
        runs.append(about)
        tables.append(_read_rows(path, about, mixes))
    bags = pa.concat_tables(tables, promote_options="default").to_pandas()
    return Results(bags, pd.DataFrame(runs))


# --- reading ----------------------------------------------------------------------------------


def _about(path: Path) -> dict[str, Any]:
    """Return the metadata of a result file, or say that it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        meta = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None
    try:
        about = json.loads(meta[META])
        if about["format"] > FORMAT:
            raise InputError(
                f"{str(path)!r} was written by a newer truemix (format {about['format']}, this "
                f"one reads {FORMAT}); update truemix."
            )
        _key(about)
        return {name: about[name] for name in about if name != "format"}
    except InputError:
        raise
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"{str(path)!r} is a Parquet file, but no result of a benchmark; expected files that "
            "'truemix bench run' wrote. Move it out of the folder."
        ) from None


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0].rstrip(".")
    return InputError(
        f"{str(path)!r} cannot be read as a result ({reason}); delete the file and run "
        "'truemix bench run' again."
    )


def _key(about: Mapping[str, Any]) -> RunKey:
    return RunKey(about["dataset"], about["method"], float(about["alpha"]))


def _read_rows(path: Path, about: Mapping[str, Any], mixes: bool) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    wanted = ("bag", *(MIXES if mixes else ()), *ERRORS, *INTERVALS)
    try:
        present = set(pq.read_schema(path).names)
        table = pq.read_table(path, columns=[n for n in wanted if n in present])
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None
    lacking = [n for n in ("bag", *ERRORS) if n not in present]
    if lacking:
        raise InputError(f"{str(path)!r} lacks the columns {lacking}; delete it and run it again.")
    if "hard" in present:
        # A column of numbers can hold that a method has no intervals; one of bools cannot.
        hard = pc.cast(table["hard"], pa.float64())
        table = table.set_column(table.column_names.index("hard"), "hard", hard)
    for place, name in enumerate(("dataset", "modality", "method", "alpha")):
        table = table.add_column(place, name, [pa.repeat(pa.scalar(about[name]), len(table))])
    return table.replace_schema_metadata(None)
