"""Select bandwidth and shrinkage by cross-validation on the references, without a validation split.

Every reference gets out-of-fold densities, so it can serve as a target. Bags with mixes from all
over the simplex are drawn from these items, and the setting with the smallest error of the
estimated mix is selected. That error is what matters to the user; selecting by likelihood is
clearly worse, because the best density estimate is not the one that separates classes best.
Settings that are clearly worse on the first bags are not scored on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from truemix._progress import progress
from truemix._typing import BoolArray, FloatArray, IntArray
from truemix.densities.distinct import distinct_rows
from truemix.inference.batched import mixes_under_each
from truemix.metrics import absolute_error
from truemix.models.out_of_fold import (
    N_FOLDS,
    at_most,
    by_appearance,
    folds_of,
    out_of_fold_log_likelihood,
)
from truemix.protocols import Bag, DirichletBags

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
# Settings race: after the first bags those are dropped whose error exceeds the smallest by more
# than LEVEL standard errors on top of what counts as a tie. The first bags, on which all settings
# run, are drawn from fewer targets: with many references, densities are most of the work.
FIRST_BAGS = 10
LEVEL = 3.0
FIRST_TARGETS = 1_000
FIRST_PER_CLASS = 10
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
    n_bags = _between(MIN_BAGS, N_SHARES // len(classes), N_BAGS)
    relative = SAMPLING / np.sqrt(len(targets) / len(classes))
    errors = np.empty((len(shrinkages), len(bandwidths), 0))
    n_rounds = _between(1, FEW_REFERENCES // len(codes), MAX_ROUNDS)
    with progress("choose the kernel", n_rounds * n_bags, "bags", inside=True) as work:
        for number in range(n_rounds):
            fold = folds_of(codes, rng, _between(N_FOLDS, FOLDED_ROWS // len(codes), MAX_FOLDS))
            bag_seed = int(rng.integers(2**32))
            first = FIRST_BAGS if number == 0 else n_bags
            heats = _heats(codes, targets, (first, n_bags), bag_seed)
            scores = _Scores((posteriors, codes, fold), kernel, bandwidths, shrinkages)
            for heat in heats:
                running = _running(errors, n_bags, relative)
                errors = np.concatenate([errors, scores.errors(heat, running)], axis=2)
                work.advance(len(heat.bags))
    best = [
        {
            "bandwidth": float(bandwidths[j]),
            "shrinkage": float(shrinkages[i]),
            "absolute_error": float(errors[i, j].mean()),
            "tie": tie,
        }
        for i, j, tie in _ranking(errors, n_bags, relative)
    ]
    return Choice(best[0]["bandwidth"], best[0]["shrinkage"], best)


@dataclass(frozen=True)
class _Heat:
    """Bags that settings are scored on before the clearly worse ones are dropped."""

    targets: IntArray  # references whose densities are needed for the first time
    bags: list[Bag]  # rows of all targets so far


def _heats(codes: IntArray, targets: IntArray, ends: tuple[int, int], seed: int) -> list[_Heat]:
    """Draw the bags of a round, from few targets in the first heat, then from all."""
    classes = np.arange(codes.max() + 1)
    protocol = DirichletBags(
        n_bags=ends[-1],
        # Bags larger than the pool only repeat items, at a higher cost.
        bag_size=_between(100, len(targets), BAG_SIZE),
        random_state=seed,
    )
    n_few = max(FIRST_TARGETS, FIRST_PER_CLASS * len(classes))
    few = targets[at_most(n_few, codes[targets], np.random.default_rng(seed))]
    rest = np.setdiff1d(targets, few)
    first = list(islice(protocol.bags(codes[few], classes), ends[0]))
    drawn = protocol.bags(codes[np.concatenate([few, rest])], classes)
    heats = [_Heat(few, first), _Heat(rest, list(drawn)[ends[0] :])]
    return [heat for heat in heats if heat.bags]


class _Scores:
    """Errors of settings on the heats of one round; its densities are kept from heat to heat."""

    def __init__(
        self,
        reference: tuple[FloatArray, IntArray, IntArray],
        kernel: str,
        bandwidths: FloatArray,
        shrinkages: tuple[float, ...],
    ) -> None:
        self._reference = reference
        self._kernel, self._bandwidths, self._shrinkages = kernel, bandwidths, shrinkages
        n_classes = reference[0].shape[1]
        # Of each shrinkage: bandwidths, targets, classes.
        self._matrices = [np.empty((len(bandwidths), 0, n_classes))] * len(shrinkages)
        self._scored = np.ones((len(shrinkages), len(bandwidths)), dtype=bool)
        # Equal targets of one fold share a row of the matrices.
        self._place, self._n_rows = np.empty(0, dtype=np.intp), 0

    def errors(self, heat: _Heat, running: BoolArray) -> FloatArray:
        """Return the error of each shrinkage and bandwidth on each bag, NaN if not running."""
        targets = self._add_targets(heat.targets)
        distinct = [np.unique(self._place[bag.index], return_counts=True) for bag in heat.bags]
        rows, counts = [each[0] for each in distinct], [each[1] for each in distinct]
        truth = np.array([bag.prevalence for bag in heat.bags])
        errors = np.full((*running.shape, len(heat.bags)), np.nan)
        for i in np.flatnonzero(running.any(axis=1)).tolist():
            kept = self._matrices[i][running[i][self._scored[i]]]
            matrices = np.concatenate([kept, self._densities(i, running[i], targets)], axis=1)
            mixes = mixes_under_each(matrices, rows, counts)
            errors[i, running[i]] = [absolute_error(truth, each) for each in mixes]
            self._matrices[i] = matrices
        self._scored = running
        return errors

    def _add_targets(self, targets: IntArray) -> IntArray:
        """Return those of the targets that need densities: one of each posteriors and fold."""
        posteriors, _, fold = self._reference
        first, place = distinct_rows(posteriors[targets], fold[targets])
        self._place = np.concatenate([self._place, self._n_rows + place])
        self._n_rows += len(first)
        return targets[first]

    def _densities(self, i: int, running: BoolArray, targets: IntArray) -> FloatArray:
        posteriors, _, fold = self._reference
        return out_of_fold_log_likelihood(
            self._reference,
            (posteriors[targets], fold[targets]),
            self._kernel,
            self._bandwidths[running],
            self._shrinkages[i],
        )


def _running(errors: FloatArray, n_bags: int, relative: float) -> BoolArray:
    """Return the settings that may still turn out to be best or to tie with the best."""
    if errors.shape[2] == 0:
        return np.ones(errors.shape[:2], dtype=bool)
    smooth, noise, best = _surface(errors, n_bags)
    excess = np.where(np.isnan(noise), np.inf, smooth - smooth[best])
    # The runners-up are reported, so they are scored on all bags too.
    finalist = excess <= np.sort(excess, axis=None)[: RUNNER_UPS + 1][-1]
    close = excess <= relative * smooth[best] + LEVEL * noise
    return np.asarray((finalist | close) & np.isfinite(excess))


def _between(minimum: int, value: int, maximum: int) -> int:
    return max(minimum, min(value, maximum))


def _ranking(errors: FloatArray, n_bags: int, relative: float) -> list[tuple[int, int, bool]]:
    """Rank the settings of ``errors`` (row, column, bag): the selected one, then others by error.

    Each is (row, column, whether it ties with the smallest error). The others are up to
    ``MAX_TIES - 1`` ties or, if there are few, the ``RUNNER_UPS``. There are ``n_bags`` in a round.
    """
    smooth, noise, best = _surface(errors, n_bags)
    excess = smooth - smooth[best]
    equal = excess <= NOISE * noise
    row, column = np.indices(smooth.shape)
    choice = np.lexsort((smooth.ravel(), np.where(equal, row, smooth.shape[0]).ravel()))[0]
    finished = ~np.isnan(noise)
    ties = (finished & (equal | (excess <= relative * smooth[best]))).ravel()
    by_error = np.argsort(np.where(finished, smooth, np.inf), axis=None, kind="stable")
    others = by_error[: np.count_nonzero(finished)]
    others = others[others != choice]
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


def _surface(errors: FloatArray, n_bags: int) -> tuple[FloatArray, FloatArray, Any]:
    """Return smoothed mean errors, standard errors of the differences to the best, and the best.

    Settings that were dropped have no standard error (NaN) and are never the best.
    """
    finished = ~np.isnan(errors[:, :, -1])
    smooth = _smoothed(_means(errors, finished))
    best = np.unravel_index(np.where(finished, smooth, np.inf).argmin(), smooth.shape)
    # Paired differences on the same bags, since bags vary far more than settings. Further rounds
    # with the same references are not independent, so the standard error is that of one round.
    spread = (errors - errors[best]).std(axis=2, ddof=1)
    return smooth, spread / np.sqrt(min(n_bags, errors.shape[2])), best


def _means(errors: FloatArray, finished: BoolArray) -> FloatArray:
    """Return mean errors over all bags.

    A setting that was dropped is as much worse than the best one as on the bags that it was scored
    on: some bags are harder than others, for all settings.
    """
    means = errors.mean(axis=2)
    best = np.unravel_index(np.where(finished, means, np.inf).argmin(), means.shape)
    guess = means[best] + np.nanmean(errors - errors[best], axis=2)
    return np.asarray(np.where(finished, means, np.maximum(guess, 0.0)))


def _smoothed(errors: FloatArray) -> FloatArray:
    from scipy.ndimage import gaussian_filter

    widths = (SMOOTHING["shrinkage"], SMOOTHING["bandwidth"])
    # On the log scale, so that a bad neighbour does not dominate; the offset keeps zeros finite.
    logs: Any = gaussian_filter(np.log(errors + 1e-12), widths, mode="nearest")
    return np.asarray(np.exp(logs), dtype=np.float64)
