"""Coverage of intervals of differences: two batches, one fitted quantifier, few references.

``python benchmarks/differences.py --out docs/results/differences.md`` draws new references in each
trial and compares draws paired by replicate with draws treated as independent.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from few_references import WORLDS
from truemix import BayesianKDEy
from truemix._files import atomic_write

SIZES = (40, 200)
N_ITEMS = 2000
CHOSEN = ("3 normal classes, overlapping", "6 normal classes, separated")


def trial(world, per_class, number):
    """Return coverage, width and Brier score of ``prob_increase``, paired and independent."""
    n_classes, make = WORLDS[world]
    rng = np.random.default_rng([per_class, number])
    draw = make(rng)
    codes = np.repeat(np.arange(n_classes), per_class)
    fitted = BayesianKDEy(random_state=0).fit(draw(codes), codes)
    mixes = rng.dirichlet(np.full(n_classes, 5.0), size=2)
    old, new = (fitted.quantify(draw(rng.choice(n_classes, N_ITEMS, p=mix))) for mix in mixes)
    truth, rows = mixes[1] - mixes[0], []
    for before in (old, replace(old, origin=None)):
        found = new.compare(before)
        lower, upper = found.interval.T
        brier = (found.prob_increase - (truth > 0)) ** 2
        rows.append(
            [((lower <= truth) & (truth <= upper)).mean(), (upper - lower).mean(), brier.mean()]
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        "# Differences between batches",
        "",
        f"Made by `python benchmarks/differences.py --trials {options.trials}`: 95 % intervals of "
        f"the change between two batches of {N_ITEMS:,} items, {options.trials} trials per row; "
        "Brier score of the probability that a share rose (smaller is better).",
        "",
        "| classes | references per class | draws | coverage | width | Brier score |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for world in CHOSEN:
        for per_class in SIZES:
            rows = [trial(world, per_class, number) for number in range(options.trials)]
            means = np.mean(rows, axis=0)
            for name, (covered, width, brier) in zip(
                ("paired by replicate", "as if independent"), means, strict=True
            ):
                numbers = f"{covered:.0%} | {width:.3f} | {brier:.3f}"
                row = f"| {world} | {per_class} | {name} | {numbers} |"
                lines.append(row)
                print(row, flush=True)
    if options.out is not None:
        with atomic_write(options.out) as file:
            file.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
