"""Quantifiers: a class-conditional model and an inference, wired as scikit-learn estimators."""

from truemix.quantifiers.acc import ACC, PACC
from truemix.quantifiers.base import NotFittedError, Parts, Quantifier
from truemix.quantifiers.bayesian_acc import BayesianACC
from truemix.quantifiers.bayesian_emq import BayesianEMQ
from truemix.quantifiers.bayesian_kdey import BayesianKDEy
from truemix.quantifiers.bootstrap import Bootstrap
from truemix.quantifiers.counting import CC, PCC
from truemix.quantifiers.emq import EMQ
from truemix.quantifiers.kdey import KDEy
from truemix.quantifiers.mixture import MixtureQuantifier
from truemix.quantifiers.pq import PQ
from truemix.quantifiers.scoring import CrossFit, cross_fit

__all__ = [
    "ACC",
    "CC",
    "EMQ",
    "PACC",
    "PCC",
    "PQ",
    "BayesianACC",
    "BayesianEMQ",
    "BayesianKDEy",
    "Bootstrap",
    "CrossFit",
    "KDEy",
    "MixtureQuantifier",
    "NotFittedError",
    "Parts",
    "Quantifier",
    "cross_fit",
]
