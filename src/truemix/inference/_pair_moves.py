"""Compiled moves of mass between two classes of a mix, with the items' classes marginalised out.

Gibbs sweeps that allocate items to classes change a mix only a little where classes overlap. Each
move here redraws the ratio of two shares, with their sum held fixed.

- An *exchange* keeps the confusion matrix. It explores the direction in which the predicted items
  inform the mix.
- A *transfer* moves mass from one class to another together with its row of the matrix, so that the
  probabilities of the predictions do not change. It explores the direction that only labelled items
  and prior inform.

Both are slice sampling (Neal, 2003) in the log of the ratio: an interval of fixed width is placed
at random around the current value and shrunk until it yields a point of the slice. In the log
ratio there are no boundaries, and shares of any magnitude are resolved. Exact for any prior and
temperature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray
from truemix._vector_math import log_positive
from truemix.inference._random import SMALLEST, State, log_uniform, uniform

# Width of the slice interval. Wider intervals cost rejections, narrower ones cost moves.
_WIDTH = 4.0
# Exchanges and transfers per class and round.
_EXCHANGES, _TRANSFERS = 4, 1
# Arrays over predicted classes are padded to a multiple of this: the remainder of a vectorised
# loop is slower than one more full iteration.
_LANES = 16


class Scratch(NamedTuple):
    """Padded work arrays of a move; the padding has exponent 0.

    ``predicted`` are the current probabilities of the predictions and ``powers`` their exponents;
    ``joint`` and ``labelled`` are the same for one row of the matrix. ``slope`` is their rate of
    change along the line of the move.
    """

    predicted: FloatArray
    powers: FloatArray
    joint: FloatArray
    labelled: FloatArray
    slope: FloatArray


@compiled
def pair_scratch(C: int) -> Scratch:
    """Return scratch for moves with ``C`` predicted classes."""
    width = -(-C // _LANES) * _LANES
    return Scratch(
        np.ones(width), np.zeros(width), np.ones(width), np.zeros(width), np.zeros(width)
    )


@compiled
def move_pairs(
    pi: FloatArray,
    M: FloatArray,
    prior: FloatArray,
    row_shapes: FloatArray,
    powers: FloatArray,
    state: State,
    scratch: Scratch,
) -> None:
    """Update the mix ``pi`` (K,) and the matrix ``M`` (K, C) by a round of random pair moves.

    ``prior``, ``row_shapes`` and ``powers`` as for ``joint_sweeps``; ``scratch`` comes from
    ``pair_scratch``.
    """
    K, C = M.shape
    if K == 1:
        return
    predicted = scratch.predicted
    for c in range(C):
        scratch.powers[c] = powers[c]
        predicted[c] = 0.0
    for y in range(K):
        for c in range(C):
            predicted[c] += pi[y] * M[y, c]
    for _ in range(_EXCHANGES * (K - 1)):
        i, j = _pair(K, state)
        exchange(i, j, pi, M, prior, state, scratch)
    for _ in range(_TRANSFERS * (K - 1)):
        i, j = _pair(K, state)
        transfer(i, j, pi, M, prior, row_shapes, state, scratch)


@compiled
def _pair(K: int, state: State) -> tuple[int, int]:
    """Return two different numbers below ``K``."""
    i, j = int(uniform(state) * K), int(uniform(state) * (K - 1))
    return i, j + (j >= i)


@compiled_vectors
def exchange(
    i: int,
    j: int,
    pi: FloatArray,
    M: FloatArray,
    prior: FloatArray,
    state: State,
    scratch: Scratch,
) -> None:
    """Draw the ratio of shares ``i`` and ``j`` given the matrix."""
    predicted, slope, powers = scratch.predicted, scratch.slope, scratch.powers
    C = M.shape[1]
    for c in range(C):
        slope[c] = M[i, c] - M[j, c]
    x, y = _draw_ratio(pi[i], pi[j], prior[i], prior[j], predicted, slope, powers, np.inf, state)
    step = _gain(pi[i], pi[j], x, y)
    for c in range(C):
        predicted[c] += step * slope[c]
    pi[i], pi[j] = x, y


@compiled_vectors
def transfer(
    i: int,
    j: int,
    pi: FloatArray,
    M: FloatArray,
    prior: FloatArray,
    row_shapes: FloatArray,
    state: State,
    scratch: Scratch,
) -> None:
    """Draw the ratio of shares ``i`` and ``j`` given the probabilities of the predictions.

    Mass that leaves class ``i`` joins class ``j`` with the predictions of class ``i``. Given row
    ``i``, this is a translation of share ``i`` and of ``j``'s joint probabilities with the
    predictions, so the slice is taken of the density in these coordinates.
    """
    joint, slope, powers = scratch.joint, scratch.slope, scratch.labelled
    C = M.shape[1]
    limit, power = np.inf, prior[j] + 1.0
    for c in range(C):
        joint[c] = pi[j] * M[j, c]
        slope[c] = -M[i, c]
        powers[c] = row_shapes[j, c] - 1.0
    for c in range(C):
        power -= row_shapes[j, c]
        limit = min(limit, joint[c] / M[i, c])
    x, y = _draw_ratio(pi[i], pi[j], prior[i], power, joint, slope, powers, pi[i] + limit, state)
    step, total = _gain(pi[i], pi[j], x, y), 0.0
    for c in range(C):
        joint[c] = max(joint[c] + step * slope[c], SMALLEST)
    for c in range(C):
        total += joint[c]
    for c in range(C):
        M[j, c] = max(joint[c] / total, SMALLEST)
    pi[i], pi[j] = x, y


@compiled
def _draw_ratio(
    x: float,
    y: float,
    power_x: float,
    power_y: float,
    start: FloatArray,
    slope: FloatArray,
    powers: FloatArray,
    upper: float,
    state: State,
) -> tuple[float, float]:
    """Return new shares of the same sum, the first below ``upper``, by one slice-sampling step.

    The density of the log ratio is the product of ``x**power_x * y**power_y`` and of
    ``(start + (x - x0) * slope)**powers``.
    """
    total, here = x + y, np.log(x) - np.log(y)
    level = log_uniform(state) + power_x * np.log(x) + power_y * np.log(y)
    level += _along(start, slope, 0.0, powers)
    low = here - _WIDTH * uniform(state)
    high = low + _WIDTH
    # The current value is in the slice, so the loop ends; in a tiny interval rounding may hide it.
    while high - low > 1e-12:
        there = low + uniform(state) * (high - low)
        ratio = np.exp(-abs(there))
        larger = total / (1.0 + ratio)
        smaller = max(larger * ratio, SMALLEST)
        new_x, new_y = (larger, smaller) if there > 0.0 else (smaller, larger)
        if new_x < upper:
            value = power_x * np.log(new_x) + power_y * np.log(new_y)
            step = _gain(x, y, new_x, new_y)
            if value + _along(start, slope, step, powers) >= level:
                return new_x, new_y
        if there < here:
            low = there
        else:
            high = there
    return x, y


@compiled
def _gain(x: float, y: float, new_x: float, new_y: float) -> float:
    """Return the change of ``x``, from the smaller shares, where cancellation is least."""
    return new_x - x if max(x, new_x) < max(y, new_y) else y - new_y


@compiled_vectors
def _along(start: FloatArray, slope: FloatArray, step: float, powers: FloatArray) -> float:
    """Return the weighted sum of logarithms at distance ``step`` along the line."""
    value = 0.0
    for c in range(len(start)):
        value += powers[c] * log_positive(max(start[c] + step * slope[c], SMALLEST))
    return value
