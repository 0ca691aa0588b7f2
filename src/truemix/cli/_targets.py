"""TARGET arguments as files: names, quoted patterns, folders, and partitions by folder names."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from truemix.cli._one_table import split_by_label
from truemix.cli.tables.source import STDIN, TABLES, Source, find_source, open_source
from truemix.exceptions import InputError

_PACKED = ".gz"


@dataclass(frozen=True)
class TargetFile:
    """One file of a target.

    Attributes
    ----------
    source : Source
        Where it is, and what messages call it.
    keys : dict
        What the folders above it say of its items: ``day=2026-01-01/part.csv`` has a day.
    is_copy : bool
        Whether it is a copy of what can be read only once, which no other machine can read.
    """

    source: Source
    keys: dict[str, str]
    is_copy: bool = False

    @property
    def n_bytes(self) -> int:
        """Size of the file; 0 if it is not there any more."""
        try:
            return self.source.path.stat().st_size
        except OSError:
            return 0


@dataclass(frozen=True)
class Targets:
    """All files of a target.

    Attributes
    ----------
    files : list of TargetFile
        In the order of the arguments; those of a folder or a pattern sorted.
    name : str
        What results call them.
    listed : bool
        Whether they were found in folders or are several, so that results say how many.
    """

    files: list[TargetFile]
    name: str
    listed: bool

    @property
    def paths(self) -> list[str]:
        """Where the files are."""
        return [str(file.source.path) for file in self.files]


def open_inputs(
    reference: str, targets: Sequence[str] | None, label: str | None, stack: ExitStack
) -> tuple[Source, Targets]:
    """Return REFERENCE and the files of TARGET; ``stack`` cleans up behind them.

    Without TARGET it is the rows of REFERENCE without a label.
    """
    if not targets:
        source, target = split_by_label(open_source(reference, stack), label)
        copied = source.path != Path(reference)
        return source, Targets([TargetFile(target, {}, is_copy=copied)], source.name, listed=False)
    if reference == STDIN and STDIN in targets:
        raise InputError("REFERENCE and TARGET are both -, but stdin can be only one of them.")
    return open_source(reference, stack), find_targets(targets, reference, stack)


def find_targets(arguments: Sequence[str], reference: str, stack: ExitStack) -> Targets:
    """Return the files that the arguments name; ``stack`` cleans up behind them.

    Parameters
    ----------
    arguments : sequence of str
        Files, patterns such as ``data/*.csv``, folders, or ``-`` for stdin.
    reference : str
        The argument REFERENCE, which must not be found among them.
    stack : ExitStack
        Removes copies of what can be read only once.
    """
    if arguments.count(STDIN) > 1:
        raise InputError("TARGET has - more than once, but stdin can be read only once.")
    files: list[TargetFile] = []
    listed = len(arguments) > 1
    for argument in arguments:
        if argument != STDIN and os.path.isdir(argument):  # noqa: PTH112
            listed = True
            inside = _in_folder(Path(argument))
            if not inside:
                raise InputError(
                    f"The folder {argument} holds no tables; expected files that end in "
                    f"{', '.join(TABLES)} (also {_PACKED}). Names that begin with . or _ are left "
                    "out."
                )
            files += _found(argument, inside, Path(argument), reference)
        elif argument != STDIN and _is_pattern(argument):
            listed = True
            files += _matching(argument, reference)
        else:
            files.append(_named(argument, stack))
    _check_distinct(files)
    name = f"{len(files):,} files"
    if len(files) == 1:
        # As if the file itself had been named.
        (only,) = files
        files = [replace(only, source=replace(only.source, name=Path(only.source.name).name))]
        name = files[0].source.name
    elif len(arguments) == 1:
        where = "like" if _is_pattern(arguments[0]) else "in"
        folder = Path(arguments[0])
        name += f" {where} {folder.name or folder.resolve().name}"
    return Targets(files, name, listed)


def _is_pattern(argument: str) -> bool:
    return glob.has_magic(argument) and not os.path.lexists(argument)


def _named(argument: str, stack: ExitStack) -> TargetFile:
    source = find_source(argument, stack)
    if argument == STDIN:
        return TargetFile(source, {}, is_copy=True)
    path = Path(argument)
    name = path.name if path.is_absolute() else argument
    return TargetFile(replace(source, name=name), _keys(path), is_copy=source.path != path)


def _matching(pattern: str, reference: str) -> list[TargetFile]:
    """Return the files that a pattern names, and those in the folders that it names."""
    # What comes before the first part with a wildcard is the same for all of them.
    fixed = Path(pattern)
    while glob.has_magic(str(fixed)):
        fixed = fixed.parent
    paths: set[Path] = set()
    for match in map(Path, glob.glob(pattern, recursive=True)):  # noqa: PTH207
        if not any(map(_is_hidden, match.relative_to(fixed).parts)):
            paths.update(_in_folder(match) if match.is_dir() else [match])
    if not paths:
        raise InputError(
            f"No file is like {pattern}; expected the pattern of some tables (CSV, TSV, JSON "
            "Lines, Parquet, Arrow or NPZ). Check it, and the folder that it begins in."
        )
    # A pattern may be about names without extensions; but if it is not, others are no tables.
    paths = {path for path in paths if _is_table(path.name)} or paths
    return _found(pattern, sorted(paths, key=lambda path: path.parts), fixed, reference)


def _found(argument: str, paths: Iterable[Path], folder: Path, reference: str) -> list[TargetFile]:
    """Return files that were not named one by one, under names that begin at ``folder``."""
    files = []
    labelled = os.path.realpath(reference) if reference != STDIN else None
    for path in paths:
        if os.path.realpath(path) == labelled:
            raise InputError(
                f"{argument} as TARGET holds {path} too, which is REFERENCE; expected other items. "
                "Move one of them to another folder."
            )
        name = Path(folder.name, path.relative_to(folder)) if path.is_absolute() else path
        files.append(TargetFile(Source(str(name), path), _keys(path)))
    return files


def _in_folder(folder: Path) -> list[Path]:
    """Return the tables in a folder and all below it; names with . or _ in front are no data."""

    def refuse(error: OSError) -> None:
        raise InputError(
            f"The folder {error.filename} cannot be read ({error.strerror or error}); check its "
            "permissions."
        )

    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [each for each in folders if not _is_hidden(each)]
        found += [Path(place, name) for name in names if not _is_hidden(name) and _is_table(name)]
    return sorted(found, key=lambda path: path.parts)


def _is_hidden(name: str) -> bool:
    # Partitions may be named after a column that begins with _.
    return name.startswith((".", "_")) and "=" not in name


def _is_table(name: str) -> bool:
    return name.lower().removesuffix(_PACKED).endswith(TABLES)


def _keys(path: Path) -> dict[str, str]:
    """Return what folders named KEY=VALUE say of a file in them."""
    pairs = (part.split("=", 1) for part in path.parent.parts if "=" in part)
    return {unquote(key): unquote(value) for key, value in pairs if key}


def _check_distinct(files: Sequence[TargetFile]) -> None:
    seen: dict[str, TargetFile] = {}
    for file in files:
        before = seen.setdefault(os.path.realpath(file.source.path), file)
        if before is not file:
            names = before.source.name, file.source.name
            both = names[0] if names[0] == names[1] else f"{names[0]} and {names[1]}, which are one"
            raise InputError(
                f"TARGET names the same file more than once: {both}. Items must not count twice; "
                "leave one of them out."
            )
