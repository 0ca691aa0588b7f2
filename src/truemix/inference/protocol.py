"""The interface of inference parts: ``Replicates`` in, ``MixtureResult`` out, and the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from truemix._replicate_budget import replicates_at_once
from truemix._threads import row_blocks
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError


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
    random : function of the layer and of numbers, optional
        Returns random replicates of it, ``(v, n, D)``.
    shared_work : function of numbers, optional
        Returns group numbers: replicates of one group are cheaper to compute together.
    counts : ndarray of shape (K, D), optional
        For observations: their sum over the references of each class.
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
    random: Callable[[int, IntArray], FloatArray] | None = None
    shared_work: Callable[[IntArray], IntArray] = np.zeros_like
    counts: FloatArray | None = None
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
        random replicates the layers themselves are the replicates. Number 0 comes first.
        """
        every = np.arange(count)
        if self.random is None:
            yield every, self.layers[:count]
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
        layer, in_layer = numbers % self.n_layers, numbers // self.n_layers
        if (layer == layer[0]).all():
            return self._random(int(layer[0]), in_layer)
        parts = {m: self._random(m, in_layer[layer == m]) for m in np.unique(layer).tolist()}
        first = parts[int(layer[0])]
        matrices = np.empty((len(numbers), *first.shape[1:]), dtype=first.dtype)
        for m in list(parts):
            matrices[layer == m] = parts.pop(m)
        return matrices

    def all_layers(self, numbers: IntArray) -> FloatArray:
        """Return these replicates of every layer, ``(v, M, n, D)``."""
        return np.stack([self._random(layer, numbers) for layer in range(self.n_layers)], axis=1)

    def _random(self, layer: int, numbers: IntArray) -> FloatArray:
        if self.random is None:
            raise InputError("This model has no replicates of its references.")
        return self.random(layer, numbers)


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

    def infer(
        self, replicates: Replicates, bags: list[IntArray], weights: FloatArray | None = None
    ) -> list[MixtureResult]:
        """Return the mix of each bag of items.

        Parameters
        ----------
        replicates : Replicates
            The matrix of all items.
        bags : list of ndarray of int
            The items of each bag; items may repeat.
        weights : ndarray of shape (n,), optional
            How many equal items each row stands for.
        """
        ...


def stacked(layers: FloatArray, rows: IntArray) -> FloatArray:
    """Return the rows of some items, with all layers stacked vertically."""
    return layers[:, rows].reshape(-1, layers.shape[2])


def pooled(layers: FloatArray, bags: list[IntArray]) -> tuple[FloatArray, list[IntArray]]:
    """Return all layers stacked as one matrix, and the rows of each bag in it."""
    n_layers, n_items, n_columns = layers.shape
    first = n_items * np.arange(n_layers)[:, None]
    return layers.reshape(-1, n_columns), [(first + rows).ravel() for rows in bags]


def weighted_mean(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the weighted mean of the rows; without weights, their mean."""
    return np.average(values, axis=0, weights=weights)
