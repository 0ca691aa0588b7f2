"""``truemix estimate`` on a million rows: seconds per step and the peak of its memory.

``python benchmarks/command_line.py`` writes 1,000,000 target rows of 10 classes and 10,000
references to a temporary folder, as Parquet and as CSV, and runs the command on each. The peak is
what Linux reports of the child itself (``VmHWM``), which must stay below 1 GB.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from common import posteriors

N_CLASSES = 10
MIX = np.array([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01])
LIMIT = 1 << 30


def table(n, seed, *, labelled):
    P, labels = posteriors(n, N_CLASSES, seed, mix=None if labelled else MIX)
    columns = {f"class {k}": P[:, k] for k in range(N_CLASSES)}
    if labelled:
        return pa.table({"label": [f"class {k}" for k in labels], **columns})
    # Columns that a real file has and the command does not need.
    return pa.table({"id": np.arange(n), "week": np.arange(n) % 50, **columns})


def peak_bytes(pid):
    """Return the largest memory that a running process has had, or 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) * 1024 if lines else 0


def run(reference, target, options):
    command = [sys.executable, "-m", "truemix.cli", "estimate", str(reference), str(target)]
    start = time.perf_counter()
    child = subprocess.Popen(  # noqa: S603
        [*command, "--label", "label", "--timings", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = 0
    while child.poll() is None:
        peak = max(peak, peak_bytes(child.pid))
        time.sleep(0.02)
    output, notes = child.communicate()
    if child.returncode:
        sys.exit(f"the command failed with exit code {child.returncode}: {notes}")
    return time.perf_counter() - start, peak, output, notes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=10_000)
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        target = table(arguments.rows, 1, labelled=False)
        reference = table(arguments.references, 0, labelled=True)
        parquet.write_table(reference, f"{folder}/reference.parquet")
        parquet.write_table(target, f"{folder}/target.parquet")
        csv.write_csv(target, f"{folder}/target.csv")
        del target
        for name in ("target.parquet", "target.csv"):
            path = Path(folder) / name
            seconds, peak, output, notes = run(Path(folder) / "reference.parquet", path, options)
            print(f"{name} ({path.stat().st_size >> 20} MB), {arguments.rows:,} rows")
            print(notes.strip())
            print(f"{seconds:.1f} s in all, peak {peak / 2**20:.0f} MB (limit {LIMIT >> 20} MB)")
            print(output)
            if peak > LIMIT:
                sys.exit("too much memory")


if __name__ == "__main__":
    main()
