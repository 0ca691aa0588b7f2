"""Targets of real data sets in which label shift holds, or is violated in one of four ways."""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truemix.quantifiers import cross_fit

TABULAR = (
    "abalone", "academic-success", "chess", "cmc", "connect-4", "digits", "dry-bean",
    "hand_digits", "image_seg", "isolet", "letter", "mhr", "molecular", "nursery", "obesity",
    "page_block", "phishing", "satellite", "shuttle", "waveform-v1", "wine-quality", "yeast",
)  # fmt: skip
IMAGES = ("cifar10", "cifar100", "fashionmnist", "mnist", "svhn")
# Rules and constants are chosen on these sets; the others are reported separately.
CHOSEN_ON = frozenset(
    {
        "abalone", "academic-success", "chess", "cmc", "connect-4", "dry-bean", "image_seg",
        "letter", "molecular", "wine-quality", "yeast", "cifar10", "mnist",
    }
)  # fmt: skip

LABEL_SHIFT = "label shift"
VIOLATIONS = ("feature noise", "new kind of items", "drift within classes", "covariate shift")
# Noise and drift are in standard deviations of the features.
NOISE = 1.0
DRIFT = 0.4
NEW_SHARE = 0.25
# Items with a high value of a feature are so many times as likely to be drawn.
SELECTION = 2.0
# References and pools beyond this make a benchmark slower, not more instructive.
MAX_ITEMS = 3_000


@dataclass(frozen=True)
class Data:
    """References with out-of-fold posteriors, a pool of other items, and the trained models."""

    posteriors: np.ndarray
    labels: np.ndarray
    pool: np.ndarray
    pool_labels: np.ndarray
    trained: object
    # Items unlike all references, and how people would label them.
    new: np.ndarray | None = None
    new_label: int = 0

    @property
    def n_classes(self):
        """How many classes there are."""
        return self.posteriors.shape[1]


def read(folder, name, *, new_kind=False):
    """Split a data set in halves.

    With ``new_kind`` one class is left out of the references: its items count as a new kind of
    items of the class after it.
    """
    with np.load(folder / "tabular" / f"{name}.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.int64)
    if len(y) > 2 * MAX_ITEMS:
        X, _, y, _ = train_test_split(X, y, train_size=2 * MAX_ITEMS, random_state=0, stratify=y)
    new, new_label = None, 0
    if new_kind:
        # The class of median size: neither rare nor the bulk.
        counts = np.bincount(y)
        gone = int(np.argsort(counts, kind="stable")[len(counts) // 2])
        new, X, y = X[y == gone], X[y != gone], y[y != gone]
        y = np.where(y > gone, y - 1, y)
        new_label = gone % (len(counts) - 1)
    X, pool, y, pool_y = train_test_split(X, y, train_size=0.5, random_state=0, stratify=y)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    trained = cross_fit(classifier, X, y, classes=np.unique(y))
    return Data(trained.posteriors, y, pool, pool_y, trained, new, new_label)


def bag_with_mix(labels, n_classes, size, rng, smallest=300):
    """Return rows of a bag with a random mix, without repetition.

    Mixes are uniform on the simplex, moved towards the natural mix as far as is needed for a bag
    of at least ``smallest`` items.
    """
    available = np.bincount(labels, minlength=n_classes)
    natural = available / available.sum()
    drawn = rng.dirichlet(np.ones(n_classes))
    for part in np.linspace(1.0, 0.0, 11):
        mix = part * drawn + (1.0 - part) * natural
        most = int((available / mix).min())
        if most >= smallest:
            break
    counts = np.minimum(rng.multinomial(min(size, most), mix), available)
    rows = [rng.choice(np.flatnonzero(labels == k), c, replace=False) for k, c in enumerate(counts)]
    return np.concatenate(rows)


def violated(data, kind, size, rng):
    """Return features and labels of a target with random mix and this violation."""
    X, y, K = data.pool, data.pool_labels, data.n_classes
    if kind == "covariate shift":
        # The feature whose means differ most between classes, relative to its spread.
        means = np.array([X[y == k].mean(axis=0) for k in range(K)])
        spread = X.std(axis=0)
        feature = int(np.argmax(np.where(spread > 0, means.std(axis=0) / (spread + 1e-12), -1.0)))
        z = (X[:, feature] - X[:, feature].mean()) / spread[feature]
        keys = rng.exponential(size=len(y)) / np.exp(SELECTION * np.clip(z, -2, 2))
        rows = np.argsort(keys)[: min(size, len(y) // 2)]
        return X[rows], y[rows]
    rows = bag_with_mix(y, K, size, rng)
    X, y = X[rows].copy(), y[rows]
    scale = data.pool.std(axis=0)
    if kind == "feature noise":
        X += NOISE * scale * rng.normal(size=X.shape)
    elif kind == "drift within classes":
        means = np.array([data.pool[data.pool_labels == k].mean(axis=0) for k in range(K)])
        X += DRIFT * (means[(y + 1) % K] - means[y])
    elif kind == "new kind of items":
        n_new = min(len(data.new), int(NEW_SHARE * len(y)))
        added = data.new[rng.choice(len(data.new), n_new, replace=False)]
        X, y = np.concatenate([X, added]), np.append(y, np.full(n_new, data.new_label))
    return X, y
