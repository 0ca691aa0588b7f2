"""The true mix of classes in an unlabelled batch, and how sure we are.

Names are loaded when they are first used: ``import truemix`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truemix._version import __version__

if TYPE_CHECKING:
    from truemix import calibration, densities, inference, metrics, protocols, simplex
    from truemix.estimate import Estimate, EstimateSet
    from truemix.exceptions import InputError, InputNote
    from truemix.persistence import load, save
    from truemix.quantifiers import ACC, CC, EMQ, PCC, KDEy, NotFittedError

__all__ = [
    "ACC",
    "CC",
    "EMQ",
    "PCC",
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
    "load",
    "metrics",
    "protocols",
    "save",
    "simplex",
]

_HOME = {
    "ACC": "truemix.quantifiers",
    "CC": "truemix.quantifiers",
    "EMQ": "truemix.quantifiers",
    "PCC": "truemix.quantifiers",
    "load": "truemix.persistence",
    "save": "truemix.persistence",
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
