"""Errors of EMQ with two definitions of the training prevalence.

EMQ divides posteriors by the prevalence of the training items. ``python
benchmarks/paper_prevalence.py yeast --data FOLDER`` takes it as the share of each class (as truemix
does) and as the mean of the training posteriors, which differs if the classifier has class
weights. It prints, for each kind of weights, the C with the smallest error on 100 validation bags,
that error, and the one on 200 test bags, under the protocol of ``truemix bench``.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from truemix import metrics
from truemix.inference import maximize_mixture
from truemix.protocols import DirichletBags
from truemix_experiments.datasets import load_dataset
from truemix_experiments.protocol import BenchSettings


def mean_error(P, prevalence, bags):
    """Return the mean absolute error of EMQ."""
    L = np.log(np.maximum(P, 1e-300)) - np.log(prevalence)
    return np.mean(
        [
            metrics.absolute_error(b.prevalence, maximize_mixture(L[b.index]).prevalence)
            for b in bags
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    settings = BenchSettings()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| data | class weights | training prevalence | C | validation AE | test AE |")
    print("|---|---|---|---|---|---|")
    for name in options.names:
        data = load_dataset(name, folder=options.data)
        parts = []
        for purpose, n_bags, fit, pool in (
            ("validation", 100, data.fit, data.validation),
            ("test", 200, data.train, data.test),
        ):
            protocol = DirichletBags(
                n_bags=n_bags,
                bag_size=data.info.bag_size,
                random_state=settings.seed_of(purpose),
            )
            parts.append((fit, pool, list(protocol.bags(pool.y, np.arange(len(data.classes))))))
        for weights in settings.class_weight:
            found = {"shares": [], "mean posteriors": []}
            for C in settings.C:
                errors = {kind: [] for kind in found}
                for fit, pool, bags in parts:
                    model = LogisticRegression(C=C, class_weight=weights, max_iter=1000)
                    model.fit(fit.X, fit.y)
                    P = model.predict_proba(pool.X)
                    shares = np.bincount(fit.y) / len(fit.y)
                    means = model.predict_proba(fit.X).mean(axis=0)
                    errors["shares"].append(mean_error(P, shares, bags))
                    errors["mean posteriors"].append(mean_error(P, means, bags))
                for kind, values in errors.items():
                    found[kind].append((values[0], values[1], C))
            for kind, candidates in found.items():
                validation, test, C = min(candidates)
                cells = f"{C:g} | {validation:.4f} | {test:.4f}"
                print(f"| {name} | {weights or 'none'} | {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
