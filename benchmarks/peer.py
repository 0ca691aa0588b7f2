"""What the benchmarks share: QuaPy as the peer, common data, and the clock."""

import sys
import time
import types
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

# QuaPy asks for pystan before it offers any Bayesian method; only one that is not compared here
# uses it, and it has no wheel for every platform.
for module in ("stan", "stan.common"):
    sys.modules.setdefault(module, types.ModuleType(module))
sys.modules["stan"].common = sys.modules["stan.common"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # QuaPy's dependencies are full of them
    import quapy.method.aggregative as quapy

__all__ = ["Given", "best_of", "posteriors", "quapy"]


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose features are posteriors already, for QuaPy."""

    def fit(self, X, y):
        """Remember the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Return the features."""
        return X

    def predict(self, X):
        """Return the class of the largest posterior."""
        return self.classes_[X.argmax(axis=1)]


def posteriors(n, n_classes, seed, mix=None):
    """Draw softmax posteriors and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes if mix is None else rng.choice(n_classes, n, p=mix)
    logits = rng.normal(size=(n, n_classes)) + 3.0 * np.eye(n_classes)[labels]
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True), labels


def best_of(repeats, function):
    """Return the shortest time of several runs and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result
