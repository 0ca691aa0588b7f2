"""From the likelihood of each item under each class to the mix of classes."""

from truemix.inference.many import maximize_mixtures, sample_mixtures
from truemix.inference.maximum_likelihood import MixtureFit, maximize_mixture
from truemix.inference.sampling import MixtureSample, sample_mixture
from truemix.inference.versions import sample_versions

__all__ = [
    "MixtureFit",
    "MixtureSample",
    "maximize_mixture",
    "maximize_mixtures",
    "sample_mixture",
    "sample_mixtures",
    "sample_versions",
]
