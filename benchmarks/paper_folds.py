"""How much the errors of KDEy(Ait-λ) depend on the folds of cross-validated references.

``python benchmarks/paper_folds.py mhr --data FOLDER --results PATH`` takes the settings that
``truemix bench`` chose (``--results``: its folder, or the file of ``truemix bench pack``) and
scores the references in five folds, in the order of the rows and ``--repeats`` times shuffled.
Beside the errors of each it prints those of repeated folds: with the scores of all repeats as
references ("all"), and with their means ("mean"). Test bags are the first of the paper's protocol.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from truemix import KDEy, evaluate
from truemix.protocols import DirichletBags
from truemix_experiments.datasets import load_dataset
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.results import read_results

METHOD, METRIC = "KDEy(Ait-lambda)", "absolute_error"


def fold_errors(data, chosen, n_bags, n_repeats):
    """Return the errors with folds in order, with each shuffle, and with repeats in both ways."""
    settings = BenchSettings()
    X, y = data.train.X, data.train.y
    classifier = LogisticRegression(
        C=chosen["C"], class_weight=chosen["class_weight"], max_iter=settings.max_iter
    )
    pool = classifier.fit(X, y).predict_proba(data.test.X)
    quantifier = KDEy(
        kernel="aitchison",
        bandwidth=chosen["bandwidth"],
        shrinkage=chosen["shrinkage"],
        crossfit=False,
    )
    protocol = DirichletBags(
        n_bags=n_bags, bag_size=data.info.bag_size, random_state=settings.seed_of("test")
    )

    def scored(folds):
        return cross_val_predict(classifier, X, y, cv=folds, method="predict_proba")

    def error(P, labels):
        fitted = quantifier.fit(P, labels)
        bags = evaluate(fitted, pool, data.test.y, protocol=protocol, metrics=[METRIC])
        return bags[METRIC].mean()

    shuffled = [
        scored(StratifiedKFold(settings.cv, shuffle=True, random_state=seed))
        for seed in range(n_repeats)
    ]
    return (
        error(scored(StratifiedKFold(settings.cv)), y),
        [error(P, y) for P in shuffled],
        error(np.vstack(shuffled), np.tile(y, n_repeats)),
        error(np.mean(shuffled, axis=0), y),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--bags", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    runs = read_results(options.results).runs
    runs = runs[(runs["method"] == METHOD) & (runs["alpha"] == 1.0)].set_index("dataset")
    print("| data | in order | shuffled: smallest | mean | largest | repeats: all | mean |")
    print("|---|---|---|---|---|---|---|")
    for name in options.names:
        data = load_dataset(name, folder=options.data)
        ordered, own, together, averaged = fold_errors(
            data, runs.loc[name, "settings"], options.bags, options.repeats
        )
        numbers = [ordered, min(own), np.mean(own), max(own), together, averaged]
        print(f"| {name} | {' | '.join(f'{n:.4f}' for n in numbers)} |", flush=True)


if __name__ == "__main__":
    main()
