"""Results on disk: one Parquet file per finished run, written whole or not at all.

A run is one method on one data set at one concentration α of the bags. Its file has a row per test
bag, and what the run was (settings, versions, time) as JSON in the file's metadata, with a checksum
of everything. A file that is there and whole is finished, so that interrupted work goes on where it
stopped.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._result_schema import (
    FORMAT,
    KEY,
    MAX_BAGS,
    MAX_SHARES,
    META,
    MIXES,
    TRUE_OR_FALSE,
    check_contents,
    check_names,
    checked_table,
)
from truemix_experiments.files import PLACE, atomic_write, intact, read_json, sealed
from truemix_experiments.packed import read_packed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_LONGEST_REASON = 200


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
        (percent), ``winkler`` and ``width``, of the population; and ``batch_hard``, ``batch_soft``,
        ``batch_winkler`` and ``batch_width`` of the batch view of the same runs.
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
    metadata = {**table.schema.metadata, **PLACE}
    content = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), content, compression="zstd")
    with atomic_write(path) as file:
        file.write(sealed(content.getvalue()))
    return path


def is_done(folder: str | Path, key: RunKey) -> bool:
    """Return whether a run has an intact result; a damaged file counts as none."""
    try:
        return read_result(folder, key) is not None
    except InputError:
        return False


def read_result(folder: str | Path, key: RunKey) -> RunResult | None:
    """Return the result of a run; None if there is none, an error if its file is damaged."""
    path = result_path(folder, key)
    if not path.is_file():
        return None
    about, table = read_file(path)
    if _key(about) != key:
        return None
    about = {name: value for name, value in about.items() if name not in KEY}
    return RunResult(key, table.to_pandas(), about)


def read_results(folder: str | Path, *, mixes: bool = False) -> Results:
    """Read all results in a folder.

    Parameters
    ----------
    folder : path
        Where :func:`write_result` wrote, or the file of :func:`write_packed`.
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
    if folder.is_file() and not mixes:
        return read_packed(folder)
    # Files that begin with a dot are being written.
    found = (path for path in folder.rglob("*.parquet") if path.is_file())
    paths = sorted(path for path in found if not path.name.startswith("."))
    if not paths:
        raise InputError(
            f"There are no results in {str(folder)!r}; expected a folder with Parquet files as "
            "'truemix bench run' writes them."
        )
    tables: list[pa.Table] = []
    runs: list[dict[str, Any]] = []
    seen: dict[RunKey, Path] = {}
    for path in paths:
        about, table = read_file(path)
        key = _key(about)
        if key in seen:
            raise InputError(
                f"{str(path)!r} and {str(seen[key])!r} hold the same run ({key.method} on "
                f"{key.dataset}, alpha {key.alpha:g}); expected one file per run. Delete one."
            )
        seen[key] = path
        runs.append(about)
        tables.append(_rows(table, about, mixes))
    bags = pa.concat_tables(tables, promote_options="default").to_pandas()
    return Results(bags, pd.DataFrame(runs))


def with_missing(results: Results, others: Results) -> Results:
    """Return results with those runs of others that they lack.

    Parameters
    ----------
    results, others : Results
        Where both have a run, that of ``results`` is taken.
    """
    import pandas as pd

    known = pd.MultiIndex.from_frame(results.runs[list(KEY)])

    def joined(own: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
        lacking = ~pd.MultiIndex.from_frame(more[list(KEY)]).isin(known)
        return pd.concat([own, more[lacking]], ignore_index=True)

    return Results(joined(results.bags, others.bags), joined(results.runs, others.runs))


# --- reading ----------------------------------------------------------------------------------


def read_file(path: Path) -> tuple[dict[str, Any], pa.Table]:
    """Return the metadata and the rows of an intact result file, or raise for what is wrong."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(intact(path))) as file:
            about = _about(path, file.schema_arrow.metadata or {})
            n_bags, n_classes = file.metadata.num_rows, about["n_classes"]
            if not 0 < n_bags <= MAX_BAGS or not n_bags * n_classes <= MAX_SHARES:
                raise ValueError(f"it has {n_bags} bags of {str(n_classes)[:20]} classes")
            table = file.read()
        check_names(table.column_names)
        check_contents(table, about)
        _key(about)
    except _NoResultError as error:
        raise InputError(str(error)) from None
    # Parquet and JSON raise whatever their parts raise on bytes that are not what they should be.
    except Exception as error:
        raise _damaged(path, error) from None
    return about, table.replace_schema_metadata(None)


def _about(path: Path, metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return the metadata of a result file, or raise if it is none."""
    if META not in metadata:
        raise _NoResultError(
            f"{str(path)!r} is a Parquet file, but no result of a benchmark; expected files that "
            "'truemix bench run' wrote. Move it out of the folder."
        )
    about: dict[str, Any] = read_json(metadata[META])
    number = about.pop("format")
    if number != FORMAT:
        raise _NoResultError(
            f"{str(path)!r} has format {repr(number)[:20]}, this truemix reads format {FORMAT}; "
            "delete the file and run 'truemix bench run' again, or use the version that wrote it."
        )
    return about


def _damaged(path: Path, error: Exception) -> InputError:
    line = str(error).partition("\n")[0][:_LONGEST_REASON].rstrip(". ")
    reason = "".join(letter if letter.isprintable() else "�" for letter in line)
    return InputError(
        f"{str(path)!r} cannot be read as a result ({reason or type(error).__name__}); delete the "
        "file and run 'truemix bench run' again."
    )


def _key(about: Mapping[str, Any]) -> RunKey:
    return RunKey(*(about[name] for name in KEY))


def _rows(table: pa.Table, about: Mapping[str, Any], mixes: bool) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not mixes:
        table = table.drop_columns(list(MIXES))
    for name in TRUE_OR_FALSE:
        if name in table.column_names:
            # A column of numbers can hold that a method has no intervals; one of bools cannot.
            numbers = pc.cast(table[name], pa.float64())
            table = table.set_column(table.column_names.index(name), name, numbers)
    for place, name in enumerate(("dataset", "modality", "method", "alpha")):
        table = table.add_column(place, name, [pa.repeat(pa.scalar(about[name]), len(table))])
    return table


class _NoResultError(Exception):
    """A file that is not damaged, but not one of these results either."""
