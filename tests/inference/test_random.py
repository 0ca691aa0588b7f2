"""Each variate of the compiled stream is compared with its distribution."""

import numpy as np
import pytest
from scipy import stats

from truemix import _core
from truemix.inference._random import seed_state

# A test of the right distribution fails once in a million; seeds are fixed, so it does not.
LEVEL = 1e-6


def draw(variates, a=0.0, b=0.0, n=100_000, seed=0):
    return variates(seed_state(np.random.SeedSequence(seed)), n, a, b)


def test_the_stream_is_xoshiro256_plus_plus():
    # The first outputs of the authors' C code for the state 1, 2, 3, 4 (also rand_xoshiro's test).
    state = np.array([1, 2, 3, 4], np.uint64)
    expected = [41943041, 58720359, 3588806011781223, 3591011842654386]
    assert _core.random_bits(state, len(expected)) == expected


def test_uniforms_normals_and_gammas_follow_their_distributions():
    assert stats.kstest(draw(_core.uniforms), "uniform").pvalue > LEVEL
    normal = draw(_core.normals, n=1_000_000)
    assert stats.kstest(normal, "norm").pvalue > LEVEL
    # The tail beyond the last layer has a sampler of its own.
    tail = normal[normal > _core.TAIL]
    assert stats.binomtest(len(tail), len(normal), stats.norm.sf(_core.TAIL)).pvalue > LEVEL
    assert stats.kstest(tail, stats.truncnorm(_core.TAIL, np.inf).cdf).pvalue > LEVEL
    for shape in (1.0, 1.5, 30.0, 1e6):
        assert stats.kstest(draw(_core.gammas, shape), stats.gamma(shape).cdf).pvalue > LEVEL


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.3), (16, 0.5), (17, 0.01), (100, 0.9), (10_000, 0.4), (10_000, 1e-4)]
)
def test_binomials_follow_their_distribution(n, p):
    values = draw(_core.binomials, n, p, n=50_000)
    # Cells of about equal probability, so that the chi-squared approximation holds.
    edges = np.unique(stats.binom(n, p).ppf(np.linspace(0.1, 0.9, 9)))
    probability = np.diff(stats.binom(n, p).cdf(edges), prepend=0.0)
    probability = np.append(probability, 1 - probability.sum())
    observed = np.bincount(np.searchsorted(edges, values), minlength=len(probability))
    keep = probability > 1e-9
    assert stats.chisquare(observed[keep], probability[keep] * len(values)).pvalue > LEVEL


def test_binomials_of_certain_events():
    assert (draw(_core.binomials, 1000, 0.0, n=100) == 0).all()
    assert (draw(_core.binomials, 1000, 1.0, n=100) == 1000).all()


def test_a_dirichlet_with_tiny_parameters_is_positive_and_right():
    state = seed_state(np.random.SeedSequence(1))
    out = _core.dirichlets(state, np.array([0.01, 0.01, 1.0]), 20_000)
    assert (out >= _core.SMALLEST).all()
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-14)
    # Marginals of a Dirichlet are betas; compared from 0.5 down to near where they are cut off.
    cut = np.array([1e-200, 1e-100, 1e-10, 0.5])
    for values, marginal in (
        (out[:, :1], stats.beta(0.01, 1.01)),
        (out[:, :2].sum(axis=1, keepdims=True), stats.beta(0.02, 1.0)),
    ):
        expected = marginal.cdf(cut)
        error = np.sqrt(expected * (1 - expected) / len(out))
        assert (np.abs((values <= cut).mean(axis=0) - expected) < 5 * error).all()
