"""The mix measured by labels of a probability sample, with predictions for all other items.

The difference estimator of survey sampling, known as prediction-powered inference: the mean of
predictions over all items, plus the mean error of the predictions among the labelled ones. It is
right whatever the predictions are; good ones make it sharp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._typing import FloatArray, IntArray

# The regression of labels on predictions is unreliable with few labels, and its slope is 1 for
# predictions that are right: as many items with that slope are added.
SLOPE_ITEMS = 10.0
# Items whose error is as the predictions say, added to those whose error was seen ...
MODEL_ITEMS = 3.0
# ... and items about which the predictions were wrong, so that no class has an error of 0 because
# none of its items happens to be labelled. As in the rule of three, errors that were not seen among
# n items may have a rate of some 1 / n, whatever the number of classes: the squared errors of these
# items add up to about one for each class. With a sum in proportion to the size of a class, on the
# benchmark's sets 95 % intervals held 78 % of the shares of classes without a labelled item.
MISFIT_ITEMS = 2.0


@dataclass(frozen=True, eq=False)
class Measurement:
    """The mix of a batch as measured by labels of some of its items.

    Attributes
    ----------
    share : ndarray of shape (K,)
        Sums to one; a share can be below 0 by chance.
    covariance : ndarray of shape (K, K)
        Of the error of ``share`` as an estimate of the mix of the batch; rows sum to zero.
    degrees : float
        Degrees of freedom of the covariance.
    slopes : ndarray of shape (K,)
        How far the predictions of each class were used, from 0 (not at all) to 1.
    """

    share: FloatArray
    covariance: FloatArray
    degrees: float
    slopes: FloatArray


def prediction_powered(
    predicted: FloatArray,
    counts: FloatArray,
    rows: IntArray,
    codes: IntArray,
    inclusion: FloatArray,
    slopes: FloatArray | None = None,
) -> Measurement:
    """Return the mix of all items, from labels of some.

    Parameters
    ----------
    predicted : ndarray of shape (R, K)
        Probabilities of the classes for each distinct row of items.
    counts : ndarray of shape (R,)
        Number of items equal to each row.
    rows, codes : ndarray of int of shape (n,)
        Row and class of each labelled item.
    inclusion : ndarray of shape (n,)
        The probability with which each of them was chosen.
    slopes : ndarray of shape (K,), optional
        How far to use the predictions; by default regression decides.

    Returns
    -------
    Measurement

    Notes
    -----
    With ``g_i`` the predictions, used as far as the slopes say, ``y_i`` labels as one-hot rows,
    ``e_i = y_i - g_i`` and weights ``w_i`` in proportion to ``1 / inclusion`` (Hájek), the mix is
    ``mean over all g_i + sum over labelled w_i e_i``, and its covariance
    ``sum (1 - inclusion_i) w_i^2 (e_i - e)(e_i - e)'``: in a simple random sample
    ``(1 - n / N) S / n`` with the covariance S of the errors. With few labels S is shrunk towards
    what the predictions say of their own errors.

    Examples
    --------
    >>> predicted = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> counts = np.array([600.0, 400.0])
    >>> times = [27, 3, 5, 15]
    >>> rows, codes = np.repeat([0, 0, 1, 1], times), np.repeat([0, 1, 0, 1], times)
    >>> found = prediction_powered(predicted, counts, rows, codes, np.full(50, 0.05))
    >>> found.share.round(3), np.sqrt(np.diag(found.covariance)).round(3)
    (array([0.64, 0.36]), array([0.051, 0.051]))
    """
    n_items, n_classes = float(counts.sum()), predicted.shape[1]
    labels = np.eye(n_classes)[codes]
    if len(codes) >= n_items:
        nothing = np.zeros((n_classes, n_classes))
        return Measurement(labels.mean(axis=0), nothing, np.inf, np.zeros(n_classes))
    share_of = counts / n_items
    mean, square = share_of @ predicted, share_of @ predicted**2
    weights = hajek_weights(inclusion)
    here = predicted[rows]
    if slopes is None:
        slopes = _slopes(here, labels, weights, np.maximum(square - mean**2, 0.0))
    # What partly used predictions leave open is shared out in proportion to their own variance.
    spread = np.maximum(mean - square, 0.0) + 1.0 / n_items
    spread = spread / spread.sum()
    used = _used(here, slopes, spread)
    errors = labels - used
    correction = weights @ errors
    share = _used(mean[None], slopes, spread)[0] + correction
    covariance = _covariance(here, used, errors - correction, weights, inclusion)
    # Those of the weighted mean, and what was added.
    degrees = _effective(weights) - 1.0 + MODEL_ITEMS + MISFIT_ITEMS
    return Measurement(share, covariance, degrees, slopes)


def hajek_weights(inclusion: FloatArray) -> FloatArray:
    """Return the weight of each labelled item, in proportion to the items that it stands for."""
    weights = 1.0 / inclusion
    return np.asarray(weights / weights.sum())


def source_covariance(share: FloatArray, n_items: int) -> FloatArray:
    """Return the covariance of the mix of a batch about the mix of the source it comes from.

    Examples
    --------
    >>> source_covariance(np.array([0.5, 0.5]), 100)
    array([[ 0.0025, -0.0025],
           [-0.0025,  0.0025]])
    """
    p = np.maximum(share, 0.0)
    p = p / p.sum()
    return np.asarray((np.diag(p) - np.outer(p, p)) / n_items)


def residual_covariance(expected: FloatArray, used: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean covariance of errors ``y - used``, if ``expected`` are the probabilities."""
    bias = expected - used
    mean = weights @ expected
    second = (expected * weights[:, None]).T @ expected
    return np.asarray(np.diag(mean) - second + (bias * weights[:, None]).T @ bias)


def shrunk_covariance(seen: FloatArray, n_seen: float, modelled: FloatArray) -> FloatArray:
    """Return the covariance of errors seen ``n_seen`` times, together with what is added to them.

    Parameters
    ----------
    seen, modelled : ndarray of shape (K, K)
        Covariance of the errors that were seen, and of those that the predictions expect.
    n_seen : float
        Degrees of freedom of the first.
    """
    n_classes = len(seen)
    misfit = 0.5 * (np.eye(n_classes) - 1.0 / n_classes)
    total = n_seen * seen + MODEL_ITEMS * modelled + MISFIT_ITEMS * misfit
    return np.asarray(total / (n_seen + MODEL_ITEMS + MISFIT_ITEMS))


def labels_only(
    codes: IntArray,
    inclusion: FloatArray,
    n_classes: int,
    n_items: int,
    draws: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return draws of the mix of the batch and of its source, from labels alone.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Classes of the labelled items.
    inclusion : ndarray of shape (n,)
        As for :func:`prediction_powered`.
    n_classes, n_items : int
        K, and the number of all items.
    draws : int
    rng : Generator

    Returns
    -------
    tuple of ndarray of shape (draws, K)
        Of the batch, labelled items as they are; and of the source. Labels with different weights
        count as the number of equally weighted ones that would have the same variance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes, inclusion = np.repeat([0, 1], [30, 10]), np.full(40, 0.4)
    >>> batch, source = labels_only(codes, inclusion, 2, 100, 2000, rng)
    >>> source.mean(axis=0).round(2), bool(batch.std() < source.std())
    (array([0.74, 0.26]), True)
    """
    weights = hajek_weights(inclusion)
    share = np.bincount(codes, weights, n_classes)
    known = np.bincount(codes, minlength=n_classes)
    source = rng.dirichlet(_effective(weights) * share + 1.0 / n_classes, draws)
    others = rng.multinomial(max(n_items - len(codes), 0), source)
    return (known + others) / max(n_items, len(codes)), source


def _effective(weights: FloatArray) -> float:
    """Return the number of equal weights whose mean has the same variance."""
    return float(1.0 / np.square(weights).sum())


def _used(predicted: FloatArray, slopes: FloatArray, spread: FloatArray) -> FloatArray:
    """Return predictions as far as they are used; rows sum to one as before."""
    part = predicted * slopes
    return np.asarray(part + spread * (1.0 - part.sum(axis=1, keepdims=True)))


def _slopes(
    predicted: FloatArray, labels: FloatArray, weights: FloatArray, variance: FloatArray
) -> FloatArray:
    """Return the slope of the regression of labels on predictions, class by class."""
    centred = predicted - weights @ predicted
    n = _effective(weights)
    prior = SLOPE_ITEMS * variance
    top = n * (weights @ (centred * labels)) + prior
    bottom = n * (weights @ centred**2) + prior
    slopes = np.divide(top, bottom, out=np.ones_like(top), where=bottom > 0.0)
    return np.asarray(np.clip(slopes, 0.0, 1.0))


def _covariance(
    predicted: FloatArray,
    used: FloatArray,
    errors: FloatArray,
    weights: FloatArray,
    inclusion: FloatArray,
) -> FloatArray:
    """Return the covariance of the weighted mean of errors, given them about that mean."""
    parts = (1.0 - inclusion) * weights**2
    factor = float(parts.sum())
    if factor <= 0.0:
        return np.zeros((used.shape[1], used.shape[1]))
    parts = parts / factor
    n = _effective(weights)
    seen = (errors * parts[:, None]).T @ errors
    seen = seen * (n / (n - 1.0)) if n > 1.0 + 1e-9 else np.zeros_like(seen)
    modelled = residual_covariance(predicted, used, parts)
    return factor * shrunk_covariance(seen, max(n - 1.0, 0.0), modelled)
