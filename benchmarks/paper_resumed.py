"""Whether runs of the paper's experiments that are killed end as one that is not.

``python benchmarks/paper_resumed.py NAMES --data FOLDER --results FOLDER`` repeats a part of the
finished run in ``--results``, all its methods and levels of shift, in two ways: ``truemix bench
--jobs 2``, killed at random times and started again; and on a Dask cluster of two workers, one of
which is killed at random times and replaced. Then all mixes, intervals, settings and temperatures
have to be those of the finished run, to the last bit.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import LocalCluster

from truemix_experiments import bench
from truemix_experiments.results import RunKey, read_result, read_results

# What a result says of how it was made, beside times and machines.
COMPARED = ("fingerprint", "settings", "temperatures", "n_failed", "classifiers_not_converged")


def exit_code(command, limit):
    """Return the exit code of a command, or None if it was killed after this many seconds."""
    child = subprocess.Popen(  # noqa: S603
        command, start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        return child.wait(limit)
    except subprocess.TimeoutExpired:
        # Its workers, too.
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return None


def run_killed(arguments, seconds):
    """Run until it is done, killed after each of these times; return how often it was killed."""
    command = [sys.executable, "-m", "truemix.cli", "bench", "run", "--quiet", *arguments]
    limits, killed = iter(seconds), 0
    while (code := exit_code(command, next(limits, None))) is None:
        killed += 1
    if code:
        sys.exit(f"the command ended with exit code {code}")
    return killed


def run_on_cluster(plan, seconds, rng):
    """Run on a cluster, killing a worker after each of these times; return how many were killed.

    Dask gives a task up that a fourth worker dies of.
    """
    done, killed = threading.Event(), []

    def kill(cluster):
        for each in seconds:
            if done.wait(each):
                return
            # Without those that were killed just now.
            pids = [worker.pid for worker in cluster.workers.values() if worker.pid]
            if pids:
                killed.append(pids[rng.integers(len(pids))])
                os.kill(killed[-1], signal.SIGKILL)

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as cluster:
        thread = threading.Thread(target=kill, args=(cluster,))
        thread.start()
        outcome = bench.run(plan, scheduler=cluster.scheduler_address)
        done.set()
        thread.join()
    if outcome.failures:
        sys.exit("\n".join(outcome.failures))
    return len(killed)


def is_same(key, folder, finished):
    """Return whether a result is the same in both folders."""
    ours, theirs = read_result(folder, key), read_result(finished, key)
    if ours is None or any(ours.about[name] != theirs.about[name] for name in COMPARED):
        return False
    try:
        pd.testing.assert_frame_equal(ours.rows, theirs.rows, check_exact=True)
    except AssertionError:
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=3, help="in each way")
    parser.add_argument("--mean-seconds", type=float, default=20.0, help="between kills")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    runs = read_results(options.results).runs
    runs = runs[runs["dataset"].isin(options.names)]
    alphas = sorted(set(runs["alpha"]))
    keys = [RunKey(*key) for key in runs[["dataset", "method", "alpha"]].itertuples(index=False)]
    missing = set(options.names) - set(runs["dataset"])
    if missing:
        sys.exit(f"there are no results of {', '.join(sorted(missing))} in {options.results}")
    arguments = [*options.names, "--data", str(options.data), "--jobs", "2"]
    arguments += ["--alpha", ",".join(f"{alpha:g}" for alpha in alphas)]

    print("| way | killed | runs | different | seconds |")
    print("|---|---|---|---|---|")
    for way in ("killed and resumed", "Dask, workers killed"):
        with tempfile.TemporaryDirectory() as folder:
            start, times = time.perf_counter(), rng.exponential(options.mean_seconds, options.kills)
            if way.startswith("Dask"):
                plan = bench.plan(options.names, alphas=alphas, data=options.data, out=folder)
                killed = run_on_cluster(plan, times, rng)
            else:
                killed = run_killed([*arguments, "--out", folder], times)
            spent = time.perf_counter() - start
            different = [key for key in keys if not is_same(key, folder, options.results)]
        print(f"| {way} | {killed} | {len(keys)} | {len(different)} | {spent:.0f} |", flush=True)
        for key in different:
            print(f"different: {key}", file=sys.stderr)


if __name__ == "__main__":
    main()
