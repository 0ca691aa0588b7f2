"""Bags are rows of one pool of scored items; each has the answer of its items by themselves."""

import numpy as np
import pytest

from support import posteriors
from truemix import (
    ACC,
    CC,
    EMQ,
    PCC,
    BayesianACC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    KDEy,
    _replicate_budget,
)

SMOOTH = {"bandwidth": 0.4, "shrinkage": 0.1}
SAMPLED = {"draws": 60, "random_state": 0}
EVERY = [
    CC(),
    PCC(),
    ACC(),
    EMQ(),
    KDEy(**SMOOTH),
    BayesianACC(**SAMPLED),
    BayesianEMQ(**SAMPLED),
    BayesianEMQ(**SAMPLED, calibration="ts", reference_uncertainty="bootstrap"),
    BayesianKDEy(**SMOOTH, **SAMPLED),
    BayesianKDEy(**SMOOTH, **SAMPLED, unknown=True),
    BayesianKDEy(**SMOOTH, **SAMPLED, reference_uncertainty=None),
    Bootstrap(PCC(), **SAMPLED),
    Bootstrap(ACC(), **SAMPLED, references=True),
]
N = 40
BAGS = {
    "the last rows": np.arange(25, N),
    "the first rows": np.arange(15),
    "one row": np.array([33]),
    "all rows in another order": np.arange(N)[::-1],
    "as many rows as there are, with repeats": np.repeat(np.arange(20, N), 2),
    "more rows than there are": np.tile(np.arange(30, N), 5),
    "all rows": np.arange(N),
}


@pytest.fixture(scope="module")
def data():
    """References, and a pool whose first and last items are of different classes."""
    target, codes = posteriors(N, 3, seed=1)
    return posteriors(90, 3, seed=0), target[np.argsort(codes, kind="stable")]


def answers(fitted, pool, bags):
    return list(fitted.quantify_bags(pool, bags))


@pytest.mark.parametrize("quantifier", EVERY, ids=repr)
def test_a_bag_has_the_answer_of_its_items_alone_or_among_others(quantifier, data):
    references, pool = data
    fitted = quantifier.fit(*references)
    together = answers(fitted, pool, list(BAGS.values()))
    for (name, rows), among in zip(BAGS.items(), together, strict=True):
        expected = fitted.quantify(pool[rows])
        (alone,) = answers(fitted, pool, [rows])
        for found in (alone, among):
            # Sums over the same items may be taken in another order.
            np.testing.assert_allclose(
                found.prevalence, expected.prevalence, atol=1e-12, err_msg=name
            )
            if expected.draws is not None:
                np.testing.assert_allclose(found.draws, expected.draws, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("quantifier", EVERY[-6:], ids=repr)
def test_so_has_one_that_is_too_large_for_all_its_replicates(quantifier, data, monkeypatch):
    references, pool = data
    fitted = quantifier.fit(*references)
    # Seven replicates of ten rows at once.
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 4 * 3 * 10 * 7)
    for name, rows in BAGS.items():
        (found,) = answers(fitted, pool, [rows])
        expected = fitted.quantify(pool[rows])
        np.testing.assert_allclose(found.draws, expected.draws, atol=1e-12, err_msg=name)
