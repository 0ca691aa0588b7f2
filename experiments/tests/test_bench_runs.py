"""The whole way from names to results: complete, resumable, and the same wherever it runs."""

import json
import os
import re
import signal
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import psutil
import pytest

from bench_support import (
    DATASETS,
    TINY,
    assert_as_users_would_have_it,
    assert_identical,
    frames,
    killed_run,
    results_in,
    still_running,
    tiny_plan,
    wait_for_results,
)
from truemix.exceptions import InputError
from truemix.protocols import DirichletBags
from truemix_experiments import bench
from truemix_experiments.datasets import load_dataset
from truemix_experiments.methods import METHODS
from truemix_experiments.results import read_results
from truemix_experiments.running.choosing import write_sealed


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The miniature run, and what it told on the way."""
    folder = tmp_path_factory.mktemp("results")
    told = []
    outcome = bench.run(tiny_plan(folder), tell=told.append)
    assert outcome.failures == []
    return folder, told


def test_every_method_has_a_result_on_every_data_set(finished):
    folder, _ = finished
    results = read_results(folder)
    assert set(zip(results.runs["dataset"], results.runs["method"], strict=True)) == {
        (dataset, method) for dataset in DATASETS for method in METHODS
    }
    assert (results.bags.groupby(["dataset", "method"]).size() == TINY.n_bags).all()
    with_intervals = results.bags["method"].str.startswith(("Bo", "Ba"))
    assert results.bags["hard"].notna().equals(with_intervals)


def drawn(data, alpha):
    protocol = DirichletBags(
        alpha=alpha,
        n_bags=TINY.n_bags,
        bag_size=data.info.bag_size,
        random_state=TINY.seed_of("test"),
    )
    return list(protocol.bags(data.test.y, np.arange(len(data.classes))))


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_answer_is_that_of_the_library_on_bags_of_the_protocol(finished, dataset):
    folder, _ = finished
    results = read_results(folder, mixes=True)
    data = load_dataset(dataset)
    bags = drawn(data, 1.0)
    batches = [data.test.X[bag.index] for bag in bags]
    truth = np.array([bag.prevalence for bag in bags])
    for method in METHODS:
        own = results.bags.query("dataset == @dataset and method == @method").sort_values("bag")
        np.testing.assert_allclose(np.stack(own["truth"]), truth)
        errors = np.abs(truth - np.stack(own["prevalence"])).mean(axis=1)
        np.testing.assert_allclose(own["ae"], errors)
        train = data.train.X, data.train.y
        assert_as_users_would_have_it(results, dataset, method, train, batches)


def test_a_result_tells_how_it_was_made(finished):
    folder, _ = finished
    runs = read_results(folder).runs.set_index(["dataset", "method"])
    run = runs.loc["sklearn-iris", "Bayes-KDEy(Ait-lambda)-cal"]
    assert run["settings"]["C"] in TINY.C
    assert run["settings"]["shrinkage"] in TINY.shrinkage
    assert run["settings"]["temperature"] in TINY.temperature
    assert run["settings"]["estimand"] == "population"
    assert run["settings"]["prior"] == 1.0
    assert set(run["temperatures"]) == {"1", "5"}
    assert run["protocol"]["n_bags"] == 10
    assert {"truemix", "numpy", "python"} <= set(run["versions"])
    assert run["seconds"] == pytest.approx(run["seconds_choosing"] + run["seconds_testing"])
    point = runs.loc["sklearn-iris", "KDEy(Ait-lambda)"]["settings"]
    assert {name: run["settings"][name] for name in point} == point


def test_a_calibrated_temperature_of_one_changes_nothing(tmp_path):
    settings = replace(TINY, temperature=(1.0,))
    methods = ["Bayes-EMQ", "Bayes-EMQ-cal"]
    both, alone = tmp_path / "both", tmp_path / "alone"
    bench.run(tiny_plan(both, ["sklearn-iris"], methods, settings=settings))
    bench.run(tiny_plan(alone, ["sklearn-iris"], methods[1:], settings=settings))
    plain, adopted = (frames(both)[0].query("method == @name") for name in methods)
    made = frames(alone)[0]
    for column in ("ae", "soft", "amplitude", "winkler"):
        assert plain[column].tolist() == adopted[column].tolist() == made[column].tolist()
    runs = read_results(both).runs.set_index("method")
    assert runs["temperatures"].tolist()[0] == {}
    assert set(runs["temperatures"].tolist()[1]) == {"1"}


def test_all_methods_see_the_same_bags(finished):
    bags, _ = frames(finished[0])
    for _, rows in bags.groupby(["dataset", "bag"]):
        assert len({tuple(truth) for truth in rows["truth"]}) == 1


def test_progress_tells_every_run_once_and_ends_with_nothing_left(finished):
    _, told = finished
    assert len({each.key for each in told}) == len(told) == len(DATASETS) * len(METHODS)
    assert [each.n_done for each in told] == list(range(1, len(told) + 1))
    assert told[-1].seconds_left == 0
    assert all(each.error is not None for each in told)


def test_what_is_done_is_not_done_again(finished):
    folder, _ = finished
    before = {path: path.stat().st_mtime_ns for path in results_in(folder)}
    told = []
    bench.run(tiny_plan(folder), tell=told.append)
    assert told == []
    assert {path: path.stat().st_mtime_ns for path in results_in(folder)} == before


def test_a_killed_run_goes_on_and_ends_with_the_same_results(finished, tmp_path):
    killed_run(tmp_path, 12)
    n_before = len(results_in(tmp_path))
    assert n_before < len(DATASETS) * len(METHODS)
    before = {path: path.stat().st_mtime_ns for path in results_in(tmp_path)}
    bench.run(tiny_plan(tmp_path))
    assert_identical(tmp_path, finished[0])
    assert all(path.stat().st_mtime_ns == written for path, written in before.items())


def test_workers_end_with_a_killed_parent_and_another_run_goes_on(finished, tmp_path):
    children = killed_run(tmp_path, 3, n_jobs=2)
    workers = [child for child in children if "loky" in str(child.cmdline())]
    assert workers
    # They look twice a second; the rest is for machines that are busy.
    end = time.monotonic() + 30
    while (alive := still_running(children)) and time.monotonic() < end:
        time.sleep(0.1)
    n_results = len(results_in(tmp_path))
    for child in alive:
        child.kill()
    assert alive == []
    assert n_results < len(DATASETS) * len(METHODS)
    bench.run(tiny_plan(tmp_path))
    assert_identical(tmp_path, finished[0])


def test_two_processes_give_the_same_results(finished, tmp_path):
    bench.run(tiny_plan(tmp_path), n_jobs=2)
    assert_identical(tmp_path, finished[0])


def test_a_process_that_is_killed_is_reported(tmp_path):
    told = []

    def kill_it(finished):
        told.append(finished)
        if len(told) == 1:
            children = psutil.Process().children(recursive=True)
            os.kill(next(c.pid for c in children if "popen_loky" in str(c.cmdline())), 9)

    outcome = bench.run(tiny_plan(tmp_path), n_jobs=2, tell=kill_it)
    assert outcome.failures
    assert all("The same command goes on" in sentence for sentence in outcome.failures)
    assert results_in(tmp_path)


def test_a_cluster_that_loses_a_worker_gives_the_same_results(finished, tmp_path):
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    # What a killed worker leaves open is not ours.
    with warnings.catch_warnings(), distributed.LocalCluster(**options, silence_logs=50) as cluster:
        warnings.simplefilter("ignore")
        victim = next(iter(cluster.workers.values()))

        def kill_one():
            wait_for_results(tmp_path, 5)
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(len(results_in(tmp_path)))

        killed = []
        killer = threading.Thread(target=kill_one)
        killer.start()
        outcome = bench.run(tiny_plan(tmp_path), scheduler=cluster.scheduler_address)
        killer.join()
    assert outcome.failures == []
    assert 5 <= killed[0] < len(DATASETS) * len(METHODS)
    assert_identical(tmp_path, finished[0])


@pytest.mark.parametrize(
    ("options", "first"), [({}, "sklearn-iris"), ({"n_jobs": 2}, "sklearn-digits")]
)
def test_beside_each_other_the_longest_is_begun_first(options, first, tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(bench, "run_jobs", lambda jobs, **_: begun.extend(jobs) or [])
    names = ("sklearn-iris", "sklearn-wine", "sklearn-digits")
    bench.run(tiny_plan(tmp_path, names), **options)
    assert begun[0].dataset == first
    assert {job.dataset for job in begun} == set(names)


def test_a_scheduler_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("truemix_experiments.scheduling.PATIENCE", "1s")
    with pytest.raises(InputError, match=r"There is no Dask scheduler at 'tcp://127\.0\.0\.1:9'"):
        bench.run(tiny_plan(tmp_path), scheduler="tcp://127.0.0.1:9")


def test_other_concentrations_have_other_bags_and_priors(tmp_path):
    alphas, methods = (0.1, 1.0, 10.0), ["EMQ", "Bayes-ACC", "Bayes-EMQ", "Bayes-KDEy(Ait-lambda)+"]
    assert bench.run(tiny_plan(tmp_path, DATASETS[:1], methods, alphas)).failures == []
    results = read_results(tmp_path, mixes=True)
    data = load_dataset(DATASETS[0])
    train = data.train.X, data.train.y
    for alpha in alphas:
        batches = [data.test.X[bag.index] for bag in drawn(data, alpha)]
        for method in methods:
            assert_as_users_would_have_it(results, DATASETS[0], method, train, batches, alpha)
    bayesian = results.runs[results.runs["method"] == "Bayes-EMQ"].set_index("alpha")["settings"]
    assert {alpha: s["prior"] for alpha, s in bayesian.items()} == {0.1: 0.3, 1.0: 1.0, 10.0: 3.0}
    largest = results.bags.groupby("alpha")["truth"].apply(lambda t: np.mean([max(x) for x in t]))
    assert largest[0.1] > largest[1.0] > largest[10.0]


def test_data_sets_that_cannot_be_had_are_reported(tmp_path):
    outcome = bench.run(tiny_plan(tmp_path, ["MNIST", "sklearn-iris"], ["CC"]))
    assert list(outcome.unavailable) == ["MNIST"]
    assert "examples/train_cnn.py" in outcome.unavailable["MNIST"]
    assert len(results_in(tmp_path)) == 1


def test_a_method_that_fails_leaves_the_others(tmp_path, monkeypatch):
    def broken(self, X, bags):
        raise RuntimeError("no answer")

    monkeypatch.setattr("truemix.quantifiers.ACC.quantify_bags", broken)
    outcome = bench.run(tiny_plan(tmp_path, ["sklearn-iris"], ["ACC", "PCC"]))
    assert outcome.failures == ["ACC failed on sklearn-iris (RuntimeError: no answer)."]
    assert [path.stem for path in results_in(tmp_path)] == ["PCC-alpha1"]


def test_a_folder_holds_results_of_one_protocol_only(tmp_path):
    bench.run(tiny_plan(tmp_path, ["sklearn-iris"], ["CC"]))
    more = replace(TINY, n_bags=11)
    with pytest.raises(InputError, match=r"holds results with n bags 10, but 11 was asked for; .*"):
        bench.run(tiny_plan(tmp_path, ["sklearn-iris"], ["CC"], settings=more))
    (tmp_path / bench.SETTINGS_FILE).write_text("nothing")
    with pytest.raises(InputError, match="cannot be read as settings"):
        bench.run(tiny_plan(tmp_path, ["sklearn-iris"], ["CC"]))


def test_damaged_files_are_made_anew(finished, tmp_path):
    asked = tiny_plan(tmp_path, ["sklearn-iris"], ["KDEy(Gau)"])
    bench.run(asked)
    (expected,) = frames(tmp_path)[0]["prevalence"].to_numpy()[:1]
    (result,) = results_in(tmp_path)
    kept = [*tmp_path.rglob("*.npz"), *tmp_path.rglob("choice-*.json")]
    # Half of a file, and a file with one bit flipped: in a number, if it holds nothing else.
    for damage in (lambda content: content[:20], flipped):
        for path in [*kept, result]:
            path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(InputError, match=r"KDEy\(Gau\)-alpha1.parquet' cannot be read"):
            read_results(tmp_path)
        outcome = bench.run(asked)
        assert outcome.failures == []
        assert f"The file {str(result)!r} was damaged and was made again." in outcome.notes
        assert any("choice-KDEy(Gau).json' was damaged" in note for note in outcome.notes)
        np.testing.assert_array_equal(frames(tmp_path)[0]["prevalence"].iloc[0], expected)
        assert bench.run(asked).notes == []


def flipped(content):
    digit = re.search(rb'"error": 0\.\d', content)
    at = len(content) // 2 if digit is None else digit.end() - 1
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_a_choice_that_there_was_not_is_refused(tmp_path):
    asked = tiny_plan(tmp_path, ["sklearn-iris"], ["CC"])
    bench.run(asked)
    (path,) = tmp_path.rglob("choice-CC.json")
    contents = json.loads(path.read_text())["contents"]
    write_sealed(path, contents | {"classifier": {"C": 1e300, "class_weight": None}})
    results_in(tmp_path)[0].unlink()
    (failure,) = bench.run(asked).failures
    assert "holds a choice that there was not; delete it" in failure
