"""Whether a data set has the sizes that the paper's table reports."""

from __future__ import annotations

from truemix_experiments.datasets.catalogue import Embedded
from truemix_experiments.datasets.data import Data, Pool


def differences(data: Data) -> tuple[str, ...]:
    """Return one sentence for each count that differs from the catalogue.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from truemix_experiments.datasets import load_dataset
    >>> data = load_dataset("sklearn-iris")
    >>> differences(data)
    ()
    >>> differences(replace(data, test=data.train))
    ('The test part has 105 items, 45 expected (release of scikit-learn).',)
    """
    info = data.info
    found = {
        "train part has {} items": (len(data.train), info.n_train),
        "validation part has {} items": (_size(data.validation), info.n_validation),
        "test part has {} items": (_size(data.test), info.n_test),
        "training items have {} features": (data.train.X.shape[1], info.n_features),
        "labels have {} classes": (len(data.classes), info.n_classes),
    }
    source = "release of scikit-learn" if isinstance(info.source, Embedded) else "paper's table"
    return tuple(
        f"The {text.format(f'{count:,}')}, {expected:,} expected ({source})."
        for text, (count, expected) in found.items()
        if count is not None and expected is not None and count != expected
    )


def _size(pool: Pool | None) -> int | None:
    return None if pool is None else len(pool)
