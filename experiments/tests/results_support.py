"""Made-up results: errors that look like those of real runs, at no cost."""

import zlib

import numpy as np
import pandas as pd

from truemix import metrics
from truemix_experiments.published import BAYESIAN, POINT, calibrated
from truemix_experiments.results import RunKey, RunResult, write_result

N_CLASSES = {"CIFAR100": 100, "LeQua2022-T1B": 28, "letter": 26, "MNIST": 10}
MODALITY = {"CIFAR100": "image", "MNIST": "image", "gasp": "text", "sst": "text"}
# How far off each kind of method is, relative to the best.
SCALE = {"CC": 3.0, "PCC": 4.0, "ACC": 2.0, "EMQ": 1.3, "KDEy(Gau)": 1.1}
ALL = (
    *POINT,
    "KDEy(Ait)",
    *BAYESIAN,
    "Bayes-KDEy(Ait-lambda)+",
    *(calibrated(method) for method in BAYESIAN[2:]),
)


def seed_of(*parts):
    return zlib.crc32("/".join(map(str, parts)).encode())


def run(dataset, method, alpha=1.0, n_bags=30, n_classes=None, modality=None, scale=None):
    """Return the result of a made-up run; the bags of a data set are the same for all methods."""
    K = n_classes or N_CLASSES.get(dataset, 3)
    bags = np.random.default_rng(seed_of(dataset, alpha))
    truth = bags.dirichlet(np.full(K, alpha), n_bags)
    train = bags.dirichlet(np.full(K, 20.0))
    rng = np.random.default_rng(seed_of(dataset, method, alpha))
    if scale is None:
        scale = next((s for name, s in SCALE.items() if name in method), 1.0)
    size = 0.03 * scale * bags.uniform(0.5, 2.0)
    estimate = np.clip(truth + size * rng.normal(size=(n_bags, K)) / np.sqrt(K), 1e-9, None)
    estimate /= estimate.sum(axis=1, keepdims=True)
    rows = {
        "bag": np.arange(n_bags),
        "truth": list(truth),
        "prevalence": list(estimate),
        "ae": metrics.absolute_error(truth, estimate),
        "w": metrics.weight_ratio_error(truth, estimate, train),
        "shift": np.abs(truth - train).sum(axis=1),
    }
    if method.startswith(("Bo", "Ba")):
        half = (3.0 if method.endswith("-cal") else 1.5) * 0.03 / np.sqrt(K)
        interval = np.stack([estimate - half, estimate + half], axis=-1).clip(0.0, 1.0)
        rows |= {
            "hard": metrics.hard_coverage(truth, interval).astype(bool),
            "soft": metrics.soft_coverage(truth, interval),
            "amplitude": 100 * metrics.amplitude(interval),
            "winkler": metrics.winkler_score(truth, interval),
            "width": (interval[..., 1] - interval[..., 0]).mean(axis=1),
        }
        narrow = estimate[..., None] + 0.5 * (interval - estimate[..., None])
        rows |= {
            "batch_hard": metrics.hard_coverage(truth, narrow).astype(bool),
            "batch_soft": metrics.soft_coverage(truth, narrow),
            "batch_winkler": metrics.winkler_score(truth, narrow),
            "batch_width": (narrow[..., 1] - narrow[..., 0]).mean(axis=1),
        }
    about = {
        "modality": modality or MODALITY.get(dataset, "tabular"),
        "seed": np.int64(0),
        "settings": {"C": 1.0, "class_weight": None, "shrinkage": 0.25, "bandwidth": 0.1},
        "versions": {"truemix": "0"},
        "machine": "a machine",
        "seconds": 0.5,
        "seconds_choosing": 0.3 if method.endswith("-cal") else 0.2,
        "seconds_testing": 0.2 * alpha,
        "n_classes": K,
        "train_prevalence": train,
    }
    return RunResult(RunKey(dataset, method, alpha), pd.DataFrame(rows), about)


def write_runs(folder, datasets, methods=ALL, alphas=(1.0,), **options):
    for dataset in datasets:
        for method in methods:
            for alpha in alphas:
                write_result(folder, run(dataset, method, alpha, **options))
    return folder
