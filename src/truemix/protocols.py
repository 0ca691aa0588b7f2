"""Sampling protocols: bags drawn from a labelled pool, to tune, calibrate and evaluate quantifiers.

Given the labels of a pool, a protocol yields bags: row numbers and their *realised* prevalence,
the ground truth for a quantifier. A bag depends only on the seed, its number and the labels: bag 17
is the same whether the stream is read from the start, in part, or bag by bag in several processes.

How a bag is drawn: the prevalence p is drawn (or taken from the grid), and class k gets
``round(size * p[k])`` items. Missing items are added to random classes in proportion to p, surplus
ones removed in the same way from classes that were rounded up. Within a class items are drawn with
replacement.

With ``replace=False`` no item occurs twice in a bag. If the pool is too small for the drawn
prevalence, the bag shrinks to the largest size with that prevalence, ``min(pool_k / p_k)``: a
smaller bag with the right mix rather than a full one with another mix.
"""

from __future__ import annotations

import itertools
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.validation import (
    RANGES,
    Range,
    check_classes,
    check_integer,
    check_labels,
    check_number,
    is_number,
    parameter_error,
    shown_list,
)

__all__ = ["Bag", "DirichletBags", "GridBags", "NaturalBags", "Protocol"]

# Grids up to this size are enumerated before `most` points are chosen; larger ones are sampled.
_LISTED_GRID = 100_000


@dataclass(frozen=True, eq=False)
class Bag:
    """One bag of a pool.

    Attributes
    ----------
    index : ndarray of int
        Rows of the pool, grouped by class except for :class:`NaturalBags`.
    prevalence : ndarray of shape (K,)
        Share of each class among these rows.
    """

    index: IntArray
    prevalence: FloatArray


class _Pool:
    """The rows of a pool by class."""

    def __init__(self, y: Any, classes: Any) -> None:
        labels = check_labels(y)
        values, codes = np.unique(labels, return_inverse=True)
        self.classes: AnyArray = values if classes is None else check_classes(classes)
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        found = np.array([place.get(value, -1) for value in values.tolist()], dtype=np.intp)
        self.codes: IntArray = found[codes]
        if (self.codes < 0).any():
            row = int(np.argmin(self.codes))
            raise InputError(
                f"The label {labels[row].item()!r} in row {row} of y is not one of the classes "
                f"{shown_list(self.classes)}; expected only those. Add it to classes or leave the "
                "row out."
            )
        self.sizes: IntArray = np.bincount(self.codes, minlength=len(self.classes))
        self.starts: IntArray = np.cumsum(self.sizes) - self.sizes
        self.rows: IntArray = np.argsort(self.codes, kind="stable")

    def bag(self, index: IntArray) -> Bag:
        counts = np.bincount(self.codes[index], minlength=len(self.classes))
        return Bag(index, counts / len(index))

    def draw(self, p: FloatArray, size: int, replace: bool, rng: np.random.Generator) -> Bag:
        """Draw about ``size * p`` items of each class."""
        if replace:
            available = np.full(len(p), size)
        else:
            # A class without items limits nothing here; below it is an error if it is needed.
            available = np.where(self.sizes > 0, np.minimum(self.sizes, size), size)
            with np.errstate(divide="ignore", over="ignore"):
                size = min(size, int((available / p).min()))
        counts = _apportion(size, p, available, rng)
        short = np.flatnonzero((counts > 0) & (self.sizes == 0))
        if short.size:
            raise InputError(
                f"Class {self.classes[short[0]].item()!r} has no items in y, but a bag asks for "
                f"{counts[short[0]]} of them; expected at least one item of each class with a "
                "positive share. Add labelled items or leave the class out of classes."
            )
        if replace:
            within = rng.integers(0, np.repeat(self.sizes, counts))
        else:
            drawn = np.flatnonzero(counts)
            picks = [rng.choice(self.sizes[k], counts[k], replace=False) for k in drawn]
            within = np.concatenate(picks)
        return Bag(self.rows[np.repeat(self.starts, counts) + within], counts / size)


def _apportion(size: int, p: FloatArray, available: IntArray, rng: np.random.Generator) -> IntArray:
    """Return whole numbers near ``size * p`` that sum to ``size``, none above ``available``."""
    counts = np.rint(size * p).astype(np.intp)
    rest = size - int(counts.sum())
    if rest < 0:
        # Each class is rounded up by at most one half, so there are twice as many as needed.
        rounded_up = np.flatnonzero(counts > size * p)
        share = p[rounded_up] / p[rounded_up].sum()
        counts[rng.choice(rounded_up, -rest, replace=False, p=share)] -= 1
    while rest > 0:
        share = np.where(counts < available, p, 0.0)
        counts = np.minimum(counts + rng.multinomial(rest, share / share.sum()), available)
        rest = size - int(counts.sum())
    return counts


class Protocol(ABC):
    """What all protocols share: a seed per bag, and the bags in a row or one by one."""

    bag_size: int
    random_state: int | None
    replace: bool

    def __post_init__(self) -> None:
        check_integer(self.bag_size, "bag_size")
        if not isinstance(self.replace, bool):
            raise parameter_error("replace", "True or False", self.replace)
        if self.random_state is None:
            # Kept, so that this very stream can be read twice and is shown in the repr.
            object.__setattr__(self, "random_state", np.random.SeedSequence().entropy)
        check_integer(self.random_state, "random_state")

    @abstractmethod
    def number_of_bags(self, n_classes: int) -> int:
        """Return how many bags there are for a pool of ``n_classes`` classes."""

    def bags(self, y: Any, classes: Any = None) -> Iterator[Bag]:
        """Yield the bags in order.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of the pool: strings, integers or booleans.
        classes : sequence of labels, optional
            Order of the classes in ``prevalence``; the sorted labels of ``y`` by default.

        Yields
        ------
        Bag
        """
        pool = _Pool(y, classes)
        shared = self._setup(len(pool.classes))
        count = self.number_of_bags(len(pool.classes))
        return (self._draw(pool, shared, number) for number in range(count))

    def bag(self, y: Any, number: int, classes: Any = None) -> Bag:
        """Return one bag: ``bag(y, b)`` is what ``bags(y)`` yields in place ``b``.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of the pool.
        number : int
            Which bag, counted from 0.
        classes : sequence of labels, optional
            As for :meth:`bags`.

        Returns
        -------
        Bag
        """
        pool = _Pool(y, classes)
        count = self.number_of_bags(len(pool.classes))
        if not isinstance(number, numbers.Integral) or number not in Range(0, count - 1):
            raise parameter_error("number", f"a whole number below that of bags, {count}", number)
        return self._draw(pool, self._setup(len(pool.classes)), number)

    def _seed(self, *key: int) -> np.random.Generator:
        seed = np.random.SeedSequence(self.random_state, spawn_key=key)
        return np.random.default_rng(seed)

    def _setup(self, n_classes: int) -> FloatArray:
        """Return what all bags share and only the number of classes decides."""
        return np.empty(0)

    @abstractmethod
    def _draw(self, pool: _Pool, shared: FloatArray, number: int) -> Bag: ...


@dataclass(frozen=True)
class DirichletBags(Protocol):
    """Bags whose prevalence is drawn from a Dirichlet distribution (the paper's protocol).

    Parameters
    ----------
    alpha : float or sequence of float, default 1.0
        Parameter of the distribution, one for all classes or one per class. 1 covers the simplex
        evenly, 0.1 its border, 10 its centre.
    n_bags : int, default 500
    bag_size : int, default 1000
    random_state : int or None, default 0
        ``None`` takes a fresh seed when the protocol is made, and keeps it.
    replace : bool, default True
        ``False``: no item twice in a bag, and smaller bags where the pool is small.

    Examples
    --------
    >>> from truemix.protocols import DirichletBags
    >>> y = ["ham"] * 80 + ["spam"] * 20
    >>> for bag in DirichletBags(n_bags=3, bag_size=100).bags(y):
    ...     print(len(bag.index), bag.prevalence)
    100 [0.81 0.19]
    100 [0.68 0.32]
    100 [0.93 0.07]
    """

    alpha: float | Sequence[float] = 1.0
    n_bags: int = 500
    bag_size: int = 1000
    random_state: int | None = 0
    replace: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.n_bags, "n_bags")
        if is_number(self.alpha):
            check_number(self.alpha, "alpha")
            return
        listed = isinstance(self.alpha, Sequence) and not isinstance(self.alpha, str | bytes)
        if not (listed or (isinstance(self.alpha, np.ndarray) and self.alpha.ndim == 1)):
            expected = f"a positive number ({RANGES['alpha']}), or one for each class"
            raise parameter_error("alpha", expected, self.alpha)
        # A tuple keeps the recipe comparable and hashable.
        alpha = tuple(check_number(number, "alpha") for number in cast(Sequence[float], self.alpha))
        object.__setattr__(self, "alpha", alpha)

    def number_of_bags(self, n_classes: int) -> int:
        """Return how many bags there are, whatever the number of classes."""
        return self.n_bags

    def _setup(self, n_classes: int) -> FloatArray:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim and len(alpha) != n_classes:
            raise InputError(
                f"The 'alpha' parameter holds {len(alpha)} numbers, but there are {n_classes} "
                "classes; expected one number for all classes or one for each."
            )
        return np.broadcast_to(alpha, n_classes)

    def _draw(self, pool: _Pool, shared: FloatArray, number: int) -> Bag:
        rng = self._seed(number)
        return pool.draw(rng.dirichlet(shared), self.bag_size, self.replace, rng)


@dataclass(frozen=True)
class NaturalBags(Protocol):
    """Simple random samples of the pool: the mix varies by sampling error only.

    Parameters
    ----------
    n_bags : int, default 500
    bag_size : int, default 1000
    random_state : int or None, default 0
        ``None`` takes a fresh seed when the protocol is made, and keeps it.
    replace : bool, default True
        ``False``: no item twice in a bag, which then holds at most the whole pool.

    Examples
    --------
    >>> from truemix.protocols import NaturalBags
    >>> y = ["ham"] * 80 + ["spam"] * 20
    >>> for bag in NaturalBags(n_bags=3, bag_size=100).bags(y):
    ...     print(len(bag.index), bag.prevalence)
    100 [0.77 0.23]
    100 [0.8 0.2]
    100 [0.72 0.28]
    """

    n_bags: int = 500
    bag_size: int = 1000
    random_state: int | None = 0
    replace: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.n_bags, "n_bags")

    def number_of_bags(self, n_classes: int) -> int:
        """Return how many bags there are, whatever the number of classes."""
        return self.n_bags

    def _draw(self, pool: _Pool, shared: FloatArray, number: int) -> Bag:
        n_items = len(pool.codes)
        rng = self._seed(number)
        if self.replace:
            return pool.bag(rng.integers(0, n_items, self.bag_size))
        return pool.bag(rng.choice(n_items, min(self.bag_size, n_items), replace=False))


@dataclass(frozen=True)
class GridBags(Protocol):
    """Bags whose prevalences are the points of a regular grid on the simplex.

    This is the artificial prevalence protocol (APP): every mix whose shares are multiples of
    ``1 / (n_points - 1)``. There are ``comb(n_points + K - 2, K - 1)`` of them, 21 for two classes
    but 10,626 for five and more than 10**13 for 26, so at most ``most`` are used: different ones,
    each equally likely to be chosen.

    Parameters
    ----------
    n_points : int, default 21
        Points on each axis, 0 and 1 included: 21 means steps of 5 %.
    repeats : int, default 1
        Bags drawn at each point.
    bag_size : int, default 1000
    random_state : int or None, default 0
        ``None`` takes a fresh seed when the protocol is made, and keeps it.
    replace : bool, default True
        ``False``: no item twice in a bag, and smaller bags where the pool is small.
    most : int, default 5000
        Largest number of grid points.

    Examples
    --------
    >>> from truemix.protocols import GridBags
    >>> y = ["ham"] * 80 + ["spam"] * 20
    >>> for bag in GridBags(n_points=3, bag_size=100).bags(y):
    ...     print(len(bag.index), bag.prevalence)
    100 [0. 1.]
    100 [0.5 0.5]
    100 [1. 0.]
    """

    n_points: int = 21
    repeats: int = 1
    bag_size: int = 1000
    random_state: int | None = 0
    replace: bool = True
    most: int = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.n_points, "n_points")
        check_integer(self.repeats, "repeats")
        check_integer(self.most, "most")

    def _grid_size(self, n_classes: int) -> int:
        return math.comb(self.n_points + n_classes - 2, n_classes - 1)

    def number_of_bags(self, n_classes: int) -> int:
        """Return how many bags there are for a pool of ``n_classes`` classes.

        Examples
        --------
        >>> from truemix.protocols import GridBags
        >>> GridBags().number_of_bags(2), GridBags().number_of_bags(26)
        (21, 5000)
        """
        return self.repeats * min(self._grid_size(n_classes), self.most)

    def _setup(self, n_classes: int) -> FloatArray:
        size = self._grid_size(n_classes)
        n_vectors = min(size, self.most)
        slots, n_bars = self.n_points + n_classes - 2, n_classes - 1
        # The key has two parts, so that no bag shares this stream.
        rng = self._seed(0, 0)
        if n_vectors == size or size <= _LISTED_GRID:
            every = itertools.chain.from_iterable(itertools.combinations(range(slots), n_bars))
            bars = np.fromiter(every, np.intp, size * n_bars).reshape(size, n_bars)
            if n_vectors < size:
                bars = bars[np.sort(rng.choice(size, n_vectors, replace=False))]
        else:
            bars = _distinct_subsets(slots, n_bars, n_vectors, rng)
        # Stars and bars: n_bars of the slots hold bars, and the stars between them are the shares.
        edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, slots)))
        return np.asarray((np.diff(edges, axis=1) - 1) / (self.n_points - 1))

    def _draw(self, pool: _Pool, shared: FloatArray, number: int) -> Bag:
        p = shared[number // self.repeats]
        return pool.draw(p, self.bag_size, self.replace, self._seed(number))


def _distinct_subsets(n: int, k: int, count: int, rng: np.random.Generator) -> IntArray:
    """Return ``count`` different sorted subsets of size k of range(n), each as likely as others."""
    chosen: dict[tuple[int, ...], None] = {}
    while len(chosen) < count:
        keys = rng.random((4096, n))
        for subset in np.sort(np.argpartition(keys, k - 1, axis=1)[:, :k], axis=1).tolist():
            chosen[tuple(subset)] = None
    return np.array(list(chosen)[:count], dtype=np.intp)
