"""How many items and references are enough: backtests of three data sets that need no files.

``python benchmarks/how_many.py --out docs/results/how-many.md`` runs ``truemix.backtest`` on
simulated support tickets (those of ``truemix demo``, more of them), scikit-learn's digits and its
breast cancer data, and writes its table beside the numbers as CSV; ``--picture docs/how-many.png``
draws the curves from that CSV.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import publish
from truemix import BayesianKDEy, backtest
from truemix.quantifiers import cross_fit

N_BAGS = 40
N_TICKETS = 1500
VARIED = {"items": "by_size", "references": "by_references"}
NUMBERS = ["mean_error", "counting_error", "mean_width", "soft_coverage"]
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "how-many.csv"
LABELS = {"items": "items (most references)", "references": "references (most items)"}
TICK_MARKS = {"items": [15, 30, 60, 150], "references": [50, 200, 800]}
COLOURS = ("#1f5fbf", "#b4540a", "#2d7d46")


def tickets():
    """Return posteriors and topics of support tickets: the classes overlap."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0], [1.8, 0.4, 0.5], [0.6, 1.9, -0.2], [-1.1, 1.1, 1.8]])
    topics = rng.choice(4, N_TICKETS, p=[0.35, 0.25, 0.15, 0.25])
    points = centres[topics] + rng.normal(size=(N_TICKETS, 3))
    trained = cross_fit(LogisticRegression(), points, topics)
    return trained.posteriors, topics


def digits():
    X, y = load_digits(return_X_y=True)
    return cross_fit(LogisticRegression(C=0.001, max_iter=999), X, y).posteriors, y


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    return cross_fit(classifier, X, y).posteriors, y


DATA = {
    "support tickets": (tickets, [15, 30, 60, 110], [50, 150, 400, 1200]),
    "digits": (digits, [15, 30, 60, 110], [100, 300, 1400]),
    "breast cancer": (breast_cancer, [15, 30, 60], [50, 150, 450]),
}


def measured(name):
    """Backtest one data set and return a row for each number of items and of references."""
    make, sizes, references = DATA[name]
    posteriors, codes = make()
    tested = backtest(
        BayesianKDEy(random_state=0),
        posteriors,
        codes,
        bag_size=sizes,
        n_bags=N_BAGS,
        n_references=references,
        random_state=0,
        verbose=False,
    )
    summary = tested.summary()
    return [
        {
            "data": name,
            "varied": varied,
            "items": run["n_items"],
            "references": run["n_references"],
            **{number: round(run[number], 5) for number in NUMBERS},
        }
        for varied, key in VARIED.items()
        for run in summary[key]
    ]


def as_text(rows):
    """Return the tables, in percentage points."""
    lines = [
        "# How many items, how many references",
        "",
        f"`BayesianKDEy()` by `truemix.backtest`, {N_BAGS} mixtures per row, batch view; mean "
        "error, counting's error and mean width of 95 % intervals in percentage points; held: "
        "intervals that hold the truth. Made by `python benchmarks/how_many.py --out "
        "docs/results/how-many.md`; the numbers are also in `how-many.csv`.",
    ]
    for varied in VARIED:
        lines += [
            "",
            f"## By the number of {varied}",
            "",
            "| data | items | references | error | counting | width | held |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for row in rows:
            if row["varied"] == varied:
                points = [f"{100 * float(row[name]):.1f}" for name in NUMBERS[:3]]
                held = f"{float(row['soft_coverage']):.0%}"
                cells = [row["data"], row["items"], row["references"], *points, held]
                lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def draw(rows, path):
    """Draw error and width against items and references."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import ScalarFormatter

    figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
    for panel, varied in zip(panels, VARIED, strict=True):
        for name, colour in zip(DATA, COLOURS, strict=True):
            own = [row for row in rows if (row["data"], row["varied"]) == (name, varied)]
            at = [float(row[varied]) for row in own]
            for number, style in (("mean_error", "o-"), ("counting_error", ":")):
                shares = [100 * float(row[number]) for row in own]
                label = name if number == "mean_error" else None
                panel.plot(at, shares, style, color=colour, markersize=4, label=label)
        panel.set(xscale="log", yscale="log", xlabel=LABELS[varied])
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter(ScalarFormatter())
            axis.set_minor_formatter("")
        panel.set_xticks(TICK_MARKS[varied])
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="mean error of a share, points", yticks=[0.5, 1, 2, 5, 10])
    panels[0].plot([], [], "k:", label="counting decisions")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    if arguments.picture:
        with RESULTS.open(encoding="utf-8", newline="") as file:
            draw(list(csv.DictReader(file)), arguments.picture)
        return
    rows = [row for name in DATA for row in measured(name)]
    publish(as_text(rows), arguments.out)
    if arguments.out:
        with arguments.out.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
