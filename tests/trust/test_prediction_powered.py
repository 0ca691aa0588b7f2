"""The mix measured by labels: unbiased, and as uncertain as it says, whatever the predictions."""

import numpy as np
import pytest

from truemix.trust.prediction_powered import (
    MISFIT_ITEMS,
    MODEL_ITEMS,
    hajek_weights,
    labels_only,
    prediction_powered,
    residual_covariance,
    source_covariance,
)


def world(n_items=600, n_classes=3, seed=0, *, wrong=0.0):
    """Return predictions and classes; the wrong part of the predictions knows nothing of them."""
    rng = np.random.default_rng(seed)
    predicted = rng.dirichlet(np.full(n_classes, 0.4), n_items)
    codes = (predicted.cumsum(axis=1) > rng.random((n_items, 1))).argmax(axis=1)
    return (1 - wrong) * predicted + wrong * np.eye(n_classes)[0], codes


def shares(codes, n_classes=3):
    return np.bincount(codes, minlength=n_classes) / len(codes)


def measure(predicted, codes, items, inclusion, **options):
    ones = np.ones(len(predicted))
    return prediction_powered(predicted, ones, items, codes[items], inclusion, **options)


def simple(n_items, n, rng):
    items = rng.choice(n_items, n, replace=False)
    return items, np.full(n, n / n_items)


def poisson(inclusion, rng):
    items = np.flatnonzero(rng.random(len(inclusion)) < inclusion)
    return items, inclusion[items]


def test_labels_of_every_item_are_the_count():
    predicted, codes = world(50)
    found = measure(predicted, codes, np.arange(50), np.ones(50))
    assert np.array_equal(found.share, shares(codes))
    assert not found.covariance.any()


def test_without_predictions_it_is_the_share_of_the_labels_with_its_textbook_variance():
    predicted, codes = world(1000)
    items, inclusion = simple(1000, 400, np.random.default_rng(1))
    found = measure(predicted, codes, items, inclusion, slopes=np.zeros(3))
    p = shares(codes[items])
    assert np.allclose(found.share, p)
    # (1 - n / N) p (1 - p) / (n - 1), but for the items that were added to 400.
    textbook = 0.6 * (np.diag(p) - np.outer(p, p)) / 399
    tolerance = 1.5 * (MODEL_ITEMS + MISFIT_ITEMS) / 400
    assert np.allclose(found.covariance, textbook, rtol=tolerance, atol=tolerance * textbook.max())


@pytest.mark.parametrize("wrong", [0.0, 0.5])
def test_equal_rows_with_counts_are_the_same_as_single_items(wrong):
    predicted, codes = world(300, wrong=wrong)
    coarse = np.round(predicted, 1)
    coarse[:, 2] = 1 - coarse[:, :2].sum(axis=1)
    rows, row_of_item, counts = np.unique(coarse, axis=0, return_inverse=True, return_counts=True)
    items, inclusion = simple(300, 60, np.random.default_rng(2))
    one_by_one = measure(coarse, codes, items, inclusion)
    together = prediction_powered(
        rows, counts.astype(float), row_of_item.ravel()[items], codes[items], inclusion
    )
    assert np.allclose(one_by_one.share, together.share)
    assert np.allclose(one_by_one.covariance, together.covariance)


@pytest.mark.parametrize("wrong", [0.0, 0.6])
def test_it_is_unbiased_under_unequal_inclusion_and_labels_alone_without_weights_are_not(wrong):
    predicted, codes = world(600, wrong=wrong)
    rng = np.random.default_rng(3)
    # Items of class 0 are chosen four times as often, through a feature that the labels depend on.
    inclusion = np.where(codes == 0, 0.3, 0.075) * rng.uniform(0.8, 1.2, len(codes))
    found, naive = [], []
    for _ in range(600):
        items, pi = poisson(inclusion, rng)
        found.append(measure(predicted, codes, items, pi).share)
        naive.append(shares(codes[items]))
    error = np.std(found, axis=0) / np.sqrt(600)
    bias = np.abs(np.mean(found, axis=0) - shares(codes))
    # Four standard errors of the mean of the simulation, and the bias of a ratio of order 1 / n.
    assert (bias < 4 * error + 0.004).all()
    assert np.abs(np.mean(naive, axis=0) - shares(codes)).max() > 0.1


@pytest.mark.parametrize("wrong", [0.0, 0.6])
@pytest.mark.parametrize("n", [50, 200])
def test_its_intervals_cover_without_any_assumption(n, wrong):
    from scipy.stats import t

    predicted, codes = world(600, seed=4, wrong=wrong)
    truth, rng = shares(codes), np.random.default_rng(5)
    inside, spread, errors = [], [], []
    for _ in range(400):
        found = measure(predicted, codes, *simple(600, n, rng))
        sd = np.sqrt(np.diag(found.covariance))
        inside.append(np.abs(found.share - truth) <= t.ppf(0.975, found.degrees) * sd)
        spread.append(sd)
        errors.append(found.share - truth)
    # 1,200 intervals, three of a sample together: a standard error of about one point.
    assert 0.93 <= np.mean(inside) <= 0.985
    # The variance is that of the errors, but for what is added for caution: more of 50 than of 200.
    ratio = np.mean(spread, axis=0) / np.std(errors, axis=0)
    assert (ratio > 0.93).all()
    assert (ratio < 1.0 + 15 / n).all()


def test_intervals_cover_under_unequal_inclusion():
    from scipy.stats import t

    predicted, codes = world(600, seed=6, wrong=0.3)
    rng = np.random.default_rng(7)
    inclusion = rng.uniform(0.05, 0.4, 600)
    inside = []
    for _ in range(400):
        found = measure(predicted, codes, *poisson(inclusion, rng))
        sd = np.sqrt(np.diag(found.covariance))
        inside.append(np.abs(found.share - shares(codes)) <= t.ppf(0.975, found.degrees) * sd)
    # As above.
    assert 0.93 <= np.mean(inside) <= 0.985


def test_good_predictions_make_it_sharper_and_bad_ones_do_no_harm():
    truth, rng = shares(world(600)[1]), np.random.default_rng(8)
    errors = {"good": [], "bad": [], "none": []}
    predicted, codes = world(600)
    shuffled = rng.permutation(predicted)
    for _ in range(200):
        items, inclusion = simple(600, 60, rng)
        for name, f in (("good", predicted), ("bad", shuffled), ("none", np.full((600, 3), 1 / 3))):
            errors[name].append(np.abs(measure(f, codes, items, inclusion).share - truth).mean())
    mean = {name: np.mean(each) for name, each in errors.items()}
    # The predictions explain most of the variance; slopes near 0 make shuffled ones harmless.
    assert mean["good"] < 0.8 * mean["none"]
    assert mean["bad"] < 1.1 * mean["none"]


def test_slopes_are_near_one_for_right_predictions_and_near_zero_for_shuffled_ones():
    predicted, codes = world(2000)
    items, inclusion = simple(2000, 1000, np.random.default_rng(9))
    right = measure(predicted, codes, items, inclusion).slopes
    shuffled = np.random.default_rng(10).permutation(predicted)
    wrong = measure(shuffled, codes, items, inclusion).slopes
    # 1,000 labels tell a slope to about 0.05.
    assert (right > 0.85).all()
    assert (wrong < 0.15).all()
    # One label tells nothing.
    assert (measure(shuffled, codes, items[:1], np.array([0.0005])).slopes > 0.9).all()


def test_a_class_that_no_label_has_seen_is_not_known_to_be_absent():
    predicted = np.tile([0.55, 0.44, 0.01], (500, 1))
    codes = np.arange(500) % 2
    items, inclusion = simple(500, 50, np.random.default_rng(11))
    found = measure(predicted, codes, items, inclusion)
    assert found.share.sum() == pytest.approx(1)
    # By the rule of three it may still have up to 3 / n, at the upper end of a 95 % interval.
    assert 0.5 / 50 < 2 * np.sqrt(found.covariance[2, 2]) < 3 / 50


def test_a_single_label_is_enough():
    predicted, codes = world(100)
    found = measure(predicted, codes, np.array([3]), np.array([0.01]))
    assert np.isfinite(found.share).all()
    assert (np.diag(found.covariance) > 0).all()


def test_rows_of_covariances_sum_to_zero():
    predicted, codes = world(300)
    found = measure(predicted, codes, *simple(300, 40, np.random.default_rng(12)))
    weights = hajek_weights(np.array([0.1, 0.2, 0.4]))
    for each in (
        found.covariance,
        source_covariance(np.array([0.7, 0.4, -0.1]), 100),
        residual_covariance(predicted[:3], predicted[:3], weights),
    ):
        assert np.allclose(each.sum(axis=0), 0, atol=1e-12)


def test_labels_alone_have_the_mean_and_spread_of_a_share():
    rng = np.random.default_rng(13)
    codes = np.repeat([0, 1], [60, 40])
    batch, source = labels_only(codes, np.full(100, 0.5), 2, 200, 20_000, rng)
    # 20,000 draws: their mean to 0.0005, their spread to a percent or two.
    assert source.mean(axis=0) == pytest.approx([0.6, 0.4], abs=0.003)
    assert source.std(axis=0) == pytest.approx(np.sqrt(0.24 / 100), rel=0.03)
    # Half of the items are known: (1 - n / N) of the variance.
    assert batch.std(axis=0) == pytest.approx(np.sqrt(0.5 * 0.24 / 100), rel=0.06)
    assert (batch >= [0.3, 0.2]).all()
    everything, _ = labels_only(codes, np.ones(100), 2, 100, 10, rng)
    assert np.array_equal(everything, np.tile([0.6, 0.4], (10, 1)))


def test_a_class_that_no_label_names_may_have_some_items():
    # Predictions are sure, and all of 60 labels agree with them.
    sds = []
    for n_classes in (2, 5, 25):
        codes = np.zeros(60, dtype=int)
        predicted = np.eye(n_classes)[[0]]
        inclusion = np.full(60, 0.06)
        rows = np.zeros(60, dtype=int)
        found = prediction_powered(predicted, np.array([1000.0]), rows, codes, inclusion)
        sds.append(np.sqrt(found.covariance[-1, -1]))
    # The rule of three: at most 3 / 60 at 95 %, whatever the number of classes; that is 1.65
    # standard deviations of 0.03, which this comes near to.
    assert np.all(np.array(sds) > 0.5 / 60)
    assert np.all(np.array(sds) < 2.0 / 60)
    assert max(sds) / min(sds) < 1.5
