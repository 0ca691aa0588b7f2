"""``truemix check``: whether the target looks like a mix of the reference classes at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truemix.cli import _options as options

if TYPE_CHECKING:
    from truemix.checks import ShiftCheck
    from truemix.cli._work import Prepared

_COLUMNS = (
    "passed", "p_value", "adjusted_p_value", "n_items", "n_unusual", "unknown_share", "shift",
    "detectable", "explanation",
)  # fmt: skip
_DENSITY_OPTIONS = frozenset({"kernel", "bandwidth", "shrinkage", "seed"})


def _refuse_level(value: str | None) -> None:
    """Refuse an option that means something else in other commands, and name the right one."""
    if value is not None:
        raise typer.BadParameter(
            "a check has no intervals; how often it may fail although nothing is wrong is "
            "--significance."
        )


@dataclass(frozen=True, kw_only=True)
class _Options(options.OutputOptions, options.InputOptions):
    by: list[str] | None = options.option(  # noqa: RUF009
        "COLUMN",
        False,
        "Column of TARGET with groups, such as weeks: each is checked by itself, with p-values "
        "adjusted for their number. Again for groups of several columns.",
    )
    every: str | None = options.option("PERIOD", False, options.EVERY_HELP)
    significance: float = options.method_option(
        "P",
        True,
        "Significance level: how often the check may fail although label shift holds.",
        default=0.05,
    )
    level: str | None = options.option(
        None, True, "See --significance.", hidden=True, callback=_refuse_level
    )
    items: str | None = options.output_option(
        "FILE.csv", False, "Write all items of TARGET, the most unusual first."
    )


@options.with_options
def check(method: Annotated[options.MethodOptions, _DENSITY_OPTIONS], given: _Options) -> None:
    """Check whether TARGET looks like a mix of the classes in REFERENCE at all.

    Every estimate assumes that items of a class look as they do in REFERENCE. New classes, other
    inputs or another model break that; the exit code is then 3. REFERENCE may also be a quantifier
    saved by `truemix tune`.
    """
    from truemix.cli._methods import seed_of
    from truemix.cli._output import (
        A_DIAGNOSTIC_FAILED,
        check_ending,
        check_result_ending,
        reporting,
        show_result,
        write,
    )
    from truemix.cli._tables import check_table, group_check_table
    from truemix.cli._work import prepare
    from truemix.report.csv_text import as_csv
    from truemix.validation import check_number

    files = {"--out": given.out, "--items": given.items}
    with reporting(given, files, filter(None, [given.reference, given.target])) as progress:
        check_result_ending("--out", given.out, given)
        check_ending("--items", given.items, (".csv",))
        check_number(given.significance, "significance")
        prepared = prepare(given, method, progress)
        with progress.step("check"), prepared.scoring():
            checks = _checks(prepared, given.significance, seed_of(method))
        content = _content(prepared, checks, given)
        if given.items is not None:
            with progress.step("write items"):
                write(as_csv(_items(prepared, checks), safe=given.safe_csv), given.items)
        table = check_table if given.by is None else group_check_table
        show_result(content, _records, table, given, given.out)
    if not content["passed"]:
        raise typer.Exit(A_DIAGNOSTIC_FAILED)


def _checks(prepared: Prepared, significance: float, seed: int) -> dict[Any, ShiftCheck]:
    """Return the check of each group, by its name; without groups that of all, by None."""
    from truemix.checks import label_shift, label_shift_by

    quantifier, target = prepared.quantifier, prepared.target
    if target.groups is None:
        return {None: label_shift(quantifier, target.X, level=significance, random_state=seed)}
    names, codes = target.groups
    found = label_shift_by(quantifier, target.X, codes, level=significance, random_state=seed)
    return {names[code]: each for code, each in found.items()}


def _content(prepared: Prepared, checks: dict[Any, ShiftCheck], given: _Options) -> dict[str, Any]:
    from truemix._group_order import group_order
    from truemix._version import __version__
    from truemix.report.plain import plain, plain_name

    order = group_order(checks, given.every)
    keys = given.by or []
    groups = [
        {
            "group": None if name is None else plain_name(name),
            "keys": [plain_name(key) for key in order.parts(place)] if keys else [],
            **plain(each.summary()),
        }
        for place, (name, each) in enumerate(checks.items())
    ]
    n_items = sum(group["n_items"] for group in groups)
    return {
        "truemix": __version__,
        "check": "label_shift",
        "significance": given.significance,
        "passed": all(group["passed"] for group in groups),
        "reference": {"name": prepared.name, "n_items": prepared.n_reference},
        "target": {"name": prepared.target.name, "n_items": n_items},
        **prepared.columns,
        "by": ", ".join(keys) or None,
        "every": given.every,
        "keys": keys,
        "along": order.along if keys else None,
        "groups": groups,
    }


def _items(prepared: Prepared, checks: dict[Any, ShiftCheck]) -> list[dict[str, Any]]:
    """Return a record per item, the most unusual first; rows of the file are counted from 1."""
    import numpy as np

    from truemix.report.plain import plain_name

    groups = prepared.target.groups
    records, numbers = [], prepared.target.row_numbers
    for code, (name, each) in enumerate(checks.items()):
        places = None if groups is None else np.flatnonzero(np.asarray(groups.codes) == code)
        columns = [column.tolist() for column in each.item_columns().values()]
        for item, p_value, resembles, unusual in zip(*columns, strict=True):
            records.append(
                {
                    **({} if groups is None else {"group": plain_name(name)}),
                    "row": int(numbers[item if places is None else places[item]]),
                    "p_value": p_value,
                    "resembles": resembles,
                    "unusual": unusual,
                }
            )
    return sorted(records, key=lambda record: record["p_value"])


def _records(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one record for each group."""
    from truemix._group_order import key_columns

    told = key_columns(content["keys"], len(content["keys"]), _COLUMNS)
    return [
        {
            **dict(zip(told, group["keys"], strict=True)),
            **{name: group[name] for name in _COLUMNS},
        }
        for group in content["groups"]
    ]
