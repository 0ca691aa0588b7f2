"""Libraries that others import and that commands rarely need, loaded on first use.

scikit-learn imports ``scipy.stats`` for a few of its functions. It takes a quarter of the time of
all imports, so a command that never asks it for anything should not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

RARELY_NEEDED = ("scipy.stats",)


class _OnFirstUse:
    """Finds some modules so that they are loaded when an attribute of theirs is asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._names:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def loaded_on_first_use(names: Sequence[str] = RARELY_NEEDED) -> Iterator[None]:
    """Let imports inside the block put off the loading of these modules.

    Afterwards modules are imported as usual; those that were put off are loaded by the first use
    of an attribute.
    """
    finder = _OnFirstUse(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
