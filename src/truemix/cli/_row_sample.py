"""How many rows of a target are enough: what ``--sample`` takes, and when a note proposes it.

A sample is that of a summary (:class:`truemix.summaries.Summary`): distinct rows, chosen by a hash
of their contents within strata of decision and confidence. It does not depend on the order of rows
or on files, and intervals, which are about the whole target, include its error.

The proposal follows from how the width of an interval splits. The references, and what the rows
leave open, make the width w of an interval from all rows. A sample of m rows adds an independent
error with the standard deviation s(m), which is known without another run: that of the mix of
maximum likelihood, from the strata and the likelihoods of the sampled rows. The interval is then
``sqrt(w**2 + (2 z s(m))**2)`` wide, and m is enough if that is hardly more than w for every class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from truemix._typing import FloatArray
from truemix.exceptions import InputError
from truemix.inference.bags import Bag
from truemix.summaries.summary import MAX_ROWS

if TYPE_CHECKING:
    from truemix.estimates import Estimate

MIN_SAMPLE = 100
# With fewer rows an estimate is quick anyway.
MANY_ROWS = 20_000
# Sizes that are proposed; a sample of more than half of the rows saves little.
SIZES = (5_000, 10_000, 20_000, 50_000, 100_000)
# How much wider intervals may become: a tenth of a percentage point.
WIDER = 0.001


def capacity_of(n_rows: int | None) -> int | None:
    """Return the capacity of a summary that keeps so many rows, if there are more."""
    if n_rows is None:
        return None
    if not MIN_SAMPLE <= n_rows <= MAX_ROWS:
        raise InputError(
            f"The option --sample is {n_rows}; expected from {MIN_SAMPLE} rows, which tell the "
            f"error of a sample, to {MAX_ROWS:,}, which are kept without the option."
        )
    # A summary keeps three quarters of its capacity.
    return -(-4 * n_rows // 3)


def about_enough(estimate: Estimate, level: float) -> str | None:
    """Return a note that proposes a sample, if one would have given nearly the same intervals."""
    n_rows = enough_rows(estimate, level)
    if n_rows is None:
        return None
    return (
        f"a sample of {n_rows:,} rows would have given intervals less than {100 * WIDER:g} "
        f"percentage points wider; --sample {n_rows} takes as many."
    )


def enough_rows(estimate: Estimate, level: float) -> int | None:
    """Return how many rows give nearly the same intervals; None if it takes most of them."""
    batch = estimate.batch
    if estimate.draws is None or batch is None or batch.summary.n_rows < MANY_ROWS:
        return None
    if estimate.unknown is not None or not hasattr(batch.quantifier.model_, "log_likelihood"):
        return None
    bounds = estimate.interval(level)
    width = bounds[:, 1] - bounds[:, 0]
    if not batch.summary.exact:
        # Of a sample itself: what all rows would have left.
        error = sampling_width(estimate, batch.summary.n_rows, level)
        width = np.sqrt(np.maximum(width**2 - error**2, 0.0))
    for n_rows in SIZES:
        if n_rows > batch.summary.n_rows / 2:
            break
        if (np.hypot(width, sampling_width(estimate, n_rows, level)) - width <= WIDER).all():
            return n_rows
    return None


def sampling_width(estimate: Estimate, n_rows: int, level: float) -> FloatArray:
    """Return how wide the intervals of classes would be from the sampling of rows alone."""
    batch = estimate.batch
    sampled = batch.summary.limited(capacity_of(n_rows))
    bag: Bag = sampled.bag()
    log = replace(batch, summary=sampled).log_likelihood()[0]
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    error = bag.likelihood_error(likelihood, estimate.prevalence).get("sampling_error", 0.0)
    return np.asarray(2.0 * ndtri(0.5 + level / 2.0) * error * np.ones(len(estimate.classes)))
