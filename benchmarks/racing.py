"""What racing saves when KDEy chooses bandwidth and shrinkage, and what it does to the choice.

``python benchmarks/racing.py --data FOLDER [--out FILE.md]`` takes the data sets, the classifiers,
the splits and the bags of ``methods.py``, and fits `KDEy` as it is and with all settings scored on
all bags. The two alternate in one process; seconds are those of all cores together.
"""

import argparse
import time
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.model_selection import train_test_split

from common import publish
from methods import CLASSIFIERS, DATA_SETS
from truemix import KDEy, evaluate
from truemix.models import bandwidth_selection
from truemix.protocols import DirichletBags
from truemix.quantifiers import cross_fit

REPEATS = 3


def fit_raced(P, y):
    return KDEy().fit(P, y)


def fit_in_full(P, y):
    """Let no setting be dropped."""
    with mock.patch.object(
        bandwidth_selection, "_running", lambda errors, *_: np.ones(errors.shape[:2], dtype=bool)
    ):
        return KDEy().fit(P, y)


WAYS = {"all bags": fit_in_full, "raced": fit_raced}


def compare(folder, name, classifier, n_bags, ways):
    """Return the numbers of classes and references, and (AE, CPU seconds, setting) of each way."""
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"].astype(np.int64)
    X, pool, y, pool_y = train_test_split(X, y, train_size=0.7, random_state=0, stratify=y)
    trained = cross_fit(classifier, X, y, classes=np.unique(y))
    P, Q = trained.posteriors, trained.score(pool)
    seconds = {way: [] for way in ways}
    fitted = {}
    for _ in range(REPEATS):
        for way, fit in ways.items():
            start = time.process_time()
            fitted[way] = fit(P, y)
            seconds[way].append(time.process_time() - start)
    chosen = {
        way: KDEy(bandwidth=each.bandwidth_, shrinkage=each.shrinkage_).fit(P, y)
        for way, each in fitted.items()
    }
    protocol = DirichletBags(n_bags=n_bags, bag_size=1000, random_state=0)
    errors = evaluate(chosen, Q, pool_y, protocol=protocol)
    errors = errors.groupby("quantifier")["absolute_error"].mean()
    rows = [
        (errors[way], min(seconds[way]), (each.bandwidth_, each.shrinkage_))
        for way, each in fitted.items()
    ]
    return len(np.unique(y)), len(y), rows


def table(folder, names, n_bags, ways):
    """Return the table of all classifiers and data sets, as Markdown."""
    lines = [
        "| classifier | data | classes | references | "
        + " | ".join(f"AE, {way}" for way in ways)
        + " | "
        + " | ".join(f"seconds, {way}" for way in ways)
        + " |",
        "|---|" + "---|" * (3 + 2 * len(ways)),
    ]
    errors, seconds = [], []
    for label, classifier in CLASSIFIERS.items():
        for name in names:
            n_classes, n_items, rows = compare(folder, name, classifier, n_bags, ways)
            errors.append([row[0] for row in rows])
            seconds.append([row[1] for row in rows])
            cells = [f"{e:.4f} ({h:.2g}, {lam:g})" for e, _, (h, lam) in rows]
            cells += [f"{cpu:.2f}" for _, cpu, _ in rows]
            lines.append(f"| {label} | {name} | {n_classes} | {n_items} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    cells = [f"{e:.4f}" for e in np.mean(errors, axis=0)]
    cells += [f"{cpu:.2f}" for cpu in np.mean(seconds, axis=0)]
    lines.append(f"| mean | | | | {' | '.join(cells)} |")
    ratios = [
        np.exp(np.mean(np.log(np.array(v) / np.array(v)[:, :1]), 0)) for v in (errors, seconds)
    ]
    cells = [f"{ratio:.3f}" for ratio in np.concatenate(ratios)]
    lines.append(f"| ratio (geometric mean) | | | | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--bags", type=int, default=200)
    arguments = parser.parse_args()
    text = (
        "# Racing: seconds of the automatic choice, and its test errors\n\n"
        f"`KDEy().fit` on given posteriors; mean absolute error over {arguments.bags} test bags of "
        "1000 items, Dirichlet(1) mixes; in brackets bandwidth and shrinkage. *All bags*: every "
        "setting is scored on every bag. *Raced*: as it is. CPU seconds of all cores together, the "
        f"best of {REPEATS}. Made by `python benchmarks/racing.py --data FOLDER --out "
        "docs/results/racing.md`.\n\n" + table(arguments.data, DATA_SETS, arguments.bags, WAYS)
    )
    publish(text, arguments.out)


if __name__ == "__main__":
    main()
