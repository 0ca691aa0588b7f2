"""``truemix demo``: example files, and the commands to run on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_FOLDER = "truemix-demo"


def demo(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Where to write the files.")
    ] = _FOLDER,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files of these names that hold something else.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only write the files.")] = False,
) -> None:
    """Write example files, and show the commands to run on them.

    The example: support tickets of twelve weeks, sorted by a classifier that is often wrong.
    """
    from truemix._escaping import visible
    from truemix._files import atomic_write
    from truemix.cli._example import example_files

    files = {Path(folder) / name: content for name, content in example_files().items()}
    _check_free(Path(folder), files, force=force)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        with atomic_write(path) as file:
            file.write(content)
    if not quiet:
        typer.echo(visible(_words(folder), lines=True))


def _check_free(folder: Path, files: dict[Path, bytes], *, force: bool) -> None:
    from truemix.exceptions import InputError

    existing = next(each for each in [folder, *folder.parents] if each.exists())
    if not existing.is_dir():
        raise InputError(f"Cannot write to {folder}: {existing} is a file; choose another folder.")
    for path, content in files.items():
        if path.exists() and not force and (path.is_dir() or path.read_bytes() != content):
            raise InputError(
                f"There is already another {path}; choose another folder, or use --force to "
                "replace it."
            )


def _words(folder: str) -> str:
    import shlex

    enter = "" if folder == "." else f"  cd {shlex.quote(folder)}\n"
    return f"""\
Wrote to {folder}:
  reference.csv  1,000 labelled tickets: their topic, and a classifier's posterior for each topic
  target.csv     the tickets of twelve weeks: posteriors only
  truth.csv      their true mix, week by week, to compare with

Try:
{enter}  truemix estimate reference.csv target.csv --label topic
  truemix estimate reference.csv target.csv --label topic --by week --report report.html
  truemix check reference.csv target.csv --label topic --by week
  truemix tune reference.csv --label topic --out tuned.npz
  truemix estimate tuned.npz target.csv --by week --format csv --out weeks.csv
  truemix adapt reference.csv target.csv --label topic --keep ticket --out adapted.csv"""
