"""The point methods side by side: mean absolute error over tabular data sets and classifiers.

``python benchmarks/methods.py --data FOLDER [--out FILE.md]`` expects ``<name>.npz`` files with
``X`` and ``y`` in the folder. 70 % of each set are references (scored out of fold), bags of 1000
with Dirichlet(1) mixes are drawn from the rest. Prints a table per classifier, as Markdown.
"""

import argparse
import io
import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import publish
from truemix import ACC, CC, EMQ, PCC, KDEy, evaluate
from truemix.protocols import DirichletBags
from truemix.quantifiers import cross_fit

DATA_SETS = (
    "academic-success", "cmc", "digits", "dry-bean", "image_seg", "mhr", "molecular", "nursery",
    "obesity", "page_block", "phishing", "waveform-v1", "yeast",
)  # fmt: skip
CLASSIFIERS = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "random forest": RandomForestClassifier(200, random_state=0, n_jobs=-1),
    "naive Bayes": make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-3)),
}
METHODS = {
    "CC": CC(),
    "PCC": PCC(),
    "ACC": ACC(),
    "EMQ (none)": EMQ(calibration=None),
    "EMQ": EMQ(),
    "KDEy (gaussian)": KDEy(kernel="gaussian"),
    "KDEy": KDEy(),
}


def errors(folder, name, classifier, n_bags):
    """Return the mean AE of each method on one data set."""
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"].astype(np.int64)
    X, pool, y, pool_y = train_test_split(X, y, train_size=0.7, random_state=0, stratify=y)
    classes = np.unique(y)
    # The classifier is trained once for all methods.
    trained = cross_fit(classifier, X, y, classes=classes)
    fitted = {name: clone(each).fit(trained.posteriors, y) for name, each in METHODS.items()}
    protocol = DirichletBags(n_bags=n_bags, bag_size=1000, random_state=0)
    frame = evaluate(fitted, trained.score(pool), pool_y, protocol=protocol)
    return frame.groupby("quantifier")["absolute_error"].mean()[list(METHODS)].to_numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--bags", type=int, default=200)
    arguments = parser.parse_args()
    text = io.StringIO()
    print("# Point methods: mean absolute error\n", file=text)
    print(
        f"{arguments.bags} bags of 1000 items, Dirichlet(1) mixes, KDEy with its automatic "
        "bandwidth and shrinkage. Best of each row in bold. Made by "
        "`python benchmarks/methods.py --data FOLDER`.",
        file=text,
    )
    for name, classifier in CLASSIFIERS.items():
        print(f"\n## {name.capitalize()}\n", file=text)
        print("| data | " + " | ".join(METHODS) + " |", file=text)
        print("|---|" + "---|" * len(METHODS), file=text)
        rows = []
        for data_set in DATA_SETS:
            print(f"{name}: {data_set}", file=sys.stderr)
            row = errors(arguments.data, data_set, classifier, arguments.bags)
            rows.append(row)
            cells = [f"**{v:.4f}**" if v == row.min() else f"{v:.4f}" for v in row]
            print(f"| {data_set} | {' | '.join(cells)} |", file=text)
        ranks = np.argsort(np.argsort(rows, axis=1), axis=1).mean(axis=0) + 1
        for label, line, form in (
            ("mean", np.mean(rows, axis=0), ".4f"),
            ("mean rank", ranks, ".1f"),
        ):
            best = [f"**{v:{form}}**" if v == line.min() else f"{v:{form}}" for v in line]
            print(f"| {label} | {' | '.join(best)} |", file=text)
    publish(text.getvalue(), arguments.out)


if __name__ == "__main__":
    main()
