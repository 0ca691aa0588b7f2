"""Libraries that truemix can do without, each in an extra: ``pip install 'truemix[plot]'``."""

from __future__ import annotations

from importlib.util import find_spec

from truemix.exceptions import MissingDependencyError

# Which extra of pyproject.toml brings what.
_EXTRAS = {
    "arviz": "arviz",
    "distributed": "dask",
    "matplotlib": "plot",
    "nutpie": "nuts",
    "pandas": "pandas",
}


def require(library: str, what: str) -> None:
    """Raise if an optional library, which ``what`` needs, is not installed.

    The library is not imported: whoever calls this does that next, or much later.

    Examples
    --------
    >>> require("pandas", "Estimate.frame()")
    """
    if find_spec(library) is None:
        raise MissingDependencyError(
            f"{what} needs {library}, which is not installed; install it with: "
            f"pip install 'truemix[{_EXTRAS[library]}]'"
        )
