"""A probability sample of the items of a batch, to be labelled, and what to expect of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from truemix._optional import require
from truemix._seeds import resolved_seed
from truemix._typing import FloatArray, IntArray, Seed
from truemix.exceptions import InputError
from truemix.trust.forecast import NUMBERS, Forecast, Outlook
from truemix.trust.labelled_estimate import checked
from truemix.trust.responsibilities import adapted_posteriors
from truemix.trust.robust import RobustMixture, prior_weight
from truemix.trust.sampling_design import (
    inclusion_probabilities,
    similar_order,
    systematic_sample,
)
from truemix.validation import shown

if TYPE_CHECKING:
    import pandas as pd

    from truemix.estimates import Estimate
    from truemix.quantifiers.scored_batch import ScoredBatch


@dataclass(frozen=True, eq=False)
class ItemChoice:
    """Items to be labelled.

    Attributes
    ----------
    rows : ndarray of int of shape (n,)
        Their row numbers in the batch, ascending.
    inclusion : ndarray of shape (n,)
        The probability with which each was chosen.
    outlook : Outlook
        What forecasts are made from.
    """

    rows: IntArray
    inclusion: FloatArray
    outlook: Outlook

    def frame(self) -> pd.DataFrame:
        """Return one row per item: ``row`` and ``inclusion``."""
        require("pandas", "Estimate.choose_items()")
        import pandas as pd

        return pd.DataFrame({"row": self.rows, "inclusion": self.inclusion})

    def forecast(self, ns: Sequence[int] = NUMBERS, level: float = 0.95) -> Forecast:
        """Return the widths of intervals that are expected with so many labels."""
        return self.outlook.forecast(ns, level)

    def needed(self, width: float, level: float = 0.95) -> int:
        """Return the smallest number of labels that makes intervals so narrow on average."""
        return self.outlook.needed(width, level)


def choose_items(
    batch: ScoredBatch, estimate: Estimate, n: int, random_state: Seed = None
) -> ItemChoice:
    """Return a probability sample of the items of a batch.

    Every item has a positive probability, a larger one where its predicted class is unsure; the
    sample is spread over all decisions and degrees of confidence.

    Parameters
    ----------
    batch : ScoredBatch
        Whose items are in memory.
    estimate : Estimate
        Of the batch.
    n : int
        How many items to choose; all of them if there are no more.
    random_state : int, Generator or None
        The same seed gives the same items.

    Returns
    -------
    ItemChoice
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(
            f"The number of items to label is {shown(n)}; expected a whole number, at least 1."
        )
    row_of_item = batch.row_of_item
    outlook = outlook_of(batch, estimate)
    inclusion = inclusion_probabilities(outlook.predicted, outlook.counts, int(n))[row_of_item]
    if n >= len(row_of_item):
        return ItemChoice(np.arange(len(row_of_item)), inclusion, outlook)
    rng = np.random.default_rng(resolved_seed(random_state))
    order = similar_order(outlook.predicted[row_of_item], rng)
    rows = systematic_sample(inclusion, order, rng)
    return ItemChoice(rows, inclusion[rows], outlook)


def outlook_of(batch: ScoredBatch, estimate: Estimate) -> Outlook:
    """Return what forecasts of further labels are made from."""
    views = estimate.draws_of("batch"), estimate.draws_of("population")
    mixture = None
    if views[0] is not None and views[1] is not None:
        mixture = RobustMixture.of_draws(views[0], views[1], prior_weight(checked(estimate)))
    predicted = adapted_posteriors(batch, estimate)
    return Outlook(estimate.classes, predicted, batch.bag.weights, estimate.estimand, mixture)
