"""Find out what is in an unlabelled batch of digits, with data that come with scikit-learn.

A classifier learns from noisy images in which all ten digits are equally common. Then comes a batch
in which 3 and 8 make up most of the images. Counting the classifier's decisions misses that;
truemix corrects the count, from the classifier's posteriors and without a single new label.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truemix import BayesianKDEy

BATCH_MIX = [0.02, 0.02, 0.04, 0.30, 0.02, 0.04, 0.02, 0.04, 0.40, 0.10]
BATCH_SIZE = 200


def make_batch():
    """Return labelled references, and a batch with another mix and its true labels."""
    rng = np.random.default_rng(0)
    images, digits = load_digits(return_X_y=True)
    noisy = images + rng.normal(0, 5, images.shape)
    X, pool, y, pool_digits = train_test_split(
        noisy, digits, test_size=0.5, random_state=0, stratify=digits
    )
    counts = (np.array(BATCH_MIX) * BATCH_SIZE).astype(int)
    rows = [
        rng.choice(np.flatnonzero(pool_digits == k), n, replace=False) for k, n in enumerate(counts)
    ]
    batch = np.concatenate(rows)
    return X, y, pool[batch], pool_digits[batch]


def draw(estimate, truth, path):
    """Save the estimate's own plot, with the truth added."""
    figure = estimate.plot()
    axes = figure.axes[0]
    axes.plot(truth, range(len(truth)), "k+", markersize=11, label="true share")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=Path("out/digits.png"))
    picture = parser.parse_args().picture

    X, y, batch, digits = make_batch()
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    quantifier = BayesianKDEy(classifier=classifier, random_state=0).fit(X, y)
    estimate = quantifier.quantify(batch)
    print(estimate)

    truth = np.bincount(digits) / len(digits)
    table = estimate.frame()[["prevalence", "classify_and_count"]].assign(truth=truth)
    error = table.sub(truth, axis=0).abs().mean()
    print("\nThe truth beside it (in a real batch nobody knows it), in percent:")
    print((100 * table).round(1).T.to_string())
    counting, ours = error["classify_and_count"], error["prevalence"]
    print(f"\nMean error: counting {counting:.1%}, truemix {ours:.1%}.")
    draw(estimate, truth, picture)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    main()
