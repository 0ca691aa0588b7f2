"""The share of the simplex inside a box, for any number of classes, without Monte Carlo."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfc, gammaln

from truemix._typing import FloatArray

# Maximum number of subsets for inclusion-exclusion, and the relative error at which it is accepted.
_MAX_SUBSETS = 1024
_TRUSTED = 1e-11
# Terms of the Fourier sum below this are dropped; maximum number of factors computed per box.
_NEGLIGIBLE = math.log(1e-14)
_MAX_FACTORS = 2**21
_BLOCK = 2**15


def log_volume(lower: FloatArray, upper: FloatArray) -> float:
    """Log of the share of the simplex between the bounds, which lie in [0, 1]."""
    n_classes = len(lower)
    if n_classes == 1:
        return 0.0 if upper[0] == 1.0 else -math.inf
    width = upper - lower
    below, above = 1.0 - lower.sum(), upper.sum() - 1.0
    if min(below, above, width.min()) <= 0.0:
        return -math.inf
    # Tighten bounds that no mix can reach because of the other bounds. Then no class is wider than
    # all others together, and few boxes remain with widths of very different size.
    cut_above, cut_below = np.maximum(width - below, 0.0), np.maximum(width - above, 0.0)
    width = width - cut_above - cut_below
    # Measured from the lower bounds, the parts sum to `below`; from the upper bounds, to `above`.
    # The smaller one becomes the unit. Then no d is above 1, and together they are at least 2.
    unit = min(below - cut_below.sum(), above - cut_above.sum())
    if min(unit, width.min()) <= 0.0:
        return -math.inf
    d = np.minimum(width / unit, 1.0)
    share, error = _inclusion_exclusion(d)
    if error < _TRUSTED * share:
        log_share = math.log(share)
    else:
        log_share = float(gammaln(n_classes)) + _log_density_sum(d)
    return min((n_classes - 1) * math.log(unit) + log_share, 0.0)


def _inclusion_exclusion(d: FloatArray) -> tuple[float, float]:
    """Probability that no part of a uniform mix exceeds its d, and a bound on the rounding.

    ``sum over subsets S of (-1)^|S| (1 - d_S)^(K - 1)``, as long as d_S, the sum of d over S, is
    below 1.
    """
    sums, signs = np.zeros(1), np.ones(1)
    for part in np.sort(d[d < 1.0])[::-1]:
        longer = sums + part
        keep = longer < 1.0
        sums = np.concatenate([sums, longer[keep]])
        signs = np.concatenate([signs, -signs[keep]])
        if len(sums) > _MAX_SUBSETS:
            return 0.0, math.inf
    terms = (1.0 - sums) ** (len(d) - 1)
    return float(signs @ terms), 2 * len(d) * float(np.finfo(np.float64).eps * terms.sum())


def _log_density_sum(d: FloatArray) -> float:
    """Log of the volume of ``{0 <= q <= d, sum q = 1}``, as a density at 1.

    With independent parts q_k of density proportional to ``exp(-theta q)`` on [0, d_k], the volume
    is ``exp(theta) * prod Z_k * g(1)``, g being the density of their sum and Z_k the normalising
    constants. That holds for any tilt theta; the one that moves the mean of the sum to 1 leaves a
    density at its mode, without cancellation. g is a Fourier integral of the product of the
    characteristic functions, and as g vanishes outside [0, sum d], the trapezoidal rule with step
    ``2 pi / (sum d - 1)`` is not an approximation: its error is g at points outside (Poisson's
    summation formula). Only where to stop remains, and that is read off the decay of the factors.
    """
    low, high = 0.0, float(len(d))
    for _ in range(24):
        theta = (low + high) / 2
        if (d * _mean(theta * d)).sum() > 1.0:
            low = theta
        else:
            high = theta
    x = theta * d
    log_z = _log_mass(x)
    step = 2.0 * math.pi / (d.sum() - 1.0)
    max_terms = _MAX_FACTORS // len(d)
    last = 1.0
    while last < max_terms and _log_decay(last * step, x, d, log_z) + math.log(last) > _NEGLIGIBLE:
        last *= 1.3
    n_terms = min(int(last) + 1, max_terms)
    total = 1.0
    for start in range(1, n_terms + 1, _BLOCK // len(d) + 1):
        j = np.arange(start, min(start + _BLOCK // len(d) + 1, n_terms + 1))
        z = x + 1j * (step * j[:, None]) * d
        factors = np.expm1(-z) / (-z * np.exp(log_z))
        terms = 2.0 * (factors.prod(axis=1) * np.exp(1j * step * j)).real
        if n_terms == max_terms:
            # Truncation would cause ringing. This window is flat at 0, so it blurs without bias.
            terms *= 0.5 * erfc(12.0 * (j / n_terms - 0.5))
        total += float(terms.sum())
    log_z_sum = float((np.log(d) + log_z).sum())
    return theta + log_z_sum + math.log(total * step / (2.0 * math.pi))


def _mean(x: FloatArray) -> FloatArray:
    """Mean of the density proportional to exp(-x q) on [0, 1]."""
    safe = np.clip(x, 1e-2, 700.0)
    return np.where(x < 1e-2, 0.5 - x / 12.0, 1.0 / np.maximum(x, 1e-2) - 1.0 / np.expm1(safe))


def _log_mass(x: FloatArray) -> FloatArray:
    """Log of the integral of exp(-x q) over [0, 1]."""
    safe = np.maximum(x, 1e-300)
    return np.log(-np.expm1(-safe) / safe)


def _log_decay(t: float, x: FloatArray, d: FloatArray, log_z: FloatArray) -> float:
    """Log of a bound, falling in t, on the product of the characteristic functions at t."""
    y = t * d
    # |1 - exp(-x - iy)|, which beyond y = pi only repeats itself.
    swing = 2.0 * np.exp(-x / 2) * np.sin(np.minimum(y, math.pi) / 2)
    size = np.hypot(np.expm1(-x), swing)
    return float((np.log(size / np.hypot(x, y)) - log_z).sum())
