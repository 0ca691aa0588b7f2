"""PQ against its posterior, computed by weighing draws from the prior, and its limits."""

import numpy as np
import pytest

from support import posteriors
from truemix import PQ, InputError, KDEy


def test_draws_are_those_of_the_posterior():
    """Bin probabilities given the references are Dirichlet; each draw weighs as its batch does."""
    P, y = posteriors(60, 2, seed=0, sharpness=4)
    target, _ = posteriors(50, 2, seed=1, sharpness=4, mix=[0.8, 0.2])
    fitted = PQ(bins=3, draws=8000, random_state=0, estimand="population").fit(P, y)
    observed = fitted.model_.observe(target).sum(axis=0)
    rng = np.random.default_rng(0)
    n = 400_000
    rows = [rng.dirichlet(1 + counts, n) for counts in fitted.model_.counts_]
    share = rng.random(n)
    mixed = (1 - share)[:, None] * rows[0] + share[:, None] * rows[1]
    log_weight = np.log(mixed) @ observed
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = weight @ share
    spread = np.sqrt(weight @ (share - mean) ** 2)
    draws = fitted.quantify(target).draws[:, 1]
    effective = 1 / np.sum(weight**2)
    error = spread * np.sqrt(1 / effective + 1 / fitted.quantify(target).diagnostics["ess"])
    assert abs(draws.mean() - mean) < 4 * error
    # The relative error of a spread is about 1 / sqrt(2 n); four of them.
    assert draws.std() == pytest.approx(spread, rel=4 / np.sqrt(2 * min(effective, 4000)))


def test_it_sees_how_sure_a_classifier_is():
    """Decisions alone tell less: intervals of two bins are wider than those of eight."""
    P, y = posteriors(2000, 2, seed=0, sharpness=3)
    target, labels = posteriors(2000, 2, seed=1, sharpness=3, mix=[0.9, 0.1])
    widths = {}
    for bins in (2, 8):
        estimate = PQ(bins=bins, random_state=0).fit(P, y).quantify(target)
        widths[bins] = np.ptp(estimate.interval()[0])
        assert estimate.prevalence[1] == pytest.approx(labels.mean(), abs=widths[bins])
    assert widths[8] < widths[2]


def test_there_must_be_two_classes_and_some_bins():
    P, y = posteriors(60, 3, seed=0)
    with pytest.raises(InputError, match="posterior of one of two classes, but there are 3; use"):
        PQ().fit(P, y)
    with pytest.raises(InputError, match="'bins' parameter must be a whole number between 2 and"):
        PQ(bins=1).fit(P[:, :2], y % 2)


def test_few_values_make_few_bins():
    P = np.repeat([[0.9, 0.1], [0.2, 0.8]], 30, axis=0)
    y = np.repeat([0, 1], 30)
    fitted = PQ(bins=10, random_state=0).fit(P, y)
    assert fitted.model_.counts_.shape[1] <= 4
    assert fitted.predict(P[:40]) == pytest.approx(KDEy().fit(P, y).predict(P[:40]), abs=0.1)
