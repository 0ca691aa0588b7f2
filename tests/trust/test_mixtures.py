"""Mixtures: no repeats, multinomial counts, and the two truths of a bag."""

import numpy as np
import pytest

from truemix.trust.mixtures import Mixtures, draw_mixture

MIX = np.array([0.6, 0.3, 0.1])


def members(*sizes):
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def counts_of(bags, own):
    return np.array([[np.isin(rows, bag.rows).sum() for rows in own] for bag in bags])


def test_counts_are_multinomial_where_there_are_items_enough():
    own, rng = members(200, 200, 200), np.random.default_rng(0)
    bags = [draw_mixture(own, MIX, 50, rng) for _ in range(2000)]
    counts = counts_of(bags, own)
    assert (counts.sum(axis=1) == 50).all()
    # Mean and covariance of a multinomial; five standard errors of each mean over 2000 bags.
    covariance = 50 * (np.diag(MIX) - np.outer(MIX, MIX))
    error = np.sqrt(np.diag(covariance) / 2000)
    assert (np.abs(counts.mean(axis=0) - 50 * MIX) < 5 * error).all()
    # The standard error of a variance is about that of the mean times sqrt(2) sd: below 4 % of it
    # here, so 20 % are five of them.
    np.testing.assert_allclose(np.cov(counts.T), covariance, atol=0.2 * covariance.max())


def test_no_item_occurs_twice_and_the_batch_is_what_was_drawn():
    own, rng = members(60, 30, 5), np.random.default_rng(1)
    for mix in rng.dirichlet(np.ones(3), 300):
        bag = draw_mixture(own, mix, 50, rng)
        assert len(np.unique(bag.rows)) == len(bag.rows)
        assert 1 <= len(bag.rows) <= 50
        np.testing.assert_allclose(counts_of([bag], own)[0] / len(bag.rows), bag.batch)
        assert bag.population is mix


def test_a_bag_shrinks_until_the_mix_fits():
    own, rng = members(1000, 12), np.random.default_rng(2)
    half = np.array([0.5, 0.5])
    sizes = {len(draw_mixture(own, half, 500, rng).rows) for _ in range(200)}
    # Nine and three, a standard deviation, are twelve: bags of 18, less what is beyond twelve.
    assert max(sizes) == 18
    assert min(sizes) >= 12


def test_shrinking_leaves_the_batch_unbiased_for_the_population():
    own, rng = members(400, 40), np.random.default_rng(3)
    off = []
    for mix in rng.dirichlet(np.ones(2), 4000):
        bag = draw_mixture(own, mix, 200, rng)
        spread = np.sqrt(mix.prod() / len(bag.rows))
        off.append((bag.batch[1] - mix[1]) / max(spread, 1e-9))
    # Draws beyond what a class has are left out, which moves its share by at most the mean of what
    # is beyond one standard deviation, 0.083 of one; five standard errors of a mean are 0.08.
    assert abs(np.mean(off)) < 0.083 + 0.08


def test_sizes_are_compared_on_the_same_mixes_and_numbers_stand_alone():
    own, mixtures = members(300, 300), Mixtures(7, 2)
    small, large = mixtures.draw(own, 3, 20), mixtures.draw(own, 3, 100)
    np.testing.assert_array_equal(small.population, large.population)
    again = Mixtures(7, 2).draw(own, 3, 100)
    np.testing.assert_array_equal(again.rows, large.rows)
    other = Mixtures(8, 2).draw(own, 3, 100)
    assert not np.array_equal(other.population, large.population)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_parts_of_references_are_nested_and_in_proportion(share):
    codes = np.repeat([0, 1, 2], [400, 100, 3])
    mixtures = Mixtures(0, 3)
    part, larger = mixtures.part(codes, share, 1), mixtures.part(codes, 0.6, 1)
    assert set(part) <= set(larger)
    counts = np.bincount(codes[part])
    assert counts.tolist() == [400 * share, 100 * share, 2]
    assert mixtures.part(codes, 1.0, 1).tolist() == list(range(503))
    assert set(mixtures.part(codes, share, 2)) != set(part)
