"""Files that nobody here made, as they were downloaded: one command each, beside the truth.

The files are example data in a wheel of the package nannyml (Apache-2.0) on PyPI:

    pip download --no-deps nannyml
    unzip nannyml-*.whl 'nannyml/datasets/data/*' -d FOLDER
    python benchmarks/real_files.py FOLDER [--out docs/results/real-files.md]

``mc_*.csv`` are 60,000 labelled and 60,000 unlabelled applications with the posteriors of three
classes, rounded to two decimals, in columns ``y_pred_proba_…``; ``employment_MA_*.pq`` 68,785 and
208,892 people with the probability of being employed in one column. The labels of the unlabelled
ones are in files of their own, which only this script reads.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from common import publish

INTRODUCTION = """\
# Files that nobody here made

Example files in the wheel of `nannyml` (PyPI), as they were downloaded: no column was renamed or
prepared. The labels of the unlabelled files are in files of their own, which only the benchmark
reads, as the truth. Intervals are at 95 %, about these very items. Seconds are of processor time,
with reading, choice of settings, check and self-calibration. Made by
`python benchmarks/real_files.py FOLDER --out docs/results/real-files.md`.

- `mc_*.csv`: 60,000 labelled and 60,000 unlabelled applications; posteriors of three classes with
  two decimals, in columns `y_pred_proba_…`, whose pattern is found. The mix hardly changes, but
  items of a class look different: the check fails, the exit code is 3, and the output shows a range
  over other assumptions, which holds the truth where the interval does not.
- `employment_MA_*.pq`: 68,785 and 208,892 people, one column with the probability of being
  employed. Counting is off by three points.
"""
DATA = Path("nannyml", "datasets", "data")
MC = ("mc_reference.csv", "mc_analysis.csv", "--label", "y_true")
EMPLOYMENT = (
    "employment_MA_reference.pq", "employment_MA_analysis.pq",
    "--label", "employed", "--score", "predicted_probability", "--positive", "1",
)  # fmt: skip
COMMANDS = (
    MC,
    (*EMPLOYMENT, "--sample", "20000"),
    (*EMPLOYMENT, "--by", "year", "--sample", "20000"),
    EMPLOYMENT,
)


def true_mix(folder: Path, command: tuple[str, ...]) -> dict[Any, pd.Series]:
    """Return the true shares in the unlabelled file, of each group."""
    if command[0].startswith("mc"):
        labels = pd.read_csv(folder / "mc_analysis_gt.csv")["y_true"]
        return {None: labels.value_counts(normalize=True)}
    rows = pd.read_parquet(folder / "employment_MA_analysis.pq", columns=["id", "year"])
    labels = pd.read_parquet(folder / "employment_MA_analysis_target.pq")
    rows = rows.merge(labels, on="id", validate="one_to_one")
    if "--by" not in command:
        return {None: rows["employed"].value_counts(normalize=True)}
    by_year = rows.groupby("year")["employed"]
    return {year: each.value_counts(normalize=True) for year, each in by_year}


def run(folder: Path, command: tuple[str, ...]) -> tuple[dict[str, Any], float]:
    """Run a command in the folder of the files; return its answer and the seconds of one core.

    Processor time: what else runs on the machine does not count.
    """
    words = [sys.executable, "-m", "truemix.cli", "estimate", *command, "--format", "json"]
    began = os.times()
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    ended = os.times()
    used = ended.children_user - began.children_user + ended.children_system - began.children_system
    if done.returncode not in {0, 3}:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout), used


def rows_of(answer: dict[str, Any], truth: dict[Any, pd.Series]) -> list[str]:
    """Return a row of the table for each class of each group."""
    rows = []
    for group in answer["groups"]:
        verdict = group["checks"]["label_shift"]["verdict"]
        shares = {str(name): share for name, share in truth[group["group"]].items()}
        for each in group["classes"]:
            bounds = "" if each["lower"] is None else f"{each['lower']:.1%} - {each['upper']:.1%}"
            cells = [
                "" if group["group"] is None else f"{group['group']}",
                f"{each['class']}",
                f"{shares[str(each['class'])]:.1%}",
                f"{each['share']:.1%}",
                bounds,
                f"{each['classify_and_count']:.1%}",
                verdict,
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return rows


def main() -> None:
    """Run all commands and print their answers beside the truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the wheel was unpacked")
    parser.add_argument("--out", type=Path, help="write the page to this file too")
    given = parser.parse_args()
    folder = given.folder / DATA
    lines = [INTRODUCTION]
    for command in COMMANDS:
        answer, seconds = run(folder, command)
        lines += [
            f"## {seconds:.0f} seconds of one core",
            "",
            f"```\ntruemix estimate {shlex.join(command)}\n```",
            "",
            "| group | class | truth | estimate | interval | counted | check |",
            "|---|---|---|---|---|---|---|",
            *rows_of(answer, true_mix(folder, command)),
            "",
        ]
    publish("\n".join(lines).rstrip(), given.out)


if __name__ == "__main__":
    main()
