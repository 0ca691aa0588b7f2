"""Estimates made of draws work as others do, or say in one sentence what they lack."""

import numpy as np
import pandas as pd
import pytest

from truemix import Estimate, InputError

CLASSES = ["ham", "spam", "news"]
DRAWS = np.random.default_rng(0).dirichlet([40, 20, 10], size=400)
KNOWN = {
    "n_items": 70,
    "train_prevalence": [0.5, 0.25, 0.25],
    "classify_and_count": {"spam": 0.3, "ham": 0.6, "news": 0.1},
}


def test_draws_become_an_estimate_with_their_mean_and_quantiles():
    e = Estimate.from_draws(CLASSES, DRAWS, method="NumPyro")
    np.testing.assert_allclose(e.prevalence, DRAWS.mean(axis=0))
    np.testing.assert_array_equal(e.draws, DRAWS)
    assert e.draws is not DRAWS
    assert (e.estimand, e.method, e.n_items) == ("population", "NumPyro", 0)
    assert e.classify_and_count is None and e.train_prevalence is None
    lower, upper = e.interval(0.8)[0]
    assert np.mean((DRAWS[:, 0] >= lower) & (DRAWS[:, 0] <= upper)) == pytest.approx(0.8, abs=0.01)
    assert e.warnings() == []


def test_what_does_not_need_more_than_draws_works(tmp_path):
    e = Estimate.from_draws(CLASSES, DRAWS)
    assert "Label shift" not in repr(e) and "counted" not in e._repr_html_()
    assert e.frame().columns.tolist() == ["prevalence", "lower", "upper"]
    assert 0 < e.probability(lambda p: p["ham"] > 0.57) < 1
    assert e.region().contains(e.prevalence)
    later = Estimate.from_draws(CLASSES, DRAWS[:, ::-1])
    assert later.compare(e).frame().loc["ham", "difference"] < 0
    assert "items" not in repr(later.compare(e))
    for options in ({}, {"kind": "ternary"}, {"sort": "share"}):
        e.plot(**options).draw_without_rendering()
    e.save(tmp_path / "e")
    again = Estimate.load(tmp_path / "e")
    assert repr(again) == repr(e)
    assert again.train_prevalence is None


def test_with_everything_known_weights_and_the_page_work(tmp_path):
    e = Estimate.from_draws(CLASSES, DRAWS, **KNOWN)
    np.testing.assert_allclose(e.classify_and_count, [0.6, 0.3, 0.1])
    np.testing.assert_allclose(e.weights()["weight"], e.prevalence / [0.5, 0.25, 0.25])
    e.report(tmp_path / "page.html")
    assert "own sampler" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda e: e.weights(), "Weights need the shares in the reference.*pass train_prevalence"),
        (lambda e: e.adapt(DRAWS), "Weights need the shares in the reference"),
        (lambda e: e.report("never.html"), "report needs n_items and train_prevalence and classi"),
        (lambda e: e.of("batch"), "holds no draws of the batch mix"),
        (lambda e: e.sensitivity(), "sensitivity needs the batch itself, which saved estimates an"),
        (lambda e: e.range(), "range needs the batch itself"),
        (lambda e: e.performance(), "performance needs the batch itself"),
        (lambda e: e.choose_items(3), "choose_items needs the batch itself"),
    ],
)
def test_what_needs_more_says_so_in_a_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(Estimate.from_draws(CLASSES, DRAWS))


def test_a_region_of_draws_that_can_be_zero_needs_the_number_of_items():
    counts = np.random.default_rng(1).multinomial(4, [0.6, 0.3, 0.1], size=50) / 4
    with pytest.raises(InputError, match="region needs the number of items"):
        Estimate.from_draws(CLASSES, counts, estimand="batch").region()
    assert Estimate.from_draws(CLASSES, counts, estimand="batch", n_items=4).region() is not None


def test_columns_of_a_data_frame_are_matched_by_class():
    frame = pd.DataFrame(DRAWS[:, ::-1], columns=CLASSES[::-1])
    np.testing.assert_array_equal(Estimate.from_draws(CLASSES, frame).draws, DRAWS)


def test_chains_stay_chains_for_arviz():
    e = Estimate.from_draws(CLASSES, DRAWS.reshape(4, 100, 3))
    np.testing.assert_array_equal(e.draws, DRAWS)
    chains = e.to_arviz().posterior["prevalence"].values
    np.testing.assert_array_equal(chains, DRAWS.reshape(4, 100, 3))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"draws": DRAWS[:1]}, "draws has 1 row; expected at least 2 draws"),
        ({"draws": DRAWS[:4].reshape(4, 1, 3)}, "1 row in each of 4 chains; expected at least 2"),
        ({"draws": DRAWS[:0]}, "draws"),
        ({"draws": DRAWS[:, :2]}, "draws has 2 columns, but there are 3 classes"),
        ({"draws": DRAWS[0]}, "draws"),
        ({"draws": 0.9 * DRAWS}, "Row 0 of draws sums to 0.9"),
        ({"draws": np.where(DRAWS > 0.6, np.nan, DRAWS)}, "draws"),
        ({"draws": DRAWS - [0.5, 0, -0.5]}, "Row 10 of draws .* holds -0.0143"),
        ({"draws": [["a", "b", "c"]] * 2}, "draws"),
        ({"classes": ["ham", "ham", "news"]}, "classes names 'ham' more than once"),
        ({"classes": ["ham"], "draws": DRAWS[:, :1]}, "one class"),
        ({"n_items": 0}, "n_items"),
        ({"n_items": 1.5}, "n_items"),
        ({"estimand": "source"}, "'estimand' parameter must be one of 'batch', 'population'"),
        ({"method": ""}, "method is ''; expected the name"),
        (
            {"train_prevalence": [0.5, 0.5]},
            r"train_prevalence has shape \(2,\); expected one",
        ),
        ({"train_prevalence": [0.5, 0.5, 0.5]}, "of train_prevalence sums to 1.5"),
        ({"classify_and_count": {"ham": 1.0}}, "classify_and_count has shares of"),
    ],
)
def test_wrong_draws_are_refused_with_the_place(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        Estimate.from_draws(**{"classes": CLASSES, "draws": DRAWS, **changes})
