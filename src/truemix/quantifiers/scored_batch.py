"""The batch that an estimate is about, for questions that come after it.

Which items to label, what other assumptions would have said, how good the classifier is here: all
need the rows of the batch and the fitted quantifier. An estimate holds both as long as it is in
memory; files hold the estimate alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.inference.bags import Bag
from truemix.quantifiers.pool import rows_of_items
from truemix.summaries import Summary

if TYPE_CHECKING:
    from truemix.estimates import Estimate
    from truemix.estimates.answers import Sensitivity
    from truemix.quantifiers.base import Quantifier
    from truemix.trust.item_choice import ItemChoice
    from truemix.trust.performance import Performance


@dataclass(frozen=True, eq=False)
class ScoredBatch:
    """The rows of one batch, as a fitted quantifier scored them.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted.
    summary : Summary
        The distinct rows, with the number of items equal to each.
    items : object, optional
        The items as they were given, if they are in memory.
    """

    quantifier: Quantifier
    summary: Summary
    items: Any = None

    @cached_property
    def scored(self) -> FloatArray:
        """Posteriors of the rows by each model that scores them, ``(M, n_rows, K)``."""
        return self.summary.scored()

    @cached_property
    def bag(self) -> Bag:
        """All of these rows, with the number of items equal to each, and how they were sampled."""
        return self.summary.bag()

    @property
    def knows_items(self) -> bool:
        """Whether single items can be told apart: all are in memory, and in the summary."""
        return self.items is not None and self.summary.exact

    @cached_property
    def row_of_item(self) -> IntArray:
        """The row of each item, ``(n_items,)``.

        Raises
        ------
        InputError
            If the items are not in memory, or the rows are a sample of them.
        """
        if not self.knows_items:
            raise InputError(
                "Single items are not known here: the batch was read in parts, was a Summary, or "
                "has more distinct rows than a summary keeps. Pass the items as one array or data "
                "frame, at most 200,000 distinct rows of them, to quantify."
            )
        return rows_of_items(self.scored, self.quantifier.posteriors(self.items))

    def log_likelihood(self) -> FloatArray:
        """Return the log-likelihood of each row under each class, ``(M, n_rows, K)``."""
        model = self.quantifier.model_
        return np.stack([model.log_likelihood(layer) for layer in self.scored])

    # --- questions that estimates pass on -----------------------------------------------------

    def sensitivity(self, estimate: Estimate, level: float) -> Sensitivity:
        """Return what other assumptions say about the batch."""
        from truemix.trust.sensitivity import sensitivity_of

        return sensitivity_of(self, estimate, level)

    def performance(self, estimate: Estimate, level: float) -> Performance:
        """Return how good the classifier is on this batch."""
        from truemix.trust.performance import performance_of

        return performance_of(self, estimate, level)

    def choose_items(self, estimate: Estimate, n: int, random_state: Any) -> ItemChoice:
        """Return a probability sample of the items, to be labelled."""
        from truemix.trust.item_choice import choose_items

        return choose_items(self, estimate, n, random_state)
