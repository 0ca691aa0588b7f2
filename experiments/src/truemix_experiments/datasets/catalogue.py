"""The paper's table of its 42 data sets, and where each one comes from.

The columns Train and Val of that table mean different things:

* tabular: Val is 40 % of Train and lies inside it; after model selection all of Train is used;
* tweets: Train is the published training and development parts together, Val the latter;
* LeQua: Train is the published training set; model selection uses published bags;
* images: Train and Val are disjoint, 60 % and 40 % of the images held out from the network.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Uci:
    """A set of the UCI repository: ``<name>.npz`` in a folder, or a download by its number."""

    id: int


@dataclass(frozen=True)
class Tweets:
    """Files of published TF-IDF vectors; ``train`` is the name that the training files carry."""

    train: str
    test_part: str = "test"


@dataclass(frozen=True)
class LeQua:
    """A task of the LeQua competition, as published: training items and two folders of bags."""

    year: int
    task: str


@dataclass(frozen=True)
class Images:
    """Saved logits or posteriors of a network; ``network`` is the paper's."""

    network: str


@dataclass(frozen=True)
class Embedded:
    """A set inside scikit-learn, by the name of its loader."""

    loader: str


Source = Uci | Tweets | LeQua | Images | Embedded


@dataclass(frozen=True)
class DatasetInfo:
    """One data set: what it is, how large it should be and how it is had.

    Attributes
    ----------
    name : str
        The paper's name; those inside scikit-learn start with ``sklearn-``.
    modality : str
        ``"tabular"``, ``"text"`` or ``"image"``.
    bag_size : int
        Items in a bag.
    n_classes, n_features : int
        For images a feature is the posterior of a class.
    n_train : int
        Items to fit on.
    n_validation, n_test : int or None
        Items in the pools that bags are drawn from; None where the bags are published.
    source : Uci, Tweets, LeQua, Images or Embedded
        How it is had.
    """

    name: str
    modality: str
    bag_size: int
    n_classes: int
    n_features: int
    n_train: int
    n_validation: int | None
    n_test: int | None
    source: Source


# Name, UCI number, then the paper's columns Train, Val, Test, Features, Classes.
_TABULAR = (
    ("abalone", 1, 2846, 1139, 1220, 9, 15),
    ("academic-success", 697, 3096, 1239, 1328, 36, 3),
    ("chess", 23, 19198, 7680, 8228, 20, 13),
    ("cmc", 30, 1031, 413, 442, 9, 3),
    ("connect-4", 26, 25000, 10000, 42557, 84, 3),
    ("digits", 80, 3933, 1574, 1687, 64, 10),
    ("dry-bean", 602, 9527, 3811, 4084, 16, 7),
    ("hand_digits", 81, 7694, 3078, 3298, 16, 10),
    ("image_seg", 147, 1617, 647, 693, 19, 7),
    ("isolet", 54, 5457, 2183, 2340, 617, 26),
    ("letter", 59, 14000, 5600, 6000, 16, 26),
    ("mhr", 863, 709, 284, 305, 6, 3),
    ("molecular", 69, 2233, 894, 957, 227, 3),
    ("nursery", 76, 9070, 3628, 3888, 19, 4),
    ("obesity", 544, 1477, 591, 634, 23, 7),
    ("page_block", 78, 3811, 1525, 1634, 10, 4),
    ("phishing", 379, 947, 379, 406, 9, 3),
    ("satellite", 146, 4504, 1802, 1931, 36, 6),
    ("shuttle", 148, 25000, 10000, 32756, 7, 3),
    ("waveform-v1", 107, 3500, 1400, 1500, 21, 3),
    ("wine-quality", 186, 4523, 1810, 1939, 11, 5),
    ("yeast", 110, 1035, 414, 444, 8, 9),
)

# Name, source, then Train, Val, Test, Features.
_TWEETS = (
    ("gasp", Tweets("gasp"), 8788, 1256, 3765, 78244),
    ("hcr", Tweets("hcr"), 1594, 797, 798, 22061),
    ("omd", Tweets("omd"), 1839, 263, 787, 19385),
    ("sanders", Tweets("sanders"), 2155, 308, 923, 23980),
    # Three test sets of one training set.
    ("semeval13", Tweets("semeval"), 11338, 1654, 3813, 107984),
    ("semeval14", Tweets("semeval"), 11338, 1654, 1853, 107984),
    ("semeval15", Tweets("semeval"), 11338, 1654, 2390, 107984),
    ("semeval16", Tweets("semeval16", test_part="dev-test"), 8000, 2000, 2000, 76387),
    ("sst", Tweets("sst"), 2971, 425, 1271, 29664),
    ("wa", Tweets("wa"), 2184, 312, 936, 23745),
    ("wb", Tweets("wb"), 4259, 609, 1823, 40507),
)

# Name, source, then Train, Bag size, Features, Classes.
_LEQUA = (
    ("LeQua2022-T1A", LeQua(2022, "T1A"), 5000, 250, 300, 2),
    ("LeQua2022-T1B", LeQua(2022, "T1B"), 20000, 1000, 300, 28),
    ("LeQua2024-T1", LeQua(2024, "T1"), 5000, 250, 256, 2),
    ("LeQua2024-T2", LeQua(2024, "T2"), 20000, 1000, 256, 28),
)

# Name, network, then Train, Val, Test, Bag size, Classes.
_IMAGES = (
    ("CIFAR100", "ResNet18", 9000, 6000, 10000, 2000, 100),
    ("CIFAR10", "ResNet18", 9000, 6000, 10000, 500, 10),
    ("MNIST", "CNN", 10800, 7200, 10000, 500, 10),
    ("FashionMNIST", "CNN", 10800, 7200, 10000, 500, 10),
    ("SVHN", "ResNet18", 13186, 8791, 26032, 500, 10),
)

# Name, then Train, Val, Test, Features, Classes. Split as the tabular sets of the paper. Bags hold
# 100 items, the paper's smallest size: test pools have 45 to 540 items, and in larger bags, which
# are drawn with replacement, the same few items would come again and again.
_EMBEDDED = (
    ("breast_cancer", 398, 160, 171, 30, 2),
    ("digits", 1257, 503, 540, 64, 10),
    ("iris", 105, 42, 45, 4, 3),
    ("wine", 124, 50, 54, 13, 3),
)


def _entries() -> list[DatasetInfo]:
    paper = [
        *(
            DatasetInfo(name, "tabular", 1000, classes, features, train, val, test, Uci(number))
            for name, number, train, val, test, features, classes in _TABULAR
        ),
        *(
            DatasetInfo(name, "text", 100, 3, features, train, val, test, source)
            for name, source, train, val, test, features in _TWEETS
        ),
        *(
            DatasetInfo(name, "text", size, classes, features, train, None, None, source)
            for name, source, train, size, features, classes in _LEQUA
        ),
        *(
            DatasetInfo(name, "image", size, classes, classes, train, val, test, Images(network))
            for name, network, train, val, test, size, classes in _IMAGES
        ),
    ]
    embedded = [
        DatasetInfo(
            f"sklearn-{name.replace('_', '-')}",
            "tabular",
            100,
            classes,
            features,
            train,
            val,
            test,
            Embedded(f"load_{name}"),
        )
        for name, train, val, test, features, classes in _EMBEDDED
    ]
    return [*paper, *embedded]


CATALOGUE: dict[str, DatasetInfo] = {info.name: info for info in _entries()}


def _suites() -> dict[str, tuple[str, ...]]:
    inside = [n for n, info in CATALOGUE.items() if isinstance(info.source, Embedded)]
    paper = [name for name in CATALOGUE if name not in inside]
    suites = {"embedded": tuple(inside), "paper": tuple(paper)}
    for modality in ("tabular", "text", "image"):
        suites[modality] = tuple(n for n in paper if CATALOGUE[n].modality == modality)
    return suites


SUITES: dict[str, tuple[str, ...]] = _suites()
