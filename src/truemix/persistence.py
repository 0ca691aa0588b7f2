"""Save and load quantifiers as plain numbers and text: reading a file cannot run code.

A file is a NumPy archive (``.npz``, readable without truemix): the learned arrays, and a JSON
header with the kind of file, the format's version, the class of the quantifier and its parameters.
A checksum detects damage and edits. The contents are validated as untrusted input: parameters by
the rules of ``fit``, arrays for consistency with each other, and nothing may be left over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truemix import inference, models, quantifiers
from truemix._archive import UNREADABLE, ArchiveKind, damaged, read_archive, write_archive
from truemix._typing import AnyArray
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
    write_archive(path, KIND, header, quantifier.state())


def load(path: str | os.PathLike[str], *, parts: Sequence[type] = ()) -> Quantifier:
    """Read a quantifier that :func:`save` has written.

    Parameters
    ----------
    path : path
        The file.
    parts : sequence of classes
        Models and inferences of your own that the file may name: a file never decides which code
        is loaded.

    Returns
    -------
    Quantifier
        Fitted, and giving the same answers as the one that was saved.
    """
    header, arrays = read_archive(path, KIND)
    try:
        quantifier = _quantifier_of(header, {each.__name__: each for each in parts})
        _check_parameters(quantifier, header["parameters"])
        quantifier.restore(arrays)
        _check_nothing_is_left(header, quantifier.state(), arrays)
    except _UnknownQuantifierError as error:
        raise InputError(
            f"The file {os.fspath(path)!r} holds a quantifier {error.args[0]!r} that this version "
            f"of truemix ({__version__}) does not know; it was written by version "
            f"{header['version'][:40]!r}."
        ) from None
    except _UnknownPartError as error:
        raise InputError(
            f"The file {os.fspath(path)!r} holds a model or inference {error.args[0]!r} that is "
            "not one of truemix's; pass its class as parts=[...]."
        ) from None
    except UNREADABLE as error:
        raise damaged(path, KIND, error) from None
    return quantifier


def _check_parameters(quantifier: Quantifier, given: dict[str, Any]) -> None:
    """Raise for parameters that :func:`save` would not have written in this form."""
    if quantifier.classifier is not None:
        raise InputError("it names a classifier")
    if _plain_parameters(quantifier) != given:
        raise InputError("its parameters are not all those of the quantifier")


def _check_nothing_is_left(
    header: Mapping[str, Any], used: Mapping[str, AnyArray], found: Mapping[str, AnyArray]
) -> None:
    """Raise unless saving the loaded quantifier would reproduce the contents of the file."""
    for name in {*header, *used, *found} - {"version", "quantifier", "parameters"}:
        if name not in used or name not in found:
            raise InputError(f"it holds {name[:40]}, which does not belong there, or lacks it")
        if found[name].dtype.kind != used[name].dtype.kind or not np.array_equal(
            found[name], used[name]
        ):
            raise InputError(f"{name} does not fit the parameters")


def _plain_parameters(quantifier: Any) -> dict[str, Any]:
    """Return the parameters as JSON can hold them; without a classifier ``cv`` has no meaning."""
    plain = {}
    if not hasattr(quantifier, "get_params"):
        raise InputError(
            f"The parameters of a {type(quantifier).__name__} are not known, so it cannot be "
            "saved; let it inherit from sklearn.base.BaseEstimator."
        )
    for name, value in quantifier.get_params(deep=False).items():
        try:
            plain[name] = _to_plain(value)
        except TypeError:
            if name != "cv":
                raise InputError(
                    f"The {name!r} parameter of this {type(quantifier).__name__} is a "
                    f"{type(value).__name__}, which cannot be saved; expected text or numbers."
                ) from None
            plain[name] = type(quantifier)().cv
    return plain


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    if isinstance(value, Mapping):
        # As pairs, because a key of JSON is always text and a class may be a number.
        return {"mapping": [[_to_plain(key), _to_plain(item)] for key, item in value.items()]}
    if isinstance(value, Quantifier):
        return {"quantifier": type(value).__name__, "parameters": _plain_parameters(value)}
    if hasattr(value, "infer") or hasattr(value, "fit"):
        return {"part": type(value).__name__, "parameters": _plain_parameters(value)}
    raise TypeError


def _from_plain(value: Any, own: Mapping[str, type]) -> Any:
    if isinstance(value, list):
        return [_from_plain(item, own) for item in value]
    if isinstance(value, dict) and "mapping" in value:
        return {key: _from_plain(item, own) for key, item in value["mapping"]}
    if isinstance(value, dict) and "part" in value:
        return _part_of(value, own)
    if isinstance(value, dict):
        return _quantifier_of(value, own)
    return value


def _part_of(header: dict[str, Any], own: Mapping[str, type]) -> Any:
    """Return the unfitted model or inference that a header describes."""
    name = str(header["part"])
    kind = own.get(name)
    for package in (models, inference):
        if kind is None and name in package.__all__:
            kind = getattr(package, name)
    if not isinstance(kind, type):
        raise _UnknownPartError(name[:40])
    return kind(**{key: _from_plain(value, own) for key, value in header["parameters"].items()})


def _quantifier_of(header: dict[str, Any], own: Mapping[str, type]) -> Quantifier:
    """Return the unfitted quantifier that a header describes."""
    name = header["quantifier"]
    kind = getattr(quantifiers, name, None) if name in quantifiers.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, Quantifier)):
        raise _UnknownQuantifierError(str(name)[:40])
    return kind(**{key: _from_plain(value, own) for key, value in header["parameters"].items()})


class _UnknownQuantifierError(LookupError):
    """The name in a file is not that of a quantifier."""


class _UnknownPartError(LookupError):
    """The name in a file is not that of a model or an inference."""
