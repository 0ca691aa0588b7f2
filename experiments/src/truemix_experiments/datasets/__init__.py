"""The data sets of the paper by name, and small ones that come inside scikit-learn."""

from truemix_experiments.datasets.catalogue import (
    CATALOGUE,
    SUITES,
    DatasetInfo,
    Embedded,
    Images,
    LeQua,
    Tweets,
    Uci,
)
from truemix_experiments.datasets.data import Data, DatasetUnavailable, FixedBag, Pool
from truemix_experiments.datasets.loading import Availability, available, load_dataset

__all__ = [
    "CATALOGUE",
    "SUITES",
    "Availability",
    "Data",
    "DatasetInfo",
    "DatasetUnavailable",
    "Embedded",
    "FixedBag",
    "Images",
    "LeQua",
    "Pool",
    "Tweets",
    "Uci",
    "available",
    "load_dataset",
]
