"""The compiled core: the best of its builds that this processor can run.

The same C++ source (``src/core``) is compiled once per instruction set. The environment variable
``TRUEMIX_INSTRUCTIONS`` (``baseline``, ``avx2`` or ``avx512``) forces one of them.
"""

import os
from importlib import import_module
from types import ModuleType

from truemix.exceptions import InputError

VARIABLE = "TRUEMIX_INSTRUCTIONS"


def _choose() -> ModuleType:
    baseline = import_module("truemix._core._baseline")
    supported: list[str] = baseline.supported_instructions()
    asked = os.environ.get(VARIABLE) or supported[0]
    if asked not in supported:
        raise InputError(
            f"The environment variable {VARIABLE} is {asked!r:.40}; this processor can run "
            f"{' or '.join(supported)}."
        )
    return baseline if asked == "baseline" else import_module(f"truemix._core._{asked}")


_chosen = _choose()
globals().update(
    {name: value for name, value in vars(_chosen).items() if not name.startswith("__")}
)
