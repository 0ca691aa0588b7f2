"""Chains that do not mix are found out, whatever they are stuck at; sound ones are let be."""

import numpy as np
import pytest
from scipy.special import logsumexp

from truemix.inference import sample_mixture
from truemix.inference._chains import N_CHAINS, settle
from truemix.inference._failures import failures
from truemix.inference.confusion import sample_confusion


class Made:
    """A kernel whose chains are made by a function of the thinning."""

    n_chains = N_CHAINS

    def __init__(self, more):
        self._more = more

    def advance(self, number, kept, thinning):
        if number == 0:
            self._chains = self._more(thinning)
        return self._chains[number]

    def report(self):
        return {"divergences": 0, "acceptance": 1.0, "steps": 0}


def diagnosed(more, n_draws=400, n_classes=2, certain=None):
    """Settle chains of a made-up kernel and return the sentences about them."""
    settled = settle(Made(more), n_draws, n_classes, max_thinning=4, certain=certain)
    return settled, failures(settled.diagnostics, n_draws)


def mixes(shares):
    return np.stack([shares, 1.0 - shares], axis=-1)


def weak(n, n_classes, seed=1):
    """Return log-likelihoods of items that hardly tell classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return 0.3 * (rng.normal(size=(n, n_classes)) + 0.3 * np.eye(n_classes)[y])


def test_chains_frozen_at_their_starts_are_found():
    starts = np.random.default_rng(0).random((N_CHAINS, 1))
    _, failed = diagnosed(lambda _: mixes(np.repeat(starts, 50, axis=1)))
    assert "R-hat is beyond 100" in " ".join(failed)


def test_chains_in_two_modes_are_found():
    rng = np.random.default_rng(0)
    centres = np.where(np.arange(N_CHAINS) % 2 == 1, 0.3, 0.7)[:, None]
    settled, failed = diagnosed(lambda _: mixes(centres + 0.02 * rng.normal(size=(N_CHAINS, 50))))
    # Chains know no more than which mode they are in.
    assert settled.diagnostics["ess"] < N_CHAINS + 1
    assert "R-hat" in failed[-1]


def test_one_chain_of_eight_that_is_elsewhere_is_found():
    rng = np.random.default_rng(0)
    centres = np.where(np.arange(N_CHAINS) == 3, 0.75, 0.7)[:, None]
    _, failed = diagnosed(lambda _: mixes(centres + 0.02 * rng.normal(size=(N_CHAINS, 50))))
    assert "R-hat" in failed[-1]


def test_what_is_the_same_in_all_draws_is_certain_or_suspicious():
    def constant(_):
        return mixes(np.full((N_CHAINS, 50), 1.0))

    settled, failed = diagnosed(constant)
    assert settled.diagnostics["ess"] == N_CHAINS
    assert failed[0].startswith("A share is the same in all draws although the items do not make")
    _, failed = diagnosed(constant, certain=np.array([True, True]))
    assert failed == []


def test_sound_chains_are_let_be():
    rng = np.random.default_rng(0)

    def more(thinning):
        # Autocorrelation 0.25 between steps, about the most that plans allow.
        x = rng.normal(size=(N_CHAINS, 50 * thinning))
        for t in range(1, 50 * thinning):
            x[:, t] = 0.25 * x[:, t - 1] + np.sqrt(1 - 0.25**2) * x[:, t]
        return mixes(0.5 + 0.1 * x[:, thinning - 1 :: thinning])

    # A sample may be called bad once in 10,000 times.
    assert sum(bool(diagnosed(more)[1]) for _ in range(300)) <= 1


def test_few_draws_are_taken_from_many():
    numbers = np.random.default_rng(0).permutation(400).astype(float).reshape(N_CHAINS, 50, 1)
    settled, _ = diagnosed(lambda _: numbers, 4, 1)
    assert settled.values[:, 0].tolist() == numbers.ravel()[[50, 150, 250, 350]].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_a_tiny_prior_is_not_taken_for_certainty(seed):
    # Each class alone explains these items about as well: what a chain comes to rest at is chance.
    sample = sample_mixture(weak(30, 3), prior=1e-6, draws=100, random_state=seed)
    assert sample.diagnostics["failed"]


@pytest.mark.parametrize("seed", range(5))
def test_a_small_prior_is_right_or_told(seed):
    values = weak(30, 2)
    sample = sample_mixture(values, prior=0.01, draws=100, random_state=seed)
    # The exact mean, over a grid of the log ratio that reaches far into both corners.
    ratio = np.linspace(-4000.0, 4000.0, 400_001)
    logs = -np.logaddexp(0.0, np.stack([-ratio, ratio]))
    density = 0.01 * logs.sum(axis=0)
    for row in values:
        density += np.logaddexp(row[0] + logs[0], row[1] + logs[1])
    weights = np.exp(density - logsumexp(density))
    exact = weights @ np.exp(logs[0])
    sd = np.sqrt(weights @ (np.exp(logs[0]) - exact) ** 2)
    # Four standard errors of the mean for an effective sample size of 40, the least that passes.
    right = abs(sample.draws[:, 0].mean() - exact) < 4 * sd / np.sqrt(40)
    assert right or sample.diagnostics["failed"]


def test_several_chains_take_hardly_more_steps_than_one():
    sample = sample_mixture(2.0 * weak(500, 3), sampler="gibbs", random_state=0)
    # One chain took the warm-up and then the draws, as far apart as these.
    assert sample.diagnostics["steps"] <= 1.25 * (500 + 1000 * sample.diagnostics["thinning"])


def test_steps_of_the_confusion_matrix_too():
    sample = sample_confusion([[90, 10], [20, 80]], [55, 45], random_state=0)
    assert sample.diagnostics["thinning"] == 1
    assert sample.diagnostics["steps"] <= 1.25 * 1500


def test_a_confusion_matrix_that_tells_nothing_is_told_with_a_tiny_prior():
    sample = sample_confusion(np.full((3, 3), 5), [4, 3, 3], prior=1e-6, draws=100, random_state=0)
    assert sample.diagnostics["failed"]
