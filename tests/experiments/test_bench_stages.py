"""Scores, choices and judgements of one data set are those of the library."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from bench_support import TINY
from sklearn.linear_model import LogisticRegression

from truemix import KDEy, metrics
from truemix.estimates.intervals import interval_of
from truemix.experiments.datasets import CATALOGUE, Data, FixedBag, Pool, load_dataset
from truemix.experiments.methods import METHODS, quantifier_of
from truemix.experiments.results import read_results
from truemix.experiments.running import Job, run_dataset
from truemix.experiments.running.choosing import Choices
from truemix.experiments.running.judging import inferences, judge
from truemix.experiments.running.scores import ScoreFiles, train
from truemix.experiments.running.stages import digest_of, stages_of
from truemix.quantifiers.scoring import Scoring


@pytest.fixture(scope="module")
def iris():
    return load_dataset("sklearn-iris")


def test_scores_are_out_of_fold_refitted_and_of_each_fold(iris):
    _, judging = stages_of(iris, TINY)
    (scores,) = train(judging, [{"C": 1.0, "class_weight": None}], TINY)
    classifier = LogisticRegression(C=1.0, max_iter=TINY.max_iter)
    for crossfit, found in ((False, scores.pool), (True, scores.folds)):
        scoring = Scoring(classifier, 5, hard=False, crossfit=crossfit)
        references, scorer = scoring.score_references(iris.train.X, iris.train.y, judging.classes)
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


def test_a_judgement_is_that_of_the_quantifier_on_each_bag(iris):
    _, judging = stages_of(iris, TINY)
    (scores,) = train(judging, [{"C": 1.0, "class_weight": None}], TINY)
    bags = judging.draw(TINY, 1.0)
    fitted = quantifier_of(METHODS["Bayes-EMQ"], {}, TINY).fit(scores.references, iris.train.y)
    versions = fitted._versions(scores.pool, 0)
    rows, n_failed = judge(
        inferences(fitted, versions, bags.rows), bags.truth, judging.train_prevalence, 0.95
    )
    estimates = [fitted.quantify(scores.pool[0][bag]) for bag in bags.rows]
    single = np.array([interval_of(estimate.draws, 0.95) for estimate in estimates])
    joint = np.array([interval_of(e.draws, 0.95, simultaneous=True) for e in estimates])
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


def run_on(data, monkeypatch, tmp_path, methods, alphas=(1.0,)):
    where = "truemix.experiments.running.work.load_dataset"
    monkeypatch.setattr(where, lambda *_, **__: data)
    report = run_dataset(Job(data.info.name, methods, alphas, TINY, str(tmp_path)))
    assert report.failures == []
    return read_results(tmp_path, mixes=True)


def test_published_bags_are_used_as_they_are(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    train_pool = items(60, rng)
    data = Data(
        CATALOGUE["LeQua2022-T1A"], np.arange(2), train_pool, train_pool, None, None,
        published(6, rng), published(12, rng),
    )  # fmt: skip
    methods = ("PCC", "Bayes-EMQ", "Bayes-KDEy(Ait-lambda)+")
    results = run_on(data, monkeypatch, tmp_path, methods, alphas=(0.1, 1.0))
    # The first of them, and no other concentration than their own.
    assert set(results.runs["alpha"]) == {1.0}
    truth = np.stack(results.bags.query("method == 'PCC'")["truth"])
    np.testing.assert_allclose(truth, [bag.prevalence for bag in data.test_bags[:10]])
    chosen = results.runs.set_index("method")["settings"]["PCC"]
    classifier = LogisticRegression(C=chosen["C"], max_iter=TINY.max_iter)
    classifier.fit(train_pool.X, train_pool.y)
    expected = [classifier.predict_proba(bag.X).mean(axis=0) for bag in data.test_bags[:10]]
    found = np.stack(results.bags.query("method == 'PCC'")["prevalence"])
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_given_posteriors_need_no_classifier(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)

    def posteriors(n):
        pool = items(n, rng)
        p = 1.0 / (1.0 + np.exp(3.0 - pool.X.sum(axis=1)))
        return Pool(np.column_stack([1 - p, p]), pool.y)

    pools = [posteriors(n) for n in (80, 40, 90)]
    info = replace(CATALOGUE["MNIST"], n_classes=2, bag_size=50)
    data = Data(info, np.arange(2), pools[0], pools[0], pools[1], pools[2], given_posteriors=True)
    results = run_on(data, monkeypatch, tmp_path, ("CC", "KDEy(Gau)", "Bayes-KDEy(Ait-lambda)+"))
    assert len(results.runs) == 3
    assert all("C" not in settings for settings in results.runs["settings"])
    assert not list(tmp_path.rglob("*.npz"))
