"""QuaPy, the peer, as the benchmarks use it."""

import sys
import types
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from common import best_of, posteriors

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
