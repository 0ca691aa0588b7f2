"""Random variates inside compiled code, from a separate stream for every sample.

The generator is xoshiro256++ (Blackman and Vigna, 2019). Its state is an array that the caller
owns, so that draws depend on the seed alone: not on threads, nor on numba's or NumPy's globals.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truemix._compiled import compiled
from truemix._typing import FloatArray

State = npt.NDArray[np.uint64]

# Lower bound of returned shares, so that their logarithms are finite.
SMALLEST = 1e-300
# Largest count: above it, doubles do not represent every whole number.
MAX_COUNT = 2**53
# Below this many trials a binomial is counted trial by trial.
_FEW_TRIALS = 16
# Right edge of the base layer of the 256-layer ziggurat, and the area of each layer.
_TAIL, _AREA = 3.6541528853610088, 0.00492867323399


def _layers() -> tuple[FloatArray, FloatArray]:
    """Return the edges of the layers and the density there, for :func:`normal`."""
    edge = np.zeros(257)
    edge[0], edge[1] = _AREA / np.exp(-0.5 * _TAIL**2), _TAIL
    for i in range(1, 255):
        edge[i + 1] = np.sqrt(-2.0 * np.log(_AREA / edge[i] + np.exp(-0.5 * edge[i] ** 2)))
    return edge, np.exp(-0.5 * edge**2)


_EDGE, _HEIGHT = _layers()


def seed_state(seed: np.random.SeedSequence) -> State:
    """Return the state of the generator for a seed."""
    return seed.generate_state(4, np.uint64).astype(np.uint64)


@compiled
def _bits(s: State) -> np.uint64:
    total = s[0] + s[3]
    result: np.uint64 = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s[0]
    shifted = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= shifted
    s[3] = (s[3] << np.uint64(45)) | (s[3] >> np.uint64(19))
    return result


@compiled
def uniform(s: State) -> float:
    """Return a uniform variate in [0, 1)."""
    number: float = (_bits(s) >> np.uint64(11)) * 2.0**-53
    return number


@compiled
def log_uniform(s: State) -> float:
    """Return the logarithm of a uniform variate in (0, 1]."""
    number: float = np.log(1.0 - uniform(s))
    return number


@compiled
def normal(s: State) -> float:
    """Return a standard normal variate (Marsaglia and Tsang's ziggurat, 256 layers)."""
    while True:
        bits = _bits(s)
        layer = np.int64(bits & np.uint64(255))
        sign = 1.0 if bits & np.uint64(256) else -1.0
        # The upper 53 bits: they share none with the layer and the sign.
        x: float = (bits >> np.uint64(11)) * 2.0**-53 * _EDGE[layer]
        if x < _EDGE[layer + 1]:
            return sign * x
        if layer == 0:
            while True:
                beyond: float = -log_uniform(s) / _TAIL
                if -2.0 * log_uniform(s) > beyond * beyond:
                    return sign * (_TAIL + beyond)
        low, high = _HEIGHT[layer], _HEIGHT[layer + 1]
        if low + uniform(s) * (high - low) < np.exp(-0.5 * x * x):
            return sign * x


@compiled
def gamma(s: State, shape: float) -> float:
    """Return a gamma variate of scale 1, for a shape of at least 1 (Marsaglia and Tsang, 2000).

    NaN for any other shape, for which the rejection loop would not end.
    """
    if not 1.0 <= shape < np.inf:
        return np.nan
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = normal(s)
        v: float = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = 1.0 - uniform(s)
            x2 = x * x
            if u < 1.0 - 0.0331 * x2 * x2 or np.log(u) < 0.5 * x2 + d * (1.0 - v + np.log(v)):
                return d * v


@compiled
def dirichlet(s: State, shape: FloatArray, out: FloatArray) -> None:
    """Write a Dirichlet variate into ``out``; at least one shape must be 1 or more.

    That one keeps the sum of the gammas away from zero, however small the others get. Gammas of
    shape a < 1 are drawn as logarithms: U^(1/a) in G(a) = G(a + 1) U^(1/a) may underflow.
    """
    total = 0.0
    for k in range(len(shape)):
        if shape[k] >= 1.0:
            out[k] = gamma(s, shape[k])
        else:
            out[k] = np.exp(np.log(gamma(s, shape[k] + 1.0)) + log_uniform(s) / shape[k])
        total += out[k]
    for k in range(len(shape)):
        out[k] = max(out[k] / total, SMALLEST)


@compiled
def whole_number(x: float) -> int:
    """Return ``x`` rounded to a count: 0 for NaN and negative numbers, at most ``MAX_COUNT``.

    Casting other floats to integers is undefined behaviour.
    """
    if not x > 0.0:
        return 0
    return int(np.rint(min(x, float(MAX_COUNT))))


@compiled
def binomial(s: State, n: int, p: float) -> int:
    """Return the number of successes in ``n`` trials of probability ``p``, in O(log n).

    Recursive halving: the median of n uniforms is a beta variate. If it is below ``p``, so is the
    lower half of the trials (all successes), otherwise the upper half are failures; what remains
    is a binomial with half as many trials.
    """
    count = 0
    while n > _FEW_TRIALS:
        if p <= 0.0:
            return count
        if p >= 1.0:
            return count + n
        a = n // 2 + 1
        left = gamma(s, float(a))
        middle = left / (left + gamma(s, float(n + 1 - a)))
        if middle <= p:
            count += a
            n -= a
            p = (p - middle) / (1.0 - middle)
        else:
            n = a - 1
            p /= middle
    for _ in range(n):
        if uniform(s) < p:
            count += 1
    return count
