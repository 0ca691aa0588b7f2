"""The tweet sets of Gao and Sebastiani: published TF-IDF vectors in sparse text files.

One line per tweet: the label (-1, 0 or 1) and then ``column:value`` pairs, columns counted from 1.
The archive has these files, of which the last is called ``dev-test`` for semeval16::

    tweet_sentiment_quantification_snam/
        train/gasp.train.feature.txt        to fit on while settings are chosen
        test/gasp.dev.feature.txt           to choose settings by
        train/gasp.train+dev.feature.txt    to fit on at the end
        test/gasp.test.feature.txt          to evaluate on

The first two and the last two are vectors of their own; nothing says that column 7 is the same
term in both pairs, so they are never mixed.

Columns of rare terms are left out. The paper does not define rare, but states how many columns
remain in each set: the smallest minimum number of tweets that leaves as many is used, and 5 if none
does.

References
----------
Gao and Sebastiani (2016), "From classification to quantification in tweet sentiment analysis",
Social Network Analysis and Mining 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments.datasets.catalogue import DatasetInfo, Tweets
from truemix_experiments.datasets.data import Data, DatasetUnavailable, Pool

ARCHIVE = "tweet_sentiment_quantification_snam"
CLASSES = np.array(["negative", "neutral", "positive"])
USUAL_MINIMUM = 5
LARGEST_MINIMUM = 20


def files(info: DatasetInfo, folder: Path | None) -> dict[str, Path]:
    """Return the four files of a set, or say what is missing."""
    if not isinstance(info.source, Tweets):
        raise InputError(f"The data set {info.name!r} is not one of the tweet sets.")
    names = {
        "fit": f"train/{info.source.train}.train.feature.txt",
        "validation": f"test/{info.source.train}.dev.feature.txt",
        "train": f"train/{info.source.train}.train+dev.feature.txt",
        "test": f"test/{info.name}.{info.source.test_part}.feature.txt",
    }
    if folder is None:
        raise _unavailable(info, "no folder was given")
    roots = [folder / ARCHIVE, folder / "text" / ARCHIVE, folder]
    complete = [root for root in roots if all((root / n).is_file() for n in names.values())]
    if not complete:
        root = next((root for root in roots if (root / "train").is_dir()), folder)
        missing = next(name for name in names.values() if not (root / name).is_file())
        raise _unavailable(info, f"there is no {missing} in {str(root)!r}")
    return {part: complete[0] / name for part, name in names.items()}


def load(info: DatasetInfo, folder: Path | None) -> Data:
    """Return the published parts of a set."""
    paths = files(info, folder)
    tables = {part: read_sparse(path) for part, path in paths.items()}
    train, test = _same_columns(tables["train"], tables["test"])
    minimum = smallest_count(train.X, info.n_features)
    train, test = _without_rare(train, test, minimum)
    fit, validation = _same_columns(tables["fit"], tables["validation"])
    fit, validation = _without_rare(fit, validation, minimum)
    return Data(info=info, classes=CLASSES, train=train, fit=fit, validation=validation, test=test)


def read_sparse(path: Path) -> Pool:
    """Read a file of labels and ``column:value`` pairs."""
    from scipy.sparse import csr_matrix

    labels: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for place, parts in _lines(path):
        try:
            labels.append(int(parts[0]))
            pairs = [pair.split(":") for pair in parts[1:]]
            columns.extend(int(column) - 1 for column, _ in pairs)
            values.extend(float(value) for _, value in pairs)
        except ValueError:
            raise InputError(
                f"{place} is not a label and column:value pairs; expected a line such as "
                "'-1 3:0.25 17:0.5'."
            ) from None
        if labels[-1] not in (-1, 0, 1):
            raise InputError(
                f"The label at the start of {place} is {labels[-1]}; expected -1, 0, 1."
            )
        if min(columns[ends[-1] :], default=0) < 0:
            raise InputError(f"{place} has a column below 1; columns are counted from 1.")
        ends.append(len(columns))
    if not labels:
        raise InputError(f"The file {str(path)!r} is empty; expected one tweet per line.")
    shape = (len(labels), max(columns, default=0) + 1)
    X = csr_matrix((np.array(values), np.array(columns, dtype=np.intp), np.array(ends)), shape)
    X.sum_duplicates()
    X.eliminate_zeros()
    return Pool(X, np.array(labels, dtype=np.intp) + 1)


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if parts := line.split():
                    yield f"Line {number} of {str(path)!r}", parts
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file {str(path)!r} cannot be read as text ({error}).") from None


def smallest_count(X: Any, n_columns: int) -> int:
    """Return in how many tweets a term must occur for ``n_columns`` terms to remain.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X = csr_matrix([[1, 1, 1], [1, 1, 0], [1, 0, 0]])
    >>> smallest_count(X, 2), smallest_count(X, 50)
    (2, 5)
    """
    counts = X.getnnz(axis=0)
    minima = range(1, LARGEST_MINIMUM + 1)
    return next((m for m in minima if (counts >= m).sum() == n_columns), USUAL_MINIMUM)


def _same_columns(first: Pool, second: Pool) -> tuple[Pool, Pool]:
    """Widen the narrower of two parts; the last terms need not occur in both."""
    width = max(first.X.shape[1], second.X.shape[1])
    for pool in (first, second):
        pool.X.resize((len(pool), width))
    return first, second


def _without_rare(first: Pool, second: Pool, minimum: int) -> tuple[Pool, Pool]:
    """Keep the columns with enough tweets in the first part."""
    kept = np.flatnonzero(first.X.getnnz(axis=0) >= minimum)
    return Pool(first.X[:, kept], first.y), Pool(second.X[:, kept], second.y)


def _unavailable(info: DatasetInfo, reason: str) -> DatasetUnavailable:
    return DatasetUnavailable(
        f"The tweet set {info.name!r} is not here: {reason}. Unpack {ARCHIVE}.zip (Zenodo record "
        "4255764) into the data folder."
    )
