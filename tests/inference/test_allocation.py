"""Allocations given the mix are compared with the responsibilities they are drawn from."""

import numpy as np
import pytest

from truemix._core import Layout, allocate_draws
from truemix.inference._random import seed_state

DRAWS = 20_000


def items(kind, rng):
    """Return likelihoods and weights that all go one way through the allocation."""
    noise = rng.random((300, 4))
    if kind == "sure":
        # Odds against the first class from 1e-6 to 0.01 at the reference.
        return np.column_stack([np.ones(300), 10.0 ** rng.uniform(-6, -2, (300, 3))]), np.ones(300)
    if kind == "doubtful":
        return noise, np.ones(300)
    if kind == "heavy":
        return noise[:5], np.array([40.0, 100.0, 1000.0, 33.0, 1e6])
    if kind == "certain":
        return np.eye(4)[rng.integers(4, size=300)], rng.integers(1, 5, size=300).astype(float)
    sparse = np.where(noise < 0.5, 0.0, noise) ** rng.integers(1, 20, size=(300, 1))
    sparse[:, 1] = np.maximum(sparse[:, 1], 1e-9)
    # All kinds together, with weights that are no whole numbers.
    return sparse, np.round(rng.gamma(0.5, 20.0, size=300), 1) + 0.1


@pytest.mark.parametrize("kind", ["sure", "doubtful", "heavy", "certain", "mixed"])
@pytest.mark.parametrize("pi", [[0.4, 0.3, 0.2, 0.1], [0.01, 0.9, 0.08, 0.01]])
def test_counts_have_the_moments_of_independent_items(kind, pi):
    L, w = items(kind, np.random.default_rng(0))
    # Arranged around one mix and drawn at another.
    layout = Layout(L, w, np.array([0.4, 0.3, 0.2, 0.1]))
    state = seed_state(np.random.SeedSequence(1))
    batch = allocate_draws(layout, np.tile(pi, (DRAWS, 1)), state)
    np.testing.assert_allclose(batch.sum(axis=1), 1.0, rtol=1e-12)
    r = L * pi / (L @ pi)[:, None]
    mean = w @ r / w.sum()
    # A weight is as many independent items, and one more for what exceeds a whole number.
    squares = np.floor(w) + (w - np.floor(w)) ** 2
    variance = squares @ (r * (1 - r)) / w.sum() ** 2
    # Draws are independent. Five standard errors; those of a variance for a normal, times 1.5
    # because few and rare moves have heavier tails than a normal. 1e-12 is rounding of the counts.
    error = 5 * np.sqrt(variance / DRAWS) + 1e-12
    assert (np.abs(batch.mean(axis=0) - mean) < error).all()
    error = 1.5 * 5 * variance * np.sqrt(2 / DRAWS) + 1e-12
    rare = w.sum() * np.minimum(mean, 1 - mean) < 5
    assert (np.abs(batch.var(axis=0) - variance) < error)[~rare].all()
    covariance = -(squares @ (r[:, :1] * r[:, 1:2])) / w.sum() ** 2
    observed = np.cov(batch[:, 0], batch[:, 1])[0, 1]
    scale = np.sqrt(variance[0] * variance[1] / DRAWS)
    assert abs(observed - covariance[0]) < 1.5 * 5 * scale + 1e-12


def test_impossible_classes_are_never_drawn():
    rng = np.random.default_rng(2)
    L = np.where(rng.random((500, 6)) < 0.5, 0.0, 1.0)
    L[:, 0] = 1.0
    L[:, 5] = 0.0
    layout = Layout(L, np.ones(500), np.full(6, 1 / 6))
    pi = np.array([1e-300, 0.25, 0.25, 0.25, 0.1, 0.15])
    batch = allocate_draws(layout, np.tile(pi, (100, 1)), seed_state(np.random.SeedSequence(3)))
    assert (batch[:, 5] == 0).all()
    # Whoever has any other class takes it.
    alone = (L[:, 1:5] == 0).all(axis=1).mean()
    np.testing.assert_allclose(batch[:, 0], alone, atol=1e-12)
