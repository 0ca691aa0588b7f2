"""``truemix summarize``: a target as summaries, small files that ``truemix estimate`` reads."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from truemix.cli import _options as options
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.cli._summarizing import Summarized
    from truemix.estimates.text import Table

# The file of each group, in a folder that is named after the group.
_FILE = "summary.npz"


@dataclass(frozen=True, kw_only=True)
class _Options(options.OutputOptions, options.TargetOptions):
    by: list[str] | None = options.option(  # noqa: RUF009
        "COLUMN",
        False,
        "Column of TARGET, or KEY of its folders, with groups: a summary of each, in the folder "
        "--out. Again for groups of several columns.",
    )
    every: str | None = options.option("PERIOD", False, options.EVERY_HELP)
    out: str = options.output_option(
        "FILE",
        False,
        "Write the summary to this file; with --by, a folder that gets COLUMN=VALUE/summary.npz "
        "for each group.",
        default=...,
    )


@options.with_options
def summarize(method: options.MethodOptions, given: _Options) -> None:
    """Summarise TARGET for a later `truemix estimate` with the same REFERENCE.

    A summary is small however large TARGET is, and summaries of days or machines can be estimated
    together. REFERENCE may also be a quantifier saved by `truemix tune`.
    """
    from truemix.cli._output import check_archive_ending, reporting, show_result
    from truemix.cli._summarizing import learn_and_summarize
    from truemix.cli._targets import open_inputs

    files = {"--out": given.out} if given.by is None else {}
    with ExitStack() as stack:
        source, targets = open_inputs(given.reference, given.targets, given.label, stack)
        progress = stack.enter_context(reporting(given, files, [given.reference, *targets.paths]))
        if given.by is not None:
            _check_folder(given.out)
        else:
            check_archive_ending("--out", given.out)
        fitted, found = learn_and_summarize(source, targets, given, method, progress)
        with progress.step("write"):
            _write(found, given.out, given.by or [])
        content = {**_content(found, targets.name, given), **fitted.columns}
        show_result(content, _records, _table, given, None)
        if given.by is not None:
            progress.show(f"Wrote {given.out}")


def _check_folder(out: str) -> None:
    """Refuse a folder that cannot be written, or with other contents, which would be read too."""
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        found = "is not empty" if folder.is_dir() else "is a file"
        raise InputError(
            f"Cannot write to {out}: it {found}; with --by, --out must name a new or an empty "
            "folder."
        )
    if not folder.absolute().parent.is_dir():
        raise InputError(f"Cannot write to {out}: {folder.parent} is no folder; make it first.")


def _write(found: Summarized, out: str, by: Sequence[str]) -> None:
    from truemix._group_order import group_order
    from truemix.report.plain import plain_name

    if not by:
        found.groups[None].save(out)
        return
    order = group_order(found.groups)
    # Beside the folder, so that it appears with all groups or not at all.
    place = Path(out).absolute()
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as part:
        # A temporary folder is for its owner only.
        whole = Path(part, place.name)
        whole.mkdir()
        for number, summary in enumerate(found.groups.values()):
            folder = whole
            for column, key in zip(by, order.parts(number), strict=True):
                value = quote(f"{plain_name(key)}", safe="")
                folder /= f"{quote(column, safe='')}={value}"
            folder.mkdir(parents=True)
            summary.save(folder / _FILE)
        if place.exists():
            place.rmdir()
        whole.rename(place)


def _content(found: Summarized, target: str, given: _Options) -> dict[str, Any]:
    from truemix._group_order import group_order
    from truemix._version import __version__
    from truemix.report.plain import plain_name

    keys, order = given.by or [], group_order(found.groups, given.every)
    summaries = [
        {
            "group": None if name is None else plain_name(name),
            "keys": [plain_name(key) for key in order.parts(place)] if keys else [],
            "n_items": summary.n_items,
            "n_rows": summary.n_rows,
            "exact": summary.exact,
        }
        for place, (name, summary) in enumerate(found.groups.items())
    ]
    return {
        "truemix": __version__,
        "target": {"name": target, "skipped_files": found.skipped},
        "by": ", ".join(keys) or None,
        "every": given.every,
        "keys": keys,
        "along": order.along if keys else None,
        "summaries": summaries,
    }


def _records(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one record for each summary."""
    return [
        {name: value for name, value in each.items() if name != "keys"}
        for each in content["summaries"]
    ]


def _table(content: dict[str, Any]) -> Table:
    from truemix.estimates.text import Table, shown_name
    from truemix.estimates.text import items as n_items
    from truemix.report.sentences import called_keys

    called = called_keys(content["keys"], content["every"], content["along"])
    summaries = content["summaries"]
    rows = [
        [
            *map(shown_name, each["keys"]),
            f"{each['n_items']:,}",
            f"{each['n_rows']:,}",
            "yes" if each["exact"] else "no",
        ]
        for each in summaries
    ]
    total = n_items(sum(each["n_items"] for each in summaries))
    header = [*map(shown_name, called), "items", "rows", "exact"]
    below = []
    if not all(each["exact"] for each in summaries):
        below.append("not exact: rows are a sample; truemix estimate allows for that")
    title = f"Summary of {total} of {content['target']['name']}"
    return Table(title, header, rows, below, left=len(called))
