"""Labels of the target, ranges and predicted accuracy, where label shift holds and where it fails.

    python benchmarks/trust.py --data FOLDER [--sets NAME …] [--n-bags N] [--out FILE]

Half of each tabular set, at most 3,000 items, are references (logistic regression, out-of-fold);
targets of up to 500 items come from as many others, as they are or with one of four violations
(``violations.py``). What is expensive about a target is made once and kept in ``--cache``
(``trust_targets.py``); labels are drawn several times for each.
"""

import argparse
from pathlib import Path

import numpy as np

from common import publish
from truemix import metrics
from truemix.estimates.intervals import interval_of
from truemix.trust.prediction_powered import labels_only, prediction_powered
from truemix.trust.robust import RobustMixture, as_counts, draw, measured_alone, prior_weight
from trust_targets import KINDS, LABEL_SHIFT, SIZE, targets
from violations import CHOSEN_ON, MAX_ITEMS, TABULAR

LEVEL = 0.95
LABELS = (25, 50, 100, 200)
DRAWS = 1000
METHODS = ("label shift", "robust", "prediction-powered", "labels only")


def scores(truth, draws):
    """Return error, coverage and width of one estimate."""
    interval = interval_of(draws, LEVEL)
    return [
        float(metrics.absolute_error(truth, draws.mean(axis=0))),
        float(metrics.soft_coverage(truth, interval)),
        float(np.diff(interval).mean()),
    ]


def truth_of(kept):
    """Return the mix of a target."""
    y = kept["labels"]
    return np.bincount(y, minlength=kept["predicted"].shape[1]) / len(y)


def with_labels(kept, n, rng):
    """Return the scores of each method with n labels drawn at random, in the order of METHODS."""
    y, truth = kept["labels"], truth_of(kept)
    K, n_items = len(truth), len(y)
    chosen = np.sort(rng.choice(n_items, n, replace=False))
    known, inclusion = np.bincount(y[chosen], minlength=K), np.full(n, n / n_items)
    measured = prediction_powered(kept["predicted"], np.ones(n_items), chosen, y[chosen], inclusion)
    prior = prior_weight(float(kept["p_value"]))
    robust, _ = RobustMixture.of_draws(kept["batch"], kept["source"], prior).after(
        measured, n_items
    )
    found = [scores(truth, kept["batch"])]
    for components in (robust, [measured_alone(measured, n_items)]):
        shares, _ = draw(components, measured.degrees, DRAWS, rng)
        found.append(scores(truth, as_counts(shares, known, n_items)))
    batch, _ = labels_only(y[chosen], inclusion, K, n_items, DRAWS, rng)
    return [*found, scores(truth, batch)]


def label_scores(found, n_samples):
    """Return the mean scores ``(method, 3)`` of one data set by kind and number of labels."""
    rows = {}
    for (kind, number), kept in found.items():
        n_items = len(kept["labels"])
        for n in LABELS:
            if n <= n_items // 2:
                rng = np.random.default_rng([number, KINDS.index(kind), n])
                rows.setdefault((kind, n), []).extend(
                    with_labels(kept, n, rng) for _ in range(n_samples)
                )
    return {key: np.mean(values, axis=0) for key, values in rows.items()}


def labels_table(scored, names):
    """Return error, coverage and width by violation, labels and method; sets count equally."""
    lines = [
        "| target | labels | " + " | ".join(METHODS) + " |",
        "|---|---:|" + "---|" * len(METHODS),
    ]
    for kind in KINDS:
        for n in LABELS:
            rows = [scored[name][kind, n] for name in names if (kind, n) in scored[name]]
            if rows:
                cells = [
                    f"{100 * error:.2f} · {100 * covered:.1f} % · {100 * width:.1f}"
                    for error, covered, width in np.mean(rows, axis=0)
                ]
                lines.append(f"| {kind} | {n} | {' | '.join(cells)} |")
    return lines


def range_table(results, names):
    """Return how often check and range do what they should."""
    lines = [
        "| target | check fails | of these: shares in the range | whole mixes | width of the range "
        "| width of the interval | shares in the interval |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in KINDS:
        records = [r for name in names for (k, _), r in results[name].items() if k == kind]
        failed = [r for r in records if r["failed"]]
        cells = [f"{100 * len(failed) / len(records):.0f} % of {len(records)}"]
        if failed:
            rows = []
            for each in failed:
                truth = truth_of(each)
                low, high = each["lower"].min(axis=0), each["upper"].max(axis=0)
                inside = (low <= truth) & (truth <= high)
                _, covered, width = scores(truth, each["batch"])
                rows.append([inside.mean(), inside.all(), (high - low).mean(), width, covered])
            shares, whole, wide, narrow, covered = 100 * np.mean(rows, axis=0)
            cells += [f"{shares:.0f} %", f"{whole:.0f} %", f"{wide:.1f}", f"{narrow:.1f}"]
            cells.append(f"{covered:.0f} %")
        else:
            cells += [""] * 5
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return lines


def accuracy_table(results, parts):
    """Return errors and intervals of predicted accuracies."""
    lines = [
        "| sets | truemix | ATC | DoC | LEAP | intervals hold the accuracy | mean width |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for title, names in parts.items():
        kept = [r for n in names for (k, _), r in results[n].items() if k == LABEL_SHIFT]
        true, value, low, high = np.array([each["accuracy"] for each in kept]).T
        others = np.array([each["baselines"] for each in kept])
        errors = [np.abs(value - true).mean(), *np.abs(others - true[:, None]).mean(axis=0)]
        inside = ((low <= true) & (true <= high)).mean()
        lines.append(
            f"| {title} | {' | '.join(f'{100 * each:.2f}' for each in errors)} "
            f"| {100 * inside:.1f} % of {len(kept)} | {100 * (high - low).mean():.1f} |"
        )
    return lines


def main():
    """Make the targets that are not in the cache, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(TABULAR))
    parser.add_argument("--n-bags", type=int, default=3, help="targets of each kind to make")
    parser.add_argument("--n-samples", type=int, default=4, help="draws of labels per target")
    parser.add_argument("--cache", type=Path, default=Path("build/trust"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    results, scored = {}, {}
    for name in given.sets:
        results[name] = targets(given.data, name, given.n_bags, given.cache)
        scored[name] = label_scores(results[name], given.n_samples)
        print(name, len(results[name]), flush=True)
    names = list(results)
    parts = {
        "chosen on": [n for n in names if n in CHOSEN_ON],
        "others": [n for n in names if n not in CHOSEN_ON],
        "all": names,
    }
    parts = {title: some for title, some in parts.items() if some}
    number = [sum(k == LABEL_SHIFT for k, _ in each) for each in results.values()]
    each_kind = (
        f"{min(number)}" if min(number) == max(number) else f"{min(number)} to {max(number)}"
    )
    rest = " (the others were not run)" if len(names) < len(TABULAR) else ""
    text = [
        "# Can it be trusted, and what a few labels do",
        "",
        f"{len(names)} tabular data sets{rest}, {each_kind} targets of up to {SIZE} items for each "
        f"kind, labels drawn {given.n_samples} times from each, at most {MAX_ITEMS:,} references, "
        "`BayesianKDEy()`, batch view, numbers in points. Rules and constants are chosen on "
        f"{len(parts.get('chosen on', []))} of the sets. Made by `python benchmarks/trust.py "
        "--data FOLDER --out docs/results/trust.md`.",
        "",
    ]
    headings = {
        "chosen on": "the sets that rules are chosen on", "others": "the other sets",
        "all": "all sets",
    }  # fmt: skip
    for title, some in reversed(parts.items()):
        text += [f"## Labels: {headings[title]} ({len(some)})", ""]
        text += ["Mean absolute error · coverage of 95 % intervals · mean width.", ""]
        text += [*labels_table(scored, some), ""]
    for title, some in parts.items():
        text += [f"## Ranges: {headings[title]} ({len(some)})", "", *range_table(results, some), ""]
    text += ["## Predicted accuracy under label shift: mean absolute error", ""]
    text += accuracy_table(results, parts)
    publish("\n".join(text) + "\n", given.out)


if __name__ == "__main__":
    main()
