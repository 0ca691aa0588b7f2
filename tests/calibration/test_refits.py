"""Refits: the same items with other weights, from a map that is close."""

import numpy as np
import pytest

from support import posteriors
from truemix.calibration import CALIBRATORS
from truemix.exceptions import InputError

every_method = pytest.mark.parametrize("method", CALIBRATORS)


@every_method
@pytest.mark.parametrize("n", [40, 400])
def test_refits_are_fits_with_these_weights(method, n):
    P, y = posteriors(n, 4, seed=0)
    weightings = np.random.default_rng(0).exponential(size=(50, n))
    refits = CALIBRATORS[method]().fit(P, y).refits(P, y, weightings)
    exact = [CALIBRATORS[method]().fit(P, y, sample_weight=row) for row in weightings]
    for name in ("scale_", "bias_"):
        found, expected = (np.array([getattr(c, name) for c in cs]) for cs in (refits, exact))
        # They stop within 3 % of a standard error, which is about the spread of the reweighted.
        assert (np.abs(found - expected) <= 0.1 * expected.std(axis=0)).all()
    assert [c.floor_ for c in refits] == [c.floor_ for c in exact]


@every_method
def test_integer_weights_are_repeated_rows(method):
    P, y = posteriors(300, 3, seed=1)
    times = np.random.default_rng(1).integers(0, 4, size=300)
    (weighted,) = CALIBRATORS[method]().fit(P, y).refits(P, y, [times])
    repeated = CALIBRATORS[method]().fit(np.repeat(P, times, axis=0), np.repeat(y, times))
    # The prior counts effective items (200 instead of 450), which moves scores by 1e-4; stopping
    # early by 3 % of a standard error of about 0.1.
    np.testing.assert_allclose(weighted.transform(P), repeated.transform(P), atol=2e-3)


def test_refits_start_from_zeros_and_perfect_posteriors_too():
    P = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.6, 0.4]], 10, axis=0)
    y = np.array([0] * 10 + [1] * 10 + [0, 1] * 5)
    weightings = np.random.default_rng(0).exponential(size=(20, 30))
    calibrator = CALIBRATORS["vs"]().fit(P, y)
    for refit, row in zip(calibrator.refits(P, y, weightings), weightings, strict=True):
        exact = CALIBRATORS["vs"]().fit(P, y, sample_weight=row)
        np.testing.assert_allclose(refit.transform(P), exact.transform(P), atol=0.02)


@pytest.mark.parametrize(
    ("weightings", "sentence"),
    [
        ([[1, 1, 1]], r"weightings\[0\] has shape"),
        ([[1, 1], [1, -1]], r"weightings\[1\]\[1\] is -1"),
        ([[1, 0]], "class number 1 all have weight zero"),
    ],
)
def test_wrong_weightings_get_one_clear_sentence(weightings, sentence):
    P, y = [[0.8, 0.2], [0.3, 0.7]], [0, 1]
    with pytest.raises(InputError, match=sentence):
        CALIBRATORS["ts"]().fit(P, y).refits(P, y, weightings)


def test_refits_need_a_fitted_map():
    with pytest.raises(InputError, match="is not fitted"):
        CALIBRATORS["ts"]().refits([[0.5, 0.5]] * 2, [0, 1], [[1, 1]])


def test_scores_are_logs_of_calibrated_posteriors():
    P, y = posteriors(100, 3, seed=0)
    calibrator = CALIBRATORS["vs"]().fit(P, y)
    gap = calibrator.scores(P) - np.log(calibrator.transform(P))
    np.testing.assert_allclose(gap, gap[:, :1] * np.ones(3), atol=1e-12)
