"""Simulation-based calibration of what a user gets by default, from posteriors to draws."""

import numpy as np
import pytest
from scipy import stats

from truemix import BayesianKDEy

CENTRES = np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.6]])
N_REFERENCES, N_BATCHES, N_ITEMS = 12, 20, 60


def posteriors_of(codes, rng):
    """Bayes' rule for normal classes."""
    x = CENTRES[codes] + rng.normal(size=(len(codes), 2))
    likelihood = np.exp(-0.5 * ((x[:, None] - CENTRES) ** 2).sum(axis=2))
    return likelihood / likelihood.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def batches():
    """Small batches, their mixes drawn from the prior, estimated with references drawn anew."""
    rng = np.random.default_rng(0)
    codes = np.arange(600) % 3
    mixes, classes, estimates = [], [], []
    for _ in range(N_REFERENCES):
        quantifier = BayesianKDEy(random_state=0, estimand="population", self_calibration=False)
        quantifier.fit(posteriors_of(codes, rng), codes)
        own = rng.dirichlet(np.ones(3), size=N_BATCHES)
        items = np.array([rng.choice(3, N_ITEMS, p=mix) for mix in own])
        groups = np.repeat(np.arange(N_BATCHES), N_ITEMS)
        found = quantifier.quantify_by(posteriors_of(items.ravel(), rng), groups)
        mixes.append(own)
        classes.append(items)
        estimates += [found[number] for number in range(N_BATCHES)]
    return np.concatenate(mixes), np.concatenate(classes), estimates


def test_ranks_of_the_source_among_the_draws_are_uniform(batches):
    mixes, _, estimates = batches
    ranks = np.array(
        [(e.draws < mix).mean(axis=0) for mix, e in zip(mixes, estimates, strict=True)]
    )
    for k in range(3):
        # Draws of one batch are worth about 100, so ranks are as good as continuous.
        assert stats.kstest(ranks[:, k], "uniform").pvalue > 1e-3
    assert all(not estimate.warnings() for estimate in estimates)


def test_ranks_of_the_items_among_the_draws_are_uniform(batches):
    """The batch view: whole numbers of items tie, so each rank is drawn among the tied ones."""
    _, classes, estimates = batches
    rng = np.random.default_rng(1)
    for k in range(3):
        ranks = []
        for own, estimate in zip(classes, estimates, strict=True):
            draws, truth = estimate.of("batch").draws[:, k], (own == k).mean()
            below, equal = (draws < truth - 1e-9).mean(), (np.abs(draws - truth) < 1e-9).mean()
            ranks.append(below + rng.random() * equal)
        assert stats.kstest(ranks, "uniform").pvalue > 1e-3
