"""The robust mixture: a posterior under label shift beside ones that allow it to be biased.

Each component says what the mix was before the labels: as the posterior under label shift has it,
or with a bias of one of some scales. Labels measure the mix of the batch; every component is
updated by them, and its weight by how well it foretold them. Everything is Gaussian in the K - 1
dimensions of shares that sum to one, jointly for the mix of the batch and of its source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.trust.prediction_powered import Measurement, source_covariance

# Standard deviations of the bias of an estimate under label shift where that fails, for a share of
# one half: noticeable, and useless. A single vague component would be punished for allowing all of
# them (Occam's factor), so that a bias of some points would be overlooked; with scales below these,
# estimates are drawn to label shift where it fails.
BIAS_SCALES = (0.1, 0.3)
# Odds of label shift before the labels, without a check and where a check found nothing.
ODDS, ODDS_IF_CHECKED = 1.0, 4.0
# Exponent of the largest Bayes factor for label shift that a p-value allows.
CHECK_POWER = 2.0
# Intervals give label shift no more weight than this before the labels. A bias that neither check
# nor labels can tell from none is allowed for in them, though not expected in the estimate.
MAX_WEIGHT_IN_INTERVALS = 0.1
# This part of the draws rests on the labels alone, however well label shift or a bias of some scale
# foretold them. Real biases are not Gaussian: where a new kind of items makes one class of 25 many
# times as frequent, the marginal likelihood still prefers no bias in 24 dimensions to one in all.
# With a new kind of items and 50 labels, on the sets that rules are chosen on, intervals held some
# 92 % of the shares without it, and hold some 97 % with it, a few percent wider.
LABELS_ALONE = 0.1


def prior_weight(p_value: float | None) -> float:
    """Return the probability of label shift before the labels, given its check.

    The Bayes factor of a hypothesis with p-value p below 1 / e is at most ``-e p log p`` (Sellke,
    Bayarri and Berger 2001). It is squared: a check is about the form of the batch, which is seen
    better than the mix.

    Parameters
    ----------
    p_value : float or None
        Of the check of label shift, None if there was none.

    Examples
    --------
    >>> [round(prior_weight(p), 3) for p in (None, 0.5, 0.05, 0.005)]
    [0.5, 0.8, 0.399, 0.02]
    """
    if p_value is None:
        return ODDS / (1.0 + ODDS)
    p = max(p_value, 1e-12)
    factor = -math.e * p * math.log(p) if p < 1.0 / math.e else 1.0
    odds = ODDS_IF_CHECKED * math.pow(factor, CHECK_POWER)
    return odds / (1.0 + odds)


@dataclass(frozen=True, eq=False)
class Component:
    """What is known of the mix, as a Gaussian.

    Attributes
    ----------
    weight : float
        Probability of the component.
    mean : ndarray of shape (2, K)
        Of the mix of the batch, and of its source.
    covariance : ndarray of shape (2 K, 2 K)
        Of both, one below the other.
    """

    weight: float
    mean: FloatArray
    covariance: FloatArray


def label_shift_components(
    batch: FloatArray,
    source: FloatArray,
    weight: float,
    scales: Sequence[float] = BIAS_SCALES,
) -> list[Component]:
    """Return the components before the labels, the one without bias first.

    Parameters
    ----------
    batch, source : ndarray of shape (draws, K)
        Draws under label shift of the mix of the batch and of its source, row by row.
    weight : float
        Probability that there is no bias; the scales share the rest evenly.
    scales : sequence of float
        Standard deviations of the bias, for a share of one half.
    """
    n_classes = batch.shape[1]
    mean = np.array([batch.mean(axis=0), source.mean(axis=0)])
    joint = np.hstack([batch, source]) - mean.ravel()
    covariance = joint.T @ joint / len(joint)
    # Rare classes are biased less; but none is so rare that it could not be.
    q = 0.5 * (mean[0] + 1.0 / n_classes)
    bias = 4.0 * (np.diag(q) - np.outer(q, q))
    found = [Component(weight, mean, covariance)]
    for scale in scales:
        # The same bias in both views.
        biased = covariance + scale**2 * np.kron(np.ones((2, 2)), bias)
        found.append(Component((1.0 - weight) / len(scales), mean, biased))
    return found


@dataclass(frozen=True, eq=False)
class RobustMixture:
    """What is known before the labels, if label shift may fail.

    Attributes
    ----------
    expected : list of Component
        Which the estimate rests on, the one without bias first.
    cautious : list of Component
        The same with more weight on a bias, which the spread about the estimate rests on.
    """

    expected: list[Component]
    cautious: list[Component]

    @classmethod
    def of_draws(cls, batch: FloatArray, source: FloatArray, weight: float) -> RobustMixture:
        """Return the mixture for draws under label shift and its probability."""
        low = min(weight, MAX_WEIGHT_IN_INTERVALS)
        return cls(
            label_shift_components(batch, source, weight),
            label_shift_components(batch, source, low),
        )

    def after(self, measured: Measurement, n_items: int) -> tuple[list[Component], float]:
        """Return components after a measurement, and the probability of label shift.

        The components have the mean of ``expected``, and the spread of ``cautious`` and of the
        labels alone.
        """
        expected = updated(self.expected, measured, n_items)
        alone = measured_alone(measured, n_items)
        cautious = [
            *(
                replace(each, weight=(1.0 - LABELS_ALONE) * each.weight)
                for each in updated(self.cautious, measured, n_items)
            ),
            replace(alone, weight=LABELS_ALONE),
        ]
        shift = mean_of(expected) - mean_of(cautious)
        moved = [replace(each, mean=each.mean + shift) for each in cautious]
        return moved, expected[0].weight


def mean_of(components: Sequence[Component]) -> FloatArray:
    """Return the mean of a mixture, ``(2, K)``."""
    return np.asarray(sum(each.weight * each.mean for each in components))


def updated(
    components: Sequence[Component], measured: Measurement, n_items: int
) -> list[Component]:
    """Return components after a measurement of the mix of the batch.

    Parameters
    ----------
    components : sequence of Component
    measured : Measurement
    n_items : int
        Number of items in the batch: shares are not told apart below half an item.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.dirichlet([500, 500], 1000)
    >>> before = label_shift_components(draws, draws, 0.5)
    >>> V = 0.04**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> near = Measurement(np.array([0.52, 0.48]), V, 50.0, np.ones(2))
    >>> far = Measurement(np.array([0.75, 0.25]), V, 50.0, np.ones(2))
    >>> [round(updated(before, each, 1000)[0].weight, 2) for each in (near, far)]
    [0.77, 0.0]
    """
    n_classes = len(measured.share)
    basis = sum_zero_basis(n_classes)
    both = np.kron(np.eye(2), basis)
    d = n_classes - 1
    noise = basis.T @ measured.covariance @ basis + (0.5 / n_items) ** 2 * np.eye(d)
    scores, found = [], []
    for each in components:
        S = both.T @ each.covariance @ both
        surprise = basis.T @ (measured.share - each.mean[0])
        marginal = S[:d, :d] + noise
        gain = np.linalg.solve(marginal, S[:d]).T
        mean = each.mean + (gain @ surprise).reshape(2, d) @ basis.T
        covariance = both @ (S - gain @ S[:d]) @ both.T
        scores.append(math.log(each.weight) if each.weight > 0.0 else -math.inf)
        scores[-1] += log_density(surprise, marginal, measured.degrees)
        found.append(Component(0.0, mean, covariance))
    weights = np.exp(np.array(scores) - max(scores))
    weights /= weights.sum()
    return [
        Component(float(weight), each.mean, each.covariance)
        for weight, each in zip(weights, found, strict=True)
    ]


def measured_alone(measured: Measurement, n_items: int) -> Component:
    """Return what a measurement says by itself: nothing is known before."""
    source = source_covariance(measured.share, n_items)
    covariance: FloatArray = np.tile(measured.covariance, (2, 2))
    K = len(measured.share)
    covariance[K:, K:] += source
    return Component(1.0, np.array([measured.share, measured.share]), covariance)


def draw(
    components: Sequence[Component], degrees: float, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return draws of the mix of the batch and of its source, row by row.

    Parameters
    ----------
    components : sequence of Component
        Each gets as many draws as its weight says.
    degrees : float
        Degrees of freedom of Student's t.
    draws : int
    rng : Generator

    Returns
    -------
    tuple of ndarray of shape (draws, K)
        Rows sum to one; shares can be outside [0, 1], see :func:`on_simplex` and
        :func:`as_counts`.
    """
    n_each = rounded_cumulatively(np.array([[each.weight for each in components]]) * draws)[0]
    parts = []
    for each, n in zip(components, n_each.tolist(), strict=True):
        values, vectors = np.linalg.eigh(each.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        z = rng.standard_normal((n, len(values)))
        if np.isfinite(degrees):
            z /= np.sqrt(rng.chisquare(degrees, (n, 1)) / degrees)
        parts.append(each.mean.ravel() + z @ root.T)
    found = rng.permutation(np.concatenate(parts))
    half = found.shape[1] // 2
    return found[:, :half], found[:, half:]


def on_simplex(shares: FloatArray) -> FloatArray:
    """Return shares that sum to one, none of them negative.

    Examples
    --------
    >>> on_simplex(np.array([[0.6, 0.5, -0.1]])).round(3)
    array([[0.545, 0.455, 0.   ]])
    """
    positive = np.maximum(shares, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def as_counts(shares: FloatArray, known: IntArray, n_items: int) -> FloatArray:
    """Return shares that are whole numbers of items, at least those known to be of each class.

    Parameters
    ----------
    shares : ndarray of shape (draws, K)
        Rows sum to one.
    known : ndarray of int of shape (K,)
        Labelled items of each class.
    n_items : int
        Number of all items.

    Examples
    --------
    >>> as_counts(np.array([[0.96, 0.04]]), np.array([5, 1]), 10)
    array([[0.9, 0.1]])
    >>> as_counts(np.array([[0.96, 0.04]]), np.array([7, 3]), 10)
    array([[0.7, 0.3]])
    """
    n_open = n_items - int(known.sum())
    rest = np.maximum(shares - known / n_items, 0.0)
    total = rest.sum(axis=1, keepdims=True)
    even = 1.0 / len(known)
    part = np.divide(rest, total, out=np.full_like(rest, even), where=total > 0.0)
    return np.asarray((known + rounded_cumulatively(part * n_open)) / n_items)


def rounded_cumulatively(amounts: FloatArray) -> IntArray:
    """Return whole numbers near the amounts in each row, with the (whole) sum of the row."""
    ends = np.floor(np.cumsum(amounts, axis=1) + 0.5)
    ends[:, -1] = np.rint(amounts.sum(axis=1))
    return np.diff(np.minimum(ends, ends[:, -1:]), axis=1, prepend=0.0).astype(np.intp)


def sum_zero_basis(n_classes: int) -> FloatArray:
    """Return an orthonormal basis of the vectors that sum to zero, ``(K, K - 1)``.

    Examples
    --------
    >>> basis = sum_zero_basis(4)
    >>> np.allclose(basis.T @ basis, np.eye(3)), np.allclose(basis.sum(axis=0), 0.0)
    (True, True)
    """
    # Helmert's: each column compares one class with those before it.
    basis = np.zeros((n_classes, n_classes - 1))
    for k in range(1, n_classes):
        basis[:k, k - 1] = 1.0 / math.sqrt(k * (k + 1))
        basis[k, k - 1] = -k / math.sqrt(k * (k + 1))
    return basis


def log_density(x: FloatArray, scale: FloatArray, degrees: float) -> float:
    """Return the log-density of Student's t with mean 0 at x; of a Gaussian if it has no tails."""
    d = len(x)
    _, log_determinant = np.linalg.slogdet(scale)
    distance = float(x @ np.linalg.solve(scale, x))
    if not np.isfinite(degrees):
        return -0.5 * (d * math.log(2.0 * math.pi) + float(log_determinant) + distance)
    return (
        math.lgamma(0.5 * (degrees + d))
        - math.lgamma(0.5 * degrees)
        - 0.5 * (d * math.log(degrees * math.pi) + float(log_determinant))
        - 0.5 * (degrees + d) * math.log1p(distance / degrees)
    )
