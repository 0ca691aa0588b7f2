"""Wire a model and an inference: from scored items to results.

The only place where the two meet: the model makes the matrix, the inference consumes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from truemix._replicate_budget import bags_at_once
from truemix._seeds import layer_seed
from truemix._typing import FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.inference.bags import Bag, plain_bags
from truemix.inference.protocol import MixtureResult, Replicates
from truemix.models.protocol import is_uncertain
from truemix.quantifiers.shares import split_result


def replicates_of(model: Any, inference: Any, scored: FloatArray) -> Replicates:
    """Return the matrix that a fitted model makes of scored items, as an inference consumes it.

    Parameters
    ----------
    model, inference
        Fitted, and prepared.
    scored : ndarray of shape (M, n, K)
        Posteriors of the items by each of the models that score them.
    """
    if getattr(inference, "consumes", "log_likelihood") == "observations":
        return _observations(model, inference, scored)
    n_layers, n_items, n_columns = scored.shape
    # Decisions have a column for each of their values.
    n_classes = len(model.counts_) if getattr(model, "counts_", None) is not None else n_columns
    n_columns = n_classes + int(getattr(model, "has_unknown", False))

    def plain(layer: int) -> FloatArray:
        matrix = np.asarray(model.log_likelihood(scored[layer]), dtype=np.float64)
        return _checked(matrix, (n_items, n_columns), model, "log_likelihood")

    def tied(number: int, layer: int) -> FloatArray:
        matrix = model.tied_log_likelihood(number, scored[layer])
        return _checked(matrix, (n_items, n_columns), model, "tied_log_likelihood")

    n_tied = getattr(model, "n_tied", 0) if getattr(inference, "averaged", False) else 0

    def random(layer: int, numbers: IntArray, items: slice) -> FloatArray:
        seed, posteriors = layer_seed(inference.seed_, layer), scored[layer][items]
        matrices = np.asarray(model.replicates(posteriors, numbers, seed))
        return _checked(matrices, (len(numbers), len(posteriors), n_columns), model, "replicates")

    return Replicates(
        n_layers=n_layers,
        n_items=n_items,
        n_columns=n_columns,
        plain=plain,
        tied=tuple(partial(tied, number) for number in range(n_tied)),
        random=random if is_spread(model, inference) else None,
        shared_work=getattr(model, "shared_work", np.zeros_like),
    )


def _checked(matrix: FloatArray, shape: tuple[int, ...], model: Any, method: str) -> FloatArray:
    """Return the array that a model made, which may be a user's, or raise for another shape."""
    if matrix.shape != shape:
        raise InputError(
            f"{type(model).__name__}.{method} returned an array of shape {matrix.shape}; expected "
            f"{shape}: one row per item and one column per class."
        )
    return matrix


def _observations(model: Any, inference: Any, scored: FloatArray) -> Replicates:
    if not hasattr(model, "observe"):
        raise InputError(
            f"{type(inference).__name__} needs observations, such as decisions, but the model "
            f"{type(model).__name__} makes likelihoods only; use Confusion or Histogram, or "
            "MaximumLikelihood or Posterior as the inference."
        )
    spread = is_spread(model, inference)

    def random(layer: int, numbers: IntArray, items: slice) -> FloatArray:
        observed = model.observe(scored[layer][items])
        return np.broadcast_to(observed, (len(numbers), *observed.shape))

    return Replicates(
        n_layers=len(scored),
        n_items=scored.shape[1],
        n_columns=model.counts_.shape[1],
        plain=lambda layer: model.observe(scored[layer]),
        random=random if spread else None,
        counts=model.counts_,
        widths=getattr(model, "widths", None) or (),
        spare=getattr(model, "spare", False),
        counts_of=model.counts_of if spread else None,
    )


def is_spread(model: Any, inference: Any) -> bool:
    """Return whether draws are spread over random replicates of the references."""
    return bool(getattr(inference, "replicated", False)) and is_uncertain(model)


def infer(
    model: Any, inference: Any, scored: FloatArray, bags: Sequence[Bag | IntArray]
) -> Iterator[MixtureResult]:
    """Yield the mix of each bag of scored items."""
    for replicates, rows in replicates_in_parts(model, inference, scored, bags):
        yield from getattr(inference, "infer_in_turn", inference.infer)(replicates, rows)


def replicates_in_parts(
    model: Any, inference: Any, scored: FloatArray, bags: Sequence[Bag | IntArray]
) -> Iterator[tuple[Replicates, list[Bag]]]:
    """Yield matrices shared by many bags, and these bags in them.

    With replicates of the references there are many matrices, and only a few bags at a time fit
    into memory.
    """
    given = plain_bags(bags)
    if not is_spread(model, inference):
        yield replicates_of(model, inference, scored), given
        return
    start = 0
    for block in bags_at_once([bag.rows for bag in given], *scored.shape[1:]):
        part, rows = gathered(scored, block)
        here = given[start : start + len(block)]
        start += len(block)
        yield (
            replicates_of(model, inference, part),
            [bag.at(places) for bag, places in zip(here, rows, strict=True)],
        )


def mixes_of_many(
    models: Sequence[Any],
    inferences: Sequence[Any],
    scored: FloatArray,
    bags: Sequence[Bag | IntArray],
    train_prevalence: FloatArray,
) -> Iterator[tuple[list[int], Iterator[FloatArray]]]:
    """Yield the mixes of bags under many models of one class, fitted on the same references.

    Each step yields the numbers of models whose matrices are computed together, and an iterator
    over the mixes ``(n_bags, K)`` of each, in an order in which neighbours are similar.
    """
    shares = hasattr(type(models[0]), "matrices_of_many") and not any(
        is_spread(model, inference) or getattr(inference, "averaged", False)
        for model, inference in zip(models, inferences, strict=True)
    )
    if not shares:
        for number, (model, inference) in enumerate(zip(models, inferences, strict=True)):
            replicates = replicates_of(model, inference, scored)
            if getattr(model, "has_unknown", False):
                results = inference.infer(replicates, bags)
                mixes = np.array([split_result(r, train_prevalence).prevalence for r in results])
            else:
                mixes = _mixes(inference, replicates, bags)
            yield [number], iter([mixes])
        return
    n_layers, n_items, n_columns = scored.shape
    posteriors = scored.reshape(-1, n_columns)
    for numbers, matrices in type(models[0]).matrices_of_many(models, posteriors):
        made = (
            Replicates(n_layers, n_items, n_columns, matrix.reshape(scored.shape).__getitem__)
            for matrix in matrices
        )
        yield numbers, _in_turn([inferences[number] for number in numbers], made, bags)


def _in_turn(
    inferences: list[Any], made: Iterator[Replicates], bags: Sequence[Bag | IntArray]
) -> Iterator[FloatArray]:
    near = None
    for inference, replicates in zip(inferences, made, strict=True):
        near = _mixes(inference, replicates, bags, near)
        yield near


def _mixes(
    inference: Any,
    replicates: Replicates,
    bags: Sequence[Bag | IntArray],
    near: FloatArray | None = None,
) -> FloatArray:
    if hasattr(inference, "mixes"):
        mixes: FloatArray = inference.mixes(replicates, bags, near)
        return mixes
    return np.array([result.prevalence for result in inference.infer(replicates, bags)])


def gathered(scored: FloatArray, bags: list[IntArray]) -> tuple[FloatArray, list[IntArray]]:
    """Return the scores of the items in some bags, each item once, and the rows of each bag in it.

    A single bag keeps its rows, repeated ones included. All items in order are not copied.

    Examples
    --------
    >>> scored = np.array([[[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]])
    >>> part, rows = gathered(scored, [np.array([2]), np.array([1, 2])])
    >>> part[0, :, 0], [each.tolist() for each in rows]
    (array([0.2, 0.4]), [[1], [0, 1]])
    """
    n_items = scored.shape[1]
    if len(bags) == 1:
        in_order = np.array_equal(bags[0], np.arange(n_items))
        return scored if in_order else scored[:, bags[0]], [np.arange(len(bags[0]))]
    used = np.zeros(n_items, dtype=bool)
    for rows in bags:
        used[rows] = True
    place = np.cumsum(used) - 1
    return scored if used.all() else scored[:, used], [place[rows] for rows in bags]
