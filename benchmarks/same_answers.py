"""Compare the answers of two versions of truemix.

Answers of all methods on five data sets are written by each version, then compared:

    PYTHONPATH=old/src python benchmarks/same_answers.py write old.npz
    PYTHONPATH=src python benchmarks/same_answers.py write new.npz
    python benchmarks/same_answers.py compare old.npz new.npz

Point estimates must agree to 1e-8; posterior means within three Monte Carlo standard errors of
their difference, estimated from both samples (draws for a given seed may change). Data: the four
classification sets of scikit-learn and a made-up one with overlapping classes, each split in half;
three target batches per set with other mixes.
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

DRAWS = {"draws": 2000, "random_state": 0}


def data_sets():
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "breast-cancer", *load_breast_cancer(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    centres = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [1.0, -1.0]])
    yield "overlapping", *make_blobs([400, 300, 200, 300], centers=centres, random_state=0)


def methods():
    from truemix import ACC, CC, EMQ, PCC, BayesianACC, BayesianEMQ, BayesianKDEy, Bootstrap, KDEy

    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    for kind in (CC, PCC, ACC, EMQ, KDEy):
        yield f"{kind.__name__}, refitted", kind(classifier=classifier, crossfit=False)
        yield f"{kind.__name__}, cross-fitted", kind(classifier=classifier, crossfit=True)
    yield "EMQ without calibration", EMQ(classifier=classifier, calibration=None)
    yield "KDEy(Gau)", KDEy(classifier=classifier, kernel="gaussian")
    yield "KDEy with unknown", KDEy(classifier=classifier, unknown=True)
    for kind in (BayesianACC, BayesianEMQ, BayesianKDEy):
        yield kind.__name__, kind(classifier=classifier, **DRAWS)
    known = {"reference_uncertainty": None, **DRAWS}
    yield "BayesianEMQ, known", BayesianEMQ(classifier=classifier, **known)
    yield "BayesianKDEy, known", BayesianKDEy(classifier=classifier, **known)
    yield "BayesianKDEy, T = 2", BayesianKDEy(classifier=classifier, temperature=2.0, **DRAWS)
    yield "BayesianKDEy with unknown", BayesianKDEy(classifier=classifier, unknown=True, **DRAWS)
    mapls = {"prior": "mapls", "calibration": None}
    yield "BayesianEMQ, mapls", BayesianEMQ(classifier=classifier, **mapls, **DRAWS)
    yield "Bootstrap of PCC", Bootstrap(PCC(classifier=classifier), random_state=0)
    resampled = {"references": True, "draws": 300, "random_state": 0}
    yield "Bootstrap of KDEy", Bootstrap(KDEy(classifier=classifier), **resampled)


def batches(y, rng):
    for _ in range(3):
        mix = rng.dirichlet(np.ones(len(np.unique(y))))
        counts = np.maximum(1, np.round(200 * mix)).astype(int)
        parts = [rng.choice(np.flatnonzero(y == k), n) for k, n in enumerate(counts)]
        yield np.concatenate(parts)


def write(path):
    answers = {}
    for name, X, y in data_sets():
        half = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
        for method, quantifier in methods():
            fitted = quantifier.fit(X[half], y[half])
            for number, rows in enumerate(batches(y[~half], np.random.default_rng(1))):
                estimate = fitted.quantify(X[~half][rows])
                key = f"{name}|{method}|{number}"
                answers[f"{key}|mean"] = estimate.prevalence
                if estimate.draws is not None:
                    ess = estimate.diagnostics.get("ess") or len(estimate.draws)
                    answers[f"{key}|error"] = estimate.draws.std(axis=0) / np.sqrt(ess)
        print(name, "done", flush=True)
    np.savez(path, **answers)


def compare(old, new):
    with np.load(old) as a, np.load(new) as b:
        if set(a.files) != set(b.files):
            raise SystemExit("The two files hold answers of different methods.")
        rows = {}
        for key in (each for each in a.files if each.endswith("|mean")):
            _, method, _, _ = key.split("|")
            difference = np.abs(a[key] - b[key])
            error = key.replace("|mean", "|error")
            sampled = error in a.files
            if sampled:
                spread = np.hypot(a[error], b[error])
                same = difference < 1e-12
                difference = np.where(same, 0.0, difference / np.maximum(spread, 1e-12))
            rows.setdefault((method, sampled), []).append(difference.max())
    print("| method | largest difference | in | allowed |\n|---|---:|---|---:|")
    worst = 0.0
    for (method, sampled), found in rows.items():
        unit, allowed = ("Monte Carlo errors", 3.0) if sampled else ("share", 1e-8)
        print(f"| {method} | {max(found):.2g} | {unit} | {allowed:g} |")
        worst = max(worst, max(found) / allowed)
    print("\nAll within what is allowed." if worst <= 1 else "\nSomething differs by more.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("paths", nargs="+")
    asked = parser.parse_args()
    (write if asked.what == "write" else compare)(*asked.paths)
