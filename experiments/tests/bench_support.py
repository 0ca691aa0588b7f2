"""A benchmark in miniature: two small data sets, all methods, few bags and settings."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from sklearn.linear_model import LogisticRegression

from truemix import (
    ACC,
    CC,
    EMQ,
    PACC,
    PCC,
    BayesianACC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    KDEy,
)
from truemix_experiments import bench
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.results import read_results

DATASETS = ("sklearn-iris", "sklearn-wine")
TINY = BenchSettings(
    n_bags=10,
    n_validation_bags=5,
    C=(0.01, 1.0),
    class_weight=(None,),
    gaussian_bandwidth=(0.05, 0.3),
    aitchison_bandwidth=(0.3, 1.0),
    shrinkage=(0.25, 0.9),
    temperature=(1.0, 5.0),
    draws=100,
    warmup=50,
    calibration_draws=50,
)


def tiny_plan(out, datasets=DATASETS, methods=("all",), alphas=(1.0,), **options):
    return bench.plan(datasets, methods, alphas, **{"settings": TINY, "out": str(out), **options})


def as_users_write_it(method, settings):
    """Return the quantifier of a method from public names, with the settings of its result."""
    classifier = LogisticRegression(
        C=settings["C"], class_weight=settings["class_weight"], max_iter=TINY.max_iter, tol=TINY.tol
    )
    name = method.removeprefix("Boots-").removeprefix("Bayes-").removesuffix("-cal")
    sampling = {"draws": TINY.draws, "random_state": TINY.seed_of("sampler")}
    if method.startswith("Bayes-"):
        sampling |= {"warmup": TINY.warmup, "estimand": "population"}
        sampling |= {name: settings[name] for name in ("temperature", "prior")}
    if name.endswith("+"):
        # Cross-fitting, replicates of the references and the automatic choice are its defaults.
        return BayesianKDEy(classifier=classifier, **sampling)
    if name.startswith("KDEy"):
        density = {
            "kernel": "gaussian" if "Gau" in name else "aitchison",
            "bandwidth": settings["bandwidth"],
            "shrinkage": settings["shrinkage"],
            "crossfit": False,
        }
        if not method.startswith("Bayes-"):
            return KDEy(classifier=classifier, **density)
        known = {"reference_uncertainty": None, "averaging": False}
        return BayesianKDEy(classifier=classifier, **density, **known, **sampling)
    # The paper takes posteriors as calibrated.
    plain = {"calibration": None} if name == "EMQ" else {}
    if method.startswith("Bayes-"):
        kind = {"ACC": BayesianACC, "EMQ": BayesianEMQ}[name]
        return kind(classifier=classifier, **plain, **sampling)
    point = {"CC": CC, "PCC": PCC, "ACC": ACC, "PACC": PACC, "EMQ": EMQ}[name](
        classifier=classifier, **plain
    )
    return Bootstrap(point, **sampling) if method.startswith("Boots-") else point


def assert_as_users_would_have_it(results, dataset, method, train, batches, alpha=1.0):
    """Compare the results of a method with the library's, asked about one batch after the other."""
    of_run = "dataset == @dataset and method == @method and alpha == @alpha"
    (settings,) = results.runs.query(of_run)["settings"]
    bags = results.bags.query(of_run).sort_values("bag")
    fitted = as_users_write_it(method, settings).fit(*train)
    expected = [fitted.quantify(batch) for batch in batches]
    # The same draws and solutions; only sums may be taken in another order. Users' decisions are
    # equal items, which are resampled by their counts, but here their posteriors are resampled:
    # other draws of the same distribution, within four standard errors of means and of widths.
    n_draws = 1 if expected[0].draws is None else len(expected[0].draws)
    spread = np.array([0.0 if each.draws is None else each.draws.std() for each in expected])
    others = 4 * spread.max() / np.sqrt(n_draws) if method == "Boots-CC" else 0.0
    np.testing.assert_allclose(
        np.stack(bags["prevalence"]), [each.prevalence for each in expected], atol=1e-9 + others
    )
    if expected[0].draws is not None:
        widths = [np.diff(each.interval(TINY.level)).mean() for each in expected]
        np.testing.assert_allclose(bags["width"], widths, atol=1e-9 + 4 * others)


def frames(folder):
    """Return everything in results that does not depend on the clock, in a fixed order."""
    results = read_results(folder, mixes=True)
    order = ["dataset", "method", "alpha", "bag"]
    bags = results.bags.sort_values(order).reset_index(drop=True)
    runs = results.runs.sort_values(order[:3]).reset_index(drop=True)
    return bags, runs[["dataset", "method", "alpha", "settings", "fingerprint", "temperatures"]]


def assert_identical(folder, reference):
    (bags, runs), (other_bags, other_runs) = frames(folder), frames(reference)
    mixes = ["truth", "prevalence"]
    for column in mixes:
        np.testing.assert_array_equal(
            np.concatenate(bags[column]), np.concatenate(other_bags[column])
        )
    without = bags.drop(columns=mixes), other_bags.drop(columns=mixes)
    pd.testing.assert_frame_equal(*without, check_exact=True)
    pd.testing.assert_frame_equal(runs, other_runs, check_exact=True)


def results_in(folder):
    return sorted(path for path in Path(folder).rglob("*.parquet") if path.name[0] != ".")


def wait_for_results(folder, n, alive=lambda: True, seconds=60):
    """Wait until there are some results, but while work is going on."""
    end = time.monotonic() + seconds
    while len(results_in(folder)) < n:
        assert time.monotonic() < end, "no results"
        assert alive(), "ended early"
        time.sleep(0.02)


def still_running(processes):
    """Return those that have not ended, whether or not anybody has asked for their exit code."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE and process.is_running():
                found.append(process)
    return found


def killed_run(folder, n_results, n_jobs=1):
    """Start the miniature run in another process, and kill it once there are some results.

    Returns its children, which nobody has killed.
    """
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from bench_support import bench, tiny_plan\n"
        "bench.run(tiny_plan(sys.argv[2]), n_jobs=int(sys.argv[3]))\n"
    )
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code, str(Path(__file__).parent), str(folder), str(n_jobs)]
    )
    children = []
    try:
        wait_for_results(folder, n_results, alive=lambda: child.poll() is None)
        children = psutil.Process(child.pid).children(recursive=True)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    return children
