"""The bootstrap with resampled references."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import truemix
from support import in_order, posteriors
from truemix import ACC, CC, EMQ, PCC, Bootstrap, InputError, KDEy, _replicate_budget
from truemix.inference import Replicates
from truemix.metrics import hard_coverage
from truemix.models import resampled
from truemix.models.resampled import resample_counts, resampled_rows
from truemix.protocols import DirichletBags
from truemix.selection import GridSearch

SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.1}
LEARNING = [ACC(), EMQ(calibration="bcts"), KDEy(**SMOOTH)]
every_learner = pytest.mark.parametrize("inner", LEARNING, ids=repr)


def data():
    return in_order(*posteriors(90, 3, seed=0)), posteriors(120, 3, seed=1, mix=[0.6, 0.3, 0.1])[0]


def test_references_are_resampled_within_each_class():
    codes = np.random.default_rng(0).choice(3, 200, p=[0.7, 0.2, 0.1])
    rows = np.array([resampled_rows(codes, number) for number in range(400)])
    assert (codes[rows] == codes).all()
    counts = np.array(list(resample_counts(codes, np.arange(400))))
    np.testing.assert_array_equal(counts[7], np.bincount(rows[7], minlength=200))
    # How often an item is drawn is binomial: mean 1 and variance 1 - 1/n. The mean of 400 is known
    # to 0.05, and the largest of 200 deviations is below five of them.
    assert np.abs(counts.mean(axis=0) - 1).max() < 0.25
    assert counts[:, codes == 0].var() == pytest.approx(1, abs=0.05)


@every_learner
def test_draws_are_the_answers_of_quantifiers_fitted_on_resampled_references(inner):
    """KDEy and EMQ reweight instead of fitting again; the answers must be the same."""
    (P, codes), target = data()
    found = Bootstrap(inner, references=True, draws=200, random_state=3).fit(P, codes)
    estimate = found.quantify(target)
    assert estimate.diagnostics["resamples"] == 100
    # Items are resampled in the order of their contents.
    ordered, rng = found.summarize(target).scored()[0], np.random.default_rng(3)
    items = [rng.integers(0, 120, 120) for _ in range(200)]
    for number in (0, 1, 41, 99):
        rows = resampled_rows(codes, number)
        other = inner.fit(P[rows], codes[rows])
        # The prior of calibration maps weighs items by count, not weight: 1e-2 / 90 against one.
        atol = 2e-3 if isinstance(inner, EMQ) else 1e-6
        batch = estimate.of("batch").draws[2 * number : 2 * number + 2]
        np.testing.assert_allclose(batch, [other.predict(target)] * 2, atol=atol)
        for draw in (2 * number, 2 * number + 1):
            expected = other.predict(ordered[items[draw]])
            np.testing.assert_allclose(estimate.draws[draw], expected, atol=atol)


@pytest.mark.parametrize("inner", [CC(), PCC(), EMQ(calibration=None)], ids=repr)
def test_it_changes_nothing_where_nothing_is_learned(inner):
    (P, codes), target = data()
    draws = [
        Bootstrap(inner, references=references, draws=150, random_state=0)
        .fit(P, codes)
        .quantify(target)
        for references in (False, True)
    ]
    np.testing.assert_allclose(draws[0].draws, draws[1].draws, atol=1e-9)
    np.testing.assert_allclose(draws[0].of("batch").draws, draws[1].of("batch").draws, atol=1e-9)


def normal_posteriors(codes, rng):
    """Posteriors of two normal classes with the same shares."""
    p = 1 / (1 + np.exp(-1.4 * (rng.normal(size=len(codes)) + 1.4 * codes - 0.7)))
    return np.column_stack([1 - p, p])


@every_learner
def test_the_batch_view_spreads_like_answers_with_references_drawn_anew(inner):
    rng = np.random.default_rng(0)
    codes = np.arange(160) % 2
    target = normal_posteriors(np.arange(300) % 3 // 2, rng)
    answers, spreads = [], []
    for draw in range(120):
        P = normal_posteriors(codes, rng)
        answers.append(inner.fit(P, codes).predict(target))
        if draw < 6:
            found = Bootstrap(inner, references=True, draws=100, estimand="batch", random_state=0)
            spreads.append(found.fit(P, codes).quantify(target).draws.std(axis=0))
    # The spread of 120 answers is known to 6.5 %, that of 6 bootstraps to about as much; 30 % is
    # three standard errors of the ratio.
    truth = np.std(answers, axis=0)
    np.testing.assert_allclose(np.mean(spreads, axis=0), truth, rtol=0.3)


def test_with_few_references_intervals_cover_where_fixed_references_do_not(monkeypatch):
    """Forty references per class, drawn anew each time; the population view of ACC."""
    # Fewer resamples than usual, because they are most of the work.
    monkeypatch.setattr(_replicate_budget, "MAX_REPLICATES", 40)
    monkeypatch.setattr(resampled, "MAX_REPLICATES", 40)
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 40)
    covered = {False: [], True: []}
    for _ in range(50):
        P = normal_posteriors(codes, rng)
        truth = rng.dirichlet([1, 1])
        target = normal_posteriors(rng.choice(2, 1000, p=truth), rng)
        for references, hits in covered.items():
            found = Bootstrap(ACC(), references=references, draws=120, random_state=0)
            hits.append(hard_coverage(truth, found.fit(P, codes).quantify(target).interval()))
    # 50 trials know a coverage of 93 % to 4 points, and quantiles of 120 draws are a little narrow.
    assert np.mean(covered[True]) > 0.82
    assert np.mean(covered[False]) < 0.75


@every_learner
def test_the_batch_view_shows_what_references_leave_open(inner):
    (P, codes), target = data()
    spreads = {}
    for n, references in ((1, True), (20, True), (1, False)):
        many, known = np.tile(P, (n, 1)), np.tile(codes, n)
        found = Bootstrap(inner, references=references, draws=300, random_state=0)
        found.set_params(estimand="batch")
        spreads[n, references] = found.fit(many, known).quantify(target).draws.std(axis=0).mean()
    assert spreads[1, False] < 1e-12
    # With 20 times the references the spread is less by sqrt(20) = 4.5.
    assert spreads[20, True] == pytest.approx(spreads[1, True] / np.sqrt(20), rel=0.35)


@every_learner
def test_models_of_a_classifier_are_pooled_in_each_resample(inner):
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 3
    X = rng.normal(size=(120, 3)) + 2 * np.eye(3)[codes]
    inner.set_params(classifier=LogisticRegression(), cv=3, crossfit=True)
    found = Bootstrap(inner, references=True, draws=100, random_state=0).fit(X, codes)
    inner.set_params(classifier=None)
    model = found.model_
    if isinstance(inner, ACC):
        make, counts = model.observe, model.counts_of(np.array([5]))[0]
    else:
        make, counts = (lambda P: model.replicates(P, np.array([5]), 0)[0]), None
    layers = np.stack([make(P) for P in found.posteriors(X[:20])])
    assert layers.shape == (3, 20, 3)
    replicates = Replicates(3, 20, 3, plain=layers.__getitem__, counts=counts)
    (expected,) = found.inference_.inference.infer(replicates, [np.arange(20)])
    found_batch = found.quantify(X[:20]).of("batch").draws[5]
    np.testing.assert_allclose(found_batch, expected.prevalence, atol=1e-7)


@every_learner
def test_groups_and_large_batches_have_the_answers_they_have_alone(inner, monkeypatch):
    (P, codes), target = data()
    found = Bootstrap(inner, references=True, draws=120, random_state=0).fit(P, codes)
    groups = np.arange(120) % 3
    whole = found.quantify(target)
    alone = {key: found.quantify(target[groups == key]).draws for key in range(3)}
    # Room for 40 resamples of the whole at a time.
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 40 * 8 * target.size)
    np.testing.assert_allclose(found.quantify(target).draws, whole.draws, atol=1e-9)
    for key, estimate in found.quantify_by(target, groups).items():
        np.testing.assert_allclose(estimate.draws, alone[key], atol=1e-9)


@pytest.mark.parametrize("inner", [CC(), *LEARNING, EMQ(calibration="ts"), KDEy()], ids=repr)
def test_a_loaded_quantifier_gives_the_same_draws(inner, tmp_path):
    (P, codes), target = data()
    found = Bootstrap(inner, references=True, draws=120, random_state=0)
    found.fit(P, np.array(["a", "b", "ä"])[codes])
    truemix.save(found, tmp_path / "q.npz")
    loaded = truemix.load(tmp_path / "q.npz")
    np.testing.assert_array_equal(loaded.quantify(target).draws, found.quantify(target).draws)


def test_a_search_may_compare_both():
    P, codes = posteriors(150, 3, seed=0)
    protocol = DirichletBags(n_bags=3, bag_size=50, random_state=0)
    grid = {"references": [False, True], "quantifier__bandwidth": [0.2, 0.4]}
    outer = Bootstrap(KDEy(**SMOOTH), draws=50, random_state=0)
    results = GridSearch(outer, grid, protocol=protocol).fit(P, codes).results_
    assert len(results) == 4


def test_a_wrong_parameter_is_refused_in_fit():
    (P, codes), _ = data()
    with pytest.raises(InputError, match="'references' parameter must be True or False"):
        Bootstrap(CC(), references="both").fit(P, codes)
