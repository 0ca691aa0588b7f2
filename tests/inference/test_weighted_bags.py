"""Bags of rows with counts: equal to the items one by one; and the error of sampled rows."""

import numpy as np
import pytest

from truemix.inference import MaximumLikelihood, Posterior, Replicates, sample_replicates
from truemix.inference.bags import Bag, RowSample
from truemix.inference.least_squares import LeastSquares
from truemix.inference.point import Counting


def matrix(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    return np.log(rng.dirichlet(np.ones(n_classes), n))


def plain(M, **more):
    return Replicates(1, len(M), M.shape[1], plain=lambda layer: M, **more)


COUNTS = np.random.default_rng(3).integers(1, 6, 40).astype(float)


@pytest.mark.parametrize("inference", [MaximumLikelihood(), Counting(), LeastSquares()])
def test_counts_are_as_many_equal_items(inference):
    M, classes = matrix(40, 3, 0), np.array(["a", "b", "c"])
    inference.prepare(classes, np.ones(3) / 3)
    counts = np.array([[8.0, 1, 1], [1, 8, 1], [2, 2, 6]])
    values = M if inference.__class__ is MaximumLikelihood else np.exp(M)
    rows = np.repeat(np.arange(40), COUNTS.astype(int))
    bags = [Bag(np.arange(40), COUNTS), Bag(np.arange(20), COUNTS[:20])]
    expanded = [rows, rows[rows < 20]]
    replicates = plain(values, counts=counts)
    found = [each.prevalence for each in inference.infer(replicates, bags)]
    expected = [each.prevalence for each in inference.infer(replicates, expanded)]
    # The solver stops at a duality gap of 1e-8.
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(inference.mixes(replicates, bags), found, atol=1e-6)


def test_bags_share_rows_but_not_counts():
    M = matrix(40, 3, 0)
    inference = Posterior(random_state=0)
    inference.prepare(np.array(["a", "b", "c"]), np.ones(3) / 3)
    bags = [Bag(np.arange(40), COUNTS), Bag(np.arange(40))]
    both = inference.infer(plain(M), bags)
    for bag, found in zip(bags, both, strict=True):
        (alone,) = inference.infer(plain(M), [bag])
        np.testing.assert_array_equal(found.draws, alone.draws)


def test_proposals_know_the_weight_of_each_row():
    """In a block of 64 rows whose first and last weights are equal, but not those between."""
    M = np.log(np.random.default_rng(0).dirichlet(np.full(3, 4.0), 64))
    M[:20, 0] += 1.5
    counts = np.ones(64)
    counts[1:21] = 9
    options = {"draws": 4000, "temperature": 2.0, "random_state": 0}
    replicates = np.stack([M] * 10)
    (found,) = sample_replicates(replicates, [np.arange(64)], weights=counts, **options)
    rows = np.repeat(np.arange(64), counts.astype(int))
    (expected,) = sample_replicates(replicates[:, rows], [np.arange(len(rows))], **options)
    # Ten times the Monte Carlo error of 4,000 draws; ignoring the weights moves a share by 0.1.
    np.testing.assert_allclose(found.draws.mean(axis=0), expected.draws.mean(axis=0), atol=0.02)


# --- many items in few rows ---------------------------------------------------------------------


def test_grouped_rows_have_the_moments_of_single_items():
    """Means and covariances of the realised mix, against sums over rows; five standard errors.

    More than half a million items are grouped: rows count mostly in expectation.
    """
    n, draws = 2_000, 4_000
    M = matrix(n, 3, 0)
    counts = np.random.default_rng(1).integers(200, 600, n).astype(float)
    counts[:3] = 2e5
    (found,) = sample_replicates(
        np.stack([M] * 40), [np.arange(n)], weights=counts, draws=draws, random_state=0
    )
    # Given the mix, a row of count c has the multinomial covariance c (diag(r) - r r').
    mix = found.draws.mean(axis=0)
    r = np.exp(M) * mix
    r /= r.sum(axis=1, keepdims=True)
    total = counts.sum()
    realised = found.batch * total
    np.testing.assert_allclose(realised.sum(axis=1), total)
    np.testing.assert_allclose(realised, realised.round(), atol=1e-3)
    r_of = np.exp(M)[None] * found.draws[::40, None]
    r_of /= r_of.sum(axis=2, keepdims=True)
    deviations = realised[::40] - (counts[:, None] * r_of).sum(axis=1)
    covariance = np.diag(counts @ r) - (counts[:, None] * r).T @ r
    spread = np.sqrt(np.diag(covariance))
    # 100 independent allocations: their mean is 0 and their variance that of the multinomials.
    assert (np.abs(deviations.mean(axis=0)) < 5 * spread / 10).all()
    np.testing.assert_allclose(deviations.std(axis=0), spread, rtol=5 / np.sqrt(200))


def test_half_precision_changes_less_than_the_sampler():
    rng = np.random.default_rng(0)
    logs = np.stack([matrix(300, 4, seed) for seed in range(20)])
    logs -= logs.max(axis=2, keepdims=True)
    logs[rng.random(logs.shape) < 0.05] = -np.inf
    logs[:, np.arange(300), np.arange(300) % 4] = 0.0
    options = {"draws": 4000, "random_state": 0}
    (exact,) = sample_replicates(logs, [np.arange(300)], **options)
    from truemix.inference.replicates import sample_blocks
    from truemix.inference.sampling import check_settings

    settings = check_settings(4, 1.0, 1.0, 4000, 500, "auto")
    blocks = [(np.arange(20), logs.astype(np.float16))]
    seeds = [np.random.SeedSequence(0)]
    (found,) = sample_blocks(blocks, 20, [Bag(np.arange(300))], settings, seeds)
    error = np.hypot(exact.diagnostics["mcse"], found.diagnostics["mcse"])
    assert (np.abs(exact.draws.mean(axis=0) - found.draws.mean(axis=0)) < 4 * error).all()
    np.testing.assert_allclose(found.draws.std(axis=0), exact.draws.std(axis=0), rtol=0.1)


def test_large_batches_are_held_in_half_precision(monkeypatch):
    """In blocks of items, with the values of single precision rounded."""
    from truemix import _replicate_budget
    from truemix.inference import protocol

    M = np.stack([matrix(50, 3, seed) for seed in range(40)]).astype(np.float32)

    def random(layer, numbers, items):
        return M[numbers][:, items]

    replicates = Replicates(1, 50, 3, plain=lambda layer: M[0], random=random)
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 1000)
    monkeypatch.setattr(protocol, "FILL_BYTES", 8 * 40 * 3 * 7)
    ((numbers, block),) = replicates.blocks(40)
    assert block.dtype == np.float16
    relative = M - M.max(axis=2, keepdims=True)
    np.testing.assert_array_equal(numbers, np.arange(40))
    np.testing.assert_allclose(block, relative, rtol=2**-11, atol=1e-7)


# --- sampled rows -------------------------------------------------------------------------------


def population(seed):
    """Items in strata, of which some rows are repeated."""
    rng = np.random.default_rng(seed)
    stratum = np.sort(rng.integers(0, 3, 400))
    values = rng.normal(size=(400, 2)) + stratum[:, None]
    kept = rng.integers(1, 4, 400).astype(float)
    return stratum, values, kept


def sampled(stratum, kept, rng, size=40):
    """Return the rows of a random sample of each stratum, and how they were sampled."""
    rows = np.sort(
        np.concatenate(
            [rng.choice(np.flatnonzero(stratum == s), size, replace=False) for s in range(3)]
        )
    )
    return rows, RowSample(stratum[rows], kept[rows], np.bincount(stratum, kept))


def test_counts_have_the_totals_of_the_strata():
    stratum, _, kept = population(0)
    rows, sample = sampled(stratum, kept, np.random.default_rng(0))
    for counts in (sample.counts(), sample.replicate(3, seed=0)):
        np.testing.assert_array_equal(counts, counts.round())
        totals = np.bincount(stratum[rows], counts)
        # Rounding of cumulative sums moves at most one item across a border.
        np.testing.assert_allclose(totals, sample.totals, atol=1)
        assert counts.sum() == sample.totals.sum()


def test_means_of_samples_have_the_stated_covariance():
    """Samples are drawn again and again from a finite population."""
    stratum, values, kept = population(0)
    truth = np.average(values, axis=0, weights=kept)
    rng = np.random.default_rng(1)
    errors, stated, spread = [], [], []
    for _ in range(400):
        rows, sample = sampled(stratum, kept, rng)
        errors.append(np.average(values[rows], axis=0, weights=sample.counts()) - truth)
        stated.append(sample.covariance(values[rows]))
    observed = np.cov(np.array(errors).T)
    # The standard error of a variance over 400 samples is 7 %; of their mean it is far less.
    np.testing.assert_allclose(np.diag(np.mean(stated, axis=0)), np.diag(observed), rtol=0.25)
    # Replicates of one sample spread as its covariance says; 300 of them, likewise.
    for number in range(300):
        counts = sample.replicate(number, seed=0)
        spread.append(np.average(values[rows], axis=0, weights=counts))
    np.testing.assert_allclose(
        np.var(spread, axis=0), np.diag(sample.covariance(values[rows])), rtol=0.3
    )


def test_a_complete_sample_has_no_error():
    stratum, values, kept = population(0)
    sample = RowSample(stratum, kept, np.bincount(stratum, kept))
    np.testing.assert_array_equal(sample.counts(), kept)
    np.testing.assert_array_equal(sample.replicate(0, seed=0), kept)
    np.testing.assert_allclose(sample.covariance(values), 0, atol=1e-15)


def test_replicates_repeat_with_their_seed():
    stratum, _, kept = population(0)
    _, sample = sampled(stratum, kept, np.random.default_rng(0))
    np.testing.assert_array_equal(sample.replicate(5, seed=1), sample.replicate(5, seed=1))
    assert not np.array_equal(sample.replicate(5, seed=1), sample.replicate(6, seed=1))
    assert not np.array_equal(sample.replicate(5, seed=1), sample.replicate(5, seed=2))
