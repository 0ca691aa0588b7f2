"""Scores, choices and evaluations of one data set are those of the library."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from bench_support import TINY, assert_as_users_would_have_it
from support import posteriors
from truemix import KDEy, metrics
from truemix.inference import MaximumLikelihood
from truemix.models import KernelDensity
from truemix.quantifiers.scoring import Scoring
from truemix_experiments.datasets import CATALOGUE, Data, FixedBag, Pool, load_dataset
from truemix_experiments.methods import METHODS, quantifier_of
from truemix_experiments.results import read_results
from truemix_experiments.running import Job, run_dataset
from truemix_experiments.running.choosing import Choices
from truemix_experiments.running.evaluating import BLOCK, evaluate_bags
from truemix_experiments.running.jobs import steadily
from truemix_experiments.running.scores import ScoreFiles, train
from truemix_experiments.running.stages import Bags, digest_of, stages_of


@pytest.fixture(scope="module")
def iris():
    return load_dataset("sklearn-iris")


def test_scores_are_out_of_fold_refitted_and_of_each_fold(iris):
    _, stage = stages_of(iris, TINY)
    (scores,) = train(stage, [{"C": 1.0, "class_weight": None}], TINY)
    classifier = LogisticRegression(C=1.0, max_iter=TINY.max_iter)
    for crossfit, found in ((False, scores.pool), (True, scores.folds)):
        scoring = Scoring(classifier, 5, hard=False, crossfit=crossfit)
        references, scorer = scoring.score_references(iris.train.X, iris.train.y, stage.classes)
        np.testing.assert_array_equal(scores.references, references)
        np.testing.assert_array_equal(found, scorer(iris.test.X))
    assert scores.unconverged == 0


def test_classifiers_that_did_not_converge_are_counted(iris):
    choosing, _ = stages_of(iris, TINY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hasty = replace(TINY, max_iter=1)
        (scores,) = train(choosing, [{"C": 1.0, "class_weight": None}], hasty)
    # Five folds and the refitted one; those of the folds do not score the pool.
    assert scores.unconverged == 6
    assert len(scores.folds) == 0


def test_the_choice_has_the_smallest_error_on_the_validation_bags(iris, tmp_path):
    choosing, _ = stages_of(iris, TINY)
    files = ScoreFiles(choosing, tmp_path, TINY)
    bags = choosing.draw(TINY, 1.0)
    choice = Choices(files, bags, tmp_path).of("KDEy(Gau)")
    errors = {}
    for C in TINY.C:
        for h in TINY.gaussian_bandwidth:
            classifier = LogisticRegression(C=C, max_iter=TINY.max_iter)
            quantifier = KDEy(
                classifier=classifier, kernel="gaussian", bandwidth=h, shrinkage=0.0, crossfit=False
            ).fit(iris.fit.X, iris.fit.y)
            mixes = [quantifier.predict(iris.validation.X[rows]) for rows in bags.rows]
            errors[C, h] = metrics.absolute_error(bags.truth, mixes).mean()
    assert choice.error == pytest.approx(min(errors.values()), abs=1e-6)
    assert (choice.classifier["C"], choice.setting["bandwidth"]) == min(errors, key=errors.get)
    assert choice.n_candidates == 4


def test_an_interrupted_choice_is_none(iris, tmp_path, monkeypatch):
    solved, solve = [], MaximumLikelihood.mixes

    def interrupted(self, replicates, bags, near=None):
        solved.append(len(bags))
        if len(solved) == 2:
            raise KeyboardInterrupt
        return solve(self, replicates, bags, near)

    monkeypatch.setattr(MaximumLikelihood, "mixes", interrupted)
    choosing, _ = stages_of(iris, TINY)
    choices = Choices(ScoreFiles(choosing, tmp_path, TINY), choosing.draw(TINY, 1.0), tmp_path)
    job = Job("sklearn-iris", ("KDEy(Gau)",), (1.0,), TINY, str(tmp_path))
    with steadily(job), pytest.raises(KeyboardInterrupt):
        choices.of("KDEy(Gau)")
    assert not list(tmp_path.rglob("choice-*"))


def test_an_evaluation_is_that_of_the_quantifier_on_each_bag(iris):
    _, stage = stages_of(iris, TINY)
    (scores,) = train(stage, [{"C": 1.0, "class_weight": None}], TINY)
    bags = stage.draw(TINY, 1.0)
    fitted = quantifier_of(METHODS["Bayes-EMQ"], {}, TINY).fit(scores.references, iris.train.y)
    rows, n_failed = evaluate_bags(fitted, scores.pool, bags, 0.95)
    estimates = [fitted.quantify(scores.pool[0][bag]) for bag in bags.rows]
    single = np.array([estimate.interval(0.95) for estimate in estimates])
    joint = np.array([estimate.interval(0.95, simultaneous=True) for estimate in estimates])
    np.testing.assert_allclose(np.stack(rows["prevalence"]), [e.prevalence for e in estimates])
    np.testing.assert_allclose(rows["soft"], metrics.soft_coverage(bags.truth, single))
    np.testing.assert_allclose(rows["hard"], metrics.hard_coverage(bags.truth, joint))
    np.testing.assert_allclose(rows["amplitude"], 100 * metrics.amplitude(single))
    np.testing.assert_allclose(rows["width"], np.diff(single, axis=-1)[..., 0].mean(axis=1))
    assert n_failed == 0


def test_another_table_is_other_data(iris):
    assert digest_of(iris) == digest_of(load_dataset("sklearn-iris"))
    moved = replace(iris, test=Pool(iris.test.X + 1.0, iris.test.y))
    assert digest_of(moved) != digest_of(iris)


def items(n, rng):
    y = np.arange(n) % 2
    return Pool(rng.normal(size=(n, 3)) + 2.0 * y[:, None], y)


def published(n_bags, rng):
    pools = [items(20 + number, rng) for number in range(n_bags)]
    return [FixedBag(pool.X, np.bincount(pool.y) / len(pool)) for pool in pools]


def run_on(data, monkeypatch, tmp_path, methods, alphas=(1.0,), settings=TINY):
    where = "truemix_experiments.running.work.load_dataset"
    monkeypatch.setattr(where, lambda *_, **__: data)
    report = run_dataset(Job(data.info.name, methods, alphas, settings, str(tmp_path)))
    assert report.failures == []
    return read_results(tmp_path, mixes=True)


@pytest.fixture(scope="module")
def evaluated_published(tmp_path_factory):
    """All methods on published bags: as many as leave one over when they go in blocks."""
    rng = np.random.default_rng(0)
    train_pool = items(60, rng)
    data = Data(
        CATALOGUE["LeQua2022-T1A"], np.arange(2), train_pool, train_pool, None, None,
        published(6, rng), published(BLOCK + 3, rng),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        settings = replace(TINY, n_bags=BLOCK + 1)
        folder = tmp_path_factory.mktemp("published")
        results = run_on(data, patch, folder, tuple(METHODS), (0.1, 1.0), settings)
    return data, results


def test_the_first_published_bags_are_used_at_their_own_concentration(evaluated_published):
    data, results = evaluated_published
    assert set(results.runs["alpha"]) == {1.0}
    expected = [bag.prevalence for bag in data.test_bags[: BLOCK + 1]]
    for _, bags in results.bags.groupby("method"):
        np.testing.assert_allclose(np.stack(bags["truth"]), expected)


@pytest.mark.parametrize("method", METHODS)
def test_the_answer_to_a_published_bag_is_that_of_the_library(evaluated_published, method):
    data, results = evaluated_published
    train = data.train.X, data.train.y
    batches = [bag.X for bag in data.test_bags[: BLOCK + 1]]
    assert_as_users_would_have_it(results, data.info.name, method, train, batches)


def test_evidence_is_made_only_of_the_published_bags_in_hand(monkeypatch):
    P, codes = posteriors(60, 3, seed=0)
    pool, _ = posteriors(4 * (BLOCK + 1), 3, seed=1)
    fitted = KDEy(bandwidth=0.4, shrinkage=0.1).fit(P, codes)
    asked, make = [], KernelDensity.log_likelihood

    def watched(self, items):
        asked.append(len(items))
        return make(self, items)

    monkeypatch.setattr(KernelDensity, "log_likelihood", watched)
    rows = list(np.arange(len(pool)).reshape(-1, 4))
    bags = Bags(rows, np.full((len(rows), 3), 1 / 3))
    found, _ = evaluate_bags(fitted, pool[None], bags, 0.95, apart=True)
    assert asked == [4 * BLOCK, 4]
    expected = [fitted.predict(pool[own]) for own in rows]
    np.testing.assert_allclose(np.stack(found["prevalence"]), expected, atol=1e-12)
    together, _ = evaluate_bags(fitted, pool[None], bags, 0.95)
    assert asked[-1] == len(pool)
    np.testing.assert_allclose(np.stack(together["prevalence"]), expected, atol=1e-12)


def test_distances_are_shared_by_the_bandwidths_of_a_grid(iris, tmp_path, monkeypatch):
    from truemix.densities.class_densities import ClassDensities

    made, make = [], ClassDensities.log_likelihood

    def watched(self, items):
        made.append((self.shrinkage, len(self.bandwidths)))
        return make(self, items)

    monkeypatch.setattr(ClassDensities, "log_likelihood", watched)
    choosing, _ = stages_of(iris, TINY)
    choices = Choices(ScoreFiles(choosing, tmp_path, TINY), choosing.draw(TINY, 1.0), tmp_path)
    choice = choices.of("KDEy(Ait-lambda)")
    n_bandwidths = len(TINY.aitchison_bandwidth)
    assert made == [(each, n_bandwidths) for each in TINY.shrinkage] * len(TINY.C)
    assert choice.n_candidates == len(TINY.C) * len(TINY.shrinkage) * n_bandwidths
    made.clear()
    choices.temperature(METHODS["Bayes-KDEy(Ait-lambda)-cal"])
    # The matrix of the pool, once for all temperatures.
    assert len(made) == 1


def test_given_posteriors_need_no_classifier(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)

    def scored(n):
        pool = items(n, rng)
        p = 1.0 / (1.0 + np.exp(3.0 - pool.X.sum(axis=1)))
        return Pool(np.column_stack([1 - p, p]), pool.y)

    pools = [scored(n) for n in (80, 40, 90)]
    info = replace(CATALOGUE["MNIST"], n_classes=2, bag_size=50)
    data = Data(info, np.arange(2), pools[0], pools[0], pools[1], pools[2], given_posteriors=True)
    results = run_on(data, monkeypatch, tmp_path, ("CC", "KDEy(Gau)", "Bayes-KDEy(Ait-lambda)+"))
    assert len(results.runs) == 3
    assert all("C" not in settings for settings in results.runs["settings"])
    assert not list(tmp_path.rglob("*.npz"))
