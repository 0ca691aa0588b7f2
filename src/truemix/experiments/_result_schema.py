"""What a result must hold before it is written: the columns, their types and the metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix.exceptions import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from truemix.experiments.results import RunResult

META = b"truemix"
FORMAT = 1
MIXES = ("truth", "prevalence")
ERRORS = ("ae", "w", "shift")
# Only methods with intervals have these.
INTERVALS = ("hard", "soft", "amplitude", "winkler", "width")
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


def checked_table(result: RunResult) -> pa.Table:
    """Return the rows with a fixed schema and the metadata, or say what is wrong with them."""
    import pyarrow as pa

    where = f"The result of {result.key.method} on {result.key.dataset}"
    rows = result.rows
    _check_names(where, list(rows.columns), result.about)
    if rows.empty:
        raise InputError(f"{where} has no bags; expected at least one row.")
    kinds = {"bag": pa.int64(), "hard": pa.bool_()} | dict.fromkeys(MIXES, pa.list_(pa.float64()))
    names = [n for n in ("bag", *MIXES, *ERRORS, *INTERVALS) if n in rows.columns]
    schema = pa.schema([(n, kinds.get(n, pa.float64())) for n in names])
    columns = {name: [_plain(v) for v in rows[name]] for name in names}
    try:
        table = pa.table(columns, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"{where} cannot be stored ({error}); see RunResult.rows.") from None
    _check_numbers(where, table, int(result.about["n_classes"]))
    about = {**_key_fields(result), "format": FORMAT, **result.about}
    try:
        text = json.dumps(about, default=_plain, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{where} has metadata that are no JSON ({error}); expected numbers, text, lists and "
            "dicts."
        ) from None
    return table.replace_schema_metadata({META: text.encode()})


def _check_names(where: str, columns: list[str], about: Mapping[str, Any]) -> None:
    missing = [name for name in ("bag", *MIXES, *ERRORS) if name not in columns]
    if any(name in columns for name in INTERVALS):
        missing += [name for name in INTERVALS if name not in columns]
    if missing:
        raise InputError(f"{where} lacks the columns {missing}; see RunResult.rows.")
    known = {"bag", *MIXES, *ERRORS, *INTERVALS}
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise InputError(f"{where} has unknown columns {unknown}; see RunResult.rows.")
    missing = [name for name in ABOUT if name not in about]
    if missing:
        raise InputError(f"{where} lacks {missing} in about; see RunResult.about.")
    taken = [name for name in ("dataset", "method", "alpha", "format") if name in about]
    if taken:
        raise InputError(f"{where} has {taken} in about; these come from its key. Leave them out.")


def _check_numbers(where: str, table: pa.Table, n_classes: int) -> None:
    import pyarrow.compute as pc

    for name in table.column_names:
        column = table[name]
        if name in MIXES:
            lengths = set(pc.list_value_length(column).to_pylist())
            if lengths != {n_classes}:
                raise InputError(
                    f"{where} has {name} of {sorted(lengths, key=str)} shares; expected "
                    f"{n_classes} in each, as about['n_classes'] says."
                )
            column = pc.list_flatten(column)
        if not np.isfinite(column.to_numpy().astype(float)).all():
            raise InputError(f"{where} has {name} that is no number; expected finite numbers.")
    if len(set(table["bag"].to_pylist())) < len(table):
        raise InputError(f"{where} has the same bag twice; expected one row per bag.")


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays as Python's."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _key_fields(result: RunResult) -> dict[str, Any]:
    key = result.key
    return {"dataset": key.dataset, "method": key.method, "alpha": float(key.alpha)}
