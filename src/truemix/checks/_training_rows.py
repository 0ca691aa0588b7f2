"""A frequent cause of a failed check: references scored by a model that was trained on them."""

from __future__ import annotations

import math

import numpy as np

from truemix._typing import FloatArray
from truemix.checks._references import References
from truemix.estimates.text import items, percent

# On its training rows a model makes almost no errors: at most this share of the references is
# misclassified. That may be a coincidence if references are few, or if the posteriors of the target
# predict few errors among as many items.
MAX_WRONG = 0.002
MIN_REFERENCES = 100
MIN_EXPECTED = 3.0
# The quantile of the references' posteriors for their class; and by how many standard errors more
# than this share of the target items must have a smaller maximum.
MIN_SURE = 0.01
CLEAR = 4.0


def training_rows(
    references: References, posteriors: FloatArray, counts: FloatArray, mix: FloatArray
) -> str | None:
    """Return a sentence if the references look as if the model had been trained on them.

    Then nearly all are classified correctly, although the posteriors of the target predict errors,
    and with more confidence than the target: under label shift references of the same mix would
    have the same confidence. With decisions only, the accuracy is the only evidence.

    Parameters
    ----------
    references : References
    posteriors : ndarray of shape (n, K)
        Of the target.
    counts : ndarray of shape (n,)
        How many items each row stands for.
    mix : ndarray of shape (K,)
        The mix that fits the target best.

    Returns
    -------
    str or None
    """
    codes, n_items = references.codes, len(references.codes)
    if references.posteriors.shape[1] != len(references.classes):
        # Decisions that are no classes are neither right nor wrong.
        return None
    wrong = float((references.posteriors.argmax(axis=1) != codes).mean())
    if references.out_of_fold or n_items < MIN_REFERENCES or wrong > MAX_WRONG:
        return None
    if not references.can_reveal(posteriors):
        return (
            f"In the reference {_nearly_all(wrong)} of the {items(n_items)} are decided right: if "
            "they were scored by a model that was trained on these very rows, score held-out items "
            "instead."
        )
    confidence = posteriors.max(axis=1)
    if n_items * float(1.0 - np.average(confidence, weights=counts)) < MIN_EXPECTED:
        return None
    own = references.posteriors[np.arange(n_items), codes]
    weights = (mix / np.bincount(codes, minlength=len(mix)))[codes]
    least = _quantile(own, weights, MIN_SURE)
    less_sure = float(np.average(confidence < least, weights=counts))
    error = math.sqrt(
        MIN_SURE * (1.0 - MIN_SURE) * (1.0 / float(counts.sum()) + float((weights**2).sum()))
    )
    if less_sure < MIN_SURE + CLEAR * error:
        return None
    return (
        "The reference looks as if it had been scored by a model that was trained on these very "
        f"rows: {_nearly_all(wrong)} of its {items(n_items)} are decided right, and 99 % of them "
        f"(in the mix of the target) have a posterior of {_shown(least)} or more for their class, "
        f"but {percent(less_sure)} of the target items have less for any class. If so, score "
        "held-out items instead."
    )


def _quantile(values: FloatArray, weights: FloatArray, share: float) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(total, share * total[-1])]])


def _nearly_all(wrong: float) -> str:
    return "all" if wrong == 0.0 else percent(1.0 - wrong)


def _shown(posterior: float) -> str:
    """Return a posterior rounded down, with as many nines as it has.

    Examples
    --------
    >>> _shown(0.7263), _shown(0.99987), _shown(1.0)
    ('0.72', '0.9998', '1')
    """
    if posterior >= 1.0 - 1e-9:
        return "1"
    digits = max(2, math.ceil(-math.log10(1.0 - posterior)))
    return f"{math.floor(posterior * 10**digits) / 10**digits:.{digits}f}"
