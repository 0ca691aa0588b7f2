"""Whether a quantifier's batches can be checked at all."""

from __future__ import annotations

from truemix.checks._references import check_can_be_checked, scored_references
from truemix.exceptions import InputError
from truemix.quantifiers.base import Quantifier


def why_not(quantifier: Quantifier) -> str | None:
    """Return a sentence why label shift cannot be checked, or None if it can.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted.

    Returns
    -------
    str or None

    Examples
    --------
    >>> from truemix import KDEy
    >>> quantifier = KDEy(bandwidth=0.3, shrinkage=0.1)
    >>> why_not(quantifier.fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])) is None
    True
    """
    try:
        check_can_be_checked(quantifier)
        scored_references(quantifier)
    except InputError as error:
        return str(error)
    return None
