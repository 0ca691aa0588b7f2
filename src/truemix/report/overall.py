"""The mix of all groups together."""

from __future__ import annotations

from truemix.estimates import Estimate, EstimateSet
from truemix.estimates.checks import LABEL_SHIFT
from truemix.summaries import merge_groups


def overall_of(estimates: EstimateSet) -> Estimate | None:
    """Return the mix of all items of all groups, checked if the groups were.

    The summaries of groups add up to that of all items, so that nothing is read or scored again.

    Parameters
    ----------
    estimates : EstimateSet
        From one call of ``quantify_by``.

    Returns
    -------
    Estimate or None
        None of fewer than two groups, or if the items are not in memory any more.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import PCC
    >>> quantifier = PCC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> weeks = quantifier.quantify_by(np.array([[0.9, 0.1], [0.5, 0.5]]), [1, 2])
    >>> overall_of(weeks).prevalence.tolist()
    [0.7, 0.3]
    """
    groups = list(estimates.values())
    batches = [each.batch for each in groups]
    if len(batches) < 2 or any(batch is None for batch in batches):
        return None
    quantifier = batches[0].quantifier
    if any(batch.quantifier is not quantifier for batch in batches):
        return None
    [(_, items)] = merge_groups(*({"all": batch.summary} for batch in batches)).items()
    checked = all(LABEL_SHIFT in each.checks for each in groups)
    found: Estimate = quantifier.quantify(items, check=checked)
    return found
