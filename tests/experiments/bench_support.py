"""A benchmark in miniature: two small data sets, all methods, few bags and settings."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from truemix.experiments import bench
from truemix.experiments.protocol import BenchSettings
from truemix.experiments.results import read_results

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


def killed_run(folder, n_results):
    """Start the miniature run in another process, and kill it once there are some results."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from bench_support import bench, tiny_plan\n"
        "bench.run(tiny_plan(sys.argv[2]))\n"
    )
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code, str(Path(__file__).parent), str(folder)]
    )
    try:
        wait_for_results(folder, n_results, alive=lambda: child.poll() is None)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
