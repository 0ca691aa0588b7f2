"""Effective sample size and R-hat are compared with ArviZ."""

import warnings

import numpy as np
import pytest

from truemix.inference._diagnostics import effective_sizes

with warnings.catch_warnings():
    # ArviZ announces its next version whenever it is imported.
    warnings.simplefilter("ignore")
    import arviz
    from arviz.stats.diagnostics import _rhat, _split_chains, _z_scale


def chains(n, correlation, seed=0):
    """Return autoregressive columns: plain, skewed, and rounded so that values repeat."""
    noise = np.random.default_rng(seed).normal(size=(n, 3))
    x = np.empty_like(noise)
    x[0] = noise[0]
    for t in range(1, n):
        x[t] = correlation * x[t - 1] + noise[t]
    x[:, 1] = np.exp(x[:, 1])
    x[:, 2] = np.round(x[:, 2])
    return x


def arviz_rhat(column):
    """Return ArviZ's rank-normalised split R-hat, which it refuses to compute for one chain."""
    halves = _split_chains(column[None])
    folded = np.abs(halves - np.median(halves))
    return max(_rhat(_z_scale(halves)), _rhat(_z_scale(folded)))


@pytest.mark.parametrize("n", [16, 101, 1000])
@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.5, 0.95])
def test_both_agree_with_arviz(n, correlation):
    x = chains(n, correlation)
    ess, rhat, _ = effective_sizes(x)
    expected = [arviz.ess(column[None], method="bulk") for column in x.T]
    # The same formula; sums in another order differ by rounding.
    np.testing.assert_allclose(ess, expected, rtol=1e-10)
    np.testing.assert_allclose(rhat, [arviz_rhat(column) for column in x.T], rtol=1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_several_chains_agree_with_arviz(correlation):
    four = np.stack([chains(100, correlation, seed) for seed in range(4)])
    four[2] += 0.5
    # ArviZ splits each chain in halves.
    ess, rhat, within = effective_sizes(four.reshape(8, 50, 3))
    columns = np.moveaxis(four, 2, 0)
    np.testing.assert_allclose(
        ess, [arviz.ess(each, method="bulk") for each in columns], rtol=1e-10
    )
    np.testing.assert_allclose(
        rhat, [arviz.rhat(each, method="rank") for each in columns], rtol=1e-10
    )
    # One of them is elsewhere, which only chains together can tell.
    assert (within > ess).all()


def test_constant_columns_count_as_independent():
    x = chains(100, 0.0)
    x[:, 0] = 0.25
    x[:, 1] = 1e-300
    ess, rhat, _ = effective_sizes(x)
    assert ess[:2].tolist() == [100.0, 100.0]
    assert rhat[:2].tolist() == [1.0, 1.0]


def test_nearly_constant_columns_give_numbers():
    x = np.full((100, 3), 0.1)
    x[7, 0] = 0.2
    x[50:, 1] = 0.2
    x[::2, 2] = 0.2
    ess, rhat, _ = effective_sizes(x)
    assert (ess > 0).all()
    assert not np.isnan(rhat).any()
    # Two halves that are constant and differ could not disagree more.
    assert rhat[1] > 1e6
