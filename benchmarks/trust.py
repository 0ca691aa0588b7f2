"""Labels of the target, ranges and predicted accuracy, where label shift holds and where it fails.

    python benchmarks/trust.py --data FOLDER [--sets NAME …] [--n-bags N] [--out FILE]

Half of each tabular set are references (logistic regression, out-of-fold), targets of up to 500
items come from the other half, as they are or with one of four violations (``violations.py``).
Results of finished sets are kept in ``--cache``.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from accuracy_baselines import atc, doc, leap
from common import publish
from truemix import BayesianKDEy, metrics
from truemix.estimates.intervals import interval_of
from truemix.trust.labelled_estimate import labelled_items
from truemix.trust.prediction_powered import labels_only
from violations import LABEL_SHIFT, TABULAR, VIOLATIONS, read, violated

SIZE = 500
LEVEL = 0.95
LABELS = (25, 50, 100, 200)
KINDS = (LABEL_SHIFT, *VIOLATIONS)
# How far ranges reach was chosen on these sets; everything else on simulated data.
RANGES_CHOSEN_ON = (
    "academic-success", "cmc", "image_seg", "mhr", "obesity", "page_block", "phishing",
    "waveform-v1", "wine-quality", "yeast",
)  # fmt: skip
METHODS = ("label shift", "robust", "prediction-powered", "labels only")


def scores(truth, draws):
    """Return error, coverage and width of one estimate."""
    interval = interval_of(draws, LEVEL)
    return [
        float(metrics.absolute_error(truth, draws.mean(axis=0))),
        float(metrics.soft_coverage(truth, interval)),
        float(np.diff(interval).mean()),
    ]


def with_labels(estimate, y, n, rng):
    """Return the scores of each method with n labels drawn at random."""
    K = len(estimate.classes)
    truth = np.bincount(y, minlength=K) / len(y)
    chosen = np.sort(rng.choice(len(y), n, replace=False))
    labels = {int(row): int(y[row]) for row in chosen}
    found = {"label shift": scores(truth, estimate.draws)}
    for name, assumption in (("robust", "robust"), ("prediction-powered", "none")):
        items = labelled_items(estimate.batch, labels, None, assumption)
        found[name] = scores(truth, items.applied_to(estimate).draws)
    inclusion = np.full(n, n / len(y))
    batch, _ = labels_only(y[chosen], inclusion, K, len(y), 1000, rng)
    found["labels only"] = scores(truth, batch)
    return found


def accuracy(data, estimate, P, y):
    """Return the errors of predicted accuracies, and whether the interval holds the true one."""
    Q = P.mean(axis=0)
    # What performance() is about: decisions of the models that score the items.
    true = float((P.argmax(axis=2) == y).mean())
    found = estimate.performance().summary()["accuracy"]
    R, labels = data.posteriors, data.labels
    return {
        "truemix": abs(found["value"] - true),
        "ATC": abs(atc(R, labels, Q) - true),
        "DoC": abs(doc(R, labels, Q) - true),
        "LEAP": abs(leap(R, labels, Q, estimate.prevalence) - true),
        "inside": bool(found["lower"] <= true <= found["upper"]),
        "width": found["upper"] - found["lower"],
    }


def run(folder, name, n_bags):
    """Return one record for each target."""
    records = []
    for new_kind in (False, True):
        data = read(folder, name, new_kind=new_kind)
        quantifier = BayesianKDEy(random_state=0).fit(data.posteriors, data.labels)
        kinds = [kind for kind in KINDS if (kind == "new kind of items") == new_kind]
        for kind in kinds:
            for number in range(n_bags):
                rng = np.random.default_rng([number, KINDS.index(kind)])
                X, y = violated(data, kind, SIZE, rng)
                P = data.trained.score(X, crossfit=True)
                estimate = quantifier.quantify(P, check=True)
                truth = np.bincount(y, minlength=data.n_classes) / len(y)
                record = {"kind": kind, "n_items": len(y)}
                record["p_value"] = estimate.checks["label_shift"].summary()["p_value"]
                record["failed"] = not estimate.checks["label_shift"].passed
                if record["failed"]:
                    low, high = estimate.range().T
                    inside = (low <= truth) & (truth <= high)
                    record["range"] = [float(inside.mean()), bool(inside.all())]
                    record["range width"] = float((high - low).mean())
                record["interval"] = scores(truth, estimate.draws)
                record["labels"] = {
                    n: with_labels(estimate, y, n, rng) for n in LABELS if n <= len(y) // 2
                }
                if kind == LABEL_SHIFT:
                    record["accuracy"] = accuracy(data, estimate, P, y)
                records.append(record)
    return records


def labels_table(results, names):
    """Return error, coverage and width by violation, labels and method."""
    lines = [
        "| target | labels | " + " | ".join(METHODS) + " |",
        "|---|---:|" + "---|" * len(METHODS),
    ]
    for kind in KINDS:
        for n in LABELS:
            cells = []
            for method in METHODS:
                rows = [
                    np.mean([r["labels"][str(n)][method] for r in found], axis=0)
                    for name in names
                    if (
                        found := [
                            r for r in results[name] if r["kind"] == kind and str(n) in r["labels"]
                        ]
                    )
                ]
                if rows:
                    error, covered, width = np.mean(rows, axis=0)
                    cells.append(f"{100 * error:.2f} · {100 * covered:.0f} % · {100 * width:.1f}")
                else:
                    cells.append("")
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
        records = [r for name in names for r in results[name] if r["kind"] == kind]
        failed = [r for r in records if r["failed"]]
        cells = [f"{100 * len(failed) / len(records):.0f} % of {len(records)}"]
        if failed:
            cells += [f"{100 * np.mean([r['range'][i] for r in failed]):.0f} %" for i in (0, 1)]
            cells.append(f"{100 * np.mean([r['range width'] for r in failed]):.1f}")
            cells.append(f"{100 * np.mean([r['interval'][2] for r in failed]):.1f}")
            cells.append(f"{100 * np.mean([r['interval'][1] for r in failed]):.0f} %")
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return lines


def accuracy_table(results, names):
    """Return errors of predicted accuracies."""
    methods = ("truemix", "ATC", "DoC", "LEAP")
    records = [r["accuracy"] for name in names for r in results[name] if "accuracy" in r]
    return [
        "| " + " | ".join(methods) + " | intervals hold the accuracy | mean width |",
        "|" + "---:|" * (len(methods) + 2),
        "| "
        + " | ".join(f"{100 * np.mean([r[m] for r in records]):.2f}" for m in methods)
        + f" | {100 * np.mean([r['inside'] for r in records]):.1f} % of {len(records)} | "
        + f"{100 * np.mean([r['width'] for r in records]):.1f} |",
    ]


def main():
    """Run what is not in the cache, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(TABULAR))
    parser.add_argument("--n-bags", type=int, default=10)
    parser.add_argument("--cache", type=Path, default=Path("build/trust"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in given.sets:
        kept = given.cache / f"{name}-{given.n_bags}.json"
        if not kept.exists():
            kept.write_text(json.dumps(run(given.data, name, given.n_bags)))
        results[name] = json.loads(kept.read_text())
        print(name, len(results[name]), flush=True)
    text = [
        "# Can it be trusted, and what a few labels do",
        "",
        f"{len(results)} tabular data sets, {given.n_bags} targets of up to {SIZE} items for each "
        "kind, `BayesianKDEy()`, batch view, numbers in points. Made by `python benchmarks/trust.py"
        " --data FOLDER --out docs/results/trust.md`.",
        "",
    ]
    names = list(results)
    text += [f"## Labels: {len(names)} sets", ""]
    text += ["Mean absolute error · coverage of 95 % intervals · mean width.", ""]
    text += [*labels_table(results, names), ""]
    parts = {
        "the sets that their width was chosen on": [n for n in names if n in RANGES_CHOSEN_ON],
        "the other sets": [n for n in names if n not in RANGES_CHOSEN_ON],
    }
    for title, some in parts.items():
        if some:
            text += [f"## Ranges: {title} ({len(some)})", "", *range_table(results, some), ""]
    text += ["## Predicted accuracy under label shift: mean absolute error", ""]
    text += accuracy_table(results, names)
    publish("\n".join(text) + "\n", given.out)


if __name__ == "__main__":
    main()
