"""Replicates of items that many bags have in common are made once, and draws are not hoarded."""

import numpy as np
import pytest

from support import posteriors
from truemix import CC, PCC, BayesianACC, BayesianEMQ, BayesianKDEy, Bootstrap, _replicate_budget
from truemix.inference import posterior
from truemix.models import KernelDensity

N = 40


@pytest.fixture(scope="module")
def fitted():
    # Self-calibration would make replicates of its own bags.
    options = {"bandwidth": 0.4, "shrinkage": 0.1, "draws": 60, "self_calibration": False}
    quantifier = BayesianKDEy(**options, random_state=0)
    return quantifier.fit(*posteriors(90, 3, seed=0))


@pytest.fixture
def made(monkeypatch):
    """How many items replicates were made of, call by call."""
    sizes, make = [], KernelDensity.replicates

    def watched(self, items, numbers, seed):
        sizes.append(len(items))
        return make(self, items, numbers, seed)

    monkeypatch.setattr(KernelDensity, "replicates", watched)
    return sizes


def bags_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, N, 25) for _ in range(n)]


def test_replicates_of_a_pool_are_made_once_for_all_bags(fitted, made):
    pool, _ = posteriors(N, 3, seed=1)
    bags = [*bags_of(20), np.arange(N)]
    found = list(fitted.quantify_bags(pool, bags))
    assert made == [N]
    for rows, estimate in zip(bags, found, strict=True):
        np.testing.assert_allclose(estimate.draws, fitted.quantify(pool[rows]).draws, atol=1e-12)


def test_only_items_in_bags_have_replicates(fitted, made):
    pool, _ = posteriors(N, 3, seed=1)
    list(fitted.quantify_bags(pool, [[3, 4, 4], [4, 9]]))
    assert made == [3]


def test_what_cannot_be_held_at_once_goes_in_turn(fitted, made, monkeypatch):
    pool, _ = posteriors(N, 3, seed=1)
    # All replicates of ten items.
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 4 * 3 * 100 * 10)
    bags = [np.arange(5), np.arange(3, 10), np.arange(9, 20), np.arange(9), np.arange(30, 32)]
    found = list(fitted.quantify_bags(pool, bags))
    assert made == [10, 11, 9, 2]
    for rows, estimate in zip(bags, found, strict=True):
        np.testing.assert_allclose(estimate.draws, fitted.quantify(pool[rows]).draws, atol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "blocks"),
    [
        ([4, 4, 4], [3]),
        ([4, 11, 4], [1, 1, 1]),
        ([11, 11], [1, 1]),
        ([10, 5], [2]),
    ],
)
def test_blocks_of_bags_hold_common_items_once(sizes, blocks, monkeypatch):
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 4 * 3 * 100 * 10)
    bags = [np.arange(size) for size in sizes]
    found = list(_replicate_budget.bags_at_once(bags, n_items=20, n_columns=3))
    assert [len(block) for block in found] == blocks
    assert [len(rows) for block in found for rows in block] == sizes


def test_repeated_items_of_a_large_bag_leave_it_alone(monkeypatch):
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 4 * 3 * 100 * 10)
    bags = [np.arange(2), np.zeros(11, dtype=int), np.arange(2)]
    found = list(_replicate_budget.bags_at_once(bags, n_items=20, n_columns=3))
    assert [len(block) for block in found] == [1, 1, 1]


@pytest.mark.parametrize(
    "quantifier",
    [
        BayesianACC(draws=60, random_state=0),
        BayesianEMQ(draws=60, random_state=0),
        Bootstrap(CC(), draws=60, random_state=0),
        Bootstrap(PCC(), draws=60, random_state=0),
    ],
    ids=repr,
)
def test_draws_of_a_few_bags_are_held_at_a_time(quantifier, monkeypatch):
    pool, _ = posteriors(N, 3, seed=1)
    fitted, bags = quantifier.fit(*posteriors(90, 3, seed=0)), bags_of(5)
    together = [each.draws for each in fitted.quantify_bags(pool, bags)]
    inference, asked = type(fitted.inference_), []
    infer = inference.infer

    def watched(self, replicates, own):
        asked.append(len(own))
        return infer(self, replicates, own)

    monkeypatch.setattr(inference, "infer", watched)
    monkeypatch.setattr(posterior, "DRAWS_BYTES", 2 * 16 * 60 * 3)
    monkeypatch.setattr(posterior, "n_threads", lambda: 1)
    found = [each.draws for each in fitted.quantify_bags(pool, bags)]
    assert asked == [2, 2, 1]
    np.testing.assert_array_equal(found, together)
