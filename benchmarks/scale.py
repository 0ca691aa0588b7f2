"""Any size: time and peak memory of ``truemix estimate``, and the error of summaries.

    python benchmarks/scale.py [CASE …] [--before PYTHON] [--folder FOLDER] [--out FILE.md]

Cases: decimals, parquet, files, references, summary, coverage, cluster; all by default.
``--before`` is a Python interpreter with another version of truemix, which then does the same work,
as far as it can. Files are made in a temporary folder (5 GB for the case ``files``), or in
``--folder``, where they are kept for the next time. Peaks are what Linux reports of the child
itself (``VmHWM``).
"""

import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from command_line import MIX, peak_bytes
from common import posteriors, publish

CASES = ("decimals", "parquet", "files", "references", "summary", "coverage", "cluster")
HERE = sys.executable
# A version before this one gets no more than this: it may take hours.
MOST_SECONDS = 900


# --- files --------------------------------------------------------------------------------------


def table(P, labels=None, **more):
    columns = {f"class {k}": P[:, k] for k in range(P.shape[1])}
    if labels is not None:
        columns["label"] = np.array([f"class {k}" for k in labels])
    return pa.table({**columns, **more})


def rounded(n, seed, mix=None):
    """Draw posteriors of three classes with two decimals, that sum to one."""
    P, labels = posteriors(n, 3, seed, mix=mix)
    cents = np.floor(100 * P).astype(int)
    # The largest remainders are rounded up.
    missing = 100 - cents.sum(axis=1)
    order = np.argsort(cents - 100 * P, axis=1)
    cents[np.arange(n)[:, None], order] += np.arange(3) < missing[:, None]
    return cents / 100, labels


class Files:
    """Makes files once."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, name, make):
        """Return the file of this name; ``make`` writes it if it is not there."""
        path = self.folder / name
        if not path.exists():
            unfinished = path.with_name(f"unfinished-{name}")
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished)
            unfinished.rename(path)
        return path

    def references(self, n, n_classes):
        """Return a file of labelled items."""

        def make(path):
            parquet.write_table(table(*posteriors(n, n_classes, 0)), path)

        return self(f"references-{n}-{n_classes}.parquet", make)

    def targets(self, n, n_classes):
        """Return a file of unlabelled items."""

        def make(path):
            mix = MIX if n_classes == 10 else np.array([0.5, 0.3, 0.2])
            parquet.write_table(table(posteriors(n, n_classes, 1, mix=mix)[0]), path)

        return self(f"targets-{n}-{n_classes}.parquet", make)

    def folder_of(self, n_files, rows):
        """Return a folder of files in single precision."""

        def make(path):
            path.mkdir()
            for number in range(n_files):
                P = posteriors(rows, 10, 1000 + number, mix=MIX)[0].astype(np.float32)
                P /= P.sum(axis=1, keepdims=True)
                parquet.write_table(table(P), path / f"part-{number:03}.parquet")

        return self(f"files-{n_files}-{rows}", make)


# --- commands -----------------------------------------------------------------------------------


def run(python, *arguments, most=math.inf):
    """Run ``truemix estimate``; return seconds, peak in MB, and the result or what went wrong."""
    command = [python, "-m", "truemix.cli", "estimate", *map(str, arguments)]
    start, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(  # noqa: S603
            [*command, "--label", "label", "--format", "json"], stdout=out, stderr=err, text=True
        )
        while child.poll() is None:
            peak = max(peak, peak_bytes(child.pid))
            time.sleep(0.02)
            if time.perf_counter() - start > most:
                child.kill()
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        text, notes = out.read(), err.read()
    if seconds > most:
        return seconds, peak / 2**20, "stopped"
    # Exit code 3 is an answer whose check failed.
    if child.returncode not in {0, 3}:
        return seconds, peak / 2**20, notes.strip().splitlines()[-1]
    return seconds, peak / 2**20, json.loads(text)


def row(name, before, *arguments):
    seconds, peak, result = run(HERE, *arguments)
    if isinstance(result, str):
        sys.exit(f"{name}: {result}")
    print(f"{name}: {seconds:.1f} s, {peak:.0f} MB", flush=True)
    then = "", ""
    if before is not None:
        old_seconds, old_peak, old = run(before, *arguments, most=MOST_SECONDS)
        then = f"{old_seconds:.1f} s", f"{old_peak:.0f} MB"
        if isinstance(old, str):
            then = (f"{old_seconds:.0f} s, then {old}" if old == "stopped" else "cannot", then[1])
        print(f"  before: {' '.join(then)}", flush=True)
    return f"| {name} | {seconds:.1f} s | {peak:.0f} MB | {' | '.join(then)} |"


def timed(files, before, cases):
    """Time commands; return a table."""
    lines = [
        "| work | time | peak memory | time before | peak memory before |",
        "|---|---:|---:|---:|---:|",
    ]
    if "decimals" in cases:
        reference = files(
            "rounded-references.parquet",
            lambda path: parquet.write_table(table(*rounded(60_000, 0)), path),
        )

        def make(path):
            P, _ = rounded(60_000, 1, mix=[0.5, 0.3, 0.2])
            parquet.write_table(table(P, month=np.arange(60_000) // 5_000 + 1), path)

        target = files("rounded-targets.parquet", make)
        name = "60,000 references x 60,000 targets x 3 classes, two decimals, `--by month --check`"
        lines.append(row(name, before, reference, target, "--by", "month", "--check"))
    if "parquet" in cases:
        arguments = files.references(10_000, 10), files.targets(1_000_000, 10)
        name = "10,000 references x 1,000,000 targets x 10 classes"
        lines.append(row(name, before, *arguments))
    if "files" in cases:
        reference = files.references(10_000, 10)
        for n_files in (10, 100):
            name = f"10,000 references x {n_files} files of 1,000,000 targets x 10 classes, float32"
            lines.append(row(name, None, reference, files.folder_of(n_files, 1_000_000)))
    if "references" in cases:
        for n_classes in (3, 10):
            target = files.targets(100_000, n_classes)
            for n in (10_000, 100_000, 1_000_000):
                name = f"{n:,} references x 100,000 targets x {n_classes} classes"
                # The version before takes hours for more.
                then = before if n == 10_000 else None
                lines.append(row(name, then, files.references(n, n_classes), target))
    return lines


# --- summaries ----------------------------------------------------------------------------------


def summary_error(n_batches=4):
    """Compare maximum-likelihood mixes of summaries and of all of a million rows; return a table.

    In posterior standard deviations of the population, which a smaller summary tells well enough:
    its sampling error is a hundredth of its variance.
    """
    from truemix import BayesianKDEy
    from truemix.inference import maximize_mixture

    quantifier = BayesianKDEy(random_state=0).fit(*posteriors(10_000, 10, 0))
    deviation = None
    lines = [
        "| batch | rows kept | largest change of a share | root mean square | stated, largest | "
        "root mean square of errors as multiples of the stated ones |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for seed in range(n_batches):
        P, _ = posteriors(1_000_000, 10, 100 + seed, mix=MIX)
        exact = maximize_mixture(quantifier.model_.log_likelihood(P), tol=1e-9).prevalence
        if deviation is None:
            small = quantifier.quantify(quantifier.summarize(P, capacity=30_000))
            deviation = small.of("population").draws.std(axis=0)
        summary = quantifier.summarize(P)
        bag, logs = summary.bag(), quantifier.model_.log_likelihood(summary.scored()[0])
        found = maximize_mixture(logs, weights=bag.counts, tol=1e-9).prevalence
        likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
        stated = bag.likelihood_error(likelihoods, exact)["sampling_error"]
        change = np.abs(found - exact)
        lines.append(
            f"| {seed} | {summary.n_rows:,} | {(change / deviation).max():.3f} | "
            f"{_root_mean_square(change / deviation):.3f} | {(stated / deviation).max():.3f} | "
            f"{_root_mean_square(change / stated):.2f} |"
        )
        print(lines[-1], flush=True)
    return lines


def _root_mean_square(values):
    return np.sqrt(np.mean(values**2))


def coverage(n_batches=200, n_items=10_000, capacity=1_000):
    """Return lines with the coverage of intervals of exact batches and of summaries."""
    from truemix import BayesianKDEy

    rng = np.random.default_rng(0)
    inside = {"exact": [], "summary": []}
    width = {"exact": [], "summary": []}
    rows = {}
    for number in range(n_batches):
        references = posteriors(600, 3, 10_000 + number)
        quantifier = BayesianKDEy(random_state=number).fit(*references)
        P, labels = posteriors(n_items, 3, 50_000 + number, mix=rng.dirichlet(np.ones(3)))
        truth = np.bincount(labels, minlength=3) / n_items
        for name, most in (("exact", None), ("summary", capacity)):
            summary = quantifier.summarize(P, capacity=most)
            interval = quantifier.quantify(summary).interval()
            inside[name].append(((interval[:, 0] <= truth) & (truth <= interval[:, 1])).mean())
            width[name].append(np.diff(interval).mean())
            rows[name] = summary.n_rows
        if number % 20 == 19:
            so_far = ", ".join(f"{name} {np.mean(each):.1%}" for name, each in inside.items())
            print(f"  {number + 1} batches: {so_far}", file=sys.stderr, flush=True)
    lines = [
        f"{n_batches} batches of {n_items:,} items of three classes, each with a mix and 600 "
        "references of its own; 95 % intervals in the batch view:",
        "",
        "| | rows kept | shares inside (standard error) | mean width |",
        "|---|---:|---:|---:|",
    ]
    for name, values in inside.items():
        error = np.std(values) / np.sqrt(n_batches)
        lines.append(
            f"| {name} | {rows[name]:,} | {np.mean(values):.1%} ({error:.1%}) "
            f"| {np.mean(width[name]):.4f} |"
        )
        print(lines[-1], flush=True)
    return lines


# --- a cluster ----------------------------------------------------------------------------------


def cluster(files):
    """Kill one of two workers midway; return a line that says whether the answer is the same."""
    import distributed

    arguments = files.references(10_000, 10), files.folder_of(10, 1_000_000)
    _, _, alone = run(HERE, *arguments)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as local:
        command = [HERE, "-m", "truemix.cli", "estimate", *map(str, arguments), "--label", "label"]
        command += ["--format", "json", "--scheduler", local.scheduler_address]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        with distributed.Client(local) as client:
            done = 0
            while done < 3 and child.poll() is None:
                time.sleep(0.05)
                done = client.run_on_scheduler(_finished_tasks)
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            output, _ = child.communicate()
    same = json.loads(output)["groups"] == alone["groups"]
    line = (
        f"`--scheduler`, 10 files on two workers, one of them killed after {done} finished tasks: "
        f"the answer is {'identical' if same else 'NOT identical'} to that of one process."
    )
    print(line, flush=True)
    if not same:
        sys.exit("the answers differ")
    return [line]


def _finished_tasks(dask_scheduler):
    return sum(state.state == "memory" for state in dask_scheduler.tasks.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=list(CASES))
    parser.add_argument("--before", help="a Python interpreter with another version of truemix")
    parser.add_argument("--folder", type=Path, help="where files are made and kept")
    parser.add_argument("--out", type=Path, help="write the result to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if given.folder is not None:
            given.folder.mkdir(parents=True, exist_ok=True)
        files = Files(given.folder or temporary)
        parts = ["# Any size: time, memory, and the error of summaries"]
        lines = timed(files, given.before, given.cases)
        if len(lines) > 2:
            parts += ["\n".join(lines)]
        if "summary" in given.cases:
            parts += ["## Summaries against the exact answer, 1,000,000 rows of 10 classes"]
            parts += ["\n".join(summary_error())]
        if "coverage" in given.cases:
            parts += ["## Coverage", "\n".join(coverage())]
        if "cluster" in given.cases:
            parts += ["## A cluster that loses a worker", "\n".join(cluster(files))]
        publish("\n\n".join(parts) + "\n", given.out)


if __name__ == "__main__":
    main()
