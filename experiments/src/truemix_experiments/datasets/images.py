"""Images as the outputs of a network: logits or posteriors with labels in an ``.npz`` file.

The paper trains a network on 70 % of the training images. Its outputs on the other 30 % (the
hold-out) and on the test images are the data: 60 % of the hold-out are the references, 40 %
validate, and posteriors are calibrated by bias-corrected temperature scaling (BCTS) on the
hold-out. A file holds ``logits_holdout`` (or ``posteriors_holdout``), ``y_holdout``,
``logits_test`` (or ``posteriors_test``) and ``y_test``, labels as numbers from 0, and may name the
``network``. ``examples/train_cnn.py`` makes one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truemix.calibration import BiasCorrectedTemperatureScaling
from truemix.exceptions import InputError
from truemix.validation import check_posteriors
from truemix_experiments._typing import AnyArray, FloatArray
from truemix_experiments.datasets._arrays import check_codes, check_numbers
from truemix_experiments.datasets._folders import first_file
from truemix_experiments.datasets.catalogue import DatasetInfo, Images
from truemix_experiments.datasets.data import Data, DatasetUnavailable, Pool
from truemix_experiments.datasets.splitting import held_out
from truemix_experiments.files import read_npz


def file_names(info: DatasetInfo) -> tuple[str, ...]:
    """Return the names that a file of this set may have.

    Examples
    --------
    >>> from truemix_experiments.datasets import CATALOGUE
    >>> file_names(CATALOGUE["MNIST"])[:4]
    ('MNIST.npz', 'mnist.npz', 'logits_mnist.npz', 'posteriors_mnist.npz')
    """
    low = info.name.lower()
    plain = (f"{info.name}.npz", f"{low}.npz", f"logits_{low}.npz", f"posteriors_{low}.npz")
    # The paper's own network before another one.
    networks = sorted(("cnn", "resnet18"), key=lambda name: name != _network(info).lower())
    return (*plain, *(f"logits_{low}_{network}.npz" for network in networks))


def find(info: DatasetInfo, folder: Path | None) -> Path:
    """Return the file of a set, or say what is missing."""
    names = file_names(info)
    path = first_file(folder, ("image", "images", "posteriors"), names)
    if path is None:
        looked = f"in {str(folder)!r}" if folder else "and no folder was given"
        raise DatasetUnavailable(
            f"The outputs of a network for {info.name!r} are not here (no {names[0]} {looked}); "
            "save logits_holdout, y_holdout, logits_test and y_test in such a file, as "
            "examples/train_cnn.py does."
        )
    return path


def load(info: DatasetInfo, folder: Path | None) -> Data:
    """Return calibrated posteriors: references, validation and test items."""
    path = find(info, folder)
    arrays = read_npz(path, ("y_holdout", "y_test"))
    holdout, test = (_part(info, arrays, part, path) for part in ("holdout", "test"))
    classes = np.arange(info.n_classes)
    calibrator = BiasCorrectedTemperatureScaling().fit(holdout.X, holdout.y, classes=classes)
    calibrated = Pool(calibrator.transform(holdout.X), holdout.y)
    references, validation = (calibrated.rows(rows) for rows in held_out(holdout.y))
    return Data(
        info=info,
        classes=classes,
        train=references,
        fit=references,
        validation=validation,
        test=Pool(calibrator.transform(test.X), test.y),
        given_posteriors=True,
        notes=_notes(info, arrays, path),
    )


def _part(info: DatasetInfo, arrays: dict[str, AnyArray], part: str, path: Path) -> Pool:
    """Return the posteriors of the hold-out or of the test images, not calibrated yet."""
    logits, posteriors, labels = f"logits_{part}", f"posteriors_{part}", f"y_{part}"
    if logits in arrays:
        X = _softmax(check_numbers(arrays[logits], f"{logits} in {str(path)!r}"))
    elif posteriors in arrays:
        X = check_posteriors(arrays[posteriors], f"{posteriors} in {str(path)!r}")
    else:
        raise InputError(
            f"The file {str(path)!r} has neither {logits} nor {posteriors} (it has "
            f"{', '.join(arrays)}); expected one of them."
        )
    if X.shape[1] != info.n_classes:
        raise InputError(
            f"The {part} part of {str(path)!r} has {X.shape[1]} columns; expected one for each of "
            f"the {info.n_classes} classes of {info.name}."
        )
    y = check_codes(arrays[labels], len(X), info.n_classes, f"{labels} in {str(path)!r}")
    return Pool(X, y)


def _softmax(logits: FloatArray) -> FloatArray:
    from scipy.special import softmax

    return np.asarray(softmax(logits, axis=1))


def _notes(info: DatasetInfo, arrays: dict[str, AnyArray], path: Path) -> tuple[str, ...]:
    """Return a note if the network is known to differ from the paper's."""
    _, _, suffix = path.stem.partition(f"logits_{info.name.lower()}_")
    found = str(arrays["network"]) if "network" in arrays else suffix
    paper = _network(info)
    if not found or found.lower() == paper.lower():
        return ()
    return (f"The network is a {found.upper()}; the paper's is a {paper}.",)


def _network(info: DatasetInfo) -> str:
    if not isinstance(info.source, Images):
        raise InputError(f"The data set {info.name!r} does not hold images.")
    return info.source.network
