"""The true mix of classes in an unlabelled batch, and how sure we are.

Names are loaded when they are first used: ``import truemix`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truemix._version import __version__

if TYPE_CHECKING:
    from truemix import (
        calibration,
        checks,
        densities,
        groups,
        inference,
        metrics,
        models,
        protocols,
        selection,
        simplex,
    )
    from truemix._progress import show_progress
    from truemix._threads import limit_threads
    from truemix.estimates import Estimate, EstimateSet
    from truemix.evaluation import evaluate
    from truemix.exceptions import InputError, InputNote
    from truemix.persistence import load, save
    from truemix.quantifiers import (
        ACC,
        CC,
        EMQ,
        PACC,
        PCC,
        PQ,
        BayesianACC,
        BayesianEMQ,
        BayesianKDEy,
        Bootstrap,
        KDEy,
        MixtureQuantifier,
        NotFittedError,
    )
    from truemix.summaries import Summary
    from truemix.trust.backtesting import backtest

__all__ = [
    "ACC",
    "CC",
    "EMQ",
    "PACC",
    "PCC",
    "PQ",
    "BayesianACC",
    "BayesianEMQ",
    "BayesianKDEy",
    "Bootstrap",
    "Estimate",
    "EstimateSet",
    "InputError",
    "InputNote",
    "KDEy",
    "MixtureQuantifier",
    "NotFittedError",
    "Summary",
    "__version__",
    "backtest",
    "calibration",
    "checks",
    "densities",
    "evaluate",
    "groups",
    "inference",
    "limit_threads",
    "load",
    "metrics",
    "models",
    "protocols",
    "save",
    "selection",
    "show_progress",
    "simplex",
]

# Where names that are not modules themselves come from; the rest are quantifiers.
_HOME = {
    "Estimate": "truemix.estimates",
    "EstimateSet": "truemix.estimates",
    "InputError": "truemix.exceptions",
    "InputNote": "truemix.exceptions",
    "limit_threads": "truemix._threads",
    "show_progress": "truemix._progress",
    "evaluate": "truemix.evaluation",
    "load": "truemix.persistence",
    "save": "truemix.persistence",
    "Summary": "truemix.summaries",
    "backtest": "truemix.trust.backtesting",
}
_MODULES = {
    "calibration",
    "checks",
    "densities",
    "groups",
    "inference",
    "metrics",
    "models",
    "protocols",
    "selection",
    "simplex",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise _missing(name)
    if name in _MODULES:
        value = import_module(f"truemix.{name}")
    else:
        value = getattr(import_module(_HOME.get(name, "truemix.quantifiers")), name)
    globals()[name] = value
    return value


def _missing(name: str) -> Exception:
    """Return the error about a name that is not here; of known methods it names the nearest."""
    import inspect

    from truemix._method_names import about_method

    about = None if name.startswith("_") else about_method(name)
    if about is None:
        return AttributeError(f"module 'truemix' has no attribute {name!r}")
    # `from truemix import HDy` replaces an AttributeError by a sentence of its own.
    asked_by = inspect.stack(0)[2].frame.f_globals.get("__name__", "")
    kind = ImportError if "importlib" in asked_by else AttributeError
    return kind(f"{about[0]}: use truemix.{about[1]}.")


def __dir__() -> list[str]:
    return sorted(__all__)
