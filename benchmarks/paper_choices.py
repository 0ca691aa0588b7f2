"""How much of a difference to the published errors is due to the choice of settings or the split.

``python benchmarks/paper_choices.py yeast --data FOLDER --out FOLDER`` keeps the training and the
test rows of the paper's experiments and splits the training rows ``--splits`` times into rows to
fit on and rows to validate on (the split of ``truemix bench`` is one more). Each time the point
methods choose from the full grids and are evaluated on the same 500 test bags. Only the choice
varies, so a published value between the smallest and the largest error is consistent with the same
method and another choice. With ``--test-rows`` the test rows vary as well, as they do if the rows
of a file are in another order than the paper's. An interrupted run is resumed.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from truemix_experiments.bench import use_folder
from truemix_experiments.datasets import load_dataset
from truemix_experiments.datasets.splitting import held_out, split_table
from truemix_experiments.methods import method_names
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.published import published_values, shown_method
from truemix_experiments.results import read_results
from truemix_experiments.running import Job, run_loaded


def split_anew(data, number, test_rows):
    """Return the data with other rows to validate (and test) on; number 0 is the paper's split."""
    if test_rows and number > 0:
        X = np.vstack([data.train.X, data.test.X])
        y = np.concatenate([data.train.y, data.test.y])
        return split_table(data.info, X, y, data.classes, number)
    fit, validation = (data.train.rows(rows) for rows in held_out(data.train.y, number))
    return replace(data, fit=fit, validation=validation)


def errors(folder, name, methods):
    """Return the mean error of each method in a folder of results."""
    bags = read_results(folder).bags
    means = bags[bags["dataset"] == name].groupby("method")["ae"].mean()
    return means.reindex(methods).to_numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder for results")
    parser.add_argument("--splits", type=int, default=4, help="splits beside the paper's")
    parser.add_argument("--test-rows", action="store_true", help="other test rows, too")
    parser.add_argument("--methods", nargs="+", default=["point"])
    options = parser.parse_args()
    methods, settings = method_names(options.methods), BenchSettings()
    print("| data | method | published | ours | smallest | largest | published is |")
    print("|---|---|---|---|---|---|---|")
    for name in options.names:
        data = load_dataset(name, folder=options.data)
        found = []
        for number in range(options.splits + 1):
            folder = options.out / f"{'rows' if options.test_rows else 'split'}-{number}"
            use_folder(folder, settings)
            report = run_loaded(
                Job(name, methods, (1.0,), settings, str(folder), threads=2),
                split_anew(data, number, options.test_rows),
            )
            if report.failures:
                raise SystemExit("\n".join(report.failures))
            found.append(errors(folder, name, methods))
        published = published_values("ae", [name]).iloc[0]
        for method, values in zip(methods, np.transpose(found), strict=True):
            value = published[method]
            place = (
                "below" if value < values.min() else "above" if value > values.max() else "inside"
            )
            numbers = [value, values[0], values.min(), values.max()]
            cells = " | ".join(f"{number:.4f}" for number in numbers)
            print(f"| {name} | {shown_method(method)} | {cells} | {place} |", flush=True)


if __name__ == "__main__":
    main()
