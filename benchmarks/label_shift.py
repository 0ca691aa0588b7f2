"""False alarms and power of the label shift check.

``python benchmarks/label_shift.py --data FOLDER [--out FILE.md] [--jobs 2]`` expects the folder to
hold ``tabular/<name>.npz`` with ``X`` and ``y``, and ``posteriors/<name>.npz`` with outputs of
networks and labels. Tabular data: logistic regression (C=1, standardised features), cross-fitted;
60 % of up to 6,000 rows are references, targets come from the rest, without repeated items.
Networks: posteriors as given, no classifier. Everything is repeated with other splits.

``python benchmarks/label_shift.py --picture docs/label-shift.png`` draws the picture of the page.
"""

import argparse
import io
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from common import posteriors as synthetic
from common import publish
from truemix import KDEy
from truemix.checks import checking, label_shift
from truemix.checks._references import references_of
from truemix.checks._statistics import ShiftStatistics
from truemix.checks._targets import targets_of
from truemix.metrics import absolute_error
from truemix.protocols import DirichletBags

TABULAR = (
    "academic-success", "cmc", "digits", "dry-bean", "image_seg", "mhr", "molecular", "nursery",
    "obesity", "page_block", "phishing", "waveform-v1", "wine-quality", "yeast",
)  # fmt: skip
NETWORKS = (
    "logits_cifar100_cnn", "logits_cifar10_cnn", "logits_mnist_cnn",
    "posteriors_20news_cleanlab_test", "posteriors_cifar10_vgg16_test",
    "posteriors_imdb_cleanlab_test",
)  # fmt: skip
CLASSIFIER = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
SIZES = (100, 300, 1000)
SHARES = (0.0, 0.05, 0.1, 0.2)
MAX_ROWS = 6000
LEVEL = 0.05
VIOLATIONS = {
    "noise": "Gaussian noise of half a standard deviation on every feature (networks: of one unit "
    "on the logits)",
    "drift": "the feature that separates classes best moved by one standard deviation (networks: "
    "one unit added to the logit of the first class)",
    "unknown 5 %": "a class that the references lack makes up 5 % of the target",
    "unknown 10 %": "10 % of it",
    "unknown 20 %": "20 % of it",
    "sub-population": "of each class only the upper half along its first principal component "
    "(networks: only items with the most common runner-up class)",
    "miscalibrated": "posteriors raised to the power 0.7 and scaled",
    "swapped": "targets scored by another model (naive Bayes)",
}


# --- one data set -----------------------------------------------------------------------------


class Settings:
    """The smoothing of a data set, chosen on its first split."""

    def __init__(self):
        self.chosen = {}

    def fitted(self, X, y, classifier):
        """Fit on a split, choosing if nothing is chosen yet."""
        quantifier = KDEy(classifier=classifier, **self.chosen).fit(X, y)
        self.chosen = {"bandwidth": quantifier.bandwidth_, "shrinkage": quantifier.shrinkage_}
        return quantifier


def bags_of(y, size, n_bags, seed):
    """Return bags without repeated items, or none where the pool does not allow the size."""
    bags = list(
        DirichletBags(n_bags=n_bags, bag_size=size, random_state=seed, replace=False).bags(y)
    )
    return bags if np.median([len(bag.index) for bag in bags]) > size / 2 else []


def failures(statistics, scored, bags, extra=None):
    """Return the checks of bags of scored items, each with further items if wanted."""
    for number, bag in enumerate(bags):
        rows = bag.index if extra is None else np.concatenate([bag.index, extra[number]])
        targets = targets_of(statistics.references, scored, [rows], number)
        yield bag, checking._checks(statistics, targets, LEVEL, number)[0]


def statistics_of(quantifier):
    return ShiftStatistics(references_of(quantifier, np.random.default_rng(0)))


def measure(statistics, pools, y, n_bags, seed):
    """Yield (violation, size, failed) for pools of scored items with the labels y."""
    for kind, (scored, rows) in pools.items():
        for size in SIZES:
            count = n_bags if kind == "none" else max(1, n_bags // 4)
            bags = bags_of(y[rows], size, count, seed)
            for bag, check in failures(statistics, scored[:, rows], bags):
                yield kind, size, not check.passed, len(bag.index)


def measure_unknown(quantifier, scored, y, unknown, n_bags, seed):
    """Yield failures and errors of the known shares with a share of an unknown class."""
    statistics = statistics_of(quantifier)
    known, other = np.flatnonzero(y != unknown), np.flatnonzero(y == unknown)
    scored = scored[:, np.concatenate([known, other])]
    rng = np.random.default_rng(seed)
    open_minded = clone(quantifier).set_params(unknown=True, classifier=None)
    open_minded.restore(quantifier.state())
    plain_one = clone(quantifier).set_params(classifier=None)
    plain_one.restore(quantifier.state())
    for size in SIZES:
        for share in SHARES:
            bags = bags_of(y[known], round(size * (1 - share)), max(1, n_bags // 4), seed)
            counts = [round(share / (1 - share) * len(bag.index)) for bag in bags]
            if not counts or max(counts) > len(other):
                continue
            extra = [len(known) + rng.choice(len(other), n, replace=False) for n in counts]
            rows = [
                np.concatenate([bag.index, more]) for bag, more in zip(bags, extra, strict=True)
            ]
            found = open_minded.quantify_bags(scored, rows)
            plain = plain_one.quantify_bags(scored, rows)
            checks = failures(statistics, scored, bags, extra)
            for (bag, check), own, mix in zip(checks, found, plain, strict=True):
                mixes = (mix.prevalence, check.without_unusual, own.prevalence)
                errors = [float(absolute_error(bag.prevalence, each)) for each in mixes]
                kind = f"unknown {100 * share:.0f} %"
                yield kind, size, not check.passed, errors, own.unknown.share


def tabular(folder, name, n_splits, n_bags):
    with np.load(folder / "tabular" / f"{name}.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.int64)
    kept = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    # Every class needs items on both sides of the split.
    kept = kept[np.bincount(y[kept])[y[kept]] >= 20]
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    settings, unknown_settings, rows, unknown_rows = Settings(), Settings(), [], []
    for split in range(n_splits):
        A, Z, a, z = train_test_split(X, y, train_size=0.6, random_state=split, stratify=y)
        quantifier = settings.fitted(A, a, clone(CLASSIFIER))
        pools = tabular_pools(quantifier, A, a, Z, z, split)
        rows += measure(statistics_of(quantifier), pools, z, n_bags, split)
        if y.max() >= 2:
            unknown = split % (y.max() + 1)
            known = a != unknown
            quantifier = unknown_settings.fitted(A[known], a[known], clone(CLASSIFIER))
            scored = quantifier.posteriors(Z)
            unknown_rows += measure_unknown(quantifier, scored, z, unknown, n_bags, split)
    return rows, unknown_rows, int(y.max() + 1), len(a)


def tabular_pools(quantifier, A, a, Z, z, split):
    """Return scored targets with each violation, and the rows that bags may take."""
    rng, spread, everything = np.random.default_rng(split), A.std(axis=0), np.arange(len(z))
    scored = quantifier.posteriors(Z)
    with np.errstate(all="ignore"):
        best = int(np.nan_to_num(f_classif(A[:, spread > 0], a)[0]).argmax())
    best = np.flatnonzero(spread > 0)[best]
    moved = Z.copy()
    moved[:, best] += spread[best]
    upper = []
    for k in np.unique(z):
        members = np.flatnonzero(z == k)
        scaled = Z[members] / np.where(spread > 0, spread, 1.0)
        along = PCA(1, random_state=0).fit_transform(scaled)[:, 0]
        upper.append(members[along >= np.median(along)])
    other = make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-3)).fit(A, a)
    refitted = clone(CLASSIFIER).fit(A, a)
    return {
        "none": (scored, everything),
        "refitted": (refitted.predict_proba(Z)[None], everything),
        "noise": (quantifier.posteriors(Z + 0.5 * spread * rng.normal(size=Z.shape)), everything),
        "drift": (quantifier.posteriors(moved), everything),
        "sub-population": (scored, np.sort(np.concatenate(upper))),
        "miscalibrated": (softmax(0.7 * logs(scored)), everything),
        "swapped": (other.predict_proba(Z)[None], everything),
    }


def network(folder, name, n_splits, n_bags):
    with np.load(folder / "posteriors" / f"{name}.npz") as file:
        if "logits_holdout" in file:
            logits = np.concatenate([file["logits_holdout"], file["logits_test"]])
            y = np.concatenate([file["y_holdout"], file["y_test"]])
        else:
            logits, y = logs(file["P"].astype(np.float64)), file["y"]
    logits, y = logits.astype(np.float64), y.astype(np.int64)
    K, settings, unknown_settings, rows, unknown_rows = y.max() + 1, Settings(), Settings(), [], []
    for split in range(n_splits):
        kept = np.random.default_rng(split).permutation(len(y))[: max(MAX_ROWS, 100 * K)]
        A, Z, a, z = train_test_split(
            logits[kept], y[kept], train_size=0.6, random_state=split, stratify=y[kept]
        )
        quantifier = settings.fitted(softmax(A), a, None)
        rows += measure(statistics_of(quantifier), network_pools(Z, z, split), z, n_bags, split)
        if K > 2:
            unknown = split % K
            columns, known = np.arange(K) != unknown, a != unknown
            quantifier = unknown_settings.fitted(softmax(A[known][:, columns]), a[known], None)
            scored = softmax(Z[:, columns])[None]
            unknown_rows += measure_unknown(quantifier, scored, z, unknown, n_bags, split)
    return rows, unknown_rows, int(K), len(a)


def network_pools(Z, z, split):
    rng, everything = np.random.default_rng(split), np.arange(len(z))
    moved = Z.copy()
    moved[:, 0] += 1.0
    pools = {
        "none": (softmax(Z)[None], everything),
        "noise": (softmax(Z + rng.normal(size=Z.shape))[None], everything),
        "drift": (softmax(moved)[None], everything),
        "miscalibrated": (softmax(0.7 * Z)[None], everything),
    }
    if Z.shape[1] > 2:
        others = Z.copy()
        others[everything, z] = -np.inf
        runner_up = others.argmax(axis=1)
        common = [np.bincount(runner_up[z == k]).argmax() for k in range(Z.shape[1])]
        pools["sub-population"] = (
            pools["none"][0],
            np.flatnonzero(runner_up == np.array(common)[z]),
        )
    return pools


def logs(P):
    return np.log(np.maximum(P, 1e-300))


def softmax(Z):
    P = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return P / P.sum(axis=-1, keepdims=True)


def work(task):
    kind, folder, name, n_splits, n_bags = task
    start = time.perf_counter()
    with threadpool_limits(1):
        result = kind(folder, name, n_splits, n_bags)
    print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return name, result


# --- tables -----------------------------------------------------------------------------------


def percent(values):
    return f"{100 * np.mean(values):.0f} %" if len(values) else ""


def of_kind(rows, kind, size=None):
    return [row[2] for row in rows if row[0] == kind and size in {None, row[1]}]


def size_table(results, text):
    header = "| data | classes | references | " + " | ".join(f"n = {n}" for n in SIZES)
    print(f"{header} | all | refitted |\n|---|---|---|" + "---|" * (len(SIZES) + 2), file=text)
    everything = []
    for name, (rows, _, n_classes, n_references) in results.items():
        cells = [percent(of_kind(rows, "none", n)) for n in SIZES]
        mean = of_kind(rows, "none")
        everything.append([np.mean(of_kind(rows, "none", n) or [np.nan]) for n in SIZES])
        refitted = percent(of_kind(rows, "refitted"))
        print(
            f"| {name} | {n_classes} | {n_references:,} | {' | '.join(cells)} | {percent(mean)} "
            f"({len(mean)}) | {refitted} |",
            file=text,
        )
    cells = [f"{100 * v:.1f} %" for v in np.nanmean(everything, axis=0)]
    refitted = [
        np.mean(of_kind(r[0], "refitted")) for r in results.values() if of_kind(r[0], "refitted")
    ]
    print(
        f"| mean | | | {' | '.join(cells)} | {100 * np.nanmean(everything):.1f} % | "
        f"{100 * np.mean(refitted):.1f} % |",
        file=text,
    )


def power_tables(results, text):
    for size in SIZES:
        print(f"\n### n = {size}\n", file=text)
        print("| data | " + " | ".join(VIOLATIONS) + " |", file=text)
        print("|---|" + "---|" * len(VIOLATIONS), file=text)
        table = []
        for name, (rows, unknown_rows, _, _) in results.items():
            found = [of_kind([*rows, *unknown_rows], kind, size) for kind in VIOLATIONS]
            if any(found):
                table.append([np.mean(values) if values else np.nan for values in found])
                print(f"| {name} | {' | '.join(percent(values) for values in found)} |", file=text)
        columns = [
            [value for value in column if np.isfinite(value)] for column in zip(*table, strict=True)
        ]
        print(f"| mean | {' | '.join(percent(column) for column in columns)} |", file=text)


def unknown_table(results, text):
    methods = ("plain", "set aside", "unknown")
    header = [f"{method}, {100 * s:.0f} %" for s in SHARES if s in {0.0, 0.1} for method in methods]
    shares = [f"share at {100 * s:.0f} %" for s in SHARES if s in {0.0, 0.1}]
    print("| data | " + " | ".join([*header, *shares]) + " |", file=text)
    print("|---|" + "---|" * (len(header) + len(shares)), file=text)
    table = []
    for name, (_, rows, _, _) in results.items():
        line, found = [], []
        for kind in ("unknown 0 %", "unknown 10 %"):
            own = [row for row in rows if row[0] == kind]
            line += list(np.mean([row[3] for row in own], axis=0)) if own else []
            found.append(np.mean([row[4] for row in own]) if own else np.nan)
        if len(line) == len(header):
            table.append([*line, *found])
            print(f"| {name} | {unknown_cells(table[-1])} |", file=text)
    print(f"| mean | {unknown_cells(np.mean(table, axis=0))} |", file=text)


def unknown_cells(values):
    cells = [f"{value:.4f}" for value in values[:-2]] + [f"{100 * v:.1f} %" for v in values[-2:]]
    return " | ".join(cells)


def time_table(text):
    print("| references | items | classes | seconds |\n|---|---|---|---|", file=text)
    for m, n, K in ((2000, 1000, 3), (5000, 1000, 10), (5000, 1000, 100), (100_000, 100_000, 10)):
        P, y = synthetic(m, K, 0)
        quantifier = KDEy(bandwidth=0.5, shrinkage=0.3).fit(P, y)
        target, _ = synthetic(n, K, 1)
        label_shift(quantifier, target[:50], random_state=0)
        start = time.perf_counter()
        label_shift(quantifier, target, random_state=0)
        print(f"| {m:,} | {n:,} | {K} | {time.perf_counter() - start:.1f} |", file=text)


def paragraph(text, *parts):
    """Print a paragraph in lines that are not too long."""
    print(textwrap.fill(" ".join(parts), 100) + "\n", file=text)


def report(results, n_splits, n_bags):
    text = io.StringIO()
    print("# The check of label shift: size and power\n", file=text)
    paragraph(
        text,
        "Share of targets for which `truemix.checks.label_shift` fails at level 5 %. Tabular data:",
        "logistic regression (C=1, standardised features), cross-fitted, 60 % of up to",
        f"{MAX_ROWS:,} rows as references. Networks (the last {len(NETWORKS)}): posteriors as",
        "given, without a classifier. Targets: Dirichlet(1) mixes without repeated items, from the",
        "other 40 %; sizes that the pool does not allow are left out.",
        f"{n_splits} splits, {n_bags} targets each without a violation and {max(1, n_bags // 4)}",
        "with each. Made by `python",
        "benchmarks/label_shift.py --data FOLDER --out docs/results/label-shift.md`.",
    )
    print("## Without a violation\n", file=text)
    paragraph(
        text,
        "In brackets how many targets. All targets of a split share its references, so the rates",
        "of single data sets vary more than these numbers suggest. *refitted*: targets of all",
        "sizes scored by a classifier refitted on all references, which `label_shift` refuses.",
    )
    size_table(results, text)
    print("\n## With a violation\n", file=text)
    for name, meaning in VIOLATIONS.items():
        print(f"- *{name}*: {meaning}", file=text)
    power_tables(results, text)
    print("\n## How far off: an unknown class\n", file=text)
    paragraph(
        text,
        "Mean absolute error of the shares of the known classes, all sizes, if 0 % or 10 % of the",
        "items are of a class that the references lack: of `KDEy()` (*plain*), of the check",
        "without the items that `unusual_items()` lists (*set aside*), and of",
        "`KDEy(unknown=True)` (*unknown*); then the mean share that is estimated to be unknown.",
    )
    unknown_table(results, text)
    print("\n## Time\n", file=text)
    paragraph(text, "`label_shift` as it comes, second call, on the machine at hand.")
    time_table(text)
    return text.getvalue()


# --- the picture ------------------------------------------------------------------------------


def picture(path):
    """Draw a target that fits and one that does not: scores, and the check's own picture."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)

    def scores(n_ham, n_spam):
        p = np.concatenate([rng.beta(2, 16, n_ham), rng.beta(16, 2, n_spam)])
        return np.column_stack([1 - p, p])

    P, labels = scores(1500, 1500), np.repeat(["ham", "spam"], 1500)
    quantifier = KDEy(bandwidth=0.3, shrinkage=0.1).fit(P, labels)
    strange = scores(310, 130)
    new = rng.beta(12, 12, 60)
    targets = {
        "Another mix of the same classes": scores(350, 150),
        "60 of 500 items are something new": np.vstack([strange, np.column_stack([1 - new, new])]),
    }
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    axes = figure.subplots(2, 2)
    for (title, target), (above, below) in zip(targets.items(), axes.T, strict=True):
        check = label_shift(quantifier, target, random_state=0)
        weights = (check.prevalence / 1500)[(labels == "spam").astype(int)]
        bins = np.linspace(0, 1, 31)
        above.hist(P[:, 1], bins, weights=weights * len(target), color="#bbbbbb",
                   label="best mix of the references")  # fmt: skip
        above.hist(target[:, 1], bins, histtype="step", color="#d55e00", linewidth=1.8,
                   label="target")  # fmt: skip
        above.set(title=title, xlabel="score for spam", ylabel="items")
        above.spines[["right", "top"]].set_visible(False)
        above.legend(frameon=False)
        check.plot(ax=below)
        print(check)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--bags", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.picture:
        picture(arguments.picture)
    if not arguments.data:
        return
    tasks = [
        (kind, arguments.data, name, arguments.splits, arguments.bags)
        for kind, names in ((network, NETWORKS), (tabular, TABULAR))
        for name in names
        if not arguments.only or name in arguments.only
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        done = dict(pool.map(work, tasks))
    order = [name for name in (*TABULAR, *NETWORKS) if name in done]
    text = report({name: done[name] for name in order}, arguments.splits, arguments.bags)
    publish(text, arguments.out)


if __name__ == "__main__":
    main()
