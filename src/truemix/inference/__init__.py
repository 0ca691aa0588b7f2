"""Infer the mix of classes from the log-likelihood of each item under each class.

Functions (``maximize_mixture``, ``sample_mixture``, …) work on plain matrices. The classes are the
inference parts of quantifiers; they are scikit-learn estimators and are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truemix.inference.batched import maximize_mixtures, sample_mixtures
from truemix.inference.confusion import sample_confusion
from truemix.inference.judges import sample_judges
from truemix.inference.maximum_likelihood import MixtureFit, maximize_mixture
from truemix.inference.protocol import Inference, MixtureResult, Replicates
from truemix.inference.replicates import sample_replicates
from truemix.inference.sampling import MixtureSample, sample_mixture

if TYPE_CHECKING:
    from truemix.inference.averaging import Averaging
    from truemix.inference.confusion_posterior import ConfusionPosterior
    from truemix.inference.least_squares import LeastSquares
    from truemix.inference.point import Counting, MaximumLikelihood
    from truemix.inference.posterior import Posterior
    from truemix.inference.resampling import Resampling

__all__ = [
    "Averaging",
    "ConfusionPosterior",
    "Counting",
    "Inference",
    "LeastSquares",
    "MaximumLikelihood",
    "MixtureFit",
    "MixtureResult",
    "MixtureSample",
    "Posterior",
    "Replicates",
    "Resampling",
    "maximize_mixture",
    "maximize_mixtures",
    "sample_confusion",
    "sample_judges",
    "sample_mixture",
    "sample_mixtures",
    "sample_replicates",
]

_HOME = {
    "Averaging": "averaging",
    "ConfusionPosterior": "confusion_posterior",
    "Counting": "point",
    "LeastSquares": "least_squares",
    "MaximumLikelihood": "point",
    "Posterior": "posterior",
    "Resampling": "resampling",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'truemix.inference' has no attribute {name!r}")
    value = getattr(import_module(f"truemix.inference.{_HOME[name]}"), name)
    globals()[name] = value
    return value
