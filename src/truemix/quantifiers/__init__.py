"""Quantifiers: a class-conditional model and an inference, wired as scikit-learn estimators."""

from truemix.quantifiers.base import NotFittedError, Quantifier
from truemix.quantifiers.kdey import KDEy

__all__ = ["KDEy", "NotFittedError", "Quantifier"]
