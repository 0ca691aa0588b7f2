"""The share of good answers by a fallible judge: truemix beside judgy and ppi-python.

    pip install judgy ppi-python
    python benchmarks/judges.py [--batches N] [--out FILE]

A simulated judge says "good", "bad" or "unsure" of answers, people have labelled a few of them.
Each batch comes with fresh labels: of earlier answers (60 % good), or of the batch itself.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from judgy import estimate_success_rate
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

from common import publish
from truemix import BayesianACC

VERDICTS, CLASSES = np.array(["good", "bad", "unsure"]), np.array(["good", "bad"])
# How often each judge says each of the verdicts on good and on bad answers.
FIRST = np.array([[0.82, 0.10, 0.08], [0.22, 0.66, 0.12]])
SECOND = np.array([[0.75, 0.25, 0.0], [0.15, 0.85, 0.0]])
REFERENCE_MIX = 0.6
MIXES = {"the same (60 % good)": 0.6, "more good (85 %)": 0.85, "fewer good (30 %)": 0.3}
N_ITEMS, N_LABELS = 2000, 300
NUMBERS = (50, 100, 300, 1000, 3000)
LEVEL = 0.95
# Judgy's default is 20,000, which takes a second per batch.
BOOTSTRAPS = 1000


def answers(n, good, rng):
    """Draw answers: whether each is good, and what two judges say, independently given that."""
    bad = (rng.random(n) >= good).astype(int)
    verdicts = []
    for rates in (FIRST, SECOND):
        steps = rates.cumsum(axis=1)[bad]
        verdicts.append(VERDICTS[(rng.random(n)[:, None] > steps).sum(axis=1)])
    return CLASSES[bad], np.column_stack(verdicts)


def as_numbers(names):
    """Return 1 for good and 0 for everything else, as the others take verdicts."""
    return (names == "good").astype(int)


def counting(_, batch):
    share = as_numbers(batch[1][:, 0]).mean()
    return share, None


def by_judgy(labelled, batch):
    share, lower, upper = estimate_success_rate(
        as_numbers(labelled[0]), as_numbers(labelled[1][:, 0]), as_numbers(batch[1][:, 0]),
        bootstrap_iterations=BOOTSTRAPS, confidence_level=LEVEL,
    )  # fmt: skip
    return share, (lower, upper)


def by_ppi(labelled, batch):
    """Prediction-powered inference (PPI++): labels have to be of the batch itself."""
    y, seen, unseen = (
        as_numbers(each).astype(float) for each in (labelled[0], labelled[1][:, 0], batch[1][:, 0])
    )
    bounds = ppi_mean_ci(y, seen, unseen, alpha=1 - LEVEL)
    share = ppi_mean_pointestimate(y, seen, unseen)
    return float(np.ravel(share)[0]), tuple(float(np.ravel(each)[0]) for each in bounds)


def ppi_of_batch(_, batch, rng):
    chosen = rng.choice(N_ITEMS, N_LABELS, replace=False)
    left = np.setdiff1d(np.arange(N_ITEMS), chosen)
    labelled = batch[0][chosen], batch[1][chosen]
    return by_ppi(labelled, (batch[0][left], batch[1][left]))


def by_truemix(labelled, batch, judges=1):
    quantifier = BayesianACC(random_state=0).fit(labelled[1][:, :judges], labelled[0])
    return good(quantifier.quantify(batch[1][:, :judges]))


def truemix_with_labels(labelled, batch, rng):
    """Half of the labels are of earlier answers, half of the batch."""
    half = N_LABELS // 2
    quantifier = BayesianACC(random_state=0).fit(labelled[1][:half, 0], labelled[0][:half])
    chosen = rng.choice(N_ITEMS, half, replace=False)
    labels = {int(row): batch[0][row] for row in chosen}
    return good(quantifier.quantify(batch[1][:, 0], labels=labels))


def good(estimate):
    place = estimate.classes.tolist().index("good")
    return estimate.prevalence[place], tuple(estimate.interval(LEVEL)[place])


def measured(method, mix, n_batches, rng, n_labels=N_LABELS):
    """Return mean absolute error, coverage and mean width over batches, in points and percent."""
    errors, held, widths = [], [], []
    for _ in range(n_batches):
        labelled = answers(n_labels, REFERENCE_MIX, rng)
        batch = answers(N_ITEMS, mix, rng)
        truth = as_numbers(batch[0]).mean()
        share, bounds = method(labelled, batch)
        errors.append(abs(share - truth))
        if bounds is not None:
            held.append(bounds[0] <= truth <= bounds[1])
            widths.append(bounds[1] - bounds[0])
    of_intervals = ["", ""]
    if held:
        of_intervals = [f"{100 * np.mean(held):.0f} %", f"{100 * np.mean(widths):.1f}"]
    return [f"{100 * np.mean(errors):.1f}", *of_intervals]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    np.random.seed(0)  # noqa: NPY002 (judgy draws from the global generator)
    rng = np.random.default_rng(0)
    methods = {
        "verdicts counted": counting,
        "judgy, 300 earlier labels": by_judgy,
        "ppi-python, 300 earlier labels (not what it is for)": by_ppi,
        "ppi-python, 300 labels of the batch": partial(ppi_of_batch, rng=rng),
        "truemix, 300 earlier labels": by_truemix,
        "truemix, 300 earlier labels, two judges": partial(by_truemix, judges=2),
        "truemix, 150 earlier labels and 150 of the batch": partial(truemix_with_labels, rng=rng),
    }
    lines = [
        "# Judges", "",
        f"Made by `python benchmarks/judges.py`: {given.batches} simulated batches of "
        f"{N_ITEMS:,} answers for each row and mix; earlier labels are of answers of which 60 % "
        "are good. Error: mean absolute error of the share of good answers, in percentage "
        "points; held: how often the 95 % interval held the true share; width: its mean width, in "
        "points.", "",
    ]  # fmt: skip
    for name, mix in MIXES.items():
        lines += [f"## Mix of the batch: {name}", ""]
        lines += ["| method | error | held | width |", "|---|---|---|---|"]
        for label, method in methods.items():
            row = measured(method, mix, given.batches, rng)
            lines.append(f"| {label} | {' | '.join(row)} |")
            print(lines[-1], flush=True)
        lines.append("")
    lines += ["## How many labels (truemix, one judge, 85 % good)", ""]
    lines += ["| earlier labels | error | held | width |", "|---|---|---|---|"]
    for number in NUMBERS:
        row = measured(by_truemix, 0.85, given.batches, rng, n_labels=number)
        lines.append(f"| {number:,} | {' | '.join(row)} |")
        print(lines[-1], flush=True)
    publish("\n".join(lines) + "\n", given.out)


if __name__ == "__main__":
    main()
