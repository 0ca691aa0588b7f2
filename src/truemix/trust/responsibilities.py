"""Posteriors of the rows of a batch, adapted to its estimated mix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truemix._typing import FloatArray
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.estimates import Estimate
    from truemix.quantifiers.scored_batch import ScoredBatch


def responsibilities(log_likelihood: FloatArray, mix: FloatArray, floor: float) -> FloatArray:
    """Return the posterior of each class for each row, ``p_k L_ik / sum_j p_j L_ij``.

    Parameters
    ----------
    log_likelihood : ndarray of shape (M, n, K)
        By each model that scores the items; the answers of the models are averaged.
    mix : ndarray of shape (K,)
        The estimated mix.
    floor : float
        No class is taken to be rarer than this, so that no row is impossible.

    Returns
    -------
    ndarray of shape (n, K)

    Examples
    --------
    >>> L = np.log([[[0.9, 0.1], [0.5, 0.5]]])
    >>> responsibilities(L, np.array([0.1, 0.9]), 0.001)
    array([[0.5, 0.5],
           [0.1, 0.9]])
    """
    joint = log_likelihood + np.log(np.maximum(mix, floor))
    joint = np.exp(joint - joint.max(axis=2, keepdims=True))
    return np.asarray((joint / joint.sum(axis=2, keepdims=True)).mean(axis=0))


def adapted_posteriors(batch: ScoredBatch, estimate: Estimate) -> FloatArray:
    """Return posteriors of the rows of a batch, adapted to its estimated mix, ``(n_rows, K)``.

    Raises
    ------
    InputError
        If the model has an unknown class, which no label names.
    """
    if getattr(batch.quantifier.model_, "has_unknown", False):
        raise InputError(
            "Labels of the batch, and the choice of items to label, do not go with unknown=True: "
            "no label names the unknown class. Leave unknown out."
        )
    # The same for both views of an estimate.
    draws = estimate.draws_of("batch")
    mix = estimate.prevalence if draws is None else draws.mean(axis=0)
    # Half an item: fewer of a class would be none.
    return responsibilities(batch.log_likelihood(), mix, 0.5 / batch.bag.n_items)
