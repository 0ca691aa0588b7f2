"""Estimates with labels of the batch: sharp under label shift, right without it."""

from functools import cache

import numpy as np
import pytest

from support import Given, posteriors
from truemix import CC, EMQ, BayesianEMQ, BayesianKDEy, Bootstrap, Estimate, KDEy
from truemix.exceptions import InputError
from truemix.protocols import NaturalBags
from truemix.selection import GridSearch
from truemix.trust.labelled_estimate import sentence
from truemix.trust.responsibilities import responsibilities

CLASSES = np.array(["egg", "ham", "spam"])
MIX = (0.6, 0.3, 0.1)


def batch(n=400, seed=1):
    P, codes = posteriors(n, 3, seed, mix=MIX)
    return P, codes, np.bincount(codes, minlength=3) / n


@cache
def fitted(kind=BayesianEMQ, **options):
    P, codes = posteriors(900, 3, 0)
    if kind in {BayesianEMQ, BayesianKDEy}:
        options = {"random_state": 0, "draws": 400, **options}
    if kind is BayesianKDEy:
        options = {"bandwidth": 0.3, "shrinkage": 0.3, **options}
    return kind(**options).fit(P, CLASSES[codes])


def some(codes, n, seed=0):
    items = np.random.default_rng(seed).choice(len(codes), n, replace=False)
    return {int(item): CLASSES[codes[item]] for item in items}


def test_labels_of_all_items_are_the_count():
    P, codes, truth = batch(60)
    for quantifier in (fitted(), fitted(KDEy, bandwidth=0.3, shrinkage=0.3)):
        found = quantifier.quantify(P, labels=CLASSES[codes])
        assert np.allclose(found.prevalence, truth)
        assert np.allclose(found.interval(), truth[:, None])
        source = found.of("population")
        # As uncertain as the share among 60 items.
        assert source.draws.std(axis=0) == pytest.approx(
            np.sqrt(truth * (1 - truth) / 60), rel=0.15
        )
        assert found.diagnostics["labels"]["sentence"].startswith("All items are labelled")


def test_labels_that_agree_leave_a_good_estimate_as_it_is():
    P, codes, truth = batch()
    quantifier = fitted()
    plain = quantifier.quantify(P)
    found = quantifier.quantify(P, labels=some(codes, 100))
    assert found.diagnostics["labels"]["weight"] > 0.5
    assert np.abs(found.prevalence - plain.prevalence).max() < 0.05
    interval = found.interval()
    assert ((interval[:, 0] <= truth) & (truth <= interval[:, 1])).all()


def test_labels_that_disagree_correct_a_wrong_estimate():
    P, codes, _ = batch()
    # Class-conditional drift: items called ham now look like eggs.
    P, truth = P.copy(), np.bincount(codes, minlength=3) / len(codes)
    drifted = (codes == 1) & (np.arange(len(codes)) % 2 == 0)
    P[drifted] = P[drifted][:, [1, 0, 2]]
    quantifier, labels = fitted(), some(codes, 200)
    wrong = quantifier.quantify(P)
    robust = quantifier.quantify(P, labels=labels)
    assert np.abs(wrong.prevalence - truth).max() > 0.1
    assert np.abs(robust.prevalence - truth).max() < 0.06
    assert robust.diagnostics["labels"]["weight"] < 0.1
    interval = robust.interval()
    assert ((interval[:, 0] <= truth) & (truth <= interval[:, 1])).all()
    assert "disagree with the assumption" in repr(robust)


def test_assumptions_decide_how_far_label_shift_is_relied_on():
    P, codes, _ = batch()
    labels, quantifier = some(codes, 40), fitted()
    plain = quantifier.quantify(P)
    found = {
        each: quantifier.quantify(P, labels=labels, assumption=each)
        for each in ("label-shift", "robust", "none")
    }
    width = {name: np.diff(each.interval()).mean() for name, each in found.items()}
    assert width["label-shift"] < width["robust"] < width["none"]
    # Labels add to what is known.
    assert width["label-shift"] <= 1.02 * np.diff(plain.interval()).mean()
    assert [each.diagnostics["labels"]["weight"] is None for each in found.values()] == [
        True,
        False,
        True,
    ]


def test_both_estimands_are_updated_and_draws_of_the_batch_are_whole_items():
    P, codes, _ = batch()
    labels = some(codes, 80)
    found = fitted().quantify(P, labels=labels)
    other = fitted(estimand="population").quantify(P, labels=labels)
    assert np.allclose(found.draws * 400, np.round(found.draws * 400))
    known = np.bincount([CLASSES.tolist().index(label) for label in labels.values()], minlength=3)
    assert (np.round(found.draws * 400) >= known).all()
    assert found.diagnostics["labels"]["counts"] == known.tolist()
    # The source is less certain than the batch.
    assert (found.other_draws.std(axis=0) > found.draws.std(axis=0)).all()
    assert np.array_equal(other.of("batch").draws, found.draws)
    assert np.allclose(found.of("population").prevalence, other.prevalence)


def test_the_same_seed_gives_the_same_answer_and_the_form_of_labels_does_not_matter():
    P, codes, _ = batch()
    labels = some(codes, 50)
    column = np.full(400, None, dtype=object)
    for row, label in labels.items():
        column[row] = label
    first = fitted().quantify(P, labels=labels)
    second = fitted().quantify(P, labels=column)
    # Rows that are alike have no order.
    shuffle = np.random.default_rng(3).permutation(400)
    third = fitted().quantify(P[shuffle], labels=column[shuffle])
    assert np.array_equal(first.draws, second.draws)
    assert np.allclose(first.prevalence, third.prevalence, atol=1e-3)


@pytest.mark.parametrize("kind", [KDEy, EMQ, CC])
def test_quantifiers_without_draws_rest_on_labels_and_predictions(kind):
    P, codes, truth = batch()
    options = {"bandwidth": 0.3, "shrinkage": 0.3} if kind is KDEy else {}
    quantifier = fitted(kind, **options)
    found = quantifier.quantify(P, labels=some(codes, 100))
    assert found.diagnostics["labels"]["assumption"] == "none"
    assert found.draws.shape == (1000, 3)
    assert np.abs(found.prevalence - truth).max() < 0.1
    with pytest.raises(InputError) as caught:
        quantifier.quantify(P, labels=some(codes, 100), assumption="label-shift")
    assert str(caught.value) == (
        f"{kind.__name__} gives no draws, so that it cannot be weighed against labels under label "
        "shift; use assumption='none', or a Bayesian quantifier such as BayesianKDEy."
    )


def test_other_quantifiers_take_labels_too():
    P, codes, truth = batch()
    labels = some(codes, 100)
    R, y = posteriors(900, 3, 0)
    protocol = NaturalBags(n_bags=5, bag_size=50, random_state=0)
    search = GridSearch(EMQ(), {"calibration": [None]}, protocol=protocol)
    search.fit(R, CLASSES[y])
    crossfitted = BayesianEMQ(classifier=Given(), crossfit=True, random_state=0, draws=200)
    for quantifier in (
        search,
        Bootstrap(CC(), random_state=0, draws=200).fit(R, CLASSES[y]),
        fitted(BayesianKDEy),
        crossfitted.fit(R, CLASSES[y]),
    ):
        found = quantifier.quantify(P, labels=labels)
        assert np.abs(found.prevalence - truth).max() < 0.12


def test_the_check_decides_about_the_weight_before_the_labels():
    P, codes, _ = batch(200)
    P = P.copy()
    P[:100] = 1 / 3 + 0.001 * (P[:100] - 1 / 3)
    quantifier, labels = fitted(BayesianKDEy), some(codes, 5)
    checked = quantifier.quantify(P, check=True, labels=labels)
    assert not checked.checks["label_shift"].passed
    plain = quantifier.quantify(P, labels=labels)
    assert checked.diagnostics["labels"]["weight"] < plain.diagnostics["labels"]["weight"]


def test_estimates_with_labels_are_saved_and_shown(tmp_path):
    P, codes, _ = batch()
    found = fitted().quantify(P, labels=some(codes, 50))
    found.save(tmp_path / "estimate")
    again = Estimate.load(tmp_path / "estimate")
    assert repr(again) == repr(found)
    assert again.diagnostics["labels"] == found.diagnostics["labels"]
    assert "50 of 400 items are labelled. Your 50 labels agree with the assumption" in repr(found)


def test_bad_input_is_told_in_one_sentence():
    P, codes, _ = batch(50)
    quantifier, labels = fitted(), some(codes, 10)
    summary = quantifier.summarize(P)
    wrong = [
        ({"labels": {99: "egg"}}, "labels names the row 99, which is not in X"),
        ({"inclusion": 0.5}, "inclusion is about labelled items, but labels is missing; pass both"),
        ({"labels": labels, "assumption": "some"}, "The 'assumption' parameter"),
    ]
    for options, start in wrong:
        with pytest.raises(InputError) as caught:
            quantifier.quantify(P, **options)
        assert start in str(caught.value)
    for X in (summary, iter([P[:25], P[25:]])):
        with pytest.raises(InputError, match=r"^Single items are not known here: the batch was"):
            quantifier.quantify(X, labels=labels)
    open_minded = fitted(BayesianKDEy, unknown=True)
    with pytest.raises(InputError) as caught:
        open_minded.quantify(P, labels=labels)
    assert str(caught.value) == (
        "Labels of the batch, and the choice of items to label, do not go with unknown=True: no "
        "label names the unknown class. Leave unknown out."
    )


def test_sentences_say_what_labels_tell():
    assumed = "that items of a class look as they did in the reference"
    assert (
        sentence(1, 9, "robust", 0.7) == f"Your 1 label agrees with the assumption {assumed}: 70 %."
    )
    assert sentence(2, 9, "robust", 0.3) == (
        f"Your 2 labels cannot tell whether to assume {assumed}: 30 %."
    )
    assert sentence(2, 9, "robust", 0.01) == (
        f"Your 2 labels disagree with the assumption {assumed}: 1 %. The estimate rests on them."
    )
    assert sentence(2, 9, "label-shift", None) == (
        f"Your 2 labels are used under the assumption {assumed}."
    )
    assert sentence(2, 9, "none", None) == f"Your 2 labels are used without assuming {assumed}."


def test_responsibilities_are_posteriors_under_the_mix_averaged_over_models():
    L = np.log(np.random.default_rng(0).dirichlet(np.ones(3), (2, 5)))
    mix = np.array(MIX)
    expected = np.exp(L) * mix
    expected = (expected / expected.sum(axis=2, keepdims=True)).mean(axis=0)
    assert np.allclose(responsibilities(L, mix, 1e-9), expected)
    # A row that only an absent class explains is still of some class.
    impossible = np.array([[[-np.inf, -np.inf, 0.0]]])
    assert np.allclose(responsibilities(impossible, np.array([0.5, 0.5, 0.0]), 0.01), [[0, 0, 1]])
