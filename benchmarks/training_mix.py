"""EMQ with posteriors of a classifier that was trained for another mix than the references have.

``python benchmarks/training_mix.py --out docs/results/training-mix.md`` simulates normal classes,
references of a random mix, and exact posteriors for that mix, for equal shares, or for the shares
that the references have by chance, as those of a classifier that was trained on them.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from truemix import EMQ, BayesianEMQ, metrics
from truemix._files import atomic_write

WORLDS = {4: 1.2, 10: 1.5}  # classes, and how far apart they are
SIZES = (50, 200, 1000)
N_ITEMS = 500
TRAINED_ON = ("the references' mix", "equal shares", "the references")
# Without calibration: what posteriors are divided by.
PREVALENCES = ("references", "posteriors", "implied", "auto")
INTERVALS = {
    "none": {"calibration": None},
    "map as known": {"calibration": "bcts", "reference_uncertainty": None},
    "default": {},
}


def trial(n_classes, n_references, trained_on, number):
    """Return errors of EMQ and coverages of BayesianEMQ for one draw of everything."""
    rng = np.random.default_rng([n_classes, n_references, number])
    centres = WORLDS[n_classes] * rng.normal(size=(n_classes, 3))
    reference_mix = rng.dirichlet(np.full(n_classes, 3.0))
    # Each class has a reference, so that all are known.
    others = rng.choice(n_classes, n_references - n_classes, p=reference_mix)
    codes = np.concatenate([np.arange(n_classes), others])
    mixes = reference_mix, np.ones(n_classes) / n_classes, np.bincount(codes) / n_references
    mix = mixes[TRAINED_ON.index(trained_on)]

    def draw(codes):
        x = centres[codes] + rng.normal(size=(len(codes), 3))
        logits = np.log(mix) - 0.5 * ((x[:, None] - centres) ** 2).sum(axis=2)
        P = np.exp(logits - logits.max(axis=1, keepdims=True))
        return P / P.sum(axis=1, keepdims=True)

    classes = rng.choice(n_classes, N_ITEMS, p=rng.dirichlet(np.ones(n_classes)))
    reference, target = draw(codes), draw(classes)
    truth = np.bincount(classes, minlength=n_classes) / N_ITEMS
    found = []
    plain = [EMQ(calibration=None, training_prevalence=kind) for kind in PREVALENCES]
    for quantifier in (*plain, EMQ()):
        estimated = quantifier.fit(reference, codes).predict(target)
        found.append(metrics.absolute_error(truth, estimated))
    for setting in INTERVALS.values():
        quantifier = BayesianEMQ(random_state=0, draws=400, **setting).fit(reference, codes)
        found.append(metrics.soft_coverage(truth, quantifier.quantify(target).interval()))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        "# Posteriors made for another mix",
        "",
        f"Made by `python benchmarks/training_mix.py --trials {options.trials}`: mean absolute "
        "error of `EMQ`, and the share of classes whose 95 % interval (`BayesianEMQ`, batch view) "
        "holds the truth. The default calibrates with biases (`bcts`) and treats the map as "
        "uncertain; without a calibration (none) posteriors are divided by the "
        "`training_prevalence` that is named.",
        "",
        "| classes | references | trained on | "
        + " | ".join(f"AE none, {kind}" for kind in PREVALENCES)
        + " | AE default | "
        + " | ".join(f"coverage {name}" for name in INTERVALS)
        + " |",
        "|" + "---|" * (4 + len(PREVALENCES) + len(INTERVALS)),
    ]
    print("\n".join(lines))
    for n_classes in WORLDS:
        for n_references in SIZES:
            for trained_on in TRAINED_ON:
                numbers = range(options.trials)
                rows = [trial(n_classes, n_references, trained_on, number) for number in numbers]
                means = np.mean(rows, axis=0)
                n_errors = len(PREVALENCES) + 1
                errors = " | ".join(f"{value:.3f}" for value in means[:n_errors])
                covered = " | ".join(f"{value:.0%}" for value in means[n_errors:])
                row = f"| {n_classes} | {n_references} | {trained_on} | {errors} | {covered} |"
                lines.append(row)
                print(row, flush=True)
    if options.out is not None:
        with atomic_write(options.out) as file:
            file.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
