"""All results of a folder in one small file, from which tables and figures are made again.

It holds what these need: of each bag its shift and the error of each method (the AE, and at α = 1
the W, to about four digits), of intervals their means over the bags of a run, and what each run
was. Estimated and true mixes are left out; most of the size of results is theirs.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._result_schema import INTERVALS, KEY
from truemix_experiments._typing import FloatArray
from truemix_experiments.files import PLACE, atomic_write, intact, read_json, sealed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from truemix_experiments.results import Results

FORMAT = 1
META = b"truemix packed results"
# Bits of the mantissa that are kept: errors are right to 1 part in 8,000.
BITS = 12
# Of these each bag has its own number, of all others the mean over the bags of its run.
ROUNDED = ("ae", "w", "shift")
# Where the W of each bag is needed: for tests between methods.
EACH_W = 1.0
# What a run needs beside, and what is the same for all of them.
LEFT_OUT = ("protocol", "fingerprint")


def write_packed(results: Results, path: str | Path) -> Path:
    """Write results to one file.

    Parameters
    ----------
    results : Results
        As :func:`truemix_experiments.results.read_results` returns them.
    path : path
        A file; one that is there is replaced.
    """
    import pyarrow.parquet as pq

    table = _table(results)
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", compression_level=19)
    path = Path(path)
    with atomic_write(path) as file:
        file.write(sealed(content.getvalue()))
    return path


def read_packed(path: Path) -> Results:
    """Return what :func:`write_packed` wrote."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from truemix_experiments.results import Results

    try:
        table = pq.read_table(pa.BufferReader(intact(path)))
        if (table.schema.metadata or {}).get(META) != str(FORMAT).encode():
            raise ValueError("it holds no packed results of this version")
        runs = [read_json(text.encode()) for text in table["about"].drop_null().to_pylist()]
        bags = _with_means(table.drop_columns(["about"]).to_pandas(), runs)
        return Results(bags, pd.DataFrame([_without_means(run) for run in runs]))
    # Parquet and JSON raise whatever their parts raise on bytes that are not what they should be.
    except Exception as error:
        reason = str(error).partition("\n")[0][:200].rstrip(". ")
        raise InputError(
            f"{str(path)!r} cannot be read as packed results ({reason or type(error).__name__}); "
            "expected a file that 'truemix bench pack' of this version wrote."
        ) from None


def rounded(values: FloatArray) -> FloatArray:
    """Return numbers with a mantissa of a few bits, which take less space.

    Examples
    --------
    >>> rounded(np.array([0.0123456, 0.0]))
    array([0.01234436, 0.        ])
    """
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, BITS)), exponent - BITS))


def _table(results: Results) -> pa.Table:
    import pyarrow as pa

    bags = results.bags.sort_values([*KEY, "bag"], kind="stable", ignore_index=True)
    first = ~bags.duplicated(list(KEY))
    numbers = first.cumsum().to_numpy() - 1
    means = _means(bags, numbers)
    kept = bags[["dataset", "modality", "method", "alpha", "bag", *ROUNDED]].copy()
    for name in ROUNDED:
        kept[name] = rounded(kept[name].to_numpy())
    elsewhere = kept["alpha"] != EACH_W
    kept.loc[elsewhere, "w"] = rounded(means["w"].to_numpy())[numbers[elsewhere]]
    known = results.runs.set_index(list(KEY))
    texts = np.full(len(kept), None, dtype=object)
    rows = kept.index[first]
    for number, row in enumerate(rows):
        key = tuple(kept.loc[row, list(KEY)])
        about = {str(name): value for name, value in known.loc[key].items() if _is_there(value)}
        # So many digits that the mean of equal numbers is that number.
        own = {str(name): float(f"{value:.12g}") for name, value in means.iloc[number].items()}
        own = {name: value for name, value in own.items() if name != "w" and np.isfinite(value)}
        texts[row] = _text(key, about, own)
    # Bag by bag, so that what all methods share is written once.
    kept["about"] = texts
    kept = kept.sort_values(["dataset", "alpha", "bag", "method"], kind="stable")
    table = pa.Table.from_pandas(kept, preserve_index=False)
    for name in (*ROUNDED, "alpha"):
        place = table.column_names.index(name)
        kind = pa.float64() if name in {"alpha", "w"} else pa.float32()
        table = table.set_column(place, name, table[name].cast(kind))
    for name in ("dataset", "modality", "method"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(pa.string()))
    return table.replace_schema_metadata({META: str(FORMAT).encode(), **PLACE})


def _means(bags: pd.DataFrame, numbers: Any) -> pd.DataFrame:
    names = [name for name in ("w", *INTERVALS) if name in bags]
    return bags[names].astype("float64").groupby(numbers).mean()


def _is_there(value: Any) -> bool:
    # What another run has said of itself is NaN here.
    return not (isinstance(value, float) and np.isnan(value))


def _text(key: Sequence[Any], about: dict[str, Any], means: dict[str, float]) -> str:
    own = {name: value for name, value in about.items() if name not in LEFT_OUT}
    own |= dict(zip(KEY, key, strict=True))
    own["means"] = means
    return json.dumps(own, allow_nan=False, ensure_ascii=False, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _with_means(bags: pd.DataFrame, runs: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the bags with the means of their run in place of numbers that were left out."""
    import pandas as pd

    found = pd.DataFrame([{**{k: run[k] for k in KEY}, **run["means"]} for run in runs])
    columns = [name for name in INTERVALS if name in found]
    bags = bags.astype(dict.fromkeys(ROUNDED, "float64"))
    return bags.merge(found[[*KEY, *columns]], on=list(KEY), how="left", validate="many_to_one")


def _without_means(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name != "means"}
