"""Sets inside scikit-learn: they need neither a network nor files."""

from __future__ import annotations

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments.datasets.catalogue import DatasetInfo, Embedded
from truemix_experiments.datasets.data import Data
from truemix_experiments.datasets.splitting import split_table


def load(info: DatasetInfo) -> Data:
    """Return the set, split and standardised like the tabular sets of the paper."""
    import sklearn.datasets

    if not isinstance(info.source, Embedded):
        raise InputError(f"The data set {info.name!r} does not come inside scikit-learn.")
    bunch = getattr(sklearn.datasets, info.source.loader)()
    classes = np.asarray(bunch.target_names)
    y = np.asarray(bunch.target, dtype=np.intp)
    return split_table(info, np.asarray(bunch.data, dtype=np.float64), y, classes)
