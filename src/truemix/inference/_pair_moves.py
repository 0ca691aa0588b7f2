"""Compiled moves of mass between two classes of a mix, with the items' classes summed out.

Sweeps that allocate items to classes change a mix by little where classes are hard to tell apart.
These moves do not: each draws the ratio of two shares anew, along a line on which their sum stays.

- An *exchange* keeps the confusion matrix. It follows what the predicted items say about the mix.
- A *transfer* takes items of one class over into another along with their row of the matrix, so
  that the probabilities of the predictions stay as they are. It follows what labelled items and
  prior say where the predicted ones have no say.

Both are slice sampling (Neal, 2003) in the logarithm of the ratio: an interval of fixed width is
placed at random around the present value and shrunk until a point of the slice is found. There are
no edges there, and shares of any size are told apart. Exact for any prior and temperature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray
from truemix._vector_math import log_positive
from truemix.inference._random import SMALLEST, State, log_uniform, uniform

# How far the log ratio may move at once. Wider costs tries, narrower costs moves.
_WIDTH = 4.0
# Moves of each kind per class and round.
_EXCHANGES, _TRANSFERS = 4, 1
# Sums over predicted classes are filled up to a multiple of this: the rest of a vectorised loop is
# slower than a whole turn of it.
_LANES = 16


class Scratch(NamedTuple):
    """Room for the numbers of a move, filled up: what is beyond the classes counts nothing.

    ``predicted`` are the probabilities of the predictions, kept up to date, ``powers`` what they
    are raised to; ``joint`` and ``labelled`` are the same for one row of the matrix. Along a line
    they change by ``slope``.
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
    """Change the mix ``pi`` (K,) and the matrix ``M`` (K, C) by a round of moves of random pairs.

    ``prior``, ``row_shapes`` and ``powers`` as for ``joint_sweeps``; ``scratch`` is made by
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

    What class ``i`` loses, class ``j`` gains with the predictions of class ``i``. Given row ``i``,
    this is a translation of share ``i`` and of ``j``'s joint probabilities with the predictions, so
    the density to follow is the one in these coordinates.
    """
    joint, slope, powers = scratch.joint, scratch.slope, scratch.labelled
    C = M.shape[1]
    most, power = np.inf, prior[j] + 1.0
    for c in range(C):
        joint[c] = pi[j] * M[j, c]
        slope[c] = -M[i, c]
        powers[c] = row_shapes[j, c] - 1.0
    for c in range(C):
        power -= row_shapes[j, c]
        most = min(most, joint[c] / M[i, c])
    x, y = _draw_ratio(pi[i], pi[j], prior[i], power, joint, slope, powers, pi[i] + most, state)
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
    most: float,
    state: State,
) -> tuple[float, float]:
    """Return new shares of the same sum, the first below ``most``, drawn by one slice.

    The density of the log ratio is the product of ``x**power_x * y**power_y`` and of
    ``(start + (x - x0) * slope)**powers``.
    """
    total, here = x + y, np.log(x) - np.log(y)
    level = log_uniform(state) + power_x * np.log(x) + power_y * np.log(y)
    level += _along(start, slope, 0.0, powers)
    low = here - _WIDTH * uniform(state)
    high = low + _WIDTH
    # The present value is in the slice, so this ends; rounding may hide that in a tiny interval.
    while high - low > 1e-12:
        there = low + uniform(state) * (high - low)
        ratio = np.exp(-abs(there))
        larger = total / (1.0 + ratio)
        smaller = max(larger * ratio, SMALLEST)
        new_x, new_y = (larger, smaller) if there > 0.0 else (smaller, larger)
        if new_x < most:
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
    """Return what ``x`` gains, from the smaller numbers: the larger ones round it away."""
    return new_x - x if max(x, new_x) < max(y, new_y) else y - new_y


@compiled_vectors
def _along(start: FloatArray, slope: FloatArray, step: float, powers: FloatArray) -> float:
    """Return the weighted sum of the logarithms a step along the line."""
    value = 0.0
    for c in range(len(start)):
        value += powers[c] * log_positive(max(start[c] + step * slope[c], SMALLEST))
    return value
