"""Answers under other assumptions: each is right where its assumption holds."""

from dataclasses import replace

import numpy as np
import pytest

from truemix import (
    ACC,
    CC,
    EMQ,
    PCC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    Estimate,
    InputError,
    KDEy,
)  # fmt: skip
from truemix.estimates.answers import Answer, Sensitivity
from truemix.persistence import load, save
from truemix.trust.alternatives import Alternatives
from truemix.trust.sensitivity import HIDDEN

LABELS = np.array(["ham", "spam"])
FIXED = {"bandwidth": 0.3, "shrinkage": 0.1}


def posteriors(p):
    return np.column_stack([1.0 - p, p])


def scores(rng, n_ham, n_spam):
    return posteriors(np.concatenate([rng.beta(2, 4, n_ham), rng.beta(4, 2, n_spam)]))


def calibrated(rng, p):
    """Return posteriors, and labels that are drawn with them."""
    return posteriors(p), LABELS[(rng.uniform(size=len(p)) < p).astype(int)]


def fitted(quantifier, n=600):
    rng = np.random.default_rng(0)
    return quantifier.fit(scores(rng, n, n), np.repeat(LABELS, n))


def bayesian(**more):
    return BayesianKDEy(**FIXED, random_state=0, draws=200, **more)


def answers_of(estimate, level=0.95):
    return estimate.batch.sensitivity(estimate, level).answers


def by_assumption(estimate):
    return {each.assumption: each for each in reversed(answers_of(estimate))}


@pytest.fixture(scope="module")
def undecided():
    """Return the checked estimate of a batch that no mix explains."""
    rng = np.random.default_rng(1)
    return fitted(bayesian()).quantify(posteriors(rng.beta(40, 30, 300)), check=True)


# --- each answer where its assumption holds ---------------------------------------------------


def test_methods_that_assume_label_shift_agree_where_it_holds():
    estimate = fitted(bayesian()).quantify(scores(np.random.default_rng(1), 700, 300))
    found = [each for each in answers_of(estimate) if each.assumption == "label shift"]
    assert [each.method for each in found] == ["BayesianKDEy", "EMQ", "ACC"]
    for each in found:
        # 600 references of a class and 1,000 items: the share is known to 3 points or so.
        assert each.prevalence[1] == pytest.approx(0.3, abs=0.09)
        assert each.lower[1] < each.prevalence[1] < each.upper[1]
        assert each.sentence.startswith("Items of a class look as they did in the reference;")


def test_recalibrated_posteriors_are_right_under_covariate_shift():
    rng = np.random.default_rng(0)
    X, y = calibrated(rng, rng.uniform(size=2000))
    # Overconfident scores of the same items: the calibration has something to repair.
    sharper = X**2 / (X**2).sum(axis=1, keepdims=True)
    quantifier = bayesian().fit(sharper, y)
    # Items that look like spam are four times as frequent; what belongs to them is the same.
    p = rng.beta(4, 1, 2000)
    Q, labels = calibrated(rng, p)
    estimate = quantifier.quantify(Q**2 / (Q**2).sum(axis=1, keepdims=True))
    answer = by_assumption(estimate)["covariate shift"]
    truth = (labels == "spam").mean()
    assert answer.lower[1] <= truth <= answer.upper[1]
    # The labels of 2,000 items vary by one point, the map by two.
    assert answer.prevalence[1] == pytest.approx(truth, abs=0.04)
    assert answer.upper[1] - answer.lower[1] < 0.1


def test_intervals_under_covariate_shift_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(40):
        X, y = calibrated(rng, rng.uniform(size=300))
        quantifier = EMQ().fit(X, y)
        Q, labels = calibrated(rng, rng.beta(3, 1, 200))
        others = Alternatives(quantifier, 0)
        (draws,) = others.covariate_shift(others.pool_of([quantifier.summarize(Q)]))
        lower, upper = np.quantile(draws[:, 1], [0.025, 0.975])
        inside.append(lower <= (labels == "spam").mean() <= upper)
    # Of 40 intervals at 95 %, at least 34 hold the truth with a probability of 98.6 %.
    assert np.sum(inside) >= 34


def test_an_unchanged_mix_is_that_of_the_reference_with_the_chance_of_both_samples():
    quantifier = bayesian().fit(
        scores(np.random.default_rng(0), 300, 100), LABELS.repeat([300, 100])
    )
    estimate = quantifier.quantify(scores(np.random.default_rng(1), 50, 50))
    answer = by_assumption(estimate)["unchanged mix"]
    assert answer.prevalence.tolist() == [0.75, 0.25]
    # 400 references and 100 items: sqrt(0.25 * 0.75 * (1 / 400 + 1 / 100)) is 4.8 points.
    assert answer.upper[1] - answer.lower[1] == pytest.approx(2 * 1.96 * 0.048, rel=0.2)


def test_items_of_an_unknown_class_may_count_for_any_class():
    # Three known classes of confident scores, and a fourth whose items are undecided.
    rng = np.random.default_rng(0)

    def confident(k, n):
        return rng.dirichlet(1.0 + 19.0 * np.eye(3)[k], n)

    X = np.concatenate([confident(k, 400) for k in range(3)])
    quantifier = bayesian().fit(X, np.repeat(["a", "b", "c"], 400))
    known = [confident(k, n) for k, n in enumerate((60, 60, 180))]
    batch = np.concatenate([*known, rng.dirichlet([20.0, 20.0, 20.0], 100)])
    answer = by_assumption(quantifier.quantify(batch))["unknown class"]
    # A quarter of the items may count for any class or for none.
    among_all, among_known = np.array([0.15, 0.15, 0.45]), np.array([0.2, 0.2, 0.6])
    assert (answer.lower <= among_all + 0.03).all()
    assert (answer.upper >= among_all + 0.25 - 0.03).all()
    # The shares among the known items, up to the chance in 300 items.
    assert answer.prevalence == pytest.approx(among_known, abs=0.06)
    assert (answer.upper - answer.lower < 0.45).all()


def test_what_no_mix_explains_widens_the_estimate_on_both_sides(undecided):
    own, partial = answers_of(undecided)[0], by_assumption(undecided)["partial label shift"]
    others = Alternatives(undecided.batch.quantifier, 0)
    (share,) = others.unexplained(others.pool_of([undecided.batch.summary]), [own.prevalence])
    # All items have little confidence, which most references have not.
    assert share > 0.3
    changed = min(HIDDEN * share, 1.0)
    np.testing.assert_allclose(partial.lower, np.maximum(own.lower - changed, 0.0))
    np.testing.assert_allclose(partial.upper, np.minimum(own.upper + changed, 1.0))
    assert partial.sentence.startswith(f"All but {100 * changed:.1f} % of the items look as")


def test_a_batch_of_references_is_explained_by_their_mix():
    quantifier = fitted(bayesian(), n=1000)
    others = Alternatives(quantifier, 0)
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(20):
        pool = others.pool_of([quantifier.summarize(scores(rng, 300, 100))])
        shares += others.unexplained(pool, [np.array([0.75, 0.25])])
    # What chance makes of it is subtracted on average: 10 cells of 400 items vary by 5 points.
    assert np.mean(shares) < 0.015
    pool = others.pool_of([quantifier.summarize(posteriors(np.full(400, 0.5)))])
    assert others.unexplained(pool, [np.array([0.5, 0.5])])[0] > 0.7


# --- which answers there are ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantifier", "first", "methods"),
    [
        (KDEy(**FIXED), "label shift", ["KDEy", "EMQ", "ACC"]),
        (BayesianEMQ(random_state=0, draws=100), "label shift", ["BayesianEMQ", "KDEy", "ACC"]),
        (ACC(), "label shift", ["ACC", "KDEy", "EMQ"]),
        (Bootstrap(ACC(), draws=50, random_state=0), "label shift", ["Bootstrap", "KDEy", "EMQ"]),
        (PCC(), "no correction", ["PCC", "KDEy", "EMQ"]),
        (CC(), "no correction", ["CC", "KDEy", "EMQ"]),
        (bayesian(unknown=True), "unknown class", ["BayesianKDEy", "EMQ", "ACC"]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_first_answer_is_the_estimate_and_no_method_comes_twice(quantifier, first, methods):
    estimate = fitted(quantifier, n=200).quantify(scores(np.random.default_rng(1), 90, 10))
    found = answers_of(estimate)
    assert found[0].assumption == first
    assert [each.method for each in found[:3]] == methods
    if estimate.unknown is None:
        np.testing.assert_array_equal(found[0].prevalence, estimate.prevalence)
    assert (found[0].upper > found[0].lower).all()
    wanted = {"partial label shift", "covariate shift", "unchanged mix", "unknown class"}
    assert wanted <= {each.assumption for each in found}
    assert sum(each.assumption == "unknown class" for each in found) == 1
    for each in found:
        assert each.prevalence.sum() == pytest.approx(1.0)


def test_layers_counts_and_samples_are_answered_alike():
    quantifier = fitted(bayesian())
    rng = np.random.default_rng(4)
    X = scores(rng, 300, 300).round(3)
    plain = quantifier.quantify(X)
    twice = quantifier.quantify(np.stack([X, X]))
    sampled = quantifier.quantify(quantifier.summarize(X, capacity=200))
    assert len(plain.batch.bag.rows) < len(X)
    for other in (twice, sampled):
        for one, two in zip(answers_of(plain), answers_of(other), strict=True):
            # The same batch, by other draws, and of the sample with a further error.
            assert two.prevalence == pytest.approx(one.prevalence, abs=0.08)


def test_the_same_seed_gives_the_same_answers(undecided):
    one, two = answers_of(undecided), undecided.answers.answers
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.lower, b.lower)


def test_large_batches_and_references_are_limited(monkeypatch):
    monkeypatch.setattr("truemix.trust.alternatives.MAX_ROWS", 400)
    monkeypatch.setattr("truemix.trust.alternatives.MAX_REFERENCES", 200)
    estimate = fitted(bayesian()).quantify(scores(np.random.default_rng(1), 500, 500))
    others = Alternatives(estimate.batch.quantifier, 0)
    assert others.pool_of([estimate.batch.summary]).scored.shape[1] < 450
    posteriors_kept, codes, weights = others._references
    assert len(posteriors_kept) == len(codes) == 200
    assert weights @ np.eye(2)[codes] / 200 == pytest.approx([0.5, 0.5])
    assert answers_of(estimate)[1].prevalence[1] == pytest.approx(0.5, abs=0.15)


# --- in the estimate --------------------------------------------------------------------------


def test_answers_are_kept_where_the_check_fails_and_only_there(undecided):
    assert not undecided.checks["label_shift"].passed
    assert undecided.answers.level == 0.95
    fine = fitted(bayesian()).quantify(scores(np.random.default_rng(2), 200, 100), check=True)
    assert fine.checks["label_shift"].passed
    assert fine.answers is None
    assert fine.range().shape == (2, 2)


def test_only_groups_that_fail_keep_answers():
    rng = np.random.default_rng(1)
    X = np.concatenate([scores(rng, 150, 150), posteriors(rng.beta(40, 30, 300))])
    found = fitted(bayesian()).quantify_by(X, np.repeat(["fine", "odd"], 300), check=True)
    assert found["fine"].answers is None
    assert found["odd"].answers is not None


def test_the_range_holds_every_answer_and_its_table_shows_it(undecided):
    bounds = undecided.range()
    frame = undecided.sensitivity()
    assert list(frame) == ["assumption", "method", "class", "share", "lower", "upper"]
    for place, label in enumerate(LABELS):
        rows = frame[frame["class"] == label]
        assert bounds[place].tolist() == [rows["lower"].min(), rows["upper"].max()]
    text = repr(undecided)
    assert text.splitlines()[1].split()[:4] == ["class", "estimate", "interval", "range"]
    assert "range: from the lowest to the highest of these answers, for spam:" in text
    assert text.endswith("truemix sample REFERENCE TARGET --n 100 --out to-label.csv")
    assert "The mix under different assumptions" in repr(undecided.answers)
    assert undecided.of("population").answers is undecided.answers


def test_answers_come_back_from_a_file(undecided, tmp_path):
    undecided.save(tmp_path / "estimate.npz")
    found = Estimate.load(tmp_path / "estimate.npz")
    assert found.answers.summary() == undecided.answers.summary()
    np.testing.assert_array_equal(found.range(), undecided.range())
    assert repr(found) == repr(undecided)
    with pytest.raises(InputError, match=r"range at level 0.9 needs the batch .* at level 0.95"):
        found.range(0.9)
    assert (undecided.range(0.5)[:, 0] >= undecided.range()[:, 0]).all()


def answer(share, lower, upper, sentence="It is so."):
    arrays = (np.asarray(each, dtype=float) for each in (share, lower, upper))
    return Answer("label shift", "KDEy", sentence, *arrays)


@pytest.mark.parametrize(
    ("found", "match"),
    [
        (answer([0.2, 0.8], [0.3, 0.7], [0.4, 0.9]), "not within its own interval"),
        (answer([0.2, 0.7], [0.1, 0.6], [0.4, 0.9]), "shares that add up to 0.9"),
        (answer([0.2, 0.8], [-0.1, 0.6], [0.4, 0.9]), "answers holds -0.1"),
        (answer([0.2, 0.8], [0.1, 0.6], [0.4, 0.9], ""), "sentence is no text"),
    ],
)
def test_answers_that_are_none_are_not_saved(undecided, tmp_path, found, match):
    wrong = replace(undecided, answers=Sensitivity(LABELS, 0.95, (found,)))
    with pytest.raises(InputError, match=match):
        wrong.save(tmp_path / "estimate.npz")


def test_what_is_missing_is_said_in_a_sentence(undecided, tmp_path):
    with pytest.raises(InputError, match="needs at least one answer"):
        Sensitivity(LABELS, 0.95, ())
    one = answer([0.2, 0.8], [0.1, 0.6], [0.4, 0.9])
    with pytest.raises(InputError, match=r"label shift has shape \(2,\); expected one number for"):
        Sensitivity(np.array(["a", "b", "c"]), 0.95, (one,))
    with pytest.raises(InputError, match="answers are about other classes than the estimate"):
        replace(undecided, answers=Sensitivity(np.array(["a", "b"]), 0.95, (one,)))
    save(fitted(ACC(), n=100), tmp_path / "acc.npz")
    estimate = load(tmp_path / "acc.npz").quantify(scores(np.random.default_rng(1), 90, 10))
    with pytest.raises(InputError, match=r"ACC was loaded .* no reference items; answers under"):
        estimate.range()
