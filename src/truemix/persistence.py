"""Save and load quantifiers as plain numbers and text: reading a file cannot run code.

A file is a NumPy archive (``.npz``, readable without truemix): the learned arrays, and a JSON
header with the kind of file, the format's version, the class of the quantifier and its parameters.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from truemix import quantifiers
from truemix._archive import ArchiveKind, damaged, read_archive, write_archive
from truemix._version import __version__
from truemix.exceptions import InputError
from truemix.quantifiers.base import NotFittedError, Quantifier

KIND = ArchiveKind("quantifier", "truemix.save")


def save(quantifier: Quantifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted quantifier to a file.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted on posteriors (``classifier=None``). A classifier belongs in a file of its own, in
        its library's format.
    path : path
        The file to write, any name; it appears whole or not at all.

    Examples
    --------
    >>> import tempfile, os, truemix
    >>> quantifier = truemix.PCC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "spam.npz")
    ...     truemix.save(quantifier, path)
    ...     truemix.load(path).predict([[0.5, 0.5]])
    array([0.5, 0.5])
    """
    if not isinstance(quantifier, Quantifier):
        raise InputError(
            f"Only truemix quantifiers can be saved; got an object of type "
            f"{type(quantifier).__name__!r}."
        )
    name = type(quantifier).__name__
    if not hasattr(quantifier, "classes_"):
        raise NotFittedError(f"This {name} is not fitted yet; there is nothing to save.")
    if quantifier.classifier is not None:
        raise InputError(
            f"This {name} was fitted with a classifier, which cannot be saved without running "
            "code on loading; save the classifier with its own library and fit the quantifier on "
            "its posteriors (classifier=None)."
        )
    header = {"quantifier": name, "parameters": _plain_parameters(quantifier)}
    write_archive(path, KIND, header, quantifier._state())


def load(path: str | os.PathLike[str]) -> Quantifier:
    """Read a quantifier that :func:`save` has written.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Quantifier
        Fitted, and giving the same answers as the one that was saved.
    """
    header, arrays = read_archive(path, KIND)
    kind = getattr(quantifiers, str(header.get("quantifier")), None)
    if not (isinstance(kind, type) and issubclass(kind, Quantifier)):
        raise InputError(
            f"The file {os.fspath(path)!r} holds a quantifier {header.get('quantifier')!r} that "
            f"this version of truemix ({__version__}) does not know; it was written by version "
            f"{header.get('version')!r}."
        )
    try:
        quantifier = kind(**header["parameters"])
        quantifier._restore(arrays)
    except (LookupError, TypeError, ValueError) as error:
        raise damaged(path, KIND, error) from None
    return quantifier


def _plain_parameters(quantifier: Quantifier) -> dict[str, Any]:
    """Return the parameters that text can hold; without a classifier ``cv`` has no meaning."""
    plain = {}
    for name, given in quantifier.get_params(deep=False).items():
        value = given.item() if isinstance(given, np.generic) else given
        if value is None or isinstance(value, str | int | float | bool):
            plain[name] = value
        elif name != "cv":
            raise InputError(
                f"The {name!r} parameter of this {type(quantifier).__name__} is a "
                f"{type(value).__name__}, which cannot be saved; expected text or a number."
            )
    return plain
