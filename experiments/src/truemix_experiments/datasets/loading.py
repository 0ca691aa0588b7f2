"""Data sets by name, and which ones are available."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from truemix.exceptions import InputError
from truemix_experiments.datasets import embedded, images, lequa, tweets, uci
from truemix_experiments.datasets._folders import check_folder
from truemix_experiments.datasets.catalogue import (
    CATALOGUE,
    SUITES,
    DatasetInfo,
    Embedded,
    Images,
    LeQua,
    Tweets,
)
from truemix_experiments.datasets.counts import differences
from truemix_experiments.datasets.data import Data, DatasetUnavailable

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Availability:
    """Whether a data set is available: where it comes from, or why it is not.

    Attributes
    ----------
    name : str
    available : bool
    explanation : str
        The place (a file, a download) or the sentence that says what to do.
    """

    name: str
    available: bool
    explanation: str


def load_dataset(
    name: str, *, folder: Folder = None, cache: Folder = None, download: bool = False
) -> Data:
    """Load a data set with the paper's preprocessing and splits.

    Parameters
    ----------
    name : str
        A name in ``CATALOGUE``.
    folder : path, optional
        Folder with data sets: ``<name>.npz`` for tabular sets and images, the published files for
        LeQua and tweets.
    cache : path, optional
        Folder for downloads; by default ``truemix/datasets`` in the user's cache folder.
    download : bool, default False
        Whether UCI sets that are in neither folder may be downloaded.

    Returns
    -------
    Data
        Counts that differ from the paper's are in its ``notes``.

    Raises
    ------
    DatasetUnavailable
        The data set is not there; the message says how to get it.
    InputError
        A file is damaged or holds something else.

    Examples
    --------
    >>> data = load_dataset("sklearn-wine")
    >>> len(data.train), len(data.validation), len(data.test), data.info.bag_size
    (124, 50, 54, 100)
    """
    info = _info(name)
    data = _load(info, check_folder(folder), _path(cache), download)
    return replace(data, notes=(*data.notes, *differences(data)))


def available(
    names: Iterable[str],
    *,
    folder: Folder = None,
    cache: Folder = None,
    download: bool = False,
) -> tuple[Availability, ...]:
    """Return which data sets are available and why the others are not, without reading them.

    Parameters
    ----------
    names : iterable of str
        Names of data sets.
    folder, cache, download
        As for :func:`load_dataset`.

    Returns
    -------
    tuple of Availability
        One for each name, in the same order.

    Examples
    --------
    >>> for each in available(["sklearn-iris", "MNIST"]):
    ...     print(each.name, each.available, each.explanation)
    sklearn-iris True inside scikit-learn
    MNIST False The outputs of a network for 'MNIST' are not here (no MNIST.npz and no folder ...
    """
    place, kept = check_folder(folder), _path(cache)
    report = []
    for name in names:
        info = _info(name)
        try:
            where, found = _find(info, place, kept, download), True
        except DatasetUnavailable as error:
            where, found = str(error), False
        report.append(Availability(name, found, where))
    return tuple(report)


def _info(name: str) -> DatasetInfo:
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(str(name).lower(), [n.lower() for n in CATALOGUE], n=1)
    match = next((n for n in CATALOGUE if near and n.lower() == near[0]), None)
    hint = f"did you mean {match!r}?" if match else f"expected one of {', '.join(CATALOGUE)}."
    if name in SUITES:
        hint = f"that is a suite, pass each of its names ({', '.join(SUITES[name])})."
    raise InputError(f"There is no data set {name!r}; {hint}")


def _path(folder: Folder) -> Path | None:
    return None if folder is None else Path(folder)


def _load(info: DatasetInfo, folder: Path | None, cache: Path | None, download: bool) -> Data:
    match info.source:
        case Embedded():
            return embedded.load(info)
        case Tweets():
            return tweets.load(info, folder)
        case LeQua():
            return lequa.load(info, folder)
        case Images():
            return images.load(info, folder)
        case _:
            return uci.load(info, folder, cache, download)


def _find(info: DatasetInfo, folder: Path | None, cache: Path | None, download: bool) -> str:
    match info.source:
        case Embedded():
            return "inside scikit-learn"
        case Tweets():
            return str(tweets.files(info, folder)["train"].parent.parent)
        case LeQua():
            return str(lequa.locate(info, folder))
        case Images():
            return str(images.find(info, folder))
        case _:
            return uci.find(info, folder, cache, download)
