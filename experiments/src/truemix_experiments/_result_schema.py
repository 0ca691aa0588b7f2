"""What a result must hold when it is written and when it is read: columns, numbers, metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._typing import AnyArray, FloatArray
from truemix_experiments.files import read_json

if TYPE_CHECKING:
    import pyarrow as pa

    from truemix_experiments.results import RunResult

META = b"truemix"
FORMAT = 3
KEY = ("dataset", "method", "alpha")
MIXES = ("truth", "prevalence")
ERRORS = ("ae", "w", "shift")
# Only methods with intervals have these.
OWN_VIEW = ("hard", "soft", "amplitude", "winkler", "width")
BATCH = ("batch_hard", "batch_soft", "batch_winkler", "batch_width")
INTERVALS = (*OWN_VIEW, *BATCH)
TRUE_OR_FALSE = ("hard", "batch_hard")
ABOUT = (
    "modality",
    "seed",
    "settings",
    "versions",
    "machine",
    "seconds",
    "n_classes",
    "train_prevalence",
)
# The types of metadata that tables and figures read.
TYPES: dict[str, type | tuple[type, ...]] = {
    "dataset": str,
    "method": str,
    "alpha": float,
    "modality": str,
    "settings": dict,
    "versions": dict,
    "seconds": (int, float),
    "n_classes": int,
    "train_prevalence": list,
}
# A thousand times what the largest experiment of the paper has; more is no result of this program.
MAX_BAGS = 1_000_000
MAX_SHARES = 10_000_000
# What a sum of shares may be off by: those of published mixes are rounded.
SUMS = {"truth": 1e-3, "prevalence": 1e-6}
# Above any rounding of errors that are computed again, far below what a flipped bit of a visible
# digit changes.
TOLERANCE = 1e-9
# In units of the column.
MAXIMA = {"soft": 1.0, "amplitude": 100.0, "width": 1.0, "batch_soft": 1.0, "batch_width": 1.0}


def checked_table(result: RunResult) -> pa.Table:
    """Return the rows with a fixed schema and the metadata, or raise for what is wrong."""
    import pyarrow as pa

    where = f"The result of {result.key.method} on {result.key.dataset}"
    rows = result.rows
    try:
        check_names(list(rows.columns))
    except ValueError as error:
        raise InputError(f"{where} {error}; see RunResult.rows.") from None
    _check_about_names(where, result.about)
    if rows.empty:
        raise InputError(f"{where} has no bags; expected at least one row.")
    names = [n for n in ("bag", *MIXES, *ERRORS, *INTERVALS) if n in rows.columns]
    schema = pa.schema([(name, _type_of(name)) for name in names])
    columns = {name: [_plain(v) for v in rows[name]] for name in names}
    try:
        table = pa.table(columns, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"{where} cannot be stored ({error}); see RunResult.rows.") from None
    about = {**_key_fields(result), "format": FORMAT, **result.about}
    try:
        text = json.dumps(about, default=_plain, allow_nan=False, ensure_ascii=False).encode()
        known = read_json(text)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{where} has metadata that are no JSON ({error}); expected numbers, text, lists and "
            "dicts."
        ) from None
    try:
        check_contents(table, known)
    except ValueError as error:
        raise InputError(f"{where} {error}.") from None
    return table.replace_schema_metadata({META: text})


def check_contents(table: pa.Table, about: Mapping[str, Any]) -> None:
    """Raise a ValueError for what no result holds: types, ranges, errors of other mixes."""
    _check_about(about)
    for name in table.column_names:
        if not table.schema.field(name).type.equals(_type_of(name)) or table[name].null_count:
            raise ValueError(f"has {name} of another type, or missing values")
    values = {name: table[name].to_numpy() for name in table.column_names if name not in MIXES}
    mixes = {name: _mixes(table, name, about["n_classes"]) for name in MIXES}
    for name, found in {**values, **mixes}.items():
        if not np.isfinite(found.astype(float)).all():
            raise ValueError(f"has {name} that is no number; expected finite numbers")
    if len(np.unique(values["bag"])) < len(table):
        raise ValueError("has the same bag twice; expected one row per bag")
    for name, found in mixes.items():
        if (found < 0).any() or (np.abs(found.sum(axis=1) - 1) > SUMS[name]).any():
            raise ValueError(f"has {name} that are no shares; expected them to add up to 1")
    _check_errors(values, mixes, np.array(about["train_prevalence"]))
    if "soft" in values:
        _check_intervals(values)


def _type_of(name: str) -> pa.DataType:
    import pyarrow as pa

    kinds = {
        "bag": pa.int64(),
        **dict.fromkeys(TRUE_OR_FALSE, pa.bool_()),
        **dict.fromkeys(MIXES, pa.list_(pa.float64())),
    }
    return kinds.get(name, pa.float64())


def _check_about(about: Mapping[str, Any]) -> None:
    for name, kind in TYPES.items():
        if not isinstance(about.get(name), kind) or isinstance(about[name], bool):
            raise ValueError(f"has {name} in its metadata that is none")
    shares, n_classes = about["train_prevalence"], about["n_classes"]
    if (
        n_classes < 2
        or len(shares) != n_classes
        or not all(isinstance(share, float) and 0 < share < 1 for share in shares)
        or abs(sum(shares) - 1) > SUMS["prevalence"]
    ):
        raise ValueError(f"has a train_prevalence that is no mix of {n_classes} classes")
    if about["seconds"] < 0:
        raise ValueError("has taken less than no time")


def _mixes(table: pa.Table, name: str, n_classes: int) -> FloatArray:
    import pyarrow.compute as pc

    lengths = set(pc.list_value_length(table[name]).to_pylist())
    if lengths != {n_classes}:
        raise ValueError(
            f"has {name} of {sorted(lengths)} shares; expected {n_classes} in each, as "
            "about['n_classes'] says"
        )
    shares: FloatArray = pc.list_flatten(table[name]).to_numpy().reshape(-1, n_classes)
    return shares


def _check_errors(
    values: Mapping[str, AnyArray], mixes: Mapping[str, FloatArray], train: FloatArray
) -> None:
    """Refuse errors that are not those of the mixes beside them."""
    off = mixes["truth"] - mixes["prevalence"]
    expected = {
        "ae": np.abs(off).mean(axis=1),
        "w": ((off / train) ** 2).mean(axis=1),
        "shift": np.abs(mixes["truth"] - train).sum(axis=1),
    }
    for name, found in expected.items():
        if not np.allclose(values[name], found, rtol=TOLERANCE, atol=TOLERANCE):
            raise ValueError(f"has {name} that is not that of the mixes")


def _check_intervals(values: Mapping[str, Any]) -> None:
    for name, maximum in MAXIMA.items():
        if (values[name] < 0).any() or (values[name] > maximum * (1 + TOLERANCE)).any():
            raise ValueError(f"has {name} outside of 0 to {maximum:g}")
    # The score adds a penalty to the width.
    for view in ("", "batch_"):
        if (values[f"{view}winkler"] < values[f"{view}width"] - TOLERANCE).any():
            raise ValueError(f"has {view}winkler below {view}width")


def check_names(columns: list[str]) -> None:
    """Raise a ValueError unless these are the columns of a result, each once."""
    missing = [name for name in ("bag", *MIXES, *ERRORS) if name not in columns]
    if any(name in columns for name in INTERVALS):
        missing += [name for name in INTERVALS if name not in columns]
    if missing:
        raise ValueError(f"lacks the columns {missing}")
    known = {"bag", *MIXES, *ERRORS, *INTERVALS}
    unknown = [name for name in columns if name not in known]
    if unknown or len(set(columns)) < len(columns):
        raise ValueError(f"has unknown columns {unknown}")


def _check_about_names(where: str, about: Mapping[str, Any]) -> None:
    missing = [name for name in ABOUT if name not in about]
    if missing:
        raise InputError(f"{where} lacks {missing} in about; see RunResult.about.")
    taken = [name for name in ("dataset", "method", "alpha", "format") if name in about]
    if taken:
        raise InputError(f"{where} has {taken} in about; these come from its key. Leave them out.")


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays as Python's."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _key_fields(result: RunResult) -> dict[str, Any]:
    key = result.key
    return {"dataset": key.dataset, "method": key.method, "alpha": float(key.alpha)}
