"""Proposals for the mix alone draw from the posterior, and so they do together with Gibbs sampling.

Runs of proposals only, where nothing else moves the chain, are compared with integrals on a grid:
a ratio that is upside down or misses a term shows at once.
"""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import dirichlet

from truemix._core import Layout, Proposal, independence_chain, sweep
from truemix.inference import sample_mixture
from truemix.inference._diagnostics import effective_sizes
from truemix.inference._plan import Settings, make_plan
from truemix.inference._posterior import make_posterior
from truemix.inference._proposal import AcceptanceRate, acceptance_rate, make_proposal
from truemix.inference._random import seed_state


def overlapping(n, K, separation=0.5, seed=0):
    """Log-likelihoods of Gaussian classes on a line, for items of unequal classes."""
    rng = np.random.default_rng(seed)
    centres = separation * np.arange(K)
    items = centres[rng.choice(K, n, p=np.arange(1, K + 1) / np.arange(1, K + 1).sum())]
    items = items + rng.normal(size=n)
    return -0.5 * (items[:, None] - centres) ** 2


def gaussian(n, K, separation):
    """Log-likelihoods of Gaussian classes in five dimensions."""
    rng = np.random.default_rng(0)
    centres = separation * rng.normal(size=(K, 5))
    mix = rng.dirichlet(np.ones(K))
    items = centres[rng.choice(K, n, p=mix)] + rng.normal(size=(n, 5))
    return items @ centres.T - 0.5 * (centres**2).sum(axis=1)


def posterior_of(values, prior=1.0, weights=None):
    L = np.exp(values - values.max(axis=1, keepdims=True))
    w = np.ones(len(L)) if weights is None else np.asarray(weights, dtype=float)
    return make_posterior(L, w, np.broadcast_to(prior, L.shape[1]).astype(float), 1.0)


def state(seed=0):
    return seed_state(np.random.SeedSequence(seed))


def jumps_only(posterior, n, seed=0):
    proposal, pi = make_proposal(posterior), posterior.mode.copy()
    draws, accepted = independence_chain(proposal, pi, state(seed), 0, n, 1)
    return draws, accepted / n


def with_gibbs(posterior, n, tries, seed=0):
    layout = Layout(posterior.L, posterior.w, posterior.mode)
    proposal = make_proposal(posterior) if tries else None
    return sweep(
        layout, posterior.prior, posterior.mode.copy(), state(seed), 200, n, 2, proposal, tries
    )


def on_a_grid(posterior):
    """Return mixes of two or three classes, and the probability of each, on a grid of logs."""
    K = len(posterior.mode)
    step = np.linspace(-40, 40, 20_001) if K == 2 else np.linspace(-30, 30, 241)
    axes = np.meshgrid(*[step] * (K - 1), indexing="ij")
    logs = np.stack([*(a.ravel() for a in axes), np.zeros(axes[0].size)], axis=1)
    logs += np.log(posterior.mode / posterior.mode[-1])
    logs -= logsumexp(logs, axis=1, keepdims=True)
    value = logs @ posterior.prior
    for row, weight in zip(posterior.L, posterior.w, strict=True):
        value += weight * np.log(np.exp(logs) @ row)
    value -= value.max()
    return np.exp(logs), np.exp(value) / np.exp(value).sum()


def check(draws, mixes, probability):
    """Compare means, squares and a product with those of the grid, within five errors."""
    for f in (lambda x: x, lambda x: x**2, lambda x: x[:, :1] * x[:, 1:2], np.log):
        values, expected = f(draws), probability @ f(mixes)
        error = values.std(axis=0) / np.sqrt(effective_sizes(values)[0])
        assert (np.abs(values.mean(axis=0) - expected) < 5 * error).all()


# --- exactness --------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("K", [2, 3])
def test_proposals_alone_agree_with_the_integral(K, prior):
    posterior = posterior_of(overlapping(60, K), prior)
    draws, acceptance = jumps_only(posterior, 20_000)
    assert acceptance > 0.5
    check(draws, *on_a_grid(posterior))


@pytest.mark.parametrize("prior", [0.3, 1.0])
def test_proposals_with_exchanges_agree_with_the_integral(prior):
    posterior = posterior_of(overlapping(60, 3), prior)
    # Every twentieth: tails of small priors are long, and an ESS does not see what a short chain
    # has not visited.
    pi = posterior.mode.copy()
    draws, _ = independence_chain(make_proposal(posterior), pi, state(), 0, 5000, 20, True)
    check(draws, *on_a_grid(posterior))


def test_exchanges_explore_what_proposals_rarely_reach():
    posterior = posterior_of(overlapping(60, 3))
    # Proposals around a wrong mix, a tenth as wide as they should be.
    wrong = Proposal(
        np.array([0.6, 0.3, 0.1]), 100 * posterior.precision(), posterior.prior, 60.0,
        posterior.L, posterior.w,
    )  # fmt: skip
    draws, accepted = independence_chain(wrong, posterior.mode.copy(), state(), 0, 5000, 200, True)
    assert accepted < 0.2 * 5000 * 200
    check(draws, *on_a_grid(posterior))


@pytest.mark.parametrize("tries", [0, 1, 3])
@pytest.mark.parametrize("prior", [0.3, 1.0, 3.0])
def test_sweeps_with_proposals_agree_with_the_integral(tries, prior):
    posterior = posterior_of(overlapping(60, 3, separation=1.0), prior)
    draws, batch, accepted = with_gibbs(posterior, 5000, tries)
    assert (accepted > 0) == (tries > 0)
    mixes, probability = on_a_grid(posterior)
    check(draws, mixes, probability)
    # Given pi the expected share of the batch is the mean responsibility.
    share = np.zeros(3)
    for row, weight in zip(posterior.L, posterior.w, strict=True):
        shares = mixes * row
        share += weight * (probability @ (shares / shares.sum(axis=1, keepdims=True)))
    error = batch.std(axis=0) / np.sqrt(effective_sizes(batch)[0])
    assert (np.abs(batch.mean(axis=0) - share / posterior.w.sum()) < 5 * error).all()


def test_a_ratio_that_is_upside_down_would_show():
    posterior = posterior_of(overlapping(60, 3))
    mixes, weights = make_proposal(posterior).propose(state(), 20_000)
    uniform = np.random.default_rng(0).random(20_000)
    draws, here = np.empty((20_000, 3)), np.inf
    for number, (mix, there) in enumerate(zip(mixes, weights, strict=True)):
        moves = np.log(uniform[number]) < here - there
        here = there if moves else here
        draws[number] = mix if moves else draws[number - 1]
    with pytest.raises(AssertionError):
        check(draws, *on_a_grid(posterior))


@pytest.mark.parametrize("weights", [1, 3, [1, 2, 3, 4, 5] * 40, [1e6] + [1] * 199])
def test_densities_are_those_of_the_model_and_of_the_proposal(weights):
    values = overlapping(200, 5)
    values[:3, 1:] = -np.inf
    w = np.broadcast_to(weights, 200).astype(float)
    posterior = posterior_of(values, [0.2, 1.0, 1.0, 3.0, 0.7], w)
    proposal = make_proposal(posterior)
    L = np.exp(values - values.max(axis=1, keepdims=True))
    for pi, ratio in zip(*proposal.propose(state(), 20), strict=True):
        np.testing.assert_allclose(pi.sum(), 1.0, rtol=1e-12)
        density = proposal.log_posterior(pi)
        expected = w @ np.log(L @ pi) + posterior.prior @ np.log(pi)
        np.testing.assert_allclose(density, expected, rtol=1e-10)
        # The way back from a mix to the Dirichlet number that it came from.
        own = proposal.log_density(pi)
        np.testing.assert_allclose(density - own, ratio, atol=1e-8 * abs(density))


def test_certain_classes_are_proposed_almost_as_they_are():
    counts = np.array([30.0, 20.0, 10.0, 5.0])
    posterior = posterior_of(np.where(np.eye(4) > 0, 0.0, -np.inf), 1.0, counts)
    proposal = make_proposal(posterior)
    np.testing.assert_allclose(proposal.shape, 0.7 * (1 + counts), rtol=1e-6)
    draws, acceptance = jumps_only(posterior, 4000)
    assert acceptance > 0.8
    expected = dirichlet(1 + counts)
    error = np.sqrt(expected.var() / effective_sizes(draws)[0])
    assert (np.abs(draws.mean(axis=0) - expected.mean()) < 5 * error).all()


def test_a_pilot_tells_the_acceptance():
    for K, n in ((3, 300), (8, 300)):
        posterior = posterior_of(overlapping(n, K))
        met = acceptance_rate(make_proposal(posterior), np.random.SeedSequence(1))
        _, acceptance = jumps_only(posterior, 2000)
        assert met.share.sum() == pytest.approx(1.0)
        assert 1 - met.share @ met.rejected == pytest.approx(acceptance, abs=0.15)


# --- corners ----------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [1e-6, 0.01, 1.0])
@pytest.mark.parametrize("kind", ["one item", "hundred classes", "impossible", "same", "extreme"])
def test_corners_stay_sane(kind, prior):
    values = {
        "one item": np.array([[0.0, -np.inf, -np.inf]]),
        "hundred classes": 3 * np.random.default_rng(0).normal(size=(50, 100)),
        "impossible": np.where(np.arange(3) == 2, -np.inf, overlapping(30, 3)),
        "same": np.zeros((20, 4)),
        "extreme": np.array([[0.0, -1e4], [-1e4, 0.0], [-700.0, 0.0], [-np.inf, 0.0]]),
    }[kind]
    posterior = posterior_of(values, prior)
    met = acceptance_rate(make_proposal(posterior), np.random.SeedSequence(0))
    assert np.isfinite(met.rejected).all()
    draws, batch, _ = with_gibbs(posterior, 50, 1)
    for table in (draws, batch):
        assert np.isfinite(table).all()
        assert (table >= 0).all()
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
    assert (draws > 0).all()


def test_small_priors_are_kept():
    # A class that no item speaks for: beta(0.05, 2.05 + 20) whatever the moves.
    values = np.column_stack([overlapping(20, 2), np.full(20, -np.inf)])
    posterior = posterior_of(values, [1.0, 1.0, 0.05])
    draws, _, accepted = with_gibbs(posterior, 20_000, 1)
    assert accepted > 0
    logs = np.log(draws[:, 2])
    rng = np.random.default_rng(0)
    expected = np.log(np.maximum(rng.beta(0.05, 22.0, size=200_000), 1e-300))
    error = logs.std() / np.sqrt(effective_sizes(logs[:, None])[0][0])
    assert abs(logs.mean() - expected.mean()) < 5 * error


# --- use --------------------------------------------------------------------------------------


def test_proposals_are_made_where_em_is_slow_and_only_there():
    slow = sample_mixture(gaussian(300, 4, 0.5), random_state=0).diagnostics
    assert slow["sampler"] == "gibbs"
    assert "with independent proposals" in slow["reason"]
    assert 0.5 < slow["acceptance"] < 1.0
    assert slow["thinning"] <= 2
    assert slow["ess"] >= 400
    assert slow["failed"] == []
    fast = sample_mixture(gaussian(300, 4, 3.0), random_state=0).diagnostics
    assert fast["sampler"] == "gibbs"
    assert "proposals" not in fast["reason"]
    assert fast["acceptance"] == 1.0


@pytest.mark.parametrize("sampler", ["auto", "gibbs"])
def test_proposals_that_are_hopeless_are_not_made(sampler, monkeypatch):
    hopeless = AcceptanceRate(np.ones(1), np.ones(1))
    monkeypatch.setattr("truemix.inference._plan.acceptance_rate", lambda *_: hopeless)
    posterior = posterior_of(gaussian(1000, 50, 0.7))
    layout = Layout(posterior.L, posterior.w, posterior.mode)
    settings = Settings(posterior.prior, 1.0, 1000, 500, sampler)
    plan = make_plan(posterior, layout, settings, np.random.SeedSequence(0))
    assert plan.sampler == "gibbs"
    assert plan.proposal is None
    assert "proposals" not in plan.reason


def test_few_accepted_proposals_are_followed_by_exchanges(monkeypatch):
    values = overlapping(60, 3)
    usual = sample_mixture(values, temperature=2.0, draws=4000, random_state=0)
    assert "exchanges" not in usual.diagnostics["reason"]
    few = AcceptanceRate(np.array([0.9]), np.ones(1))
    monkeypatch.setattr("truemix.inference._plan.acceptance_rate", lambda *_: few)
    exchanging = sample_mixture(values, temperature=2.0, draws=4000, random_state=1)
    assert exchanging.diagnostics["sampler"] == "metropolis"
    assert "exchanges between pairs of classes follow each" in exchanging.diagnostics["reason"]
    assert exchanging.diagnostics["failed"] == []
    # Both draw from the same posterior: five Monte Carlo errors of the difference.
    error = sum(x.draws.var(axis=0) / effective_sizes(x.draws)[0] for x in (usual, exchanging))
    difference = usual.draws.mean(axis=0) - exchanging.draws.mean(axis=0)
    assert (np.abs(difference) < 5 * np.sqrt(error)).all()


def test_nuts_gets_fewer_chains_where_each_takes_long():
    def chains(n):
        posterior = posterior_of(overlapping(100, 3), weights=np.ones(100))
        repeated = posterior._replace(L=np.repeat(posterior.L, n, axis=0), w=np.ones(100 * n))
        layout = Layout(posterior.L, posterior.w, posterior.mode)
        settings = Settings(posterior.prior, 1.0, 1000, 500, "nuts")
        return make_plan(repeated, layout, settings, np.random.SeedSequence(0)).max_thinning

    assert chains(1) == 8
    assert chains(20_000) == 1


def test_with_small_priors_the_error_is_what_the_ess_says():
    values = overlapping(60, 3)
    mixes, probability = on_a_grid(posterior_of(values, 0.3))
    # No whole numbers, hence Metropolis, but hardly another posterior.
    weights, errors = np.full(60, 1 + 1e-9), []
    for seed in range(20):
        sample = sample_mixture(values, prior=0.3, weights=weights, draws=4000, random_state=seed)
        assert sample.diagnostics["sampler"] == "metropolis"
        error = sample.draws.std(axis=0) / np.sqrt(effective_sizes(sample.draws)[0])
        errors.append((sample.draws.mean(axis=0) - probability @ mixes) / error)
    # The mean square of 40 independent normals (shares sum to 1) is 1, with a standard error of
    # 0.22; up to 2, an ESS may be twice too large.
    assert np.mean(np.square(errors)) < 2.0
