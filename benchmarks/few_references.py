"""Coverage of 95 % intervals with few references, new ones for each trial.

``python benchmarks/few_references.py --out docs/results/few-references.md`` compares
``BayesianKDEy`` with the same method without unseen items and with the six best settings only
("without"), and with ``BayesianACC``. The constants (``UNSEEN``, ``SAMPLING``, ``MAX_TIES``) were
chosen on the first two simulated populations ("worlds"); the others are held out.
"""

import argparse
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

from truemix import BayesianACC, BayesianKDEy, metrics
from truemix._files import atomic_write
from truemix.models import bandwidth_selection, bayesian_bootstrap

SIZES = (5, 15, 50)
N_ITEMS = 500


def normal(n_classes, separation, dimension):
    """Return a maker of worlds: normal features, posteriors of a slightly miscalibrated model."""

    def make(rng):
        centres = separation * rng.normal(size=(n_classes, dimension))
        power, bias = np.exp(rng.normal(0.0, 0.3)), rng.normal(0.0, 0.5, n_classes)

        def draw(codes):
            x = centres[codes] + rng.normal(size=(len(codes), dimension))
            logits = bias - 0.5 * power * ((x[:, None] - centres) ** 2).sum(axis=2)
            P = np.exp(logits - logits.max(axis=1, keepdims=True))
            return P / P.sum(axis=1, keepdims=True)

        return draw

    return n_classes, make


def dirichlet(n_classes, sharpness):
    """Return a maker of worlds: the posteriors of each class have a Dirichlet distribution."""

    def make(rng):
        shapes = 1.0 + 0.5 * rng.gamma(1.0, size=(n_classes, n_classes))
        shapes += sharpness * np.eye(n_classes)

        def draw(codes):
            gammas = rng.gamma(shapes[codes]) + 1e-290
            return gammas / gammas.sum(axis=1, keepdims=True)

        return draw

    return n_classes, make


WORLDS = {
    "3 normal classes, overlapping": normal(3, 1.0, 2),
    "6 normal classes, overlapping": normal(6, 1.2, 4),
    "2 normal classes": normal(2, 0.8, 2),
    "6 normal classes, separated": normal(6, 2.0, 5),
    "3 Dirichlet classes": dirichlet(3, 3.0),
}


@contextmanager
def without():
    """Make replicates without unseen items: reweighted references and the six best settings."""
    with (
        mock.patch.object(bayesian_bootstrap, "UNSEEN", 1e-9),
        mock.patch.object(bandwidth_selection, "SAMPLING", 0.0),
        mock.patch.object(bandwidth_selection, "MAX_TIES", 6),
    ):
        yield


def trial(world, per_class, number):
    """Return coverage, width, error and Winkler score of one trial, by method."""
    n_classes, make = WORLDS[world]
    rng = np.random.default_rng([per_class, number])
    draw = make(rng)
    codes = np.repeat(np.arange(n_classes), per_class)
    reference = draw(codes)
    classes = rng.choice(n_classes, N_ITEMS, p=rng.dirichlet(np.ones(n_classes)))
    target, truth = draw(classes), np.bincount(classes, minlength=n_classes) / N_ITEMS
    estimates = {}
    estimates["BayesianKDEy"] = BayesianKDEy(random_state=0).fit(reference, codes).quantify(target)
    with without():
        quantifier = BayesianKDEy(random_state=0).fit(reference, codes)
        estimates["… without"] = quantifier.quantify(target)
    estimates["BayesianACC"] = BayesianACC(random_state=0).fit(reference, codes).quantify(target)
    rows = {}
    for name, estimate in estimates.items():
        interval = estimate.interval()
        rows[name] = (
            metrics.soft_coverage(truth, interval),
            np.diff(interval).mean(),
            metrics.absolute_error(truth, estimate.prevalence),
            metrics.winkler_score(truth, interval, 0.95).mean(),
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=WORLDS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        "# Few references",
        "",
        f"Made by `python benchmarks/few_references.py --trials {options.trials}`: 95 % intervals "
        f"of the batch view, {N_ITEMS} items, Dirichlet(1) mixes, {options.trials} trials per row. "
        "Coverage is the share of classes whose interval holds the truth. “Without”: no unseen "
        "items, the six best settings only. The constants were chosen on the first two worlds.",
        "",
        "| classes | references per class | method | coverage | width | AE | Winkler |",
        "|---|---|---|---|---|---|---|",
    ]
    start = time.time()
    for world in options.worlds:
        for per_class in SIZES:
            found = [trial(world, per_class, number) for number in range(options.trials)]
            for name in found[0]:
                means = np.mean([rows[name] for rows in found], axis=0)
                lines.append(
                    f"| {world} | {per_class} | {name} | {means[0]:.0%} | {means[1]:.3f} | "
                    f"{means[2]:.4f} | {means[3]:.3f} |"
                )
            print("\n".join(lines[-3:]), f"({time.time() - start:.0f} s)", flush=True)
    if options.out is not None:
        with atomic_write(options.out) as file:
            file.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
