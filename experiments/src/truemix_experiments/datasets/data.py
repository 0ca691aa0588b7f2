"""A loaded data set: items to fit on, and items or bags for validation and test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix.exceptions import InputError
from truemix_experiments._typing import AnyArray, FloatArray, IntArray
from truemix_experiments.datasets.catalogue import DatasetInfo


class DatasetUnavailable(InputError):  # noqa: N818 - a state of affairs, not a mistake
    """A data set is not there; the sentence says how to get it."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Labelled items.

    Attributes
    ----------
    X : ndarray or scipy sparse matrix of shape (n, d)
        Features, or posteriors where :attr:`Data.given_posteriors`.
    y : ndarray of shape (n,)
        Class numbers, positions in :attr:`Data.classes`.
    """

    X: Any
    y: IntArray

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, index: IntArray) -> Pool:
        """Return some of the items."""
        return Pool(self.X[index], self.y[index])


@dataclass(frozen=True, eq=False)
class FixedBag:
    """A published bag: its items have no labels, but their mix is known.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    prevalence : ndarray of shape (K,)
    """

    X: FloatArray
    prevalence: FloatArray


@dataclass(frozen=True, eq=False)
class Data:
    """A data set, ready for an experiment.

    Settings are chosen by fitting on ``fit`` and comparing on bags of ``validation`` (or on
    ``validation_bags``). With the chosen setting a method is fitted on ``train`` and evaluated on
    bags of ``test`` (or on ``test_bags``).

    Attributes
    ----------
    info : DatasetInfo
    classes : ndarray of shape (K,)
        Names of the classes.
    train : Pool
        All items to fit on, the column Train of the paper. Its columns are those of ``test``.
    fit : Pool
        The part of ``train`` to fit on while settings are chosen. Its columns are those of
        ``validation``, for tweets not those of ``train``.
    validation : Pool or None
        The pool of validation bags; None where the bags are published.
    test : Pool or None
        The pool of test bags; None where the bags are published.
    validation_bags, test_bags : sequence of FixedBag, or None
        Published bags, read from disk when they are asked for.
    given_posteriors : bool
        True for images: X are calibrated posteriors, and no classifier is trained.
    notes : tuple of str
        What differs from the paper.
    """

    info: DatasetInfo
    classes: AnyArray
    train: Pool
    fit: Pool
    validation: Pool | None
    test: Pool | None
    validation_bags: Sequence[FixedBag] | None = None
    test_bags: Sequence[FixedBag] | None = None
    given_posteriors: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part in ("train", "fit", "validation", "test"):
            pool = getattr(self, part)
            if pool is not None:
                self._check_classes(part, pool.y)

    def _check_classes(self, part: str, y: IntArray) -> None:
        # A class without items would only show much later, in the middle of a run.
        counts = np.bincount(y, minlength=len(self.classes))
        if (counts == 0).any():
            raise InputError(
                f"Class {self.classes[counts.argmin()].item()!r} of data set {self.info.name!r} "
                f"has no items in the {part} part; expected at least one. Check the file."
            )
