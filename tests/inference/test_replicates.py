"""Draws when there are several replicates of the matrix."""

import numpy as np
import pytest
from scipy import stats

from truemix import InputError, _threads
from truemix.inference import _replicate_run, sample_mixture, sample_mixtures, sample_replicates
from truemix.inference.bags import plain_bags
from truemix.inference.replicates import sample_blocks
from truemix.inference.sampling import check_seed, check_settings


def certain(counts):
    """Return the matrix of items whose classes are known."""
    likelihood = np.repeat(np.eye(len(counts)), counts, axis=0)
    with np.errstate(divide="ignore"):
        return np.log(likelihood)


def overlapping(n, K, n_replicates, seed=0, spread=0.3):
    """Return replicates that differ a little from each other."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, K)) + 1.5 * np.eye(K)[rng.integers(0, K, n)]
    return base + spread * rng.normal(size=(n_replicates, 1, K)) * rng.normal(size=(1, n, K))


def test_the_draws_are_the_mixture_of_the_replicates_posteriors():
    """Closed form: given certain classes each replicate's posterior is a Dirichlet."""
    counts = np.array([[30, 10, 0], [20, 20, 0], [5, 20, 15], [12, 14, 14]])
    replicates = np.stack([certain(each) for each in counts])
    prior = np.array([0.7, 1.0, 2.0])
    (sample,) = sample_replicates(
        replicates, [np.arange(40)], prior=prior, draws=8000, random_state=1
    )
    assert (sample.batch.reshape(4, 2000, 3) == (counts / 40)[:, None]).all()
    for k in range(3):
        a = prior[k] + counts[:, k]
        b = (prior + counts).sum(axis=1) - a

        def mixture(x, a=a, b=b):
            return np.mean([stats.beta.cdf(x, *each) for each in zip(a, b, strict=True)], axis=0)

        # Draws within a replicate are independent here, so the test is exact.
        assert stats.kstest(sample.draws[:, k], mixture).pvalue > 1e-3


def test_variances_and_monte_carlo_errors_are_those_of_the_closed_form():
    counts = np.array([[30, 10], [20, 20], [5, 35], [12, 28]])
    replicates = np.stack([certain(each) for each in counts])
    (sample,) = sample_replicates(replicates, [np.arange(40)], draws=20_000, random_state=0)
    shapes = 1.0 + counts
    means = shapes / shapes.sum(axis=1, keepdims=True)
    within = (means * (1 - means) / (shapes.sum(axis=1, keepdims=True) + 1)).mean(axis=0)
    found = sample.diagnostics
    assert found["replicates"] == 4
    # A variance from 20,000 draws is known to sqrt(2 / 20000) = 1 %.
    np.testing.assert_allclose(found["within_variance"], within, rtol=0.04)
    np.testing.assert_allclose(found["between_variance"], means.var(axis=0, ddof=1), rtol=0.04)
    # Four replicates are all there are, each with 5,000 independent draws of its own; an effective
    # sample size is known to a few per cent.
    np.testing.assert_allclose(found["mcse"], np.sqrt(within / 20_000), rtol=0.1)


def test_one_version_is_the_plain_sample():
    replicates = overlapping(80, 3, 1)
    bags = [np.arange(80), np.arange(0, 80, 2)]
    found = sample_replicates(replicates, bags, draws=50, random_state=3)
    for sample, expected in zip(
        found, sample_mixtures(replicates[0], bags, draws=50, random_state=3), strict=True
    ):
        np.testing.assert_array_equal(sample.draws, expected.draws)
        assert sample.diagnostics == expected.diagnostics


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_overlapping_classes_give_what_long_runs_of_each_version_give(spread):
    """With 40 replicates of 50 draws each: short runs, whose starts must be forgotten."""
    replicates = overlapping(150, 4, 40, spread=spread)
    (sample,) = sample_replicates(replicates, [np.arange(150)], draws=40 * 200, random_state=0)
    long = [sample_mixture(replicate, draws=2000, random_state=1) for replicate in replicates]
    expected = np.concatenate([each.draws for each in long])
    error = np.sqrt(
        sum(each.draws.var(axis=0) / each.diagnostics["ess"] for each in long) / 40**2
        + sample.diagnostics["within_variance"] / (0.3 * 40 * 200)
    )
    # Five standard errors of the difference of both means; 0.3 is a low share of effective draws.
    assert (np.abs(sample.draws.mean(axis=0) - expected.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(sample.draws.std(axis=0), expected.std(axis=0), rtol=0.08)
    batch = np.concatenate([each.batch for each in long])
    np.testing.assert_allclose(sample.batch.std(axis=0), batch.std(axis=0), rtol=0.08)


def test_a_bag_has_the_same_draws_alone_or_among_many_in_blocks_or_at_once(monkeypatch):
    replicates = overlapping(120, 3, 12)
    bags = [np.arange(60), np.arange(50, 120), np.array([3, 3, 7])]
    together = sample_replicates(replicates, bags, draws=48, random_state=5)
    settings = check_settings(3, 1.0, 1.0, 48, 500, "auto")
    seeds = [check_seed(5) for _ in bags]
    turns = [np.arange(first, 12, 5) for first in range(5)]
    in_blocks = sample_blocks(
        [(t, replicates[t]) for t in turns], 12, plain_bags(bags), settings, seeds
    )
    monkeypatch.setattr(_threads, "n_threads", lambda: 1)
    for bag, sample, blocked in zip(bags, together, in_blocks, strict=True):
        (alone,) = sample_replicates(replicates, [bag], draws=48, random_state=5)
        np.testing.assert_array_equal(alone.draws, sample.draws)
        np.testing.assert_array_equal(alone.batch, sample.batch)
        np.testing.assert_array_equal(alone.draws, blocked.draws)


def test_fewer_draws_than_replicates_use_the_first_ones():
    replicates = np.stack([certain(each) for each in ([4, 0], [3, 1], [0, 4])])
    (sample,) = sample_replicates(replicates, [np.arange(4)], draws=2, random_state=0)
    np.testing.assert_array_equal(sample.batch[:, 0], [1.0, 0.75])
    assert sample.diagnostics["ess"] is None


def test_draws_are_spread_evenly():
    replicates = np.stack([certain([k, 7 - k]) for k in range(7)])
    (sample,) = sample_replicates(replicates, [np.arange(7)], draws=24, random_state=0)
    _, sizes = np.unique(sample.batch[:, 0], return_counts=True)
    assert sizes.sum() == 24
    assert set(sizes) == {3, 4}


@pytest.mark.parametrize("options", [{"temperature": 3.0}, {"sampler": "nuts"}])
def test_other_samplers_give_the_mixture_too(options):
    temperature = options.get("temperature", 1.0)
    counts = np.array([[30, 10], [15, 25]])
    replicates = np.stack([certain(each) for each in counts])
    (sample,) = sample_replicates(
        replicates, [np.arange(40)], draws=2000, random_state=0, **options
    )
    shapes = 1.0 + counts / temperature
    means = shapes / shapes.sum(axis=1, keepdims=True)
    variance = means * (1 - means) / (shapes.sum(axis=1, keepdims=True) + 1)
    halves = sample.draws.reshape(2, 1000, 2)
    # 1000 draws worth at least 400: five standard errors of a mean.
    assert (np.abs(halves.mean(axis=1) - means) < 5 * np.sqrt(variance / 400)).all()
    assert sample.diagnostics["sampler"] == options.get("sampler", "metropolis")


def test_draws_are_worth_as_many_as_there_are_replicates_where_these_disagree():
    """Whatever their order: replicates are independent, draws of one replicate are not."""
    replicates = np.stack([certain([k, 100 - k]) for k in range(100)])
    (sample,) = sample_replicates(replicates, [np.arange(100)], draws=1000, random_state=0)
    # Certain items leave the source uncertain: a quarter of the variance is within replicates.
    assert 100 < sample.diagnostics["ess"] < 130
    (agreeing,) = sample_replicates(
        replicates[[50] * 100], [np.arange(100)], draws=1000, random_state=0
    )
    # Independent draws; the variance of 100 means is known to 14 %, and 3 of that are allowed.
    assert agreeing.diagnostics["ess"] > 700


def test_wrong_input_is_named():
    with pytest.raises(
        InputError, match=r"shape \(4, 2\); expected \(replicates, items, classes\)"
    ):
        sample_replicates(np.zeros((4, 2)), [[0]])
    with pytest.raises(InputError, match="sampler='gibbs' draws at temperature 1 only"):
        sample_replicates(np.zeros((2, 4, 2)), [[0]], temperature=2.0, sampler="gibbs")
    impossible = np.zeros((2, 4, 2))
    impossible[1, 2] = -np.inf
    with pytest.raises(InputError, match="row 2"):
        sample_replicates(impossible, [[1, 2]])
    assert len(sample_replicates(impossible, [[0, 1]], draws=4)) == 1


def test_a_plan_made_from_some_items_leaves_the_posterior_as_it_is(monkeypatch):
    replicates = overlapping(400, 3, 20)
    whole = sample_replicates(replicates, [np.arange(400)], draws=4000, random_state=0)[0]
    monkeypatch.setattr(_replicate_run, "MAX_PLANNED", 50)
    planned = sample_replicates(replicates, [np.arange(400)], draws=4000, random_state=1)[0]
    # Both are worth at least 0.3 of their draws: five standard errors of the difference.
    error = np.sqrt(2 * whole.diagnostics["within_variance"] / (0.3 * 4000))
    assert (np.abs(whole.draws.mean(axis=0) - planned.draws.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(planned.draws.std(axis=0), whole.draws.std(axis=0), rtol=0.1)


@pytest.mark.parametrize("options", [{}, {"temperature": 2.0}, {"sampler": "nuts", "draws": 240}])
def test_rows_with_weights_are_as_many_equal_rows(options):
    """Rows that stand for several items have the posterior of the items one by one."""
    replicates = overlapping(60, 3, 40)
    copies = np.random.default_rng(0).integers(0, 4, 60)
    expanded = np.repeat(replicates, copies, axis=1)
    settings = {"draws": 4000, "random_state": 0, **options}
    (found,) = sample_replicates(replicates, [np.arange(60)], weights=copies, **settings)
    (expected,) = sample_replicates(expanded, [np.arange(copies.sum())], **settings)
    error = np.hypot(found.diagnostics["mcse"], expected.diagnostics["mcse"])
    # Four standard errors of the difference of two means.
    assert (np.abs(found.draws.mean(axis=0) - expected.draws.mean(axis=0)) < 4 * error).all()
    np.testing.assert_allclose(found.draws.std(axis=0), expected.draws.std(axis=0), rtol=0.15)
    # The realised mix is one of as many items, and spreads as theirs does.
    counts = found.batch * copies.sum()
    np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
    np.testing.assert_allclose(found.batch.sum(axis=1), 1)
    np.testing.assert_allclose(found.batch.std(axis=0), expected.batch.std(axis=0), rtol=0.15)


def test_weights_of_replicates_must_be_whole_numbers():
    with pytest.raises(InputError, match=r"weights\[1\] is 0.5; with several replicates"):
        sample_replicates(overlapping(3, 2, 2), [[0, 1]], weights=[1, 0.5, 1])
