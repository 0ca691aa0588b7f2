"""The adaptive prior of MAPLS, and the most probable mix under a Dirichlet prior.

Ye, Tsuchida, Petersson and Barnes (2024), "Label shift estimation for class-imbalance problem: a
Bayesian approach", WACV. Their EM step mixes its result with the uniform mix, ``lam * new +
(1 - lam) / K``; that is the step for a symmetric Dirichlet prior of parameter
``1 + n (1 - lam) / (lam K)``, with n items.
"""

from __future__ import annotations

import math

import numpy as np

from truemix._typing import FloatArray
from truemix.inference.maximum_likelihood import maximize_mixture

# Constants of the paper: the divergence at which confidence takes its nominal value; that value for
# the distance of the training mix from uniform; the weights of the two confidences.
NOMINAL_DIVERGENCE = 0.5
TRAINING_CONFIDENCE = 0.2
UNIFORM_WEIGHT, TRAINING_WEIGHT = 0.9, 0.1


def adaptive_prior(
    log_likelihood: FloatArray,
    train_prevalence: FloatArray,
    n_layers: int = 1,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return the parameters of the symmetric Dirichlet prior that MAPLS would use for a batch.

    Weights are how many items each row stands for; with several stacked layers, each item counts
    once over all of them.

    Examples
    --------
    >>> likelihood = np.array([[8.0, 1.0], [8.0, 1.0], [8.0, 1.0], [1.0, 8.0]])
    >>> adaptive_prior(np.log(likelihood), np.array([0.6, 0.4])).round(2)
    array([1.26, 1.26])
    """
    n_rows, n_classes = log_likelihood.shape
    n_items = (n_rows if weights is None else float(weights.sum())) / n_layers
    uniform = np.full(n_classes, 1.0 / n_classes)
    likely = maximize_mixture(log_likelihood, weights=weights).prevalence
    training = 1.0 - _confidence(
        _divergence(train_prevalence, uniform), _slope(TRAINING_CONFIDENCE)
    )
    slope = _slope(training)
    lam = UNIFORM_WEIGHT * _confidence(_divergence(likely, uniform), slope)
    lam += TRAINING_WEIGHT * (1.0 - _confidence(_divergence(likely, train_prevalence), slope))
    return np.full(n_classes, 1.0 + n_items * (1.0 - lam) / (lam * n_classes))


def most_probable_mix(
    log_likelihood: FloatArray,
    prior: FloatArray,
    n_layers: int = 1,
    weights: FloatArray | None = None,
) -> FloatArray | None:
    """Return the mode of the posterior (MAP); None if a prior parameter is below 1.

    A Dirichlet prior of parameter a acts like ``a - 1`` more items known to be of the class.

    Examples
    --------
    >>> most_probable_mix(np.zeros((1, 2)), np.array([3.0, 2.0])).round(3)
    array([0.667, 0.333])
    """
    if (prior < 1.0).any():
        return None
    n_rows, n_classes = log_likelihood.shape
    with np.errstate(divide="ignore"):
        known = np.log(np.eye(n_classes))
    counts = np.ones(n_rows) if weights is None else weights
    all_weights = np.concatenate([counts / n_layers, prior - 1.0])
    return maximize_mixture(np.vstack([log_likelihood, known]), weights=all_weights).prevalence


def _divergence(p: FloatArray, q: FloatArray) -> float:
    """Return the Kullback-Leibler divergence of p from q."""
    positive = p > 0
    return float((p[positive] * np.log(p[positive] / q[positive])).sum())


def _slope(confidence: float) -> float:
    """Return the slope at which the nominal divergence gives this confidence."""
    if confidence >= 1.0:
        return math.inf
    return (1.0 / (1.0 - confidence) - 1.0) / NOMINAL_DIVERGENCE


def _confidence(divergence: float, slope: float) -> float:
    """Return ``s d / (1 + s d)``, and its limits: 1 for an infinite slope, 0 for no divergence."""
    if divergence <= 0.0:
        return 0.0
    if math.isinf(slope):
        return 1.0
    return slope * divergence / (1.0 + slope * divergence)
