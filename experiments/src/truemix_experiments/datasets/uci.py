"""Sets of the UCI repository: from a folder, from the cache, or downloaded into the cache."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from truemix.exceptions import InputError
from truemix.validation import check_labels, check_same_length
from truemix_experiments import kept_arrays
from truemix_experiments._typing import AnyArray, FloatArray
from truemix_experiments.datasets._arrays import check_codes, check_numbers
from truemix_experiments.datasets._folders import default_cache, first_file
from truemix_experiments.datasets.catalogue import DatasetInfo, Uci
from truemix_experiments.datasets.data import Data, DatasetUnavailable
from truemix_experiments.datasets.splitting import split_table
from truemix_experiments.files import read_npz


def find(info: DatasetInfo, folder: Path | None, cache: Path | None, download: bool) -> str:
    """Return where the set comes from, or raise with the reason why it is not available."""
    path = _in_folder(info, folder)
    if path is not None:
        return str(path)
    cached = _cached(info, cache)
    if cached.is_file():
        return str(cached)
    if not download:
        looked = f"there is no {info.name}.npz in {str(folder)!r}" if folder else "no folder given"
        raise DatasetUnavailable(
            f"The data set {info.name!r} is not here ({looked}, nothing in the cache "
            f"{str(cached.parent)!r}); give a folder with {info.name}.npz (arrays X and y), or "
            "allow the download."
        )
    if importlib.util.find_spec("ucimlrepo") is None:
        raise _package_missing(info)
    return f"download of UCI set {_number(info)}"


def load(info: DatasetInfo, folder: Path | None, cache: Path | None, download: bool) -> Data:
    """Return the set, split and standardised as in the paper."""
    path = _in_folder(info, folder)
    if path is not None:
        arrays = read_npz(path, ("X", "y"))
    else:
        path = _cached(info, cache)
        if not path.is_file():
            find(info, folder, cache, download)
            kept_arrays.write(path, download_set(info))
        arrays = kept_arrays.read(path, ("X", "y", "classes"))
    return split_table(info, *_table(arrays, str(path)))


def _table(arrays: dict[str, AnyArray], path: str) -> tuple[FloatArray, Any, AnyArray]:
    """Return features, class numbers and class names."""
    X = check_numbers(arrays["X"], f"X in {path!r}")
    name = f"y in {path!r}"
    if "classes" in arrays:
        classes = check_labels(arrays["classes"], f"classes in {path!r}")
        return X, check_codes(arrays["y"], len(X), len(classes), name), classes
    labels = check_labels(arrays["y"], name)
    check_same_length(len(X), labels, f"X in {path!r}", "y")
    classes, codes = np.unique(labels, return_inverse=True)
    return X, codes, classes


def download_set(info: DatasetInfo) -> dict[str, AnyArray]:
    """Fetch a set by its number and return it as it is cached: X, y and the class names."""
    try:
        fetch = importlib.import_module("ucimlrepo").fetch_ucirepo
    except ImportError:
        raise _package_missing(info) from None
    number = _number(info)
    try:
        data = fetch(id=number).data
    # Without a network the package raises whatever its tools raise; all of it means the same.
    except Exception as error:
        raise DatasetUnavailable(
            f"The data set {info.name!r} (UCI number {number}) could not be downloaded ({error}); "
            f"check the network, or give a folder with {info.name}.npz (arrays X and y)."
        ) from None
    if data.features is None or data.targets is None or data.targets.shape[1] != 1:
        raise InputError(
            f"The download of {info.name!r} (UCI number {number}) has no features or not exactly "
            "one target; expected a classification problem."
        )
    labels = data.targets.iloc[:, 0].to_numpy()
    classes, codes = np.unique(check_labels(labels, f"target of {info.name}"), return_inverse=True)
    X = check_numbers(encode_features(data.features), f"features of {info.name}")
    return {"X": X, "y": codes, "classes": classes}


def encode_features(frame: Any) -> FloatArray:
    """Return a data frame as numbers, columns of text as one column per value but the first.

    Examples
    --------
    >>> import pandas as pd
    >>> encode_features(pd.DataFrame({"sex": ["F", "I", "M"], "length": [1.0, 2.0, 3.0]}))
    array([[1., 0., 0.],
           [2., 1., 0.],
           [3., 0., 1.]])
    """
    import pandas as pd

    text = frame.select_dtypes(exclude=["number", "bool"]).columns
    return pd.get_dummies(frame, columns=list(text), drop_first=True).to_numpy(dtype=np.float64)


def _in_folder(info: DatasetInfo, folder: Path | None) -> Path | None:
    return first_file(folder, ("tabular", "uci"), (f"{info.name}.npz",))


def _cached(info: DatasetInfo, cache: Path | None) -> Path:
    return (cache or default_cache()) / f"{info.name}.npz"


def _number(info: DatasetInfo) -> int:
    if not isinstance(info.source, Uci):
        raise InputError(f"The data set {info.name!r} does not come from the UCI repository.")
    return info.source.id


def _package_missing(info: DatasetInfo) -> DatasetUnavailable:
    return DatasetUnavailable(
        f"The data set {info.name!r} can only be downloaded with the package ucimlrepo, which is "
        "not installed; run: pip install 'truemix-experiments[bench]'."
    )
