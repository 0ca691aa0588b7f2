"""Whether differences to the published errors of KDEy(Ait-λ) come from the solver.

``python benchmarks/paper_solver.py nursery --data FOLDER --results FOLDER`` takes the settings that
``truemix bench`` chose (``--results``), trains their classifier, and gives the same posteriors,
settings and test bags to QuaPy's KDEy and to ours. Both maximise the same likelihood, so the mixes
should be equal; a bag counts as failed where the mean log-likelihood of an item under QuaPy's mix
is lower by more than 0.001.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from peer import Given, quapy
from truemix import KDEy, metrics
from truemix.densities import kde_log_likelihood
from truemix.protocols import DirichletBags
from truemix_experiments.datasets import load_dataset
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.results import read_results

METHOD = "KDEy(Ait-lambda)"
FAILED = 1e-3


def explained(L, mix):
    """Return the mean log-likelihood of an item."""
    return np.logaddexp.reduce(L + np.log(np.maximum(mix, 1e-300)), axis=1).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--bags", type=int, default=100)
    options = parser.parse_args()
    runs = read_results(options.results).runs
    runs = runs[(runs["method"] == METHOD) & (runs["alpha"] == 1.0)].set_index("dataset")
    seed = BenchSettings().seed_of("test")
    print("| data | AE of truemix | AE of QuaPy | bags | where QuaPy's solver failed |")
    print("|---|---|---|---|---|")
    for name in options.names:
        chosen = runs.loc[name, "settings"]
        smooth = {"bandwidth": chosen["bandwidth"], "shrinkage": chosen["shrinkage"]}
        data = load_dataset(name, folder=options.data)
        X, y = data.train.X, data.train.y
        classifier = LogisticRegression(
            C=chosen["C"], class_weight=chosen["class_weight"], max_iter=1000
        )
        P = cross_val_predict(classifier, X, y, method="predict_proba")
        pool = classifier.fit(X, y).predict_proba(data.test.X)
        ours = KDEy(kernel="aitchison", crossfit=False, **smooth).fit(P, y)
        theirs = quapy.KDEyML(Given(), val_split=5, kernel="aitchison", **smooth).fit(P, y)
        L = kde_log_likelihood(P, y, pool, kernel="aitchison", **smooth)
        protocol = DirichletBags(
            n_bags=options.bags, bag_size=data.info.bag_size, random_state=seed
        )
        errors, failed = [], 0
        for bag in protocol.bags(data.test.y):
            items = pool[bag.index]
            mixes = [ours.quantify(items).prevalence, theirs.predict(items)]
            errors.append([metrics.absolute_error(bag.prevalence, mix) for mix in mixes])
            own, other = (explained(L[bag.index], mix) for mix in mixes)
            failed += own - other > FAILED
        own, other = np.mean(errors, axis=0)
        print(f"| {name} | {own:.4f} | {other:.4f} | {len(errors)} | {failed} |", flush=True)


if __name__ == "__main__":
    main()
