"""From the likelihood of each item under each class to the mix of classes."""

from truemix.inference.maximum_likelihood import MixtureFit, maximize_mixture

__all__ = ["MixtureFit", "maximize_mixture"]
