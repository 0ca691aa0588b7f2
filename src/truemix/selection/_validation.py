"""The validation split: references to fit on, and a pool that bags are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.protocols import Bag, DirichletBags, Protocol
from truemix.quantifiers import Quantifier
from truemix.quantifiers.decision_columns import are_decisions
from truemix.quantifiers.pool import Pool, pool_of_bags
from truemix.quantifiers.scoring import GivenPosteriors, Scorer, Scoring, read_labels
from truemix.selection.bags import check_protocol, drawn_bags
from truemix.tables import features_of
from truemix.validation import (
    check_number,
    parameter_error,
)

# The paper's protocol for choosing settings.
PAPER_PROTOCOL = DirichletBags(alpha=1.0, n_bags=100, bag_size=1000, random_state=0)
# Maximum total number of rows of all bags, which are in memory together (8 bytes each).
MAX_ROWS = 50_000_000


@dataclass(frozen=True)
class Scored:
    """Posteriors of the references, and the bags of scored items, for a classifier setting."""

    references: FloatArray
    scorer: Scorer
    pool: Pool


@dataclass(frozen=True)
class Validation:
    """Both parts of the split, and the bags with their true mixes.

    ``bags`` holds rows of ``pool``, which contains only items that are in a bag.
    """

    references: Any
    codes: IntArray
    pool: Any
    classes: AnyArray
    bags: list[IntArray]
    truth: FloatArray

    @property
    def sizes(self) -> IntArray:
        """Items in each bag."""
        return np.array([len(rows) for rows in self.bags])

    @property
    def train_prevalence(self) -> FloatArray:
        """Share of each class among the references."""
        return np.bincount(self.codes, minlength=len(self.classes)) / len(self.codes)

    def score(self, scoring: Scoring) -> Scored:
        """Train a classifier on the references and score both parts."""
        posteriors, scorer = scoring.score_references(self.references, self.codes, self.classes)
        pool, _ = pool_of_bags(scorer(self.pool), self.bags)
        return Scored(posteriors, scorer, pool)

    def fit(self, quantifier: Quantifier, scored: Scored) -> None:
        """Fit the quantifier on the references, whose posteriors are known already."""
        quantifier.fit_scored(scored.references, self.codes, self.classes, scored.scorer)


def hold_out(
    X: Any, y: Any, classes: Any, *, share: object, protocol: Any, given: bool
) -> Validation:
    """Split labelled items and draw the bags; with ``given``, X holds posteriors.

    ``share`` is the share to hold out, or other labelled items ``(X, y)`` to draw bags from.
    """
    protocol = PAPER_PROTOCOL if protocol is None else protocol
    check_protocol(protocol)
    codes, order = read_labels(X, y, classes)
    if given and are_decisions(X, order):
        raise InputError(
            "X holds decisions, whose methods have no settings to choose on bags of posteriors; "
            "truemix.backtest tests them on mixtures of the items."
        )
    # Validated before the split, so that messages refer to the user's row numbers.
    table = GivenPosteriors(order)(X)[0] if given else features_of(X)
    _check_size(protocol, len(order))
    if isinstance(share, tuple):
        others, bags = _other_items(share, order, protocol, given)
        return _validation(table, codes, others, bags, order)
    held_out = split(codes, order, check_number(share, "validation", kind="share"))
    references = np.setdiff1d(np.arange(len(codes)), held_out)
    pool = _safe_indexing(table, held_out)
    kept = _safe_indexing(table, references)
    bags = drawn_bags(protocol, order[codes[held_out]], order, len(held_out))
    return _validation(kept, codes[references], pool, bags, order)


def _other_items(
    validation: tuple[Any, ...], order: AnyArray, protocol: Any, given: bool
) -> tuple[Any, list[Bag]]:
    """Return the items that were given, and the bags of them."""
    if len(validation) != 2:
        raise parameter_error("validation", "a share, or labelled items (X, y)", validation)
    X, y = validation
    pool = GivenPosteriors(order)(X) if given else features_of(X)
    return pool, drawn_bags(protocol, y, order, pool.shape[1] if given else pool.shape[0])


def _validation(
    references: Any, codes: IntArray, pool: Any, bags: list[Bag], order: AnyArray
) -> Validation:
    """Restrict the pool to items that are in a bag."""
    used, places = np.unique(np.concatenate([bag.index for bag in bags]), return_inverse=True)
    ends = np.cumsum([len(bag.index) for bag in bags])
    several = isinstance(pool, np.ndarray) and pool.ndim == 3
    return Validation(
        references=references,
        codes=codes,
        pool=pool[:, used] if several else _safe_indexing(pool, used),
        classes=order,
        bags=np.split(places.astype(np.intp), ends[:-1]),
        truth=np.array([bag.prevalence for bag in bags]),
    )


def split(codes: IntArray, classes: AnyArray, share: float) -> IntArray:
    """Return the rows to hold out: the same share of each class, but never none or all of it.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 0, 1, 1])
    >>> np.bincount(codes[split(codes, np.array(["ham", "spam"]), 0.4)])
    array([2, 1])
    """
    # A fixed seed makes the search reproducible.
    rng = np.random.default_rng(0)
    parts = []
    for k, label in enumerate(classes.tolist()):
        rows = np.flatnonzero(codes == k)
        if len(rows) < 2:
            raise InputError(
                f"Class {label!r} has only 1 item in y; expected at least 2, one to learn from and "
                "one to hold out. Add items or leave the class out."
            )
        wanted = int(np.clip(round(share * len(rows)), 1, len(rows) - 1))
        parts.append(rng.choice(rows, wanted, replace=False))
    return np.sort(np.concatenate(parts))


def _check_size(protocol: Any, n_classes: int) -> None:
    """Raise if the bags would not fit into memory together."""
    if isinstance(protocol, Protocol):
        rows = protocol.number_of_bags(n_classes) * protocol.bag_size
        if rows > MAX_ROWS:
            raise InputError(
                f"The protocol makes bags of {rows:g} items in all, above {MAX_ROWS:g}; lower "
                "n_bags, repeats or bag_size."
            )
