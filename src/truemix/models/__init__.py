"""Class-conditional models: from posteriors to the log-likelihood of each item under each class."""

from truemix.models.confusion import Confusion, Histogram
from truemix.models.kernel_density import KernelDensity
from truemix.models.posterior_ratio import PosteriorRatio
from truemix.models.protocol import LikelihoodModel, ObservationModel, Savable, Uncertain
from truemix.models.resampled import ResampledReferences
from truemix.models.unknown import WithUnknown

__all__ = [
    "Confusion",
    "Histogram",
    "KernelDensity",
    "LikelihoodModel",
    "ObservationModel",
    "PosteriorRatio",
    "ResampledReferences",
    "Savable",
    "Uncertain",
    "WithUnknown",
]
