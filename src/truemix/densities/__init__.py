"""Class-conditional densities: the model that makes the log-likelihood matrix from references."""

from truemix.densities._tiles import KERNELS
from truemix.densities.kde import kde_log_likelihood

__all__ = ["KERNELS", "kde_log_likelihood"]
