"""The inference part ``Resampling``: the bootstrap of any point inference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from truemix._replicate_budget import doubles_at_once, number_of_replicates
from truemix._seeds import resolved_seed
from truemix._threads import row_blocks
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.inference.bags import Bag, plain_bags
from truemix.inference.posterior import ESTIMANDS, blocks_of_bags
from truemix.inference.protocol import MixtureResult, Replicates
from truemix.validation import check_choice, check_integer

ROWS_BYTES = 32 << 20
# Up to so many items per row they are resampled one by one, which then takes less time than a
# binomial number for each row.
ITEMS_PER_ROW = 16


class Resampling(BaseEstimator):
    """Bootstrap: the estimates of a point inference on items resampled with replacement.

    Draws of the population are estimates on resampled batches; all draws of the batch are the
    estimate on the items themselves. With replicates of the references, the draws are spread evenly
    over them.

    Parameters
    ----------
    inference : Inference
        A point inference, such as ``MaximumLikelihood()``.
    draws : int
        Number of resampled batches.
    replicated : bool
        Whether to spread the draws over replicates of the references, if the model has any.
    estimand : {"population", "batch"}
        Which view comes first.
    random_state : int, Generator or None
        The same seed gives the same draws.

    Examples
    --------
    >>> from truemix.inference import Counting
    >>> decided = np.repeat([[1.0, 0.0], [0.0, 1.0]], [75, 25], axis=0)
    >>> replicates = Replicates(1, 100, 2, plain=lambda layer: decided, counts=np.eye(2))
    >>> inference = Resampling(inference=Counting(), random_state=0)
    >>> inference.prepare(np.array(["ham", "spam"]), np.array([0.5, 0.5]))
    >>> inference.infer(replicates, [np.arange(100)])[0].draws.std(axis=0).round(2)
    array([0.04, 0.04])
    """

    seed_: int

    def __init__(
        self,
        *,
        inference: Any,
        draws: Any = 1000,
        replicated: Any = False,
        estimand: str = "population",
        random_state: Any = None,
    ) -> None:
        self.inference = inference
        self.draws = draws
        self.replicated = replicated
        self.estimand = estimand
        self.random_state = random_state

    @property
    def consumes(self) -> str:
        """What the point inference consumes."""
        return getattr(self.inference, "consumes", "log_likelihood")

    @property
    def takes_decisions(self) -> str:
        """Which decisions the point inference takes."""
        return getattr(self.inference, "takes_decisions", "known")

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        check_integer(self.draws, "draws")
        check_choice(self.estimand, "estimand", ESTIMANDS)
        resolved_seed(self.random_state)
        if hasattr(self.inference, "check"):
            self.inference.check()

    def prepare(self, classes: AnyArray, train_prevalence: FloatArray) -> None:
        """Prepare the point inference, and resolve the seed."""
        self.inference.prepare(classes, train_prevalence)
        self.seed_ = resolved_seed(self.random_state)

    def resolved(self) -> dict[str, Any]:
        """Return the seed."""
        return {"random_state": self.seed_}

    def infer(self, replicates: Replicates, bags: Sequence[Bag | IntArray]) -> list[MixtureResult]:
        """Return the estimates on resamples of each bag; a row of count c stands for c items."""
        n_columns = replicates.n_columns if replicates.counts is None else len(replicates.counts)
        count = 1
        if replicates.random is not None:
            count = min(int(self.draws), number_of_replicates(replicates.n_items, n_columns))
        runs = [_Run(bag, int(self.draws), n_columns, self.seed_) for bag in plain_bags(bags)]
        ends = np.linspace(0, int(self.draws), count + 1).astype(np.intp)
        for number, replicate in enumerate(self._each(replicates, count)):
            for run in runs:
                run.draw(self.inference, replicate, ends[number], ends[number + 1])
        return [self._result(run, replicates, ends) for run in runs]

    def infer_in_turn(
        self, replicates: Replicates, bags: Sequence[Bag | IntArray]
    ) -> Iterator[MixtureResult]:
        """Yield the mix of each bag; only a few bags' draws are in memory at a time."""
        if replicates.random is not None:
            # Blocks would recompute the replicates; callers pass only a few bags in this case.
            yield from self.infer(replicates, bags)
            return
        for block in blocks_of_bags(len(bags), int(self.draws), replicates.n_columns):
            yield from self.infer(replicates, bags[block])

    def _each(self, replicates: Replicates, count: int) -> Iterator[Replicates]:
        """Yield each random replicate, with all its layers, as a ``Replicates`` without others."""
        if replicates.random is None:
            yield replicates
            return
        n_rows = replicates.n_layers * replicates.n_items
        for block in row_blocks(count, doubles_at_once(n_rows, replicates.n_columns)):
            numbers = np.arange(block.start, block.stop)
            matrices = replicates.all_layers(numbers)
            counts = None if replicates.counts_of is None else replicates.counts_of(numbers)
            for place, layers in enumerate(matrices):
                yield replace(
                    replicates,
                    plain=layers.__getitem__,
                    random=None,
                    counts=None if counts is None else counts[place],
                )

    def _result(self, run: _Run, replicates: Replicates, ends: IntArray) -> MixtureResult:
        views = {"population": run.population, "batch": run.batch}
        draws, count = views.pop(self.estimand), len(ends) - 1
        plain = self.inference.infer(replace(replicates, random=None), [run.bag])[0]
        replicated = replicates.random is not None
        return MixtureResult(
            draws.mean(axis=0),
            {
                **plain.diagnostics,
                "sampler": "bootstrap",
                **({"resamples": count} if replicated else {}),
            },
            draws=draws,
            other_draws=views.popitem()[1],
            replicate=np.repeat(np.arange(count), np.diff(ends)) if replicated else None,
        )


class _Run:
    """The draws of one bag, of both estimands."""

    def __init__(self, bag: Bag, n_draws: int, n_classes: int, seed: int) -> None:
        self.bag, self.seed = bag, seed
        self.rng = np.random.default_rng(seed)
        self.population = np.empty((n_draws, n_classes))
        self.batch = np.empty_like(self.population)

    def draw(self, inference: Any, replicates: Replicates, start: int, stop: int) -> None:
        """Fill some draws with the estimates on resampled items, and on the items themselves."""
        layers, itself = replicates.layers[:, self.bag.rows], self.bag
        if itself.sample is None and hasattr(inference, "mixes_of_counts"):
            layers, itself = _merged(layers, itself)
        n_rows = layers.shape[1]
        bag_items = replace(replicates, n_items=n_rows, plain=layers.__getitem__)
        itself = itself.at(np.arange(n_rows))
        n_numbers = itself.n_items if _one_by_one(itself.weights) else n_rows
        # In blocks: all resampled batches at once would need draws x rows (or items) numbers.
        for block in row_blocks(stop - start, max(1, ROWS_BYTES // (8 * n_numbers))):
            numbers = np.arange(start + block.start, start + block.stop)
            if self.bag.sample is not None:
                # Of sampled rows the items themselves vary from draw to draw, too.
                counts = itself.replicate_counts(numbers, self.seed)
                self.batch[numbers] = _mixes(inference, bag_items, counts)
                counts = np.concatenate([self._resampled(each, 1) for each in counts])
            else:
                self.batch[numbers] = inference.mixes(bag_items, [itself])
                counts = self._resampled(itself.weights, len(numbers))
            self.population[numbers] = _mixes(inference, bag_items, counts)

    def _resampled(self, counts: FloatArray, n: int) -> FloatArray:
        """Return n times how often each row is among as many items, drawn with replacement."""
        n_rows, n_items = len(counts), round(float(counts.sum()))
        if not _one_by_one(counts):
            drawn = self.rng.multinomial(n_items, counts / counts.sum(), size=n)
            return drawn.astype(np.float64)
        row_of_item = np.repeat(np.arange(n_rows), counts.astype(np.intp))
        places = row_of_item[self.rng.integers(0, n_items, (n, n_items), dtype=np.uint32)]
        places += n_rows * np.arange(n)[:, None]
        return np.bincount(places.ravel(), minlength=n * n_rows).reshape(n, -1).astype(np.float64)


def _one_by_one(counts: FloatArray) -> bool:
    """Return whether the items of a batch are resampled one by one."""
    few = counts.sum() <= ITEMS_PER_ROW * len(counts)
    return bool(few and (counts == np.floor(counts)).all())


def _merged(layers: FloatArray, bag: Bag) -> tuple[FloatArray, Bag]:
    """Return observations with equal items as one row, such as all with the same decision."""
    n_layers, n_rows, n_columns = layers.shape
    flat = np.ascontiguousarray(layers.transpose(1, 0, 2)).reshape(n_rows, -1)
    rows, place = np.unique(flat, axis=0, return_inverse=True)
    if len(rows) == n_rows:
        return layers, bag
    counts = np.bincount(place.ravel(), bag.weights).astype(np.float64)
    merged = rows.reshape(-1, n_layers, n_columns).transpose(1, 0, 2)
    return merged, Bag(np.arange(len(rows)), counts)


def _mixes(inference: Any, replicates: Replicates, counts: FloatArray) -> FloatArray:
    """Return the mix under each row of counts of all items ``(n, n_items)``."""
    if hasattr(inference, "mixes_of_counts"):
        found: FloatArray = inference.mixes_of_counts(replicates, counts)
        return found
    bags = [Bag(rows, each[rows]) for each in counts for rows in (np.flatnonzero(each),)]
    mixes: FloatArray = inference.mixes(replicates, bags)
    return mixes
