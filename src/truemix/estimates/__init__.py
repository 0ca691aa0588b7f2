"""What a quantifier answers: the mix, where it comes from, and how far to trust it."""

from truemix.estimates.comparison import Comparison
from truemix.estimates.estimate import Estimate
from truemix.estimates.estimate_set import EstimateSet
from truemix.estimates.regions import Region

__all__ = ["Comparison", "Estimate", "EstimateSet", "Region"]
