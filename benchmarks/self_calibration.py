"""Coverage of intervals that calibrate themselves on the references, in new bags.

    python benchmarks/self_calibration.py --data FOLDER [--sets NAME …] [--out FILE]

70 % of each tabular set are references (logistic regression, out-of-fold), bags come from the rest;
networks' logits come with a hold-out split of which 60 % are references. In a bag no item repeats:
its mix is uniform on the simplex, each item's class is drawn from it, and it has up to 1000 items.
The truth is the drawn mix in the population view, and the realised one in the batch view. Results
of finished sets are kept in ``--cache``.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import publish
from truemix import BayesianKDEy, metrics
from truemix.estimates.intervals import interval_of
from truemix.quantifiers import cross_fit
from truemix.trust.interval_calibration import widened, widening_of
from truemix.trust.mixtures import Mixtures
from violations import CHOSEN_ON, IMAGES, TABULAR

N_BAGS = 100
BAG_SIZE = 1000
LEVEL = 0.95
VIEWS = ("population", "batch")
COLUMNS = ("hard gap", "soft gap", "width", "Winkler")


def softmax(logits):
    """Return posteriors."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True).astype(np.float64)
    p = np.exp(shifted)
    return p / p.sum(axis=1, keepdims=True)


def read(folder, name):
    """Return posteriors and labels of references, and of the pool that bags are drawn from."""
    if name in IMAGES:
        with np.load(folder / "posteriors" / f"logits_{name}_cnn.npz") as file:
            P, pool = softmax(file["logits_holdout"]), softmax(file["logits_test"])
            y, pool_y = file["y_holdout"].astype(int), file["y_test"].astype(int)
        P, _, y, _ = train_test_split(P, y, train_size=0.6, random_state=0, stratify=y)
        return P, y, pool[None], pool_y
    with np.load(folder / "tabular" / f"{name}.npz") as file:
        X, y = file["X"], file["y"].astype(np.int64)
    X, pool, y, pool_y = train_test_split(X, y, train_size=0.7, random_state=0, stratify=y)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    trained = cross_fit(classifier, X, y, classes=np.unique(y))
    return trained.posteriors, y, trained.score(pool, crossfit=True), pool_y


def scores(draws, truth):
    """Return coverage, width and Winkler score of many bags."""
    single = np.array([interval_of(each, LEVEL) for each in draws])
    joint = np.array([interval_of(each, LEVEL, simultaneous=True) for each in draws])
    return {
        "hard": float(metrics.hard_coverage(truth, joint).mean()),
        "soft": float(metrics.soft_coverage(truth, single).mean()),
        "width": float(np.diff(single, axis=-1).mean()),
        "Winkler": float(metrics.winkler_score(truth, single, LEVEL).mean()),
    }


def run(folder, name):
    """Return the results of one set."""
    P, y, pool, pool_y = read(folder, name)
    n_classes = P.shape[1]
    quantifier = BayesianKDEy(random_state=0, self_calibration=False).fit(P, y)
    members = [np.flatnonzero(pool_y == k) for k in range(n_classes)]
    mixtures = Mixtures(1, n_classes)
    bags = [mixtures.draw(members, number, BAG_SIZE) for number in range(N_BAGS)]
    sizes = np.array([len(bag.rows) for bag in bags])
    truth = {view: np.array([getattr(bag, view) for bag in bags]) for view in VIEWS}
    found = list(quantifier.quantify_bags(pool, [bag.rows for bag in bags]))
    widenings = [widening_of(quantifier, int(n)) for n in sizes]
    result = {"classes": n_classes, "references": len(y), "items": float(sizes.mean())}
    for view in VIEWS:
        factors = [getattr(each, view) for each in widenings]
        before = [each.of(view).draws for each in found]
        after = [
            widened(draws, factor, int(n) if view == "batch" else None)
            for draws, factor, n in zip(before, factors, sizes, strict=True)
        ]
        result[view] = {
            "factor": float(np.mean(factors)),
            "before": scores(before, truth[view]),
            "after": scores(after, truth[view]),
        }
    return result


def means(results, view, when):
    """Return the means over some sets, in the order of the columns."""
    rows = [each[view][when] for each in results]
    gaps = [np.mean([abs(row[kind] - LEVEL) for row in rows]) for kind in ("hard", "soft")]
    return [100 * gaps[0], 100 * gaps[1]] + [
        np.mean([row[kind] for row in rows]) for kind in ("width", "Winkler")
    ]


def tables(results):
    """Return the results as Markdown."""
    parts = {
        "The sets that the rule was chosen on": [n for n in results if n in CHOSEN_ON],
        "The other sets": [n for n in results if n not in CHOSEN_ON],
        "All sets": list(results),
    }
    lines = []
    for title, names in parts.items():
        lines += [f"## {title} ({len(names)})", ""]
        lines += [
            "| view | intervals | " + " | ".join(COLUMNS) + " |",
            "|---|---|---:|---:|---:|---:|",
        ]
        for view in VIEWS:
            for when, shown in (("before", "posterior"), ("after", "self-calibrated")):
                hard, soft, width, winkler = means([results[n] for n in names], view, when)
                cells = f"{hard:.1f} | {soft:.1f} | {width:.4f} | {winkler:.4f}"
                lines.append(f"| {view} | {shown} | {cells} |")
        lines.append("")
    lines += [
        "## Set by set",
        "",
        "Factor, hard and soft coverage in percent, Winkler score, before → after; * the rule was "
        "chosen on this set.",
        "",
        "| data | K | references | items | population | batch |",
        "|---|---:|---:|---:|---|---|",
    ]
    for name, each in results.items():
        cells = []
        for view in VIEWS:
            old, new = each[view]["before"], each[view]["after"]
            cells.append(
                f"{each[view]['factor']:.2f}: {100 * old['hard']:.0f} → {100 * new['hard']:.0f}, "
                f"{100 * old['soft']:.0f} → {100 * new['soft']:.0f}, "
                f"{old['Winkler']:.3f} → {new['Winkler']:.3f}"
            )
        mark = "*" if name in CHOSEN_ON else ""
        lines.append(
            f"| {name}{mark} | {each['classes']} | {each['references']} | {each['items']:.0f} | "
            f"{' | '.join(cells)} |"
        )
    return lines


def main():
    """Run what is not in the cache, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=[*TABULAR, *IMAGES])
    parser.add_argument("--cache", type=Path, default=Path("build/self-calibration"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in given.sets:
        kept = given.cache / f"{name}.json"
        if not kept.exists():
            kept.write_text(json.dumps(run(given.data, name)))
        results[name] = json.loads(kept.read_text())
        print(name, results[name]["batch"], flush=True)
    text = [
        "# Intervals that calibrate themselves",
        "",
        f"{len(results)} data sets, {N_BAGS} bags each, 95 % intervals of `BayesianKDEy()`. Gaps "
        "are distances of the coverage from 95 %, in points: *hard* for all classes at once, "
        "*soft* class by class. Made by `python benchmarks/self_calibration.py --data FOLDER "
        "--out docs/results/self-calibration.md`.",
        "",
        *tables(results),
    ]
    publish("\n".join(text) + "\n", given.out)


if __name__ == "__main__":
    main()
