"""Class-conditional densities: the model that makes the log-likelihood matrix from references."""

from truemix.densities.kde import kde_log_likelihood

__all__ = ["kde_log_likelihood"]
