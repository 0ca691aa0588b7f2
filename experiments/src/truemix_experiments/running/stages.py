"""The two stages of an experiment: model selection, then evaluation on test bags.

In both a method is fitted on references and estimates the mixes of bags. Bags are rows of a pool of
items; where bags are published, the pool is all their items one after the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix.protocols import Bag, DirichletBags
from truemix_experiments._typing import FloatArray, IntArray
from truemix_experiments.datasets import Data, FixedBag, Pool
from truemix_experiments.protocol import BenchSettings


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags that are drawn already, in the form of a protocol of :mod:`truemix.protocols`.

    Attributes
    ----------
    rows : list of ndarray of int
        Rows of the pool in each bag.
    truth : ndarray of shape (n_bags, K)
        The mix of each.
    """

    rows: list[IntArray]
    truth: FloatArray

    def __len__(self) -> int:
        return len(self.rows)

    def bags(self, y: Any, classes: Any = None) -> Iterator[Bag]:
        """Yield the bags, whatever the labels are: published items have none."""
        return map(Bag, self.rows, self.truth)


@dataclass(frozen=True, eq=False)
class Stage:
    """References, and items to draw bags from.

    Attributes
    ----------
    name : {"choose", "evaluate"}
    references : Pool
    pool : Pool or None
        Items of bags; None where bags are published.
    fixed : sequence of FixedBag or None
        Published bags.
    n_classes, bag_size : int
    given : bool
        Whether items are posteriors.
    """

    name: str
    references: Pool
    pool: Pool | None
    fixed: Sequence[FixedBag] | None
    n_classes: int
    bag_size: int
    given: bool

    @property
    def classes(self) -> IntArray:
        """The class numbers."""
        return np.arange(self.n_classes)

    @property
    def train_prevalence(self) -> FloatArray:
        """Share of each class among the references."""
        codes = self.references.y
        return np.bincount(codes, minlength=self.n_classes) / len(codes)

    def blocks(self) -> Iterator[tuple[Any, FloatArray | None]]:
        """Yield the items of the pool in parts; those of a published bag with its mix."""
        if self.pool is not None:
            yield self.pool.X, None
        for bag in self.fixed or ():
            yield bag.X, bag.prevalence

    def draw(self, settings: BenchSettings, alpha: float) -> Bags:
        """Draw bags from the pool."""
        choosing = self.name == "choose"
        protocol = DirichletBags(
            alpha=alpha,
            n_bags=settings.n_validation_bags if choosing else settings.n_bags,
            bag_size=self.bag_size,
            random_state=settings.seed_of("validation" if choosing else "test"),
        )
        drawn = list(protocol.bags(self.pool.y if self.pool is not None else [], self.classes))
        return Bags([bag.index for bag in drawn], np.array([bag.prevalence for bag in drawn]))


def stages_of(data: Data, settings: BenchSettings) -> tuple[Stage, Stage]:
    """Return the stage of model selection, and that of evaluation."""
    shared: dict[str, Any] = {
        "n_classes": len(data.classes),
        "bag_size": data.info.bag_size,
        "given": data.given_posteriors,
    }
    choose = Stage(
        name="choose",
        references=data.fit,
        pool=data.validation,
        fixed=_first(data.validation_bags, settings.n_validation_bags),
        **shared,
    )
    evaluate = Stage(
        name="evaluate",
        references=data.train,
        pool=data.test,
        fixed=_first(data.test_bags, settings.n_bags),
        **shared,
    )
    return choose, evaluate


def _first(bags: Sequence[FixedBag] | None, n: int) -> Sequence[FixedBag] | None:
    return None if bags is None else bags[:n]


def digest_of(data: Data) -> str:
    """Return a text that differs for other data; of published bags the first stands for all.

    Examples
    --------
    >>> from truemix_experiments.datasets import load_dataset
    >>> digest_of(load_dataset("sklearn-iris")) == digest_of(load_dataset("sklearn-wine"))
    False
    """
    found = hashlib.sha256(data.info.name.encode())
    for pool in (data.train, data.fit, data.validation, data.test):
        if pool is not None:
            _add(found, pool.X)
            _add(found, pool.y)
    for bags in (data.validation_bags, data.test_bags):
        if bags:
            found.update(str(len(bags)).encode())
            _add(found, bags[0].X)
    return found.hexdigest()


def _add(found: Any, values: Any) -> None:
    # A sparse matrix is three arrays.
    parts = (values.data, values.indices, values.indptr) if hasattr(values, "indptr") else (values,)
    for part in parts:
        array = np.ascontiguousarray(part)
        found.update(f"{array.shape}{array.dtype.str}".encode())
        found.update(array.tobytes())
