"""Samples of items: of fixed size, with exactly the inclusion probabilities that they claim."""

import numpy as np
import pytest

from truemix.trust.sampling_design import (
    EVEN_PART,
    inclusion_probabilities,
    similar_order,
    systematic_sample,
)


def predictions(n=200, n_classes=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), n)


@pytest.mark.parametrize("n", [1, 20, 150, 199])
def test_probabilities_are_positive_at_most_one_and_sum_to_the_size(n):
    found = inclusion_probabilities(predictions(), np.ones(200), n)
    assert found.sum() == pytest.approx(n)
    assert found.min() >= EVEN_PART * n / 200 * (1 - 1e-12)
    assert found.max() <= 1


def test_rows_count_as_often_as_there_are_items():
    predicted = predictions(5)
    counts = np.array([40, 1, 3, 50, 6])
    by_row = inclusion_probabilities(predicted, counts.astype(float), 10)
    by_item = inclusion_probabilities(np.repeat(predicted, counts, axis=0), np.ones(100), 10)
    assert np.allclose(np.repeat(by_row, counts), by_item)


def test_sure_predictions_alone_are_sampled_evenly():
    found = inclusion_probabilities(np.eye(3)[[0, 1, 2, 0]], np.ones(4), 2)
    assert np.allclose(found, 0.5)


def test_all_items_are_chosen_if_there_are_no_more():
    assert (inclusion_probabilities(predictions(10), np.ones(10), 10) == 1).all()
    assert (inclusion_probabilities(predictions(10), np.ones(10), 99) == 1).all()


def test_items_are_chosen_as_often_as_their_probability_says():
    predicted, repeats = predictions(60), 4000
    inclusion = inclusion_probabilities(predicted, np.ones(60), 12)
    rng = np.random.default_rng(1)
    times = np.zeros(60)
    for _ in range(repeats):
        chosen = systematic_sample(inclusion, similar_order(predicted, rng), rng)
        assert len(np.unique(chosen)) == 12
        times[chosen] += 1
    error = np.sqrt(inclusion * (1 - inclusion) / repeats)
    # The largest of 60 deviations: 4.5 standard errors are exceeded once in 2,500 such tests.
    assert np.abs(times / repeats - inclusion).max() < 4.5 * error.max()


def test_the_sample_has_its_share_of_every_decision():
    predicted = predictions(1000)
    inclusion = np.full(1000, 0.1)
    rng = np.random.default_rng(2)
    decided = np.bincount(predicted.argmax(axis=1), minlength=3)
    for _ in range(20):
        chosen = systematic_sample(inclusion, similar_order(predicted, rng), rng)
        counts = np.bincount(predicted[chosen].argmax(axis=1), minlength=3)
        # Stratified: never further off than an item at each end of a stratum.
        assert np.abs(counts - decided / 10).max() < 2
