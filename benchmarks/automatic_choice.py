"""How far the automatic choice of bandwidth and shrinkage is from the best in hindsight.

``python benchmarks/automatic_choice.py --data FOLDER [--out FILE.md]`` takes 22 tabular sets with
three classifiers each (``FOLDER/tabular``) and five networks (``FOLDER/posteriors``), and compares
the error of KDEy with the setting that was chosen, its mean over the settings that tie, and the
paper's protocol, with the smallest error that any of the 60 settings has on the same test bags.
Results of each case are kept in ``--cache``, so that a run can be interrupted.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from common import publish
from methods import CLASSIFIERS
from truemix import KDEy
from truemix._files import atomic_write
from truemix.densities import kde_log_likelihood
from truemix.exceptions import InputNote
from truemix.inference import maximize_mixtures
from truemix.metrics import absolute_error
from truemix.protocols import DirichletBags
from truemix.quantifiers import cross_fit
from truemix.selection import GridSearch
from truemix_experiments.datasets import SUITES, load_dataset

BANDWIDTHS = np.logspace(-1, 1, 10)
SHRINKAGES = (0.001, 0.25, 0.5, 0.75, 0.9, 0.999)
GRID = {"shrinkage": SHRINKAGES, "bandwidth": BANDWIDTHS}
# Of larger sets a part, so that hindsight can be computed.
MAX_REFERENCES, MAX_POOL = 20_000, 8_000
NETWORK = "network"
TABULAR, IMAGES = sorted(SUITES["tabular"]), sorted(SUITES["image"])
# Every other set, by name, before anything was measured on them.
CHOSEN_ON = frozenset([*TABULAR[::2], *IMAGES[::2]])
METHODS = ("selected", "averaged", "paper")
# Errors below are zero for any purpose, and their ratios mean nothing.
LEAST = 1e-5


def part_of(X, y, most):
    if len(y) <= most:
        return X, y
    X, _, y, _ = train_test_split(X, y, train_size=most, random_state=0, stratify=y)
    return X, y


def parts(folder, name, kind):
    """Return references with posteriors, a pool with posteriors, and a search for the paper."""
    if kind == NETWORK:
        data = load_dataset(name, folder=folder / "posteriors")
        (P, y), (Q, z) = ((each.X, each.y) for each in (data.train, data.test))
        return P, y, Q, z, KDEy(), P
    with np.load(folder / "tabular" / f"{name}.npz") as file:
        X, y = file["X"], file["y"].astype(np.int64)
    X, pool, y, z = train_test_split(X, y, train_size=0.7, random_state=0, stratify=y)
    (X, y), (pool, z) = part_of(X, y, MAX_REFERENCES), part_of(pool, z, MAX_POOL)
    classifier = CLASSIFIERS[kind]
    trained = cross_fit(classifier, X, y, classes=np.unique(y))
    plain = KDEy(classifier=clone(classifier), crossfit=False)
    return trained.posteriors, y, trained.score(pool)[0], z, plain, X


def case(folder, name, kind):
    """Return the errors of one set and classifier, of each method and in hindsight."""
    P, y, Q, z, plain, X = parts(folder, name, kind)
    n_classes = P.shape[1]
    protocol = DirichletBags(n_bags=200 if n_classes <= 30 else 60, random_state=1)
    bags = list(protocol.bags(z, np.arange(n_classes)))
    rows, truth = [bag.index for bag in bags], np.array([bag.prevalence for bag in bags])
    errors = {}
    for shrinkage in SHRINKAGES:
        matrices = kde_log_likelihood(
            P, y, Q, kernel="aitchison", bandwidth=BANDWIDTHS, shrinkage=shrinkage
        )
        for bandwidth, matrix in zip(BANDWIDTHS.tolist(), matrices, strict=True):
            mixes = [fit.prevalence for fit in maximize_mixtures(matrix, rows)]
            errors[bandwidth, shrinkage] = float(absolute_error(truth, np.array(mixes)).mean())
    fitted = KDEy(averaging=True).fit(P, y)
    averaged = [estimate.prevalence for estimate in fitted.quantify_bags(Q, rows)]
    search = GridSearch(plain, GRID, verbose=False, refit=False).fit(X, y)
    paper = search.best_params_["bandwidth"], search.best_params_["shrinkage"]
    return {
        "classes": n_classes,
        "references": len(y),
        "selected": errors[fitted.bandwidth_, fitted.shrinkage_],
        "averaged": float(absolute_error(truth, np.array(averaged)).mean()),
        "paper": errors[paper],
        "hindsight": min(errors.values()),
    }


def kept(folder, name, kind, cache):
    """Return the errors of a case, made or read."""
    path = cache / f"{name}-{kind.split()[0]}.json"
    if not path.exists():
        found = case(folder, name, kind)
        with atomic_write(path) as file:
            file.write(json.dumps(found).encode())
        print(name, kind, {k: round(v, 4) for k, v in found.items()}, flush=True)
    return json.loads(path.read_text("utf-8"))


def above(found, method):
    """Return the logarithm of an error divided by the one in hindsight."""
    return np.log(max(found[method], LEAST) / max(found["hindsight"], LEAST))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("build/automatic-choice"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    for category in (ConvergenceWarning, InputNote):
        warnings.simplefilter("ignore", category)
    names = [*((name, kind) for name in TABULAR for kind in CLASSIFIERS)]
    names += [(name, NETWORK) for name in IMAGES]
    results = {key: kept(given.data, *key, given.cache) for key in names}
    halves = {
        "sets that rules may be chosen on": [k for k in names if k[0] in CHOSEN_ON],
        "the other sets": [k for k in names if k[0] not in CHOSEN_ON],
        "all": names,
    }
    lines = [
        "# How bandwidth and shrinkage are chosen: test errors of KDEy",
        "",
        "Mean absolute error of KDEy (Aitchison kernel) over 200 test bags (60 of CIFAR100) "
        f"of 1000 items, Dirichlet(1) mixes, on {len(TABULAR)} tabular sets with three "
        "classifiers each (70 % of a set are references, scored out of fold) and "
        f"{len(IMAGES)} networks. Made by `python benchmarks/automatic_choice.py "
        "--data FOLDER --out docs/results/selection.md`.",
        "",
        "- *selected*: the setting that `KDEy()` chooses on bags of its own references; nothing is "
        "held out.",
        "- *averaged*: `KDEy(averaging=True)`, the mean of the mixes under all settings that tie.",
        "- *paper*: `GridSearch`, 40 % held out, 100 bags of 1000.",
        "- *hindsight*: the best of the 60 settings on the test bags; a bound, not a method.",
        "",
        "## Above hindsight (geometric mean)",
        "",
        "| cases | " + " | ".join(METHODS) + " |",
        "|---|" + "---:|" * len(METHODS),
    ]
    for title, some in halves.items():
        excess = [100 * np.expm1(np.mean([above(results[k], m) for k in some])) for m in METHODS]
        cells = " | ".join(f"{value:.1f} %" for value in excess)
        lines.append(f"| {title} ({len(some)}) | {cells} |")
    lines += [
        "",
        "The rule for ties is that of `BayesianKDEy`, which averages since its first version; "
        "nothing was chosen on these cases. The halves are every other set by name.",
        "",
        "## Case by case",
        "",
        "| data | classifier | classes | references | selected | averaged | paper | hindsight |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for (name, kind), found in results.items():
        errors = " | ".join(f"{found[m]:.4f}" for m in (*METHODS, "hindsight"))
        lines.append(f"| {name} | {kind} | {found['classes']} | {found['references']} | {errors} |")
    publish("\n".join(lines) + "\n", given.out)


if __name__ == "__main__":
    main()
