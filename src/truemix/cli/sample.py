"""``truemix sample``: which items of the target to label, and what their labels would tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from truemix.cli import _options as options
from truemix.exceptions import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from truemix.cli._work import Prepared
    from truemix.trust.item_choice import ItemChoice

_COLUMNS = ("n", "class", "width_if_holds", "width_if_fails")
_DEFAULT_N = 100


@dataclass(frozen=True, kw_only=True)
class _Options(options.IntervalOptions, options.InputOptions):
    n: int | None = options.option(
        "N", f"{_DEFAULT_N}, or what --width needs", "How many items to label.", "--n"
    )
    width: float | None = options.option(
        "W",
        False,
        "Say how many labels make intervals this narrow on average (0.05 is five percentage "
        "points), also if label shift does not hold.",
    )
    key: str | None = options.option(
        "COLUMN",
        False,
        "Column of TARGET that names its items, for truemix estimate --labelled --key.",
    )
    keep: list[str] | None = options.option(  # noqa: RUF009
        "COLUMN", False, "Column of TARGET to pass through to --out; again for another one."
    )
    out: str | None = options.output_option(
        "FILE",
        False,
        "Write the items to label, with an empty column for the labels and the probability with "
        "which each was chosen, as .csv, .tsv, .parquet, .arrow or .feather.",
    )


@options.with_options
def sample(
    method: Annotated[options.MethodOptions, options.MODEL_OPTIONS], given: _Options
) -> None:
    """Choose items of TARGET to label, and forecast how much their labels would tell.

    The items are a probability sample: each has a chance, more so where its class is unsure. Fill
    in their labels, and give the file to `truemix estimate --labelled`.
    """
    from truemix.cli._methods import level_of, seed_of
    from truemix.cli._output import reporting, show_result
    from truemix.cli._tables import forecast_table
    from truemix.cli._work import prepare
    from truemix.cli._writing import check_row_kind, write_rows

    inputs = filter(None, [given.reference, given.target])
    with reporting(given, {"--out": given.out}, inputs) as progress:
        if given.n is not None and given.n < 1:
            raise InputError(f"The option --n is {given.n}; expected at least 1 item.")
        check_row_kind(given.out, given.keep)
        level = level_of(given.level, method.method)
        prepared = prepare(given, method, progress)
        with progress.step("quantify"), prepared.scoring():
            found = prepared.quantifier.quantify(prepared.target.X)
            seed = seed_of(method)
            choice = found.batch.choose_items(found, given.n or _DEFAULT_N, seed)
            needed = None if given.width is None else choice.needed(given.width, level)
            if given.n is None and needed is not None:
                choice = found.batch.choose_items(found, needed, seed)
        if given.out is not None:
            label = given.label or "label"
            with progress.step("write"):
                write_rows(_rows(prepared, choice, label), given.out, safe_csv=given.safe_csv)
        content = _content(prepared, choice, given.width, needed, level)
        # The file of --out holds the items; the forecast is what is shown.
        show_result(content, _records, forecast_table, given, None)


def _rows(prepared: Prepared, choice: ItemChoice, label: str) -> pa.Table:
    """Return the items to label; rows of the file are counted from 1."""
    import pyarrow as pa

    kept = prepared.target.kept
    columns: dict[str, Any] = {"row": pa.array(prepared.target.row_numbers[choice.rows])}
    if kept is not None:
        chosen = kept.combine_chunks().take(pa.array(choice.rows))
        columns |= dict(zip(chosen.column_names, chosen.columns, strict=True))
    columns[label] = pa.nulls(len(choice.rows), pa.string())
    columns["inclusion"] = pa.array(choice.inclusion)
    return pa.table(columns)


def _content(
    prepared: Prepared, choice: ItemChoice, width: float | None, needed: int | None, level: float
) -> dict[str, Any]:
    from truemix._version import __version__
    from truemix.report.plain import plain, plain_name
    from truemix.trust.forecast import NUMBERS

    numbers = sorted({*NUMBERS, len(choice.rows), *([] if needed is None else [needed])})
    n_items = choice.outlook.n_items
    forecast = choice.forecast([n for n in numbers if n <= n_items], level)
    records = [
        {name: plain_name(each[name]) if name == "class" else each[name] for name in _COLUMNS}
        for each in forecast.records()
    ]
    return {
        "truemix": __version__,
        "reference": {"name": prepared.name, "n_items": prepared.n_reference},
        "target": {"name": prepared.target.name, "n_items": n_items},
        "level": level,
        "n": len(choice.rows),
        "width": width,
        "needed": needed,
        **prepared.columns,
        "forecast": plain(records),
    }


def _records(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one record for each number of labels and class."""
    records: list[dict[str, Any]] = content["forecast"]
    return records
