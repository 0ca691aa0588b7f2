"""The true mix of classes in an unlabelled batch, and how sure we are.

Names are loaded when they are first used: ``import truemix`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truemix._version import __version__

if TYPE_CHECKING:
    from truemix import calibration, densities, inference, simplex
    from truemix.estimate import Estimate, EstimateSet
    from truemix.exceptions import InputError, InputNote
    from truemix.quantifiers import KDEy, NotFittedError

__all__ = [
    "Estimate",
    "EstimateSet",
    "InputError",
    "InputNote",
    "KDEy",
    "NotFittedError",
    "__version__",
    "calibration",
    "densities",
    "inference",
    "simplex",
]

_HOME = {
    "Estimate": "truemix.estimate",
    "EstimateSet": "truemix.estimate",
    "InputError": "truemix.exceptions",
    "InputNote": "truemix.exceptions",
    "KDEy": "truemix.quantifiers",
    "NotFittedError": "truemix.quantifiers",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in __all__:
        value = import_module(f"truemix.{name}")
    else:
        raise AttributeError(f"module 'truemix' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
