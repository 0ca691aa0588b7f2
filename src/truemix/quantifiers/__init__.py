"""Quantifiers: a class-conditional model and an inference, wired as scikit-learn estimators."""

from truemix.quantifiers.adjusted import ACC
from truemix.quantifiers.base import NotFittedError, Quantifier
from truemix.quantifiers.bayesian import BayesianKDEy
from truemix.quantifiers.bayesian_acc import BayesianACC
from truemix.quantifiers.bayesian_emq import BayesianEMQ
from truemix.quantifiers.bootstrap import Bootstrap
from truemix.quantifiers.counting import CC, PCC
from truemix.quantifiers.emq import EMQ
from truemix.quantifiers.kdey import KDEy

__all__ = [
    "ACC",
    "CC",
    "EMQ",
    "PCC",
    "BayesianACC",
    "BayesianEMQ",
    "BayesianKDEy",
    "Bootstrap",
    "KDEy",
    "NotFittedError",
    "Quantifier",
]
