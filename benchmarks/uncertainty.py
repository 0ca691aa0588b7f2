"""Coverage of Bayesian methods with and without what truemix adds to the paper.

``python benchmarks/uncertainty.py --data FOLDER --out docs/results/uncertainty.md`` expects
``<name>.npz`` files with ``X`` and ``y`` in the folder. 70 % of each set are references, bags with
Dirichlet(1) mixes come from the rest: of 1000 items drawn with replacement as in the paper, and of
up to 1000 items without repetition. Results of finished data sets are kept in ``--cache``, so that
an interrupted run can be resumed; ``--redo METHOD ...`` runs only these methods again.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truemix import BayesianACC, BayesianEMQ, BayesianKDEy, metrics
from truemix._files import atomic_write
from truemix.estimates.intervals import interval_of
from truemix.protocols import DirichletBags
from truemix.quantifiers import cross_fit
from truemix.selection import calibrate_temperature

DATA_SETS = (
    "abalone", "academic-success", "cmc", "digits", "dry-bean", "image_seg", "mhr", "molecular",
    "nursery", "obesity", "page_block", "phishing", "waveform-v1", "wine-quality", "yeast",
)  # fmt: skip
PAPER = {"crossfit": False, "reference_uncertainty": None, "averaging": False}
METHODS = {
    "Bayes-EMQ": BayesianEMQ(calibration=None),
    # Its draws are expensive where many classes overlap.
    "Bayes-ACC": BayesianACC(draws=400),
    "Bayes-KDEy(Gau)": BayesianKDEy(kernel="gaussian", **PAPER),
    "Bayes-KDEy(Ait-λ)": BayesianKDEy(**PAPER),
    "… calibrated temperature": BayesianKDEy(**PAPER),
    "… reference uncertainty": BayesianKDEy(crossfit=False, averaging=False),
    "… cross-fitting": BayesianKDEy(reference_uncertainty=None),
    "… both": BayesianKDEy(averaging=False),
    "… both and averaging": BayesianKDEy(),
}
BASE, BOTH, DEFAULT = "Bayes-KDEy(Ait-λ)", "… both", "… both and averaging"
VIEWS = ("population", "batch")
PROTOCOLS = {
    "with replacement": "The paper's bags: 1000 items drawn with replacement",
    "no item repeats": "Bags in which no item repeats: up to 1000 items",
}
# Choosing a temperature needs fewer bags and draws than evaluating it.
CALIBRATION = DirichletBags(n_bags=30, bag_size=1000, random_state=2)
CALIBRATION_DRAWS = 500
LEVEL = 0.95
COLUMNS = ("AE", "W", "hard gap", "soft gap", "amplitude", "width", "Winkler")


def read(folder, name):
    """Return the paper's split of a data set: 70 % to learn from."""
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"].astype(np.int64)
    return train_test_split(X, y, train_size=0.7, random_state=0, stratify=y)


def metrics_of(draws, truth, train):
    """Return the metrics of the table, for the draws of many bags."""
    means = np.array([each.mean(axis=0) for each in draws])
    single = np.array([interval_of(each, LEVEL) for each in draws])
    joint = np.array([interval_of(each, LEVEL, simultaneous=True) for each in draws])
    return {
        "AE": metrics.absolute_error(truth, means).mean(),
        "W": metrics.weight_ratio_error(truth, means, train).mean(),
        "hard": metrics.hard_coverage(truth, joint).mean(),
        "soft": metrics.soft_coverage(truth, single).mean(),
        "amplitude": metrics.amplitude(single).mean(),
        "width": np.diff(single, axis=-1).mean(),
        "Winkler": metrics.winkler_score(truth, single, LEVEL).mean(),
    }


def temperatures(P, y):
    """Return the calibrated temperature of each view."""
    result = {}
    for view in VIEWS:
        quantifier = BayesianKDEy(**PAPER, estimand=view, draws=CALIBRATION_DRAWS, random_state=0)
        calibrated = calibrate_temperature(quantifier, P, y, protocol=CALIBRATION, verbose=False)
        result[view] = calibrated.temperature
    return result


def run(folder, name, n_bags, known):
    """Return all results of one data set; those of methods that are known as they are."""
    X, pool, y, pool_y = read(folder, name)
    classes = np.unique(y)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    trained = cross_fit(classifier, X, y, classes=classes)
    scored = {}
    for crossfit in (False, True):
        P, scored[crossfit] = trained.posteriors, trained.score(pool, crossfit=crossfit)
    train = np.bincount(y) / len(y)
    chosen = known["temperatures"] if known else temperatures(P, y)
    result = {
        "classes": len(classes),
        "references": len(y),
        "accuracy": float((scored[False][0].argmax(axis=1) == pool_y).mean()),
        "temperatures": chosen,
    }
    fitted = {}
    missing = [name for name in METHODS if name not in known.get("with replacement", {})]
    for method in missing:
        fitted[method] = clone(METHODS[method]).set_params(random_state=0, estimand="population")
        fitted[method].fit(P, y, classes=classes)
    for protocol in PROTOCOLS:
        replace = protocol == "with replacement"
        drawn = list(
            DirichletBags(n_bags=n_bags, random_state=1, replace=replace).bags(pool_y, classes)
        )
        bags, truth = [bag.index for bag in drawn], np.array([bag.prevalence for bag in drawn])
        rows = {**known.get(protocol, {}), "bag size": float(np.mean([len(bag) for bag in bags]))}
        for method, quantifier in fitted.items():
            items = scored[quantifier.crossfit]
            tempered = chosen if "temperature" in method else dict.fromkeys(VIEWS, 1.0)
            rows[method] = {}
            for view in VIEWS:
                quantifier.inference_.set_params(temperature=tempered[view])
                if view == "population" or tempered[view] != tempered["population"]:
                    estimates = list(quantifier.quantify_bags(items, bags))
                draws = [
                    each.draws if view == "population" else each.other_draws for each in estimates
                ]
                rows[method][view] = {
                    key: float(value) for key, value in metrics_of(draws, truth, train).items()
                }
        result[protocol] = rows
    return result


def summary(results, protocol, view, method):
    """Return the means over the data sets, in the order of the columns."""
    rows = [each[protocol][method][view] for each in results.values()]
    mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
    for kind in ("hard", "soft"):
        mean[f"{kind} gap"] = np.mean([abs(row[kind] - LEVEL) for row in rows])
    return [mean[column] for column in COLUMNS]


def table(results, n_bags):
    lines = [
        "# Are the intervals honest?",
        "",
        f"Means over {len(results)} tabular data sets, {n_bags} test bags each, mixes from "
        "Dirichlet(1), logistic regression (C=1, standardised features), 70 % of each set as "
        f"references, {LEVEL:.0%} equal-tailed intervals from 1000 draws. Made by "
        "`python benchmarks/uncertainty.py --data FOLDER --out docs/results/uncertainty.md`.",
        "",
        "- The truth is the realised mix of a bag. The *population* view is about the source, the "
        "paper's π; the *batch* view about these very items.",
        "- *Bayes-KDEy(Ait-λ)* is the paper's method at temperature 1, with automatic bandwidth "
        "and shrinkage. Rows with … change it as they say; *both and averaging* is "
        "`BayesianKDEy()`, the default.",
        "- The temperature is chosen for each set and view from the paper's grid by the Winkler "
        f"score on {CALIBRATION.n_bags} validation bags ({CALIBRATION_DRAWS} draws each).",
        "- Gaps are distances of the coverage of each data set from 95 %, in points: *hard* for "
        "all classes at once (Bonferroni), *soft* class by class. Amplitude is the share of the "
        "simplex inside the box of intervals, in percent. Small is good everywhere; the smallest "
        "of each column is bold.",
        "",
    ]
    for protocol, text in PROTOCOLS.items():
        for view in VIEWS:
            lines += ["", f"## {text}, {view} view", ""]
            lines.append("| method | " + " | ".join(COLUMNS) + " |")
            lines.append("|---" * (len(COLUMNS) + 1) + "|")
            every = {method: summary(results, protocol, view, method) for method in METHODS}
            best = np.min(list(every.values()), axis=0)
            for method, row in every.items():
                cells = [shown(*each) for each in zip(COLUMNS, row, best, strict=True)]
                lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join([*lines, *by_data_set(results)]) + "\n"


def shown(column, value, best):
    percent = column in {"hard gap", "soft gap", "amplitude"}
    text = f"{100 * value:.1f}" if percent else f"{value:.4f}"
    return f"**{text}**" if value == best else text


def by_data_set(results):
    """Return tables of the paper's method and the default, one row per data set."""
    for protocol, text in PROTOCOLS.items():
        yield from ["", f"## Data set by data set. {text}", ""]
        yield (
            "AE, hard and soft coverage in percent, mean width and Winkler score: first the "
            "paper's method (population), then the default in both views. *T* is the calibrated "
            "temperature of the population view."
        )
        yield from [
            "",
            "| data | K | references | accuracy | items | T | paper | default, population "
            "| default, batch |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for name, each in results.items():
            rows = each[protocol]
            cells = [
                cell(rows[BASE]["population"]),
                cell(rows[DEFAULT]["population"]),
                cell(rows[DEFAULT]["batch"]),
            ]
            yield (
                f"| {name} | {each['classes']} | {each['references']} | {each['accuracy']:.0%} | "
                f"{rows['bag size']:.0f} | {each['temperatures']['population']:g} | "
                + " | ".join(cells)
                + " |"
            )


def cell(row):
    return (
        f"{row['AE']:.4f} · {100 * row['hard']:.0f} · {100 * row['soft']:.0f} · "
        f"{row['width']:.3f} · {row['Winkler']:.3f}"
    )


def goals(results):
    """Return a line for each goal: what it asks for and what is reached."""
    replaced, unique = PROTOCOLS
    place = {column: number for number, column in enumerate(COLUMNS)}

    def mean(protocol, view, method, column):
        return summary(results, protocol, view, method)[place[column]]

    def ratio(column, method=DEFAULT):
        return mean(replaced, "population", method, column) / mean(
            replaced, "population", BASE, column
        )

    sure = {name: each for name, each in results.items() if each["accuracy"] > 0.9}
    widths = [
        each[replaced][DEFAULT]["batch"]["width"] / each[replaced][BASE]["population"]["width"]
        for each in sure.values()
    ]
    wide, narrow = (
        np.mean([each[replaced][method][view]["width"] for each in sure.values()])
        for method, view in ((BASE, "population"), (BOTH, "batch"))
    )
    calibrated = ratio("Winkler", "… calibrated temperature")
    yield f"hard gap, default / paper (goal 0.5): {ratio('hard gap'):.2f}"
    yield f"Winkler, default / paper (goal 0.85): {ratio('Winkler'):.2f}"
    yield f"AE, default / paper (goal 0.97): {ratio('AE'):.3f}"
    yield f"Winkler, calibrated temperature / paper (default must be lower): {calibrated:.2f}"
    if sure:
        soft = summary(sure, replaced, "batch", DEFAULT)[place["soft gap"]]
        yield f"accuracy above 90 %: {', '.join(sure)}"
        yield f"  width, default batch / paper (goal 0.5): {np.mean(widths):.2f}, mean of ratios"
        yield f"  width, both batch / paper (goal 0.5): {narrow / wide:.2f}, ratio of means"
        yield f"  soft gap of the batch view (goal 0.05): {soft:.3f}"
    for view in VIEWS:
        gap = mean(unique, view, DEFAULT, "hard gap")
        yield f"hard gap without repeats, {view} (goal 0.03): {gap:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--bags", type=int, default=200)
    parser.add_argument("--sets", nargs="+", default=DATA_SETS)
    parser.add_argument("--cache", type=Path, default=Path("out/uncertainty"))
    parser.add_argument("--redo", nargs="+", default=[], choices=METHODS, metavar="METHOD")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results = {}
    arguments.cache.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets:
        kept = arguments.cache / f"{name}-{arguments.bags}.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        for protocol in PROTOCOLS if known else ():
            known[protocol] = {
                key: rows for key, rows in known[protocol].items() if key not in arguments.redo
            }
        if not known or arguments.redo:
            start = time.perf_counter()
            found = run(arguments.data, name, arguments.bags, known)
            with atomic_write(kept) as file:
                file.write(json.dumps(found, indent=1).encode())
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        results[name] = json.loads(kept.read_text())
    text = table(results, arguments.bags)
    print(text)
    print("\n".join(goals(results)))
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
