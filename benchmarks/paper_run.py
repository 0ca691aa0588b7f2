"""What training took in the paper's experiments, and what QuaPy's kernel methods would take.

``python benchmarks/paper_run.py --data FOLDER --results FOLDER`` adds up what training classifiers
took in the folder of a finished run, the only part of its time that the table "times" of ``truemix
bench tables`` leaves out. Then it times QuaPy on a few bags of each of ``--sets`` and extrapolates
linearly to the paper's protocol at Dirichlet(1): 18 classifiers x 80 settings x 100 validation bags
for KDEy(Gau), KDEy(Ait) and KDEy(Ait-λ); for both Bayesian variants 500 test bags at temperature 1,
8 temperatures x 100 validation bags, and 500 test bags again, beside the recorded seconds of
truemix for the same. Training is left out on both sides of that comparison.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from peer import Given, quapy
from truemix.protocols import DirichletBags
from truemix_experiments.datasets import load_dataset
from truemix_experiments.results import read_results

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from quapy.method._bayesian import BayesianKDEy

SMOOTH = {"kernel": "aitchison", "bandwidth": 0.5, "shrinkage": 0.25}
POINT = ("KDEy(Gau)", "KDEy(Ait)", "KDEy(Ait-lambda)")
BAYESIAN = ("Bayes-KDEy(Gau)", "Bayes-KDEy(Ait-lambda)")
CHOOSING = 18 * 80 * 100
TESTING = len(BAYESIAN) * (500 + 8 * 100 + 500)


def print_training(folder, names):
    """Print what training took: all candidates while choosing, the chosen ones at the end."""
    print("| data | training classifiers, s |")
    print("|---|---|")
    total = 0.0
    for name in names:
        paths = folder.glob(f".cache/{name}-*/*.npz")
        seconds = sum(float(np.load(path)["seconds"]) for path in paths)
        total += seconds
        print(f"| {name} | {seconds:.0f} |")
    print(f"| all {len(names)} | {total:.0f} |\n")


def seconds_per_bag(answer, bags):
    """Return the mean over bags; the first one, which compiles, does not count."""
    times = []
    for bag in bags:
        start = time.perf_counter()
        answer(bag)
        times.append(time.perf_counter() - start)
    return float(np.mean(times[1:]))


def their_seconds(folder, name):
    """Return what QuaPy needs for a bag with the point and with the Bayesian method."""
    data = load_dataset(name, folder=folder)
    classifier = LogisticRegression(max_iter=1000)
    X, y = data.train.X, data.train.y
    P = cross_val_predict(classifier, X, y, method="predict_proba")
    pool = classifier.fit(X, y).predict_proba(data.test.X)
    protocol = DirichletBags(n_bags=4, bag_size=data.info.bag_size, random_state=0)
    bags = [pool[bag.index] for bag in protocol.bags(data.test.y)]
    point = quapy.KDEyML(Given(), val_split=5, **SMOOTH).fit(P, y)
    bayesian = BayesianKDEy(Given(), val_split=5, **SMOOTH)
    bayesian.fit(P, y)
    return (
        seconds_per_bag(point.predict, bags),
        seconds_per_bag(bayesian.sample_from_posterior, bags[:3]),
    )


def our_seconds(runs, name):
    """Return the recorded seconds of choosing and of testing, each piece of work once."""
    own = runs[(runs["dataset"] == name) & (runs["alpha"] == 1.0)].set_index("method")
    names = [*POINT, *BAYESIAN, *(f"{each}-cal" for each in BAYESIAN)]
    if not set(names) <= set(own.index):
        return None
    choosing = sum(own.loc[each, "seconds_choosing"] for each in POINT)
    # These contain the setting of the point method too, beside the temperature.
    extra = sum(
        own.loc[f"{each}-cal", "seconds_choosing"] - own.loc[each, "seconds_choosing"]
        for each in BAYESIAN
    )
    return choosing, extra + sum(own.loc[each, "seconds_testing"] for each in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=["cmc", "image_seg", "digits"])
    arguments = parser.parse_args()
    runs = read_results(arguments.results).runs
    print_training(arguments.results, sorted(runs["dataset"].unique()))
    print("| data | QuaPy s per bag, point | Bayesian | QuaPy hours | truemix hours | ratio |")
    print("|---|---|---|---|---|---|")
    for name in arguments.sets:
        ours = our_seconds(runs, name)
        if ours is None:
            print(f"| {name} | | | | not finished | |")
            continue
        point, bayesian = their_seconds(arguments.data, name)
        theirs = CHOOSING * point + TESTING * bayesian
        print(
            f"| {name} | {point:.3f} | {bayesian:.2f} | {theirs / 3600:.1f} | "
            f"{sum(ours) / 3600:.3f} | {theirs / sum(ours):.0f}x |",
            flush=True,
        )


if __name__ == "__main__":
    main()
