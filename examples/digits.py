"""Find out what is in an unlabelled batch of digits, with data that come with scikit-learn.

A classifier learns from noisy images in which all ten digits are equally common. Then comes a batch
in which 3 and 8 make up most of the images. Counting the classifier's decisions misses that;
KDEy corrects the count, from the same decisions' posteriors and without a single new label.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truemix import KDEy

BATCH_MIX = [0.02, 0.02, 0.04, 0.30, 0.02, 0.04, 0.02, 0.04, 0.40, 0.10]
BATCH_SIZE = 500


def make_batch():
    """Return labelled references, and a batch with another mix and its true labels."""
    rng = np.random.default_rng(0)
    images, digits = load_digits(return_X_y=True)
    noisy = images + rng.normal(0, 5, images.shape)
    X, pool, y, pool_digits = train_test_split(
        noisy, digits, test_size=0.5, random_state=0, stratify=digits
    )
    counts = (np.array(BATCH_MIX) * BATCH_SIZE).astype(int)
    rows = [rng.choice(np.flatnonzero(pool_digits == k), n) for k, n in enumerate(counts)]
    batch = np.concatenate(rows)
    return X, y, pool[batch], pool_digits[batch]


def draw(table, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    place = np.arange(len(table))
    series = [
        ("truth", "true share", "#222222"),
        ("prevalence", "KDEy", "#0072b2"),
        ("counted", "classify and count", "#e69f00"),
    ]
    for offset, (column, label, color) in zip((-0.27, 0, 0.27), series, strict=True):
        axes.bar(place + offset, 100 * table[column], 0.25, label=label, color=color)
    axes.set_xticks(place, table.index)
    axes.set_xlabel("digit")
    axes.set_ylabel("share of the batch (%)")
    axes.set_title(f"{BATCH_SIZE} unlabelled images: the mix, and what two methods say")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=Path("out/digits.png"))
    picture = parser.parse_args().picture

    X, y, batch, truth = make_batch()
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    estimate = KDEy(classifier=classifier).fit(X, y).quantify(batch)
    print(estimate)

    table = estimate.frame().assign(truth=np.bincount(truth) / len(truth))
    error = (table[["counted", "prevalence"]].sub(table["truth"], axis=0)).abs().mean()
    print("\nThe truth beside it (in a real batch nobody knows it):")
    print((100 * table[["truth", "prevalence", "counted"]]).round(1).T.to_string())
    print(f"\nMean error: counting {error['counted']:.1%}, KDEy {error['prevalence']:.1%}.")
    draw(table, picture)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    main()
