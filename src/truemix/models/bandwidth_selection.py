"""Select bandwidth and shrinkage by cross-validation on the references, without a validation split.

Every reference gets out-of-fold densities, so it can serve as a target. Bags with mixes from all
over the simplex are drawn from these items, and the setting with the smallest error of the
estimated mix is selected. That error is what matters to the user; selecting by likelihood is
clearly worse, because the best density estimate is not the one that separates classes best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.inference import maximize_mixtures
from truemix.metrics import absolute_error
from truemix.models.out_of_fold import (
    N_FOLDS,
    at_most,
    by_appearance,
    folds_of,
    out_of_fold_log_likelihood,
)
from truemix.protocols import DirichletBags

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
# A bag has one error per class, so fewer bags are enough with many classes, where solving is slow:
# this many shares in all.
N_SHARES = 3_000
MIN_BAGS = 10
# With few references the selection depends on how they are split: then use more folds (bounded by
# the total number of rows that densities are fitted on) and repeat with several random splits.
MAX_FOLDS = 20
FOLDED_ROWS = 40_000
FEW_REFERENCES = 800
MAX_ROUNDS = 4
# Above these sizes a random subsample is used: the selection changes little, and the cost grows
# with the product of targets and references.
MAX_TARGETS = 4_000
MAX_REFERENCES = 20_000
# Width of the Gaussian smoothing over neighbouring settings, in steps of the grid.
SMOOTHING = {"shrinkage": 0.5, "bandwidth": 0.7}
# Settings whose error exceeds the smallest by at most this many standard errors over the bags are
# equally good choices.
NOISE = 2.0
# The bags share the same few references: with another sample of m per class, each error would
# change by about SAMPLING / sqrt(m), relatively. Settings within that tie; if there are more than
# MAX_TIES, evenly spaced ones from best to worst are kept.
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

    The mean errors are smoothed over neighbouring settings first: the true error surface is smooth,
    its estimate from finitely many references is noisy. Among settings that tie with the best one,
    the smallest shrinkage is selected, because shrinkage distorts the geometry.
    """
    rng = np.random.default_rng(0)
    kept = at_most(MAX_REFERENCES, codes, rng)
    # Columns in order of appearance: the bags must not depend on the names of classes.
    classes = by_appearance(codes)
    posteriors, codes = posteriors[kept][:, classes], np.argsort(classes)[codes[kept]]
    targets = np.sort(at_most(MAX_TARGETS, codes, rng))
    rounds = [
        _errors((posteriors, codes), targets, kernel, bandwidths, shrinkages, rng)
        for _ in range(_between(1, FEW_REFERENCES // len(codes), MAX_ROUNDS))
    ]
    errors = np.concatenate(rounds, axis=2)
    best = [
        {
            "bandwidth": float(bandwidths[j]),
            "shrinkage": float(shrinkages[i]),
            "absolute_error": float(errors[i, j].mean()),
            "tie": tie,
        }
        for i, j, tie in _ranking(
            errors, len(rounds), SAMPLING / np.sqrt(len(targets) / posteriors.shape[1])
        )
    ]
    return Choice(best[0]["bandwidth"], best[0]["shrinkage"], best)


def _errors(
    references: tuple[FloatArray, IntArray],
    targets: IntArray,
    kernel: str,
    bandwidths: FloatArray,
    shrinkages: tuple[float, ...],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the error of each shrinkage and bandwidth on each bag, with folds drawn anew."""
    posteriors, codes = references
    n_items, n_classes = posteriors.shape
    fold = folds_of(codes, rng, _between(N_FOLDS, FOLDED_ROWS // n_items, MAX_FOLDS))
    protocol = DirichletBags(
        n_bags=_between(MIN_BAGS, N_SHARES // n_classes, N_BAGS),
        # Bags larger than the pool only repeat items, at a higher cost.
        bag_size=_between(100, len(targets), BAG_SIZE),
        random_state=int(rng.integers(2**32)),
    )
    bags = list(protocol.bags(codes[targets], np.arange(n_classes)))
    rows = [bag.index for bag in bags]
    truth = np.array([bag.prevalence for bag in bags])
    errors = np.empty((len(shrinkages), len(bandwidths), len(bags)))
    for i, shrinkage in enumerate(shrinkages):
        matrices = out_of_fold_log_likelihood(
            (posteriors, codes, fold),
            (posteriors[targets], fold[targets]),
            kernel,
            bandwidths,
            shrinkage,
        )
        mixes: FloatArray | None = None
        for j, matrix in enumerate(matrices):
            # Warm start: mixes of neighbouring bandwidths are similar.
            fits = maximize_mixtures(matrix, rows, starts=mixes)
            mixes = np.array([fit.prevalence for fit in fits])
            errors[i, j] = absolute_error(truth, mixes)
    return errors


def _between(minimum: int, value: int, maximum: int) -> int:
    return max(minimum, min(value, maximum))


def _ranking(errors: FloatArray, n_rounds: int, relative: float) -> list[tuple[int, int, bool]]:
    """Rank the settings of ``errors`` (row, column, bag): the selected one, then others by error.

    Each is (row, column, whether it ties with the smallest error). The others are up to
    ``MAX_TIES - 1`` ties or, if there are few, the ``RUNNER_UPS``.
    """
    smooth = _smoothed(errors.mean(axis=2))
    best = np.unravel_index(smooth.argmin(), smooth.shape)
    # Paired differences on the same bags, since bags vary far more than settings. Further rounds
    # with the same references are not independent, so the standard error is that of one round.
    n_bags = errors.shape[2] / n_rounds
    noise = (errors - errors[best]).std(axis=2, ddof=1) / np.sqrt(n_bags)
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
    # On the log scale, so that a bad neighbour does not dominate; the offset keeps zeros finite.
    logs: Any = gaussian_filter(np.log(errors + 1e-12), widths, mode="nearest")
    return np.asarray(np.exp(logs), dtype=np.float64)
