"""Independence Metropolis: proposals from a Dirichlet matched to the posterior's mode and width.

A proposal is a Dirichlet draw transformed by the linear map, in log-ratio coordinates, that gives
it the mode of the posterior and the precision there. Unlike a normal it is skewed, with a long
tail towards zero in each class, as the posterior is, and so most proposals are accepted.

The Metropolis-Hastings ratio compares posterior and proposal density with respect to log-ratio
coordinates, where the Jacobian of the map is a constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truemix._compiled import compiled, compiled_vectors
from truemix._typing import FloatArray
from truemix.inference._blocks import BLOCK, in_blocks, log_likelihood
from truemix.inference._posterior import Posterior
from truemix.inference._random import State, gamma, log_uniform, seed_state
from truemix.inference._symmetric import diagonalize, invert_cholesky

# Factor on the Dirichlet parameters. Smaller parameters have longer tails, and the tails of an
# independence proposal must not be shorter than the posterior's.
_FEWER = 0.7
# Relative excess width over the posterior, for the same reason; divided among the K directions.
_WIDER = 0.3
# Rows of whole weight up to this are repeated instead, so that most rows have weight 1.
_FEW_COPIES = 3
# Proposals neither leave nor enter mixes with a smaller share: its logarithm may have been
# truncated, which would make the acceptance ratio wrong.
_MIN_SHARE = 1e-290
# Number of proposals from which the acceptance rate is estimated.
_PILOT = 64


class Proposal(NamedTuple):
    """A proposal distribution, and the posterior by which proposals are accepted.

    ``shape`` (K,) are the parameters of the Dirichlet. ``stretch`` (K, K) maps logarithms of its
    draws, relative to ``start`` (K,), to logarithms of mixes, relative to ``centre`` (K,);
    ``shrink`` (K, K) is the inverse map. ``blocks`` (b, K, BLOCK) are the likelihoods, by rising
    weight ``powers`` (b, BLOCK), and ``prior`` (K,) the Dirichlet parameters of the posterior.
    """

    shape: FloatArray
    start: FloatArray
    centre: FloatArray
    stretch: FloatArray
    shrink: FloatArray
    blocks: FloatArray
    powers: FloatArray
    prior: FloatArray


def no_proposal(K: int) -> Proposal:
    """Return an empty placeholder, for sweeps without proposals."""
    none, square = np.empty(0), np.empty((0, 0))
    blocks, powers = np.empty((0, K, BLOCK)), np.empty((0, BLOCK))
    return Proposal(none, none, none, square, square, blocks, powers, none)


def make_proposal(posterior: Posterior) -> Proposal:
    """Return the proposal distribution for a posterior."""
    blocks, powers = _written_out(posterior)
    weight = posterior.w.sum() / posterior.temperature
    proposal: Proposal = proposal_at(
        posterior.mode, posterior.precision(), posterior.prior, weight, blocks, powers
    )
    return proposal


@compiled
def proposal_at(
    mode: FloatArray,
    precision: FloatArray,
    prior: FloatArray,
    n: float,
    blocks: FloatArray,
    powers: FloatArray,
) -> Proposal:
    """Return the proposal distribution for a mode and precision; ``n`` is the items' weight."""
    shape = _FEWER * _skewness(mode, precision, prior, n)
    stretch, shrink = _maps(precision, shape)
    start, centre = np.log(shape / shape.sum()), np.log(mode)
    return Proposal(shape, start, centre, stretch, shrink, blocks, powers, prior)


@compiled
def _skewness(mode: FloatArray, precision: FloatArray, prior: FloatArray, n: float) -> FloatArray:
    """Return the parameters of a Dirichlet whose marginals have tails like the posterior's.

    If the classes of all items were known, the parameters would be prior plus counts. As they are
    not, the variance of a log share is that of fewer counts. The lower tail is even longer: where
    a class gets empty, other classes account for its items, and only the prior is left.
    """
    counts = (prior.sum() + n) * mode
    # The precision is singular along the constant vector (shares sum to 1); this term fixes that.
    root = invert_cholesky(precision + np.outer(counts, mode))
    variance = (root**2).sum(axis=0)
    fewer = np.minimum(np.maximum(1.0 / np.maximum(variance, 1e-12), 1e-9), counts)
    lower = np.minimum(prior, fewer)
    skewness: FloatArray = lower + (fewer - lower) * fewer / counts
    return skewness


@compiled_vectors
def _maps(precision: FloatArray, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the linear map from the Dirichlet's to (slightly below) the posterior's precision.

    The second value is its inverse.
    """
    K = len(shape)
    root, along = np.sqrt(shape), np.zeros(K)
    unit = root / np.sqrt(shape.sum())
    relative, across, trace = np.empty((K, K)), 0.0, 0.0
    for a in range(K):
        for b in range(K):
            relative[a, b] = precision[a, b] / (root[a] * root[b])
            along[a] += relative[a, b] * unit[b]
        across += unit[a] * along[a]
        trace += relative[a, a]
    # Shares sum to 1, so the precision along ``unit`` is zero. It is set above all others instead,
    # and the eigenvector with the largest eigenvalue is left out.
    for a in range(K):
        for b in range(K):
            relative[a, b] -= unit[a] * along[b] + along[a] * unit[b]
            relative[a, b] += (across + 1.0 + trace) * unit[a] * unit[b]
    precise, axes = diagonalize(relative)
    stretch, shrink = np.zeros((K, K)), np.zeros((K, K))
    for i in range(K):
        if i == np.argmax(precise):
            continue
        width = (1.0 + _WIDER / K) / np.sqrt(max(precise[i], 1e-12))
        for a in range(K):
            for b in range(K):
                product = axes[i, a] * axes[i, b] * root[b] / root[a]
                stretch[a, b] += width * product
                shrink[a, b] += product / width
    return stretch, shrink


def _written_out(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return likelihoods and weights in blocks; in most blocks all weights are equal."""
    w = posterior.w
    few = (w <= _FEW_COPIES) & (w == np.floor(w))
    copies = np.where(few, w, 1.0).astype(np.int64)
    rows, powers = np.repeat(posterior.L, copies, axis=0), np.repeat(np.where(few, 1.0, w), copies)
    blocks, powers = in_blocks(rows, powers / posterior.temperature)
    # Padding has likelihood 1, so it may take the weight of the other rows of the block.
    powers[-1] = np.where(powers[-1] == 0.0, powers[-1].max(), powers[-1])
    return blocks, powers


class AcceptanceRate(NamedTuple):
    """Rejection probabilities ``rejected`` (n,) at states of stationary weight ``share`` (n,)."""

    rejected: FloatArray
    share: FloatArray


def acceptance_rate(proposal: Proposal, seed: np.random.SeedSequence) -> AcceptanceRate:
    """Estimate the acceptance rate by importance sampling, from a few proposals."""
    log_weight = _pilot(proposal, seed_state(seed), _PILOT)
    weights = np.exp(log_weight - max(log_weight.max(), -1e300))
    total = weights.sum()
    if not total > 0.0:
        return AcceptanceRate(np.ones(1), np.ones(1))
    # Proposals with these importance weights stand for the stationary distribution.
    accepted = np.minimum(1.0, weights / np.maximum(weights, 1e-300)[:, None]).mean(axis=1)
    return AcceptanceRate(1.0 - accepted, weights / total)


@compiled
def _pilot(proposal: Proposal, s: State, n: int) -> FloatArray:
    K = len(proposal.shape)
    pi, logs, work = np.empty(K), np.empty(K), np.empty((2, max(K, BLOCK)))
    log_weight = np.empty(n)
    for number in range(n):
        log_weight[number] = _propose(proposal, s, pi, logs, work)
    return log_weight


@compiled
def independence_step(
    proposal: Proposal, tries: int, s: State, pi: FloatArray, new: FloatArray, work: FloatArray
) -> int:
    """Make ``tries`` Metropolis-Hastings steps on ``pi``; return the number accepted.

    ``new`` is scratch of shape (2, K), ``work`` of shape (2, max(K, BLOCK)) or more.
    """
    for k in range(len(pi)):
        if pi[k] < _MIN_SHARE:
            return 0
        new[1, k] = np.log(pi[k])
    here = _log_posterior(proposal, pi, new[1], work) - _log_density(proposal, new[1], work[0])
    accepted = 0
    for _ in range(tries):
        there = _propose(proposal, s, new[0], new[1], work)
        if log_uniform(s) < there - here:
            for k in range(len(pi)):
                pi[k] = new[0, k]
            here = there
            accepted += 1
    return accepted


@compiled
def independence_chain(
    proposal: Proposal, pi: FloatArray, s: State, skipped: int, kept: int, thinning: int
) -> tuple[FloatArray, int]:
    """Make ``skipped + kept * thinning`` steps; discard the first, keep every ``thinning``-th.

    ``pi`` is the initial state, updated in place. Also returns the number of accepted proposals.
    """
    K = len(pi)
    draws, new, work = np.empty((kept, K)), np.empty((2, K)), np.empty((2, max(K, BLOCK)))
    accepted = 0
    if skipped > 0:
        accepted += independence_step(proposal, skipped, s, pi, new, work)
    for number in range(kept):
        accepted += independence_step(proposal, thinning, s, pi, new, work)
        for k in range(K):
            draws[number, k] = pi[k]
    return draws, accepted


@compiled
def _propose(
    proposal: Proposal, s: State, pi: FloatArray, logs: FloatArray, work: FloatArray
) -> float:
    """Write a proposal to ``pi``; return its log importance weight, up to a constant."""
    shape, K = proposal.shape, len(pi)
    y = work[0]
    for k in range(K):
        if shape[k] >= 1.0:
            y[k] = np.log(gamma(s, shape[k]))
        else:
            # G(a) = G(a + 1) U^(1/a), in logarithms because it underflows.
            y[k] = np.log(gamma(s, shape[k] + 1.0)) + log_uniform(s) / shape[k]
    _normalize(y, K)
    proposed = 0.0
    for k in range(K):
        proposed += shape[k] * y[k]
    _move(proposal.stretch, proposal.start, y, proposal.centre, logs)
    _normalize(logs, K)
    for k in range(K):
        pi[k] = np.exp(logs[k])
        if not pi[k] >= _MIN_SHARE:
            return -np.inf
    value: float = _log_posterior(proposal, pi, logs, work) - proposed
    return value


@compiled
def _log_density(proposal: Proposal, logs: FloatArray, y: FloatArray) -> float:
    """Return the log density of the proposal at the mix with logarithms ``logs``."""
    _move(proposal.shrink, proposal.centre, logs, proposal.start, y)
    _normalize(y, len(logs))
    value = 0.0
    for k in range(len(logs)):
        value += proposal.shape[k] * y[k]
    return value


@compiled_vectors
def _move(
    linear: FloatArray, start: FloatArray, x: FloatArray, end: FloatArray, out: FloatArray
) -> None:
    """Write ``end + linear (x - start)`` into ``out``."""
    for a in range(len(start)):
        total = end[a]
        for b in range(len(start)):
            total += linear[a, b] * (x[b] - start[b])
        out[a] = total


@compiled
def _normalize(logs: FloatArray, K: int) -> None:
    """Subtract the log-sum-exp of the first ``K``, in place."""
    divisor, total = -np.inf, 0.0
    for k in range(K):
        divisor = max(divisor, logs[k])
    for k in range(K):
        total += np.exp(logs[k] - divisor)
    divisor += np.log(total)
    for k in range(K):
        logs[k] -= divisor


@compiled
def _log_posterior(proposal: Proposal, pi: FloatArray, logs: FloatArray, work: FloatArray) -> float:
    """Return the log density of the posterior at ``pi``, whose logarithms are ``logs``."""
    value: float = log_likelihood(proposal.blocks, proposal.powers, pi, work)
    for k in range(len(pi)):
        value += proposal.prior[k] * logs[k]
    return value
