"""Choose bandwidth and shrinkage from the references themselves, without a validation split.

Every reference item gets its densities from the other folds, so it can play a target. Bags with
all kinds of mixes are drawn from these items, and the setting with the smallest error of the
estimated mix is taken. That is the very thing the user wants small; choosing by likelihood is
clearly worse, because the best density is not the one that separates classes best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.inference import maximize_mixtures
from truemix.metrics import absolute_error
from truemix.protocols import DirichletBags
from truemix.quantifiers.held_out import at_most, by_appearance, folds_of, judged_by_others

# The grids of the paper.
BANDWIDTHS = {
    "aitchison": np.logspace(-1, 1, 10),
    "ilr": np.logspace(-1, 1, 10),
    "gaussian": np.logspace(-2, 0, 10),
}
SHRINKAGES = {
    "aitchison": (0.001, 0.25, 0.5, 0.75, 0.9, 0.999),
    "ilr": (0.001, 0.25, 0.5, 0.75, 0.9, 0.999),
    "gaussian": (0.0,),
}
N_BAGS = 100
BAG_SIZE = 1000
# Beyond these sizes a random part of the references serves: the choice changes little, and the
# work would grow with the product.
MOST_TARGETS = 4_000
MOST_REFERENCES = 20_000
# Width of the smoothing over neighbouring settings, in steps of the grid.
SMOOTHING = {"shrinkage": 0.5, "bandwidth": 0.7}
# Settings whose error exceeds the smallest by no more than this many standard errors over the bags
# are as good a choice.
NOISE = 2.0
# The bags are drawn from the same few references, though: another set of m per class would move
# each error by about this over sqrt(m), relatively. Settings within that tie; of many ties some
# serve, from the best to the worst in even steps.
SAMPLING = 2.0
MAX_TIES = 12
RUNNER_UPS = 5


@dataclass(frozen=True)
class Choice:
    """The chosen setting; it and the runners-up with their errors, the choice first."""

    bandwidth: float
    shrinkage: float
    best: list[dict[str, Any]]


def choose_smoothing(
    posteriors: FloatArray,
    codes: IntArray,
    kernel: str,
    bandwidths: FloatArray,
    shrinkages: tuple[float, ...],
) -> Choice:
    """Return the bandwidth and shrinkage with the smallest error over bags of references.

    The mean errors of neighbouring settings are averaged a little first: the surface is smooth,
    its estimate from a finite reference is not, and a lucky spike is a bad choice. Among settings
    that tie with the best one the least shrinkage is taken: shrinking gives up geometry, so it
    has to prove its worth.
    """
    rng = np.random.default_rng(0)
    kept = at_most(MOST_REFERENCES, codes, rng)
    # Columns in the order in which classes appear: their names must not decide which bags are drawn.
    classes = by_appearance(codes)
    posteriors, codes = posteriors[kept][:, classes], np.argsort(classes)[codes[kept]]
    targets = np.sort(at_most(MOST_TARGETS, codes, rng))
    fold = folds_of(codes, rng)
    # Small references repeat in large bags: that costs time and teaches nothing.
    protocol = DirichletBags(
        n_bags=N_BAGS, bag_size=min(BAG_SIZE, max(100, len(targets))), random_state=0
    )
    bags = list(protocol.bags(codes[targets], np.arange(posteriors.shape[1])))
    rows = [bag.index for bag in bags]
    truth = np.array([bag.prevalence for bag in bags])
    errors = np.empty((len(shrinkages), len(bandwidths), len(bags)))
    for i, shrinkage in enumerate(shrinkages):
        matrices = judged_by_others(
            (posteriors, codes, fold),
            (posteriors[targets], fold[targets]),
            kernel,
            bandwidths,
            shrinkage,
        )
        mixes: FloatArray | None = None
        for j, matrix in enumerate(matrices):
            # The next bandwidth's answers are near this one's.
            fits = maximize_mixtures(matrix, rows, starts=mixes)
            mixes = np.array([fit.prevalence for fit in fits])
            errors[i, j] = absolute_error(truth, mixes)
    best = [
        {
            "bandwidth": float(bandwidths[j]),
            "shrinkage": float(shrinkages[i]),
            "absolute_error": float(errors[i, j].mean()),
            "tie": tie,
        }
        for i, j, tie in _ranking(errors, SAMPLING / np.sqrt(len(targets) / posteriors.shape[1]))
    ]
    return Choice(best[0]["bandwidth"], best[0]["shrinkage"], best)


def _ranking(errors: FloatArray, relative: float) -> list[tuple[int, int, bool]]:
    """Return settings of ``errors`` (row, column, bag): the choice, then the others by error.

    Each as row, column, and whether it ties with the one of the smallest error; beside the choice
    up to ``MAX_TIES - 1`` that tie, or the ``RUNNER_UPS``.
    """
    smooth = _smoothed(errors.mean(axis=2))
    best = np.unravel_index(smooth.argmin(), smooth.shape)
    # Bags differ far more than settings do: only differences on the same bags tell them apart.
    noise = (errors - errors[best]).std(axis=2, ddof=1) / np.sqrt(errors.shape[2])
    excess = smooth - smooth[best]
    equal = excess <= NOISE * noise
    row, column = np.indices(smooth.shape)
    choice = np.lexsort((smooth.ravel(), np.where(equal, row, smooth.shape[0]).ravel()))[0]
    ties = (equal | (excess <= relative * smooth[best])).ravel()
    by_error = np.argsort(smooth, axis=None, kind="stable")
    others = by_error[by_error != choice]
    tied = others[ties[others]]
    if len(tied) >= RUNNER_UPS:
        steps = np.linspace(0, len(tied) - 1, min(len(tied), MAX_TIES - 1))
        others = tied[steps.round().astype(np.intp)]
    else:
        others = others[:RUNNER_UPS]
    return [
        (int(row.flat[flat]), int(column.flat[flat]), bool(ties[flat]))
        for flat in [choice, *others]
    ]


def _smoothed(errors: FloatArray) -> FloatArray:
    from scipy.ndimage import gaussian_filter

    widths = (SMOOTHING["shrinkage"], SMOOTHING["bandwidth"])
    # On the log scale, so that a bad neighbour does not shout; perfect estimates stay finite.
    logs: Any = gaussian_filter(np.log(errors + 1e-12), widths, mode="nearest")
    return np.asarray(np.exp(logs), dtype=np.float64)
