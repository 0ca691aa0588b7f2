"""The class shares that a classifier's posteriors are for: those of its training items, mostly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.calibration import class_biases
from truemix.exceptions import InputError
from truemix.validation import check_choice, check_matrix, shown_value

REFERENCES, POSTERIORS, IMPLIED, AUTOMATIC = "references", "posteriors", "implied", "auto"
CHOICES = (REFERENCES, POSTERIORS, IMPLIED, AUTOMATIC)
# Level of the test whether posteriors are for another mix than that of the references.
LEVEL = 0.01
_SUM = 1e-3


def check_training_prevalence(given: Any, n_classes: int | None = None) -> FloatArray | str:
    """Return one of the choices, or positive shares that sum to one.

    Examples
    --------
    >>> check_training_prevalence([0.5, 0.5], n_classes=2)
    array([0.5, 0.5])
    """
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return check_choice(given, "training_prevalence", CHOICES)
    shares = check_matrix([given], "training_prevalence")[0]
    if n_classes is not None and len(shares) != n_classes:
        raise InputError(
            f"The 'training_prevalence' parameter has {len(shares)} numbers; expected one for each "
            f"of the {n_classes} classes, in their sorted order."
        )
    if not (shares > 0.0).all() or abs(shares.sum() - 1.0) > _SUM:
        raise InputError(
            f"The 'training_prevalence' parameter is {shown_value(given)}; expected positive "
            "shares that sum to 1."
        )
    return np.asarray(shares / shares.sum())


def training_prevalence(
    given: Any, posteriors: FloatArray, codes: IntArray, n_classes: int
) -> FloatArray:
    """Return the class shares that posteriors are to be divided by.

    Parameters
    ----------
    given : {"references", "posteriors", "implied", "auto"} or sequence of float
        The class shares of the references; the mean of their posteriors; the shares under which
        their posteriors would be right on average, found by maximum likelihood; these if a
        likelihood-ratio test says that posteriors are for another mix than the references', else
        theirs; or shares that are known.
    posteriors, codes
        The references.
    n_classes : int

    Returns
    -------
    ndarray of shape (K,)

    Examples
    --------
    Posteriors for equal shares, of references three quarters of which are hams:

    >>> posteriors = np.array([[0.9, 0.1]] * 28 + [[0.1, 0.9]] * 12)
    >>> codes = np.array([0] * 27 + [1] + [0] * 3 + [1] * 9)
    >>> training_prevalence("implied", posteriors, codes, 2).round(1)
    array([0.5, 0.5])
    """
    checked = check_training_prevalence(given, n_classes)
    if not isinstance(checked, str):
        return checked
    of_references = np.bincount(codes, minlength=n_classes) / len(codes)
    if checked == REFERENCES:
        return of_references
    if checked == POSTERIORS:
        return _positive(posteriors.mean(axis=0))
    biases, statistic = class_biases(posteriors, codes)
    if checked == AUTOMATIC and _is_by_chance(statistic, n_classes - 1):
        return of_references
    # Bayes' rule: from the shares q to those of the references, posteriors change by their ratio.
    implied = of_references * np.exp(-biases)
    return np.asarray(implied / implied.sum())


def _is_by_chance(statistic: float, n_free: int) -> bool:
    """Return whether a likelihood ratio may be due to chance, where nothing is to be found."""
    from scipy.special import gammaincc

    return bool(gammaincc(n_free / 2, statistic / 2) >= LEVEL)


def _positive(means: FloatArray) -> FloatArray:
    if not (means > 0.0).all():
        raise InputError(
            f"Class number {int(means.argmin())} has a posterior of zero for all references, so "
            "its training prevalence cannot be the mean of posteriors; expected "
            "training_prevalence='references', or shares that are known."
        )
    return np.asarray(means / means.sum())
