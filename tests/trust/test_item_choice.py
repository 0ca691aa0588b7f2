"""Which items to label, and what is expected of their labels."""

from functools import cache

import numpy as np
import pytest

from support import posteriors
from truemix import BayesianEMQ, KDEy
from truemix.exceptions import InputError
from truemix.trust.item_choice import choose_items
from truemix.trust.prediction_powered import prediction_powered

CLASSES = np.array(["egg", "ham", "spam"])


@cache
def quantifier():
    P, codes = posteriors(900, 3, 0)
    return BayesianEMQ(random_state=0, draws=400).fit(P, CLASSES[codes])


@cache
def batch(n=500):
    P, codes = posteriors(n, 3, 1, mix=(0.6, 0.3, 0.1))
    return P, codes, quantifier().quantify(P)


def test_the_frame_is_what_quantify_takes():
    P, codes, estimate = batch()
    frame = estimate.choose_items(60, random_state=0)
    assert list(frame.columns) == ["row", "inclusion"]
    assert len(frame) == 60
    assert frame["row"].is_monotonic_increasing
    labels = dict(zip(frame["row"], CLASSES[codes[frame["row"]]], strict=True))
    inclusion = dict(zip(frame["row"], frame["inclusion"], strict=True))
    found = quantifier().quantify(P, labels=labels, inclusion=inclusion)
    truth = np.bincount(codes, minlength=3) / 500
    assert np.abs(found.prevalence - truth).max() < 0.08


def test_the_same_seed_chooses_the_same_items():
    _, _, estimate = batch()
    first, again, other = (estimate.choose_items(40, random_state=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_items_whose_class_is_unsure_are_chosen_more_often():
    _, _, estimate = batch()
    choice = choose_items(estimate.batch, estimate, 100, 0)
    predicted = choice.outlook.predicted[estimate.batch.row_of_item]
    unsure = 1 - predicted.max(axis=1)
    assert unsure[choice.rows].mean() > 1.2 * unsure.mean()
    assert choice.inclusion.min() > 0.3 * 100 / 500


def test_all_items_are_chosen_if_there_are_no_more():
    _, _, estimate = batch()
    choice = choose_items(estimate.batch, estimate, 10_000, 0)
    assert np.array_equal(choice.rows, np.arange(500))
    assert (choice.inclusion == 1).all()


def test_labels_of_chosen_items_tell_more_than_those_of_random_ones():
    _, codes, estimate = batch()
    truth, rng = np.bincount(codes, minlength=3) / 500, np.random.default_rng(0)
    rows = estimate.batch.row_of_item
    errors = {"chosen": [], "random": []}
    for _ in range(150):
        choice = choose_items(estimate.batch, estimate, 60, rng)
        simple = rng.choice(500, 60, replace=False)
        for name, items, inclusion in (
            ("chosen", choice.rows, choice.inclusion),
            ("random", simple, np.full(60, 60 / 500)),
        ):
            found = prediction_powered(
                choice.outlook.predicted,
                choice.outlook.counts,
                rows[items],
                codes[items],
                inclusion,
            )
            errors[name].append(np.square(found.share - truth).sum())
    # The design halves nothing, but it must not lose: standard error of the ratio about 10 %.
    assert np.mean(errors["chosen"]) < 0.97 * np.mean(errors["random"])


def test_a_forecast_is_about_what_happens():
    P, codes, estimate = batch()
    choice = choose_items(estimate.batch, estimate, 50, 0)
    forecast = choice.forecast((50, 200))
    rng = np.random.default_rng(1)
    for place, n in enumerate(forecast.numbers):
        widths = {"robust": [], "none": []}
        for _ in range(6):
            chosen = choose_items(estimate.batch, estimate, n, rng)
            labels = dict(zip(chosen.rows.tolist(), CLASSES[codes[chosen.rows]], strict=True))
            inclusion = dict(zip(chosen.rows.tolist(), chosen.inclusion, strict=True))
            for each, found in widths.items():
                done = quantifier().quantify(P, labels=labels, inclusion=inclusion, assumption=each)
                found.append(np.diff(done.interval())[:, 0])
        # Widths vary by chance, and labels do not agree exactly with label shift.
        assert np.mean(widths["none"]) == pytest.approx(forecast.if_fails[place].mean(), rel=0.25)
        assert np.mean(widths["robust"]) == pytest.approx(forecast.if_holds[place].mean(), rel=0.35)


def test_widths_fall_with_the_number_of_labels_to_nothing():
    _, _, estimate = batch()
    forecast = choose_items(estimate.batch, estimate, 10, 0).forecast((25, 50, 100, 200, 9999))
    assert forecast.numbers == (25, 50, 100, 200, 500)
    for widths in (forecast.if_holds.mean(axis=1), forecast.if_fails.mean(axis=1)):
        assert (np.diff(widths) < 0).all()
    assert forecast.if_fails[-1].max() <= 2 / 500
    assert (forecast.if_holds[:-1].mean(axis=1) < forecast.if_fails[:-1].mean(axis=1)).all()
    frame = forecast.frame()
    assert list(frame.columns) == ["n", "class", "width_if_holds", "width_if_fails"]
    assert len(frame) == 15


def test_the_needed_number_is_the_smallest_that_is_enough():
    _, _, estimate = batch()
    choice = choose_items(estimate.batch, estimate, 10, 0)
    needed = choice.needed(0.1)
    wide, enough = choice.forecast((needed - 1, needed)).if_fails.mean(axis=1)
    assert enough <= 0.1 < wide
    assert choice.needed(0.05) > needed


def test_an_estimate_without_draws_has_a_forecast_too():
    P, codes = posteriors(300, 3, 0)
    point = KDEy(bandwidth=0.3, shrinkage=0.3).fit(P, CLASSES[codes])
    estimate = point.quantify(batch()[0])
    forecast = choose_items(estimate.batch, estimate, 10, 0).forecast()
    assert forecast.if_holds is None
    assert forecast.frame()["width_if_holds"].isna().all()


def test_bad_input_is_told_in_one_sentence():
    P, _, estimate = batch()
    for n in (0, -3, 2.5, True, "10"):
        with pytest.raises(InputError) as caught:
            estimate.choose_items(n)
        assert str(caught.value) == (
            f"The number of items to label is {n!r}; expected a whole number, at least 1."
        )
    choice = choose_items(estimate.batch, estimate, 10, 0)
    with pytest.raises(InputError) as caught:
        choice.needed(5.0)
    assert str(caught.value) == (
        "The wanted width is 5; expected a share above 0 and below 1, such as 0.05 for five "
        "percentage points."
    )
    with pytest.raises(InputError, match="Single items are not known here"):
        quantifier().quantify(quantifier().summarize(P)).choose_items(10)
