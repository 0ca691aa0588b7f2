"""From the likelihood of each item under each class to the mix of classes."""

from truemix.inference.batched import maximize_mixtures, sample_mixtures
from truemix.inference.confusion import sample_confusion
from truemix.inference.confusion_posterior import ConfusionPosterior
from truemix.inference.least_squares import LeastSquares
from truemix.inference.maximum_likelihood import MixtureFit, maximize_mixture
from truemix.inference.point import Counting, MaximumLikelihood
from truemix.inference.posterior import Posterior
from truemix.inference.protocol import Inference, MixtureResult, Replicates
from truemix.inference.replicates import sample_replicates
from truemix.inference.resampling import Resampling
from truemix.inference.sampling import MixtureSample, sample_mixture

__all__ = [
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
    "sample_mixture",
    "sample_mixtures",
    "sample_replicates",
]
