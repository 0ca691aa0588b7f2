"""The biases that correct the mix which posteriors are for, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from truemix._typing import FloatArray
from truemix.calibration._items import Items
from truemix.calibration._softmax_regression import SoftmaxRegression, minimize_biases
from truemix.calibration.scaling import prior_precision


def class_biases(P: ArrayLike, y: ArrayLike) -> tuple[FloatArray, float]:
    """Return the biases of ``softmax(log(p) + b)`` that fit labels best, and how much better.

    They correct the mix that posteriors are for and nothing else, unlike bias-corrected temperature
    scaling.

    Parameters
    ----------
    P : array of shape (n, K)
        Held-out posteriors.
    y : array of shape (n,)
        Class numbers.

    Returns
    -------
    biases : ndarray of shape (K,)
        With mean zero.
    statistic : float
        Of the likelihood-ratio test against biases of zero: twice the gain in log-likelihood, not
        negative.

    Examples
    --------
    >>> biases, statistic = class_biases([[0.9, 0.1]] * 4 + [[0.4, 0.6]] * 4, [0] * 4 + [1] * 4)
    >>> biases.round(1), round(statistic, 1)
    (array([-0.4,  0.4]), 1.1)
    """
    items = Items.checked(P, y, None)
    weight = items.weights(None)
    ridge = prior_precision(items.log_p, weight)
    problem = SoftmaxRegression(items.log_p, items.code, weight, True, True, ridge)
    biases = minimize_biases(problem)
    losses = [
        problem.objective(theta) - problem.penalty(theta)
        for theta in (problem.identity(), np.concatenate([[1.0], biases]))
    ]
    statistic = 2.0 * items.code.size * (losses[0] - losses[1])
    return biases - biases.mean(), max(0.0, float(statistic))
