"""The interface of inference parts: ``Replicates`` in, ``MixtureResult`` out, and the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np

from truemix._replicate_budget import (
    FILL_BYTES,
    doubles_at_once,
    fits_in_single,
    replicates_at_once,
)
from truemix._threads import row_blocks, with_progress
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.inference._checks import check_rows
from truemix.inference.bags import Bag


@dataclass(frozen=True, eq=False)
class MixtureResult:
    """The result of an inference for one bag: a point estimate, maybe draws, and diagnostics.

    Attributes
    ----------
    prevalence : ndarray of shape (K,)
        The point estimate.
    diagnostics : dict
        Diagnostics of the solver or sampler.
    draws : ndarray of shape (draws, K), optional
        Draws of the estimand that was asked for.
    other_draws : ndarray of shape (draws, K), optional
        Draws of the other estimand, from the same run.
    replicate : ndarray of shape (draws,), optional
        Number of the replicate that each draw comes from.
    """

    prevalence: FloatArray
    diagnostics: dict[str, Any] = field(default_factory=dict)
    draws: FloatArray | None = None
    other_draws: FloatArray | None = None
    replicate: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Replicates:
    """The matrix of some items and replicates of it, computed lazily.

    A matrix holds log-likelihoods ``(n, K)``, or observations ``(n, D)`` whose sums per class are
    known. There is one layer for each model of a cross-fitted classifier and, where the references
    leave the model uncertain, any number of random replicates of each layer. All are equally
    plausible: point methods pool the layers; posteriors are mixed, never multiplied.

    Attributes
    ----------
    n_layers, n_items, n_columns : int
    plain : function of the layer
        Returns its matrix ``(n, D)``.
    tied : tuple of functions of the layer
        The same under each further setting of the model that ties with the chosen one.
    random : function of the layer, of numbers and of a slice of items, optional
        Returns random replicates of it, ``(v, n, D)``, for these items.
    shared_work : function of numbers, optional
        Returns group numbers: replicates of one group are cheaper to compute together.
    counts : ndarray of shape (K, D), optional
        For observations: their sum over the references of each class.
    widths : tuple of int
        For decisions of several judges who err independently: the number of columns of each.
    spare : bool
        Whether the last column (of each judge) is for decisions that no reference has.
    counts_of : function of numbers, optional
        The same in replicates of the references, ``(v, K, D)``.

    Examples
    --------
    >>> matrix = np.zeros((3, 2))
    >>> replicates = Replicates(1, 3, 2, plain=lambda layer: matrix)
    >>> [(numbers.tolist(), block.shape) for numbers, block in replicates.blocks(1)]
    [([0], (1, 3, 2))]
    """

    n_layers: int
    n_items: int
    n_columns: int
    plain: Callable[[int], FloatArray]
    tied: tuple[Callable[[int], FloatArray], ...] = ()
    random: Callable[[int, IntArray, slice], FloatArray] | None = None
    shared_work: Callable[[IntArray], IntArray] = np.zeros_like
    counts: FloatArray | None = None
    widths: tuple[int, ...] = ()
    spare: bool = False
    counts_of: Callable[[IntArray], FloatArray] | None = None
    # Cache of replicates that fit into memory together, keyed by how many there are.
    _made: dict[int, FloatArray] = field(default_factory=dict, repr=False)

    @cached_property
    def layers(self) -> FloatArray:
        """The matrices of all layers, ``(M, n, D)``."""
        if self.n_layers == 1:
            return self.plain(0)[None]
        return np.stack([self.plain(layer) for layer in range(self.n_layers)])

    @property
    def known_counts(self) -> FloatArray:
        """The sums of observations per class."""
        if self.counts is None:
            raise InputError(
                "This inference needs observations, such as decisions, but the model makes "
                "likelihoods only; use Confusion or Histogram, or MaximumLikelihood or Posterior."
            )
        return self.counts

    def blocks(self, count: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield replicates in blocks of bounded size: numbers ``(v,)`` and matrices ``(v, n, K)``.

        Replicate v is replicate ``v // M`` of layer ``v % M``, so that layers alternate; without
        random replicates the layers take turns. Number 0 comes first. All come in one block if they
        fit, of large batches in half precision.
        """
        every = np.arange(count)
        if self.random is None:
            if count <= self.n_layers:
                yield every, self.layers[:count]
                return
            for rows in row_blocks(count, doubles_at_once(self.n_items, self.n_columns)):
                yield every[rows], self.layers[every[rows] % self.n_layers]
            return
        at_once = replicates_at_once(self.n_items, self.n_columns)
        if count <= at_once:
            if count not in self._made:
                self._made[count] = self._in_turn(every)
            yield every, self._made[count]
            return
        # Block by layer and group, so that shared work is not repeated.
        group = every % self.n_layers + self.n_layers * self.shared_work(every // self.n_layers)
        for value in np.unique(group):
            numbers = every[group == value]
            for rows in row_blocks(len(numbers), at_once):
                yield numbers[rows], self._in_turn(numbers[rows])

    def _in_turn(self, numbers: IntArray) -> FloatArray:
        if fits_in_single(len(numbers), self.n_items, self.n_columns):
            return self._of_items(numbers, slice(0, self.n_items))
        # Logarithms of likelihood ratios in half precision: an error of 0.05 % of each, which
        # averages out over this many items.
        shape = len(numbers), self.n_items, self.n_columns
        matrices: Any = np.empty(shape, dtype=np.float16)
        rows_at_once = max(1, FILL_BYTES // (8 * len(numbers) * self.n_columns))
        for items in with_progress(row_blocks(self.n_items, rows_at_once), self.n_items):
            part = self._of_items(numbers, items)
            # Column by column, which is faster than along rows that are so short.
            peaks = reduce(np.maximum, [part[..., k] for k in range(self.n_columns)])
            if not np.isfinite(peaks).all():
                for matrix in part:
                    check_rows(matrix, np.ones(len(matrix)))
            # Ratios beyond its range are impossible, as they would be in double precision.
            with np.errstate(over="ignore"):
                matrices[:, items] = part - peaks[..., None] if peaks.any() else part
        held: FloatArray = matrices
        return held

    def _of_items(self, numbers: IntArray, items: slice) -> FloatArray:
        layer, in_layer = numbers % self.n_layers, numbers // self.n_layers
        if (layer == layer[0]).all():
            return self._random(int(layer[0]), in_layer, items)
        parts = {m: self._random(m, in_layer[layer == m], items) for m in np.unique(layer).tolist()}
        first = parts[int(layer[0])]
        matrices = np.empty((len(numbers), *first.shape[1:]), dtype=first.dtype)
        for m in list(parts):
            matrices[layer == m] = parts.pop(m)
        return matrices

    def all_layers(self, numbers: IntArray) -> FloatArray:
        """Return these replicates of every layer, ``(v, M, n, D)``."""
        items = slice(0, self.n_items)
        layers = [self._random(layer, numbers, items) for layer in range(self.n_layers)]
        return np.stack(layers, axis=1)

    def _random(self, layer: int, numbers: IntArray, items: slice) -> FloatArray:
        if self.random is None:
            raise InputError("This model has no replicates of its references.")
        return self.random(layer, numbers, items)


@runtime_checkable
class Inference(Protocol):
    """An inference part: estimates the mix from the matrix.

    An inference that has a class attribute ``consumes = "observations"`` gets observations instead
    of log-likelihoods; one with ``replicated = True`` and, after ``prepare``, an integer ``seed_``
    gets random replicates from models that have them.

    Optional methods: ``check()`` raises for an invalid parameter; ``resolved() -> dict`` returns
    parameters as they were used; ``mixes(replicates, bags, near)`` returns only the point estimates
    of many bags, ``(n_bags, K)``, with initial mixes ``near`` for a solver; ``infer_in_turn`` is
    ``infer`` as an iterator, with only a few bags' draws in memory at a time.
    """

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Store what depends on the classes and their shares in the references."""
        ...

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return the mix of each bag of items.

        Parameters
        ----------
        replicates : Replicates
            The matrix of all items.
        bags : sequence of Bag or of ndarray of int
            The items of each bag, by their rows; :func:`truemix.inference.bags.plain_bags` makes
            bags of lists of rows.
        """
        ...


def stacked(layers: FloatArray, bag: Bag) -> tuple[FloatArray, FloatArray]:
    """Return the rows of a bag with all layers stacked vertically, and their counts."""
    rows = layers[:, bag.rows].reshape(-1, layers.shape[2])
    return rows, np.tile(bag.weights, len(layers))


def pooled(layers: FloatArray, bags: list[Bag]) -> tuple[FloatArray, list[Bag]]:
    """Return all layers stacked as one matrix, and the bags in it."""
    n_layers, n_items, n_columns = layers.shape
    if n_layers == 1:
        return layers[0], bags
    first = n_items * np.arange(n_layers)[:, None]
    return layers.reshape(-1, n_columns), [
        Bag(
            (first + bag.rows).ravel(),
            None if bag.counts is None else np.tile(bag.counts, n_layers),
        )
        for bag in bags
    ]
