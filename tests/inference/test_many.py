"""Many bags at once give what one call per bag gives, for any number of threads."""

import numpy as np
import pytest

from truemix.exceptions import InputError
from truemix.inference import (
    maximize_mixture,
    maximize_mixtures,
    sample_mixture,
    sample_mixtures,
)
from truemix.inference.batched import mixes_under_each


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 3))
    items = centres[rng.integers(4, size=200)] + rng.normal(size=(200, 3))
    return items @ centres.T - 0.5 * (centres**2).sum(axis=1)


@pytest.fixture(scope="module")
def bags():
    # With replacement, of different sizes, down to one item.
    rng = np.random.default_rng(1)
    return [rng.integers(200, size=size) for size in (1, 50, 3, 120, 80, 7)]


def equal(one, other):
    return (
        (one.draws == other.draws).all()
        and (one.batch == other.batch).all()
        and one.diagnostics == other.diagnostics
    )


@pytest.mark.parametrize("sampler", ["gibbs", "nuts", "auto"])
@pytest.mark.parametrize("threads", [1, 2])
def test_samples_equal_those_one_by_one(monkeypatch, pool, bags, sampler, threads):
    monkeypatch.setattr("truemix._threads.n_threads", lambda: threads)
    settings = {"prior": 0.5, "draws": 60, "warmup": 50, "sampler": sampler}
    together = sample_mixtures(pool, bags, random_state=3, **settings)
    alone = [sample_mixture(pool[bag], random_state=3, **settings) for bag in bags]
    assert all(map(equal, together, alone))
    one_generator, another = np.random.default_rng(4), np.random.default_rng(4)
    together = sample_mixtures(pool, bags, random_state=one_generator, **settings)
    alone = [sample_mixture(pool[bag], random_state=another, **settings) for bag in bags]
    assert all(map(equal, together, alone))
    together = sample_mixtures(pool, bags, random_state=range(6), **settings)
    alone = [sample_mixture(pool[bag], random_state=i, **settings) for i, bag in enumerate(bags)]
    assert all(map(equal, together, alone))


@pytest.mark.parametrize("threads", [1, 2])
def test_fits_equal_those_one_by_one(monkeypatch, pool, bags, threads):
    monkeypatch.setattr("truemix._threads.n_threads", lambda: threads)
    starts = np.random.default_rng(2).dirichlet(np.ones(4), size=len(bags))
    for firsts in (None, starts):
        fits = maximize_mixtures(pool, bags, starts=firsts)
        for number, (fit, bag) in enumerate(zip(fits, bags, strict=True)):
            start = None if firsts is None else firsts[number]
            alone = maximize_mixture(pool[bag], start=start)
            assert (fit.prevalence == alone.prevalence).all()
            assert (fit.gap, fit.iterations, fit.converged, fit.log_likelihood) == (
                alone.gap, alone.iterations, alone.converged, alone.log_likelihood,
            )  # fmt: skip


def test_no_bags_give_no_results(pool):
    assert maximize_mixtures(pool, []) == []
    assert sample_mixtures(pool, []) == []


def test_rows_in_no_bag_do_not_matter():
    values = np.log([[2.0, 1.0], [1.0, 2.0], [1.0, 1.0]])
    values[2] = -np.inf
    assert maximize_mixtures(values, [[0, 0, 1]])[0].converged
    assert sample_mixtures(values, [[0, 1]], draws=5)[0].draws.shape == (5, 2)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ([[0], []], "Bag 1 is an array of shape (0,) and type float64; expected a list of at lea"),
        ([[0.5]], "Bag 0 is an array of shape (1,) and type float64; expected"),
        ([np.ones(3, bool)], "type bool; expected a list of at least one row number of log_like"),
        ([[0, 200]], "Bag 0 holds the row number 200 at position 1; log_likelihood has rows 0 to"),
        ([[-1]], "Bag 0 holds the row number -1 at position 0; log_likelihood has rows 0 to 199."),
    ],
)
def test_wrong_bags_are_named(pool, wrong, sentence):
    for call in (maximize_mixtures, sample_mixtures):
        with pytest.raises(InputError) as error:
            call(pool, wrong)
        assert sentence in str(error.value)


def test_wrong_seeds_and_starts_are_named(pool, bags):
    with pytest.raises(InputError, match="random_state has 2 seeds for 6 bags; expected a single"):
        sample_mixtures(pool, bags, random_state=[1, 2])
    with pytest.raises(InputError, match=r"starts has shape \(4,\); expected one row for each of"):
        maximize_mixtures(pool, bags, starts=np.ones(4))


def test_mixes_under_several_matrices_are_those_of_repeated_rows_one_by_one():
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(3, 60, 4))
    bags = [rng.integers(0, 60, 100) for _ in range(9)]
    distinct = [np.unique(bag, return_counts=True) for bag in bags]
    found = mixes_under_each(
        matrices, [each[0] for each in distinct], [each[1] for each in distinct]
    )
    for matrix, mixes in zip(matrices, found, strict=True):
        expected = [maximize_mixture(matrix[bag], tol=1e-12).prevalence for bag in bags]
        np.testing.assert_allclose(mixes, expected, atol=1e-6)
