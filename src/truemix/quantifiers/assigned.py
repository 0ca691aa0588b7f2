"""The class that an item counts for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truemix._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from truemix.quantifiers.base import Quantifier


def assigned_classes(quantifier: Quantifier, scored: FloatArray) -> IntArray:
    """Return the class that each item is assigned to by each model, ``(M, n)``.

    That of the largest posterior. A decision that was given counts for the class that it is named
    after; one that is no class ("unsure"), and the verdicts of several judges, for the class that
    most references with it have.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted.
    scored : ndarray of shape (M, n, K)
        Posteriors, or decisions as the quantifier encodes them.

    Examples
    --------
    >>> from truemix import ACC
    >>> quantifier = ACC().fit(["good", "bad", "unsure", "good"], ["good", "bad", "bad", "bad"])
    >>> assigned = assigned_classes(quantifier, quantifier.posteriors(["good", "unsure", "bad"]))
    >>> quantifier.classes_[assigned]
    array([['good', 'bad', 'bad']], dtype='<U4')
    """
    columns = scored.argmax(axis=2)
    given = quantifier.given_decisions
    if given is None:
        return np.asarray(columns)
    model, share = quantifier.model_, np.log(quantifier.train_prevalence_)
    likely = np.array([(model.log_likelihood(layer) + share).argmax(axis=1) for layer in scored])
    named = given.named_class[columns]
    return np.where(named >= 0, named, likely)
