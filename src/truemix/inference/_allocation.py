"""Draw a class for every item given the mix: probability proportional to ``pi_k L_ik``.

Most items of a well-separated problem have a class that is all but certain. Around a reference mix
``x`` (the mode) each item has a *lead* class and *odds* against it. At another mix ``pi`` the odds
are at most ``odds * ratio * x_lead / pi_lead`` with ``ratio = max_k pi_k / x_k``. So within a
lead class, items sorted by falling odds, the next item that might leave its lead class is a
geometric number of items away; the items between are never looked at, and the one found is kept
with the probability that makes the draw exact. A pass costs as much as there is doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from truemix._typing import FloatArray
from truemix.inference._random import State, binomial, log_uniform, uniform

_FAST = {"reassoc", "contract", "nsz"}
# Where an item may leave its lead class this often, looking at it is cheaper than skipping to it.
_LOOK = 0.2
# A row that counts more often than this times K is split by binomials instead of item by item.
_HEAVY = 16

Index = npt.NDArray[np.int64]


class Layout(NamedTuple):
    """The items in the order of :func:`allocate`.

    ``row[start[k]:start[k + 1]]`` are the rows with lead class k, falling in ``odds``, each to be
    allocated as one item of weight ``mass``; ``certain`` is the weight that each class has in any
    case, ``lead`` the weight it has if every item stays; ``heavy`` rows count ``copies`` times.
    """

    reference: FloatArray
    row: Index
    mass: FloatArray
    odds: FloatArray
    start: Index
    certain: FloatArray
    lead: FloatArray
    heavy: Index
    copies: FloatArray


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def arrange(L: FloatArray, w: FloatArray, x: FloatArray) -> Layout:
    """Arrange rows of weights ``w`` around the positive mix ``x``.

    A weight of 3 stands for three items with the same likelihood, each with a class of its own;
    one of 2.5 for two items and one that counts half.
    """
    n, K = L.shape
    lead, against = np.empty(n, np.int64), np.empty(n)
    certain, heaviest = np.zeros(K), np.zeros(K)
    per_class, n_heavy = np.zeros(K + 1, np.int64), 0
    for i in range(n):
        first, most, total = 0, -1.0, 0.0
        for k in range(K):
            share = x[k] * L[i, k]
            total += share
            if share > most:
                first, most = k, share
        rest = 0.0
        for k in range(K):
            if k != first:
                rest += x[k] * L[i, k]
        lead[i], against[i] = first, rest / most
        if rest == 0.0:
            certain[first] += w[i]
        elif w[i] >= _HEAVY * K:
            n_heavy += 1
            per_class[first + 1] += w[i] > np.floor(w[i])
        else:
            per_class[first + 1] += np.int64(np.ceil(w[i]))
    start = np.cumsum(per_class)
    row, mass, odds = np.empty(start[K], np.int64), np.empty(start[K]), np.empty(start[K])
    heavy, copies = np.empty(n_heavy, np.int64), np.empty(n_heavy)
    fill, n_heavy = start.copy(), 0
    for i in np.argsort(-against):
        k, whole = lead[i], np.floor(w[i])
        if against[i] == 0.0:
            continue
        if w[i] >= _HEAVY * K:
            heavy[n_heavy], copies[n_heavy] = i, whole
            n_heavy += 1
            whole = 0.0
        else:
            heaviest[k] += whole
        part = w[i] - np.floor(w[i])
        heaviest[k] += part
        for copy in range(np.int64(whole) + (part > 0.0)):
            row[fill[k]], odds[fill[k]] = i, against[i]
            mass[fill[k]] = 1.0 if copy < whole else part
            fill[k] += 1
    return Layout(x, row, mass, odds, start, certain, heaviest, heavy, copies)


@njit(nogil=True, cache=True, error_model="numpy")
def allocate(
    L: FloatArray, layout: Layout, pi: FloatArray, s: State, shares: FloatArray, counts: FloatArray
) -> None:
    """Draw one allocation given ``pi`` and write the weight of each class into ``counts``."""
    K = len(pi)
    ratio = 0.0
    for k in range(K):
        counts[k] = layout.certain[k] + layout.lead[k]
        ratio = max(ratio, pi[k] / layout.reference[k])
    for k in range(K):
        factor = ratio * layout.reference[k] / pi[k]
        at, end = layout.start[k], layout.start[k + 1]
        while at < end:
            bound = _leaves(layout.odds[at] * factor)
            if bound > _LOOK:
                v = uniform(s)
            else:
                # Every later item has a smaller bound: thin a sequence of this one's rate.
                ahead = log_uniform(s) / np.log1p(-bound)
                if not ahead < end - at:
                    break
                at += np.int64(ahead)
                v = uniform(s) * bound
                if v >= _leaves(layout.odds[at] * factor):
                    at += 1
                    continue
            i = layout.row[at]
            rest = _shares(L[i], pi, k, shares)
            # v is uniform and the item leaves if v < rest / total; then it also tells whereto.
            v *= rest + pi[k] * L[i, k]
            if v < rest:
                new = _pick(shares, v)
                counts[k] -= layout.mass[at]
                counts[new] += layout.mass[at]
            at += 1
    for h in range(len(layout.heavy)):
        _split(L[layout.heavy[h]], pi, layout.copies[h], s, shares, counts)


@njit(nogil=True, cache=True, error_model="numpy")
def allocate_draws(L: FloatArray, layout: Layout, draws: FloatArray, s: State) -> FloatArray:
    """Draw one allocation for each row of ``draws``; return the share of each class."""
    n, K = draws.shape
    shares, counts, batch = np.empty(K), np.empty(K), np.empty((n, K))
    for d in range(n):
        allocate(L, layout, draws[d], s, shares, counts)
        batch[d] = counts / counts.sum()
    return batch


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _leaves(odds: float) -> float:
    return 1.0 - 1.0 / (1.0 + odds) if odds > 1e-3 else odds


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _shares(row: FloatArray, pi: FloatArray, k: int, shares: FloatArray) -> float:
    """Write ``pi_j L_j`` of all classes but ``k`` into ``shares`` and return their sum."""
    for j in range(len(pi)):
        shares[j] = pi[j] * row[j]
    shares[k] = 0.0
    total = 0.0
    for j in range(len(pi)):
        total += shares[j]
    return total


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _pick(shares: FloatArray, v: float) -> int:
    last = 0
    for j in range(len(shares)):
        if shares[j] > 0.0:
            last = j
            v -= shares[j]
            if v < 0.0:
                break
    return last


@njit(nogil=True, cache=True, error_model="numpy")
def _split(
    row: FloatArray, pi: FloatArray, copies: float, s: State, shares: FloatArray, counts: FloatArray
) -> None:
    """Distribute ``copies`` items of one row over the classes, by conditional binomials."""
    left, total, last = np.int64(copies), 0.0, 0
    for j in range(len(pi)):
        shares[j] = pi[j] * row[j]
        total += shares[j]
        if shares[j] > 0.0:
            last = j
    for j in range(last):
        if shares[j] > 0.0 and left > 0:
            taken = binomial(s, left, min(shares[j] / total, 1.0))
            counts[j] += taken
            left -= taken
            total -= shares[j]
    counts[last] += left
