"""The LeQua competitions of 2022 and 2024: training items, and unlabelled bags with known mixes.

The published archives of a task, unpacked, give these CSV files with a header::

    T1A/public/training_data.txt      label, then one column per feature
    T1A/public/dev_prevalences.txt    id, then one column per class
    T1A/public/dev_samples/0.txt      one column per feature, no labels
    T1A/public/test_prevalences.txt
    T1A/public/test_samples/0.txt

Bags are read when they are asked for: those of a task would fill gigabytes.

References
----------
Esuli, Moreo, Sebastiani and Sperduti (2022), "A detailed overview of LeQua@CLEF 2022: learning to
quantify". Esuli, Moreo, Sebastiani and Sperduti (2024), "An overview of LeQua 2024".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._typing import FloatArray
from truemix_experiments.datasets._arrays import check_codes, check_numbers
from truemix_experiments.datasets.catalogue import DatasetInfo, LeQua
from truemix_experiments.datasets.data import Data, DatasetUnavailable, FixedBag, Pool

# The paper uses the first of the published bags.
VALIDATION_BAGS = 100
TEST_BAGS = 500
# How far published prevalences may be from summing to 1.
LARGEST_SUM_ERROR = 1e-3


@dataclass(frozen=True, eq=False)
class BagFolder(Sequence[FixedBag]):
    """Bags in a folder, each read when it is asked for."""

    paths: tuple[Path, ...]
    prevalences: FloatArray
    n_features: int

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, index: int) -> FixedBag: ...
    @overload
    def __getitem__(self, index: slice) -> BagFolder: ...
    def __getitem__(self, index: int | slice) -> FixedBag | BagFolder:
        """Return one bag, or some of them, still unread."""
        if isinstance(index, slice):
            return BagFolder(self.paths[index], self.prevalences[index], self.n_features)
        path = self.paths[index]
        X = _numbers(path, _read(path), self.n_features)
        return FixedBag(X, self.prevalences[index])


def locate(info: DatasetInfo, folder: Path | None) -> Path:
    """Return the folder with the files of a task, or say what is missing."""
    if not isinstance(info.source, LeQua):
        raise InputError(f"The data set {info.name!r} is not one of the LeQua tasks.")
    year, task = info.source.year, info.source.task
    if folder is None:
        raise _unavailable(info, "no folder was given")
    tops = [folder, folder / "text"]
    names = [f"lequa{year}/{task}", f"LeQua{year}/{task}", info.name, task]
    roots = [top / name / "public" for top in tops for name in names]
    root = next((root for root in roots if root.is_dir()), None)
    if root is None:
        raise _unavailable(info, f"there is no folder lequa{year}/{task}/public in {str(folder)!r}")
    files = ("training_data.txt", "dev_prevalences.txt", "test_prevalences.txt")
    parts = (*files, "dev_samples", "test_samples")
    missing = next((name for name in parts if not (root / name).exists()), None)
    if missing is not None:
        raise _unavailable(info, f"there is no {missing} in {str(root)!r}")
    return root


def load(info: DatasetInfo, folder: Path | None) -> Data:
    """Return the training items and the first of the published bags."""
    root = locate(info, folder)
    train = _training(info, root / "training_data.txt")
    validation_bags = _bags(info, root, "dev", VALIDATION_BAGS)
    test_bags = _bags(info, root, "test", TEST_BAGS)
    notes = [
        *_short(validation_bags, VALIDATION_BAGS, "validation", info),
        *_short(test_bags, TEST_BAGS, "test", info),
    ]
    return Data(
        info=info,
        classes=np.arange(info.n_classes),
        train=train,
        fit=train,
        validation=None,
        test=None,
        validation_bags=validation_bags,
        test_bags=test_bags,
        notes=tuple(notes),
    )


def _short(bags: BagFolder, expected: int, part: str, info: DatasetInfo) -> list[str]:
    """Return what differs from the paper; the first bag stands for all, which stay unread."""
    found = []
    if len(bags) < expected:
        found.append(f"There are {len(bags)} {part} bags; the paper uses {expected}.")
    n_items = len(bags[0].X)
    if n_items != info.bag_size:
        found.append(f"The first {part} bag has {n_items} items; in the paper {info.bag_size}.")
    return found


def _training(info: DatasetInfo, path: Path) -> Pool:
    frame = _read(path)
    if frame.columns[0] != "label":
        raise InputError(
            f"The first column of {str(path)!r} is {str(frame.columns[0])!r}; expected 'label'."
        )
    X = _numbers(path, frame.iloc[:, 1:], info.n_features)
    labels = frame["label"].to_numpy()
    return Pool(X, check_codes(labels, len(X), info.n_classes, f"label in {str(path)!r}"))


def _bags(info: DatasetInfo, root: Path, part: str, most: int) -> BagFolder:
    path = root / f"{part}_prevalences.txt"
    frame = _read(path)
    expected = ["id", *(str(k) for k in range(info.n_classes))]
    if [str(column) for column in frame.columns] != expected:
        raise InputError(
            f"The header of {str(path)!r} is not id,0,…,{info.n_classes - 1}; expected the id of "
            "the bag and one column per class."
        )
    frame = frame.iloc[:most]
    table = check_numbers(frame.iloc[:, 1:].to_numpy(), f"The table in {str(path)!r}")
    sums = table.sum(axis=1)
    bad = np.flatnonzero((np.abs(sums - 1) > LARGEST_SUM_ERROR) | (table.min(axis=1) < 0))
    if bad.size:
        raise InputError(
            f"Row {bad[0]} of {str(path)!r} sums to {sums[bad[0]]:.6g}; expected prevalences of at "
            "least 0 that sum to 1."
        )
    bags = tuple(root / f"{part}_samples" / f"{number}.txt" for number in frame["id"])
    missing = next((bag for bag in bags if not bag.is_file()), None)
    if missing is not None:
        raise _unavailable(info, f"there is no bag {missing.name} in {str(missing.parent)!r}")
    return BagFolder(bags, table / sums[:, None], info.n_features)


def _read(path: Path) -> Any:
    import pandas as pd

    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"The file {str(path)!r} cannot be read as a CSV file with a header ({error})."
        ) from None


def _numbers(path: Path, frame: Any, n_features: int) -> FloatArray:
    X = check_numbers(frame.to_numpy(), f"The table in {str(path)!r}")
    if X.shape[1] != n_features:
        raise InputError(
            f"{str(path)!r} has {X.shape[1]} feature columns; expected the {n_features} of this "
            "task. Check that the file belongs to it."
        )
    return X


def _unavailable(info: DatasetInfo, reason: str) -> DatasetUnavailable:
    return DatasetUnavailable(
        f"The data set {info.name!r} is not here: {reason}. Unpack the published archives of the "
        "task (train_dev, test and test_prevalences, on Zenodo) into that folder."
    )
