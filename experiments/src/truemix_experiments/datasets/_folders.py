"""Where files of a data set are looked for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from truemix.exceptions import InputError


def check_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return a folder that exists, or None if none was given."""
    if folder is None:
        return None
    path = Path(folder)
    if not path.is_dir():
        raise InputError(
            f"There is no folder {str(path)!r}; expected the folder that holds the data sets."
        )
    return path


def first_file(folder: Path | None, inside: Iterable[str], names: Iterable[str]) -> Path | None:
    """Return the first file of any of these names in the folder or a folder inside it."""
    if folder is None:
        return None
    places = [folder, *(folder / name for name in inside)]
    candidates = (place / name for place in places for name in names)
    return next((path for path in candidates if path.is_file()), None)


def default_cache() -> Path:
    """Return where downloads are kept unless a folder is given."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "truemix" / "datasets"
