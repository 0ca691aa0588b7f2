"""Model selection and temperature calibration against QuaPy: time.

``python benchmarks/selection.py --data FOLDER`` (files ``<name>.npz`` with ``X`` and ``y``) times

- letter: all 60 (bandwidth, shrinkage) settings of KDEy x 100 bags of 1000, posteriors given;
  QuaPy's ``GridSearchQ`` with ``KDEyML`` on some settings and bags, extrapolated to all of them;
- digits: 8 temperatures x 100 bags of 1000; QuaPy's ``calibrate_temperature`` on some, likewise.

Both run in this process, on the same posteriors. What is chosen, and how good it is:
``benchmarks/automatic_choice.py``.
"""

import argparse
import contextlib
import io
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from peer import Given, quapy
from truemix import BayesianKDEy, KDEy
from truemix._threads import n_threads
from truemix.protocols import DirichletBags
from truemix.selection import GridSearch, calibrate_temperature
from truemix.selection.temperature import TEMPERATURES

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from quapy.data import LabelledCollection
    from quapy.method._bayesian import BayesianKDEy as TheirBayesianKDEy
    from quapy.method._bayesian import calibrate_temperature as their_calibration
    from quapy.model_selection import GridSearchQ
    from quapy.protocol import UPP

BANDWIDTHS = np.logspace(-1, 1, 10)
SHRINKAGES = (0.001, 0.25, 0.5, 0.75, 0.9, 0.999)
GRID = {"shrinkage": SHRINKAGES, "bandwidth": BANDWIDTHS}
N_BAGS, BAG_SIZE = 100, 1000
# QuaPy is timed on one bandwidth for each shrinkage, from small to large, and this many bags.
THEIR_SETTINGS = list(zip(SHRINKAGES, BANDWIDTHS[[0, 2, 4, 5, 7, 9]], strict=True))
THEIR_BAGS = (2, 5)
THEIR_TEMPERATURES = (0.5, 2.0, 10.0, 1000.0)


def read(folder, name):
    """Return the paper's split of a data set: 70 % to learn from."""
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"].astype(np.int64)
    return train_test_split(X, y, train_size=0.7, random_state=0, stratify=y)


def classifier():
    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=5000))


def out_of_fold(folder, name):
    X, _, y, _ = read(folder, name)
    return cross_val_predict(classifier(), X, y, method="predict_proba"), y


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


# --- speed ------------------------------------------------------------------------------------


def time_grid_search(folder):
    P, y = out_of_fold(folder, "letter")
    GridSearch(KDEy(), {"bandwidth": [0.1, 1.0], "shrinkage": [0.1]}).fit(P[:2000], y[:2000])
    ours, search = timed(lambda: GridSearch(KDEy(), GRID).fit(P, y))
    A, B, a, b = train_test_split(P, y, test_size=0.4, random_state=0, stratify=y)
    pool = LabelledCollection(B, b)

    def run(n_bags):
        protocol = UPP(pool, sample_size=BAG_SIZE, repeats=n_bags, random_state=0)
        for shrinkage, bandwidth in THEIR_SETTINGS:
            model = quapy.KDEyML(Given(), val_split=5, kernel="aitchison")
            grid = {"bandwidth": [bandwidth], "shrinkage": [shrinkage]}
            GridSearchQ(model, grid, protocol, refit=False, raise_errors=True).fit(A, a)

    few, more = (timed(lambda n=n: run(n))[0] / len(THEIR_SETTINGS) for n in THEIR_BAGS)
    per_bag = (more - few) / (THEIR_BAGS[1] - THEIR_BAGS[0])
    per_setting = few - THEIR_BAGS[0] * per_bag
    n_settings = len(BANDWIDTHS) * len(SHRINKAGES)
    theirs = n_settings * (per_setting + N_BAGS * per_bag)
    print(f"letter, {len(np.unique(y))} classes, {len(A)} references, a pool of {len(B)}: "
          f"{n_settings} settings x {N_BAGS} bags of {BAG_SIZE}")  # fmt: skip
    print(f"  QuaPy    {theirs:8.0f} s  (extrapolated linearly from {len(THEIR_SETTINGS)} settings "
          f"with {THEIR_BAGS[0]} and {THEIR_BAGS[1]} bags: {per_setting:.2f} s per setting and "
          f"{per_bag:.2f} s per bag)")  # fmt: skip
    print(f"  truemix  {ours:8.1f} s  (measured; chose {search.best_params_})")
    print_ratio(theirs / ours)


def time_temperature(folder):
    P, y = out_of_fold(folder, "digits")
    smooth = {"kernel": "aitchison", "bandwidth": 0.5, "shrinkage": 0.1}
    # The same work as QuaPy: densities taken as known.
    plain = {"reference_uncertainty": None, "estimand": "population"}
    quantifier = BayesianKDEy(random_state=0, **plain, **smooth)
    short = DirichletBags(n_bags=2, bag_size=100)
    calibrate_temperature(quantifier, P, y, protocol=short, grid=[1.0, 2.0])
    ours, calibrated = timed(lambda: calibrate_temperature(quantifier, P, y))
    A, B, a, b = train_test_split(P, y, test_size=0.4, random_state=0, stratify=y)

    def run(temperatures, n_bags):
        method = TheirBayesianKDEy(Given(), val_split=5, **smooth)
        protocol = UPP(LabelledCollection(B, b), sample_size=BAG_SIZE, repeats=n_bags)
        with contextlib.redirect_stdout(io.StringIO()):
            return their_calibration(
                method, LabelledCollection(A, a), protocol, temperatures, verbose=False
            )

    run((1.0,), 2)
    n_bags = 3
    seconds, _ = timed(lambda: run(THEIR_TEMPERATURES, n_bags))
    per_bag = seconds / (n_bags * len(THEIR_TEMPERATURES))
    theirs = per_bag * N_BAGS * len(TEMPERATURES)
    print(f"\ndigits, {len(np.unique(y))} classes, {len(A)} references, a pool of {len(B)}: "
          f"{len(TEMPERATURES)} temperatures x {N_BAGS} bags of {BAG_SIZE}")  # fmt: skip
    print(f"  QuaPy    {theirs:8.0f} s  (extrapolated linearly from temperatures "
          f"{', '.join(f'{t:g}' for t in THEIR_TEMPERATURES)} with {n_bags} bags: {per_bag:.2f} s "
          "per bag, after a first run)")  # fmt: skip
    print(f"  truemix  {ours:8.1f} s  (measured; chose {calibrated.temperature:g})")
    print_ratio(theirs / ours)


def print_ratio(ratio):
    print(f"  ratio    {ratio:8.0f}x (QuaPy as it comes, in one process; truemix on "
          f"{n_threads()} cores)", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    time_grid_search(arguments.data)
    time_temperature(arguments.data)


if __name__ == "__main__":
    main()
